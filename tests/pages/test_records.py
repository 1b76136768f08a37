"""Questions about the records of a run are loops over its instances."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import Hierarchy
from fixtures.brute_force import at_or_below, parents_of
from fixtures.explored import OpenedRun, Records, kept, open_run
from fixtures.labelled import labelled
from fixtures.predicted import predicted

LABELS = {
    "a": ["cow"], "b": ["dog", "tool"], "c": ["bird", "cow"], "d": ["pet"], "e": [],
    "f": ["dog", "bird", "tool"], "g": ["cow", "tool"],
}  # fmt: skip
SCORES = {
    "a": {"cow": 0.9}, "b": {"dog": 0.8, "bird": 0.6}, "c": {"dog": 0.7, "bird": 0.2},
    "f": {"tool": 0.9}, "g": {"bird": 0.6, "tool": 0.5},
}  # fmt: skip
NODES = ["animal", "bird", "cow", "dog", "mammal", "object", "pet", "tool"]


@pytest.fixture(scope="module")
def run(toy_hierarchy: Hierarchy, tmp_path_factory: pytest.TempPathFactory) -> OpenedRun:
    dataset = labelled(toy_hierarchy, LABELS)
    predictions = predicted(dataset, SCORES)
    folder = kept(dataset, predictions, tmp_path_factory.mktemp("records") / "run")
    return open_run(folder, "toy", show_instances=True)


@pytest.fixture(scope="module")
def records(run: OpenedRun) -> Records:
    assert run.records is not None
    return run.records


def ids(records: Records, order: str = "", **asked: str) -> list[str]:
    table = records.table(asked)
    return table.rows.page(table.query({"order": order}, records.hierarchy))[0][
        "instance"
    ].to_list()


few = st.sets(st.sampled_from(NODES), max_size=2)


@given(few, few, few, few, st.sampled_from(["", "right", "missed", "false"]),
       st.sampled_from(["", "-labels", "-mistakes"]))  # fmt: skip
def test_a_question_is_a_loop_over_the_records(
    records: Records,
    toy_hierarchy: Hierarchy,
    nodes: set[str],
    unlabelled: set[str],
    answered: set[str],
    unanswered: set[str],
    outcome: str,
    order: str,
) -> None:
    parents = parents_of(toy_hierarchy.nodes, toy_hierarchy.edge_frame().rows())

    def reaches(given: set[str], node: str) -> bool:
        return bool(given & at_or_below(parents, node))

    wanted = []
    for record in sorted(one for one in LABELS if LABELS[one] or one in SCORES):
        labels = set(LABELS[record])
        told = {node for node, score in SCORES.get(record, {}).items() if score >= 0.5}
        missed, false = labels - told, told - labels
        of_outcome = {
            "": True,
            "right": bool(labels & told) and not missed and not false,
            "missed": bool(missed),
            "false": bool(false),
        }
        kept = [reaches(labels, node) for node in nodes] + [
            reaches(told, node) for node in answered
        ]
        kept += [not reaches(labels, node) for node in unlabelled]
        kept += [not reaches(told, node) for node in unanswered]
        if of_outcome[outcome] and all(kept):
            weight = {"": 0, "-labels": len(labels), "-mistakes": len(missed) + len(false)}
            wanted.append((-weight[order], record))
    named = {"nodes": nodes, "unlabelled": unlabelled, "predicted": answered}
    named |= {"unpredicted": unanswered}
    asked = {name: ", ".join(sorted(codes)) for name, codes in named.items()}

    assert ids(records, order, outcome=outcome, **asked) == [one for _, one in sorted(wanted)]


def test_mass_in_each_of_some_nodes_is_a_share_of_the_scores(
    records: Records, toy_hierarchy: Hierarchy
) -> None:
    for mass in ["animal", "mammal, bird", "animal, tool"]:
        for least in ["0.1", "0.3", "0.5", "1.0"]:
            inside = [
                {*toy_hierarchy.descendants(node, with_self=True)} for node in mass.split(", ")
            ]
            wanted = [
                record
                for record, scores in SCORES.items()
                if all(
                    sum(scores.get(node, 0) for node in own)
                    >= float(least) * sum(scores.values()) - 1e-9
                    for own in inside
                )
            ]

            assert ids(records, mass=mass, least=least) == wanted
            assert wanted or float(least) > 0.3


@pytest.mark.parametrize(
    ("first", "second"), [("bird", "mammal"), ("mammal", "animal"), ("animal", "tool")]
)
def test_records_stand_on_each_side_of_two_subgraphs(
    records: Records, toy_hierarchy: Hierarchy, first: str, second: str
) -> None:
    one, other = ({*toy_hierarchy.descendants(n, with_self=True)} for n in (first, second))
    wanted: dict[str, list[str]] = {"first": [], "second": [], "tied": []}
    for record, scores in SCORES.items():
        sides = [[s for n, s in scores.items() if n in own] for own in (one, other - one)]
        if all(sides):
            a, b = map(max, sides)
            wanted["first" if a > b else "second" if b > a else "tied"].append(record)
    asked = {"first": first, "second": second}
    for side, of in wanted.items():
        assert ids(records, side=side, **asked) == of
    assert sorted(ids(records, **asked)) == sorted(one for of in wanted.values() for one in of)
    counts = records.sides(asked)
    assert counts is not None
    assert counts[:3] == [len(of) for of in wanted.values()]
    assert sum(counts) == len(records.ids)


@pytest.mark.parametrize(
    ("outcome", "wanted"),
    [("right", "a"), ("missed", "bcdfg"), ("false", "bcg"), ("right_branch", "cg")],
)
def test_outcomes_are_those_of_labels_and_answers(
    records: Records, outcome: str, wanted: str
) -> None:
    assert ids(records, outcome=outcome) == [*wanted]


def test_a_finding_and_a_behaviour_lead_to_their_records(run: OpenedRun, records: Records) -> None:
    cases = run.result.cases
    assert cases is not None
    behind: dict[str, list[str]] = {}
    for finding, record in cases.collect().iter_rows():
        behind.setdefault(str(finding), []).append(record)
    assert behind
    for finding, wanted in behind.items():
        kind, _, name = finding.partition(":")
        asked = {"behaviour": name} if kind == "behaviour" else {"finding": finding}
        kept = [one for one in sorted(wanted) if one in set(records.ids)]
        assert ids(records, **asked) == kept
