"""A run as it is looked at: pages of its tables, by loops over its files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.explorer.run.instance_list import InstanceList, InstanceQuery
from audit.explorer.run.opened_run import OpenedRun, open_run
from audit.explorer.run.paged_tables import Source, Span
from audit.explorer.run.pair_rows import APART, PARTNER_ORDERS
from audit.explorer.run.partners import OF_PAIR
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.audit import run_audit
from audit.runs.folder import write_run
from audit.runs.instances import write_instances
from audit.runs.read import read_run
from fixtures.brute_force import at_or_below, parents_of
from fixtures.labelled import labelled
from fixtures.predicted import predicted
from fixtures.sealed_files import reseal

LABELS = {
    "a": ["cow"], "b": ["dog", "tool"], "c": ["bird", "cow"], "d": ["pet"], "e": [],
    "f": ["dog", "bird", "tool"], "g": ["cow", "tool"],
}  # fmt: skip
SCORES = {
    "a": {"cow": 0.9}, "b": {"dog": 0.8, "bird": 0.6}, "c": {"dog": 0.7, "bird": 0.2},
    "f": {"tool": 0.9}, "g": {"bird": 0.6, "tool": 0.5},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(toy_hierarchy: Hierarchy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    dataset: LabelDataset = labelled(toy_hierarchy, LABELS)
    predictions: Predictions = predicted(dataset, SCORES)
    place = tmp_path_factory.mktemp("explored")
    run = write_run(run_audit(dataset, predictions=predictions), place / "run")
    write_instances(run, dataset, predictions)
    reseal(run)
    return run


@pytest.fixture(scope="module")
def run(folder: Path) -> OpenedRun:
    return open_run(folder, "toy", show_instances=True)


@pytest.fixture(scope="module")
def instances(run: OpenedRun) -> InstanceList:
    assert run.instances is not None
    return run.instances


def table(folder: Path, name: str) -> pl.DataFrame:
    result = read_run(folder)
    assert result.model is not None
    pairs = {"pairs": result.pairs, "model_pairs": result.model.pairs}
    if name in pairs:
        return pairs[name].collect()
    return pl.read_parquet(folder / "restricted" / f"{name}.parquet")


@pytest.mark.parametrize("depth", ["", "1", "2"])
@pytest.mark.parametrize("below", ["", "animal"])
@pytest.mark.parametrize("relation", ["", APART, "ancestor"])
def test_pairs_are_ranked_by_confusion_within_what_is_asked(
    run: OpenedRun, folder: Path, relation: str, depth: str, below: str
) -> None:
    pairs, nodes = table(folder, "model_pairs"), table(folder, "nodes")
    depths = {node: str(d) for node, d in nodes.select("node", "depth").iter_rows()}
    inside = run.hierarchy.descendants("animal", with_self=True)
    wanted = [
        (row["confusion"], row["a"], row["b"])
        for row in pairs.cast({"a": pl.String, "b": pl.String, "relation": pl.String}).to_dicts()
        if row["confusion"] > 0
        and (not depth or {depths[row["a"]], depths[row["b"]]} == {depth})
        and (not below or row["a"] in inside or row["b"] in inside)
        and (not relation or (row["relation"] == "ancestor") == (relation == "ancestor"))
    ]
    found = run.pairs.confused(relation, depth, below)

    for node in {end for _, *ends in wanted for end in ends}:
        seen = [(row["confusion"], row["node"]) for row in run.pairs.confused_with(node, "")]
        both = pairs.cast({"a": pl.String, "b": pl.String}).filter(pl.col("confusion") > 0)
        own = [(r["confusion"], {r["a"], r["b"]} - {node}) for r in both.to_dicts()
               if node in (r["a"], r["b"])]  # fmt: skip
        assert sorted(seen) == sorted((confusion, *others) for confusion, others in own)
        assert [one for one, _ in seen] == sorted((one for one, _ in seen), reverse=True)
    assert wanted or relation == "ancestor" or depth
    assert [(row["confusion"], row["a"], row["b"]) for row in found] == sorted(
        wanted, key=lambda one: (-one[0], one[1], one[2])
    )


@pytest.mark.parametrize("source", ["data", "model"])
@pytest.mark.parametrize(
    ("relation", "order"),
    [*((None, order) for order in PARTNER_ORDERS), (APART, "ratio"), ("ancestor", "together")],
)
def test_partners_are_the_rows_of_the_pair_table_with_that_end(
    run: OpenedRun, folder: Path, source: Source, relation: str | None, order: str
) -> None:
    pairs = table(folder, "pairs" if source == "data" else "model_pairs").to_dicts()
    for node in table(folder, "nodes")["node"]:
        wanted = [
            (row["b"] if row["a"] == node else row["a"], row["joint"], row["relation"])
            for row in pairs
            if node in (row["a"], row["b"])
            if relation in (None, row["relation"])
            or (relation == APART and row["relation"] != "ancestor")
        ]
        page = run.pairs.partners(node, source, relation, order, Span())

        shown = [(row["node"], row["joint"], row["relation"]) for row in page.rows]
        assert sorted(shown) == sorted(wanted)
        assert page.total == len(wanted)
        column, descending = PARTNER_ORDERS[order]
        keys = [row[column] for row in page.rows if row[column] is not None]
        assert keys == sorted(keys, reverse=descending)
        spans = [Span(at, 2) for at in (0, 2, 4)]
        parts = [run.pairs.partners(node, source, relation, order, one).rows for one in spans]
        assert [row for part in parts for row in part] == list(page.rows)[:6]


def test_a_node_stands_between_its_parents_and_children(
    run: OpenedRun, toy_hierarchy: Hierarchy
) -> None:
    for node in toy_hierarchy.nodes:
        view = run.places.view(node)
        assert view is not None
        assert {row["node"] for row in view.parents} == set(toy_hierarchy.parents(node))
        assert {row["node"] for row in view.children} == set(toy_hierarchy.children(node))
        assert {row["node"] for row in view.paths} == set(toy_hierarchy.ancestors(node))
        beside = {c for p in toy_hierarchy.parents(node) for c in toy_hierarchy.children(p)}
        assert {row["node"] for row in view.siblings} == (beside or {node})
        supports = [row["support"] for row in view.siblings]
        assert supports == sorted(supports, reverse=True)
    assert run.places.view("unicorn") is None
    assert [*run.places.children("unicorn")] == []


def test_a_pair_has_its_rows_and_what_carries_it(run: OpenedRun, folder: Path) -> None:
    view = run.pairs.view("tool", "animal")
    assert view is not None
    rows = table(folder, "pairs").filter((pl.col("a") == "animal") & (pl.col("b") == "tool"))
    assert view.data == rows.select(OF_PAIR).row(0, named=True)
    assert view.lca["node"] == "object"
    carriers = {(row["a"], row["b"]): row["joint"] for row in view.carriers}
    assert carriers == {("dog", "tool"): 2, ("cow", "tool"): 1, ("bird", "tool"): 1}
    assert {row["node"] for row in view.drawn} == {"tool", "animal", "object"}
    assert run.pairs.view("tool", "tool") is None
    assert run.pairs.view("tool", "unicorn") is None


def test_a_search_finds_ids_and_titles_whatever_their_case(run: OpenedRun) -> None:
    assert [row["node"] for row in run.places.search(" DO ", Span()).rows] == ["dog"]
    assert run.places.search("o", Span()).total == sum("o" in node for node in at_all(run))
    assert run.places.search("", Span()).total == 0
    assert run.places.search("o", Span(1, 2)).rows == run.places.search("o", Span()).rows[1:3]


def at_all(run: OpenedRun) -> list[str]:
    return ["animal", "bird", "cow", "dog", "mammal", "object", "pet", "tool"]


def answers(instance: str) -> set[str]:
    return {node for node, score in SCORES.get(instance, {}).items() if score >= 0.5}


@given(
    nodes=st.sets(st.sampled_from(at_all(None)), max_size=2),  # type: ignore[arg-type]
    predicted_nodes=st.sets(st.sampled_from(at_all(None)), max_size=2),  # type: ignore[arg-type]
    outcome=st.sampled_from(["", "right", "missed", "false"]),
    order=st.sampled_from(["id", "labels", "misaligned"]),
)
def test_a_query_is_a_loop_over_the_instances(
    instances: InstanceList,
    toy_hierarchy: Hierarchy,
    nodes: set[str],
    predicted_nodes: set[str],
    outcome: str,
    order: str,
) -> None:
    parents = parents_of(toy_hierarchy.nodes, toy_hierarchy.edge_frame().rows())

    def reaches(given: set[str], node: str) -> bool:
        return bool(given & at_or_below(parents, node))

    wanted = []
    for instance in sorted(set(LABELS) & (set(SCORES) | {i for i in LABELS if LABELS[i]})):
        labels, told = set(LABELS[instance]), answers(instance)
        missed, false = labels - told, told - labels
        of_outcome = {
            "": True,
            "right": bool(labels & told) and not missed and not false,
            "missed": bool(missed),
            "false": bool(false),
        }
        if not of_outcome[outcome]:
            continue
        if all(reaches(labels, n) for n in nodes) and all(
            reaches(told, n) for n in predicted_nodes
        ):
            weight = {"id": 0, "labels": len(labels), "misaligned": len(missed) + len(false)}
            wanted.append((-weight[order], instance))
    query = InstanceQuery("", tuple(nodes), tuple(predicted_nodes), outcome, order)
    page = instances.page(query, Span())

    shown = [row["instance"] for row in page.rows]
    assert shown == [instance for _, instance in sorted(wanted)]
    for at, instance in enumerate(shown):
        before = shown[at - 1] if at else None
        after = shown[at + 1] if at + 1 < len(shown) else None
        assert instances.neighbours(instance, query) == (before, after)


@pytest.mark.parametrize("least", [0.1, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("mass", [("animal",), ("mammal", "bird"), ("animal", "tool"), ("odd",)])
def test_mass_in_each_of_some_nodes_is_a_share_of_the_scores(
    instances: InstanceList, toy_hierarchy: Hierarchy, mass: tuple[str, ...], least: float
) -> None:
    inside = [{*toy_hierarchy.descendants(node, with_self=True)} if node != "odd" else set()
              for node in mass]  # fmt: skip
    wanted = [
        instance
        for instance, scores in SCORES.items()
        if all(
            sum(scores.get(node, 0) for node in own) >= least * sum(scores.values()) - 1e-9
            for own in inside
        )
    ]
    page = instances.page(InstanceQuery(mass=mass, least=least), Span())

    assert [row["instance"] for row in page.rows] == wanted
    assert wanted or least > 0.3 or mass == ("odd",)


@pytest.mark.parametrize(
    ("first", "second"), [("bird", "mammal"), ("mammal", "animal"), ("animal", "tool")]
)
def test_instances_stand_on_each_side_of_two_subgraphs(
    instances: InstanceList, toy_hierarchy: Hierarchy, first: str, second: str
) -> None:
    one, other = ({*toy_hierarchy.descendants(n, with_self=True)} for n in (first, second))
    wanted: dict[str, list[str]] = {"first": [], "second": [], "tied": []}
    for instance, scores in SCORES.items():
        sides = [[s for n, s in scores.items() if n in own] for own in (one, other - one)]
        if all(sides):
            a, b = map(max, sides)
            wanted["first" if a > b else "second" if b > a else "tied"].append(instance)
    for side, of in wanted.items():
        query = InstanceQuery(first=(first,), second=(second,), side=side)
        assert [row["instance"] for row in instances.page(query, Span()).rows] == of
    every = InstanceQuery(first=(first,), second=(second,))
    assert instances.page(every, Span()).total == sum(map(len, wanted.values()))


def test_the_right_branch_and_the_wrong_node(instances: InstanceList) -> None:
    page = instances.page(InstanceQuery(outcome="right_branch"), Span())

    assert [row["instance"] for row in page.rows] == ["c", "g"]


def test_findings_have_their_branches_cases_and_exact_numbers(run: OpenedRun, folder: Path) -> None:
    cases = table(folder, "cases")
    for finding in run.findings:
        behind = cases.filter(pl.col("finding").cast(pl.String) == finding["id"])
        assert finding["cases"] == len(behind)
        page = run.cases(finding["id"], Span(0, 3))
        assert [row["instance"] for row in page.rows] == behind["instance"].head(3).to_list()
    assert {finding["id"] for finding in run.findings} == set(table(folder, "findings")["id"])
    assert run.cases("no such", Span()).total == 0


def test_instances_are_not_shown_unasked(folder: Path) -> None:
    assert open_run(folder, "toy").instances is None
