"""Checks of entailment graphs: a clean world gives no finding, a planted fault those of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.analysis import Entailment
from audit.analyses.entailment.dataset import EVENT, HYPERNYM, NOUN, VERB, EntailmentDataset
from audit.base.plurals import filled
from audit.checks.check import Check
from audit.measure.measure import Measurements
from audit.results.findings import CheckResult, Finding
from fixtures.entailed_release import Stated, measured_tuples, planted, stated
from fixtures.entailment_world.faults import FAULTS, cycle
from fixtures.entailment_world.lexicon import made_up
from fixtures.entailment_world.world import clean_world, dataset_of
from fixtures.examples import examples

WORLD = clean_world(11)
CHECKS = {check.name: check for check in Entailment.checks}
Edge = tuple[str, str, bool]


@cache
def of_world() -> Measurements:
    return measured_tuples(WORLD)


def findings(measured: Measurements) -> list[Finding]:
    found = []
    for check in Entailment.checks:
        result = check.run(measured)
        assert not result.crashed
        found += result.findings
    return found


def run(name: str, rows: Iterable[Stated]) -> CheckResult:
    return CHECKS[name].run(measured_tuples(stated(rows)))


def types(*edges: Edge) -> list[Stated]:
    """Edges of a relation whose instance is the head."""
    return [(one, HYPERNYM, one, other, valid) for one, other, valid in edges]


def shown(finding: Finding) -> str:
    return filled(finding.statement, finding.evidence)


def case_ids(check: Check, measured: Measurements, finding: Finding) -> list[str]:
    assert check.cases is not None
    return measured.loaded.dataset.instances["instance"][check.cases(measured, finding)].to_list()


@pytest.mark.parametrize(
    "world",
    [WORLD, clean_world(13, lexicon=made_up(13, phrases=False))],
    ids=["hand_made", "made_up"],
)
def test_a_clean_world_gives_no_finding(world: EntailmentDataset) -> None:
    assert findings(measured_tuples(world)) == []


@pytest.mark.slow
def test_a_large_clean_world_gives_no_finding() -> None:
    assert findings(measured_tuples(clean_world(67, lexicon=made_up(67)))) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_with_its_tuples_and_nothing_else(name: str) -> None:
    fault, measured = planted(name)
    check, found = CHECKS[name], findings(measured)

    assert {finding.check for finding in found} == {name}
    assert fault.ids <= {one for finding in found for one in case_ids(check, measured, finding)}
    assert check.cases is not None
    for finding in found:
        places = check.cases(measured, finding)
        assert len(places) == finding.touched or name in ("cycle", "transitivity")
        assert (np.diff(places) > 0).all()
        assert "{" not in shown(finding)


SAID: dict[str, tuple[str, tuple[str, ...], str, dict[str, object]]] = {
    "contradiction": ("warning", (NOUN, "one context"), "“{0}” → “{1}”", {"edges": 1}),
    "transitivity": (
        "note", (NOUN, "across contexts"), "“{0}” → “{1}” → “{2}”", {"edges": 1}
    ),
    "redundant_edge": ("note", (NOUN,), "“{0}” → “{2}” by way of “{1}”", {}),
    "head_in_two_splits": ("error", ("train", "test"), "", {"keys": 3, "astray": 3}),
    "duplicate_tuple": ("warning", (NOUN,), "“duplicate_tuple-0” repeats “", {"across": 0}),
    "tail_mismatch": ("warning", (NOUN, "tail_differs"), " and not “", {"tuples": 3}),
    "weak_label": ("warning", (NOUN,), "by 3 of 5 votes", {"tuples": 10}),
}  # fmt: skip
"""Of planted faults: severity, key, what the sentence says of the words, and some evidence."""


@pytest.mark.parametrize("name", SAID)
def test_a_planted_fault_is_told(name: str) -> None:
    fault, measured = planted(name)
    severity, key, said, evidence = SAID[name]
    found = {finding.key: finding for finding in CHECKS[name].run(measured).findings}[key]

    assert found.severity == severity
    assert said.format(*fault.words) in found.statement
    assert {name: found.evidence[name] for name in evidence} == evidence


@pytest.mark.parametrize(
    "name", ["duplicate_tuple", "redundant_edge", "tail_mismatch", "weak_label"]
)
def test_the_cases_are_what_was_planted(name: str) -> None:
    fault, measured = planted(name)
    finding = {one.key: one for one in CHECKS[name].run(measured).findings}[SAID[name][1]]
    assert set(case_ids(CHECKS[name], measured, finding)) == fault.ids


@pytest.mark.parametrize("name", ["contradiction", "cycle", "transitivity"])
def test_the_cases_are_all_tuples_that_state_the_edges(name: str) -> None:
    fault, measured = planted(name)
    (finding,) = CHECKS[name].run(measured).findings
    words = fault.words
    edges = {
        "contradiction": {words[:2]},
        "cycle": {(a, b) for a in words for b in words},
        "transitivity": {(words[0], words[1]), words[1:], words[::2]},
    }[name]
    expected = sorted(
        row["id"]
        for row in fault.dataset.tuples.filter(relation=NOUN).to_dicts()
        if (row["instance"], row["concept"]) in edges and (row["valid"] or name != "cycle")
    )

    assert case_ids(CHECKS[name], measured, finding) == expected
    assert finding.touched == len(expected)


@pytest.mark.parametrize(
    ("name", "rows", "why"),
    [
        ("contradiction", types(("a", "a", True)), "no tuple states an edge"),
        ("cycle", types(("a", "b", False)), "no tuple states a valid edge"),
        ("redundant_edge", types(("a", "b", False)), "no tuple states a valid edge"),
        ("transitivity", types(("a", "b", True)), "no valid edge begins where another ends"),
        ("head_in_two_splits", types(("a", "b", True)), "there are no two splits"),
        ("weak_label", types(("a", "b", True)), "no tuple has votes"),
        ("generation_mismatch", types(("a", "b", True)), "no generation set was given"),
    ],
)
def test_where_there_is_nothing_to_judge_it_does_not_apply(
    name: str, rows: list[Stated], why: str
) -> None:
    assert run(name, rows).not_applicable == why


def test_answers_under_different_heads_are_a_note() -> None:
    rows = [("g", NOUN, "a", "b", True), ("h", NOUN, "a", "b", False), ("h", NOUN, "a", "c", True)]
    (finding,) = run("contradiction", rows).findings

    assert finding.severity == "note"
    assert shown(finding).startswith(
        "1 of 2 edges of Noun-Entail (50.0%) has answers that contradict each other"
    )
    assert "under different heads" in finding.statement


def test_contradictions_under_one_head_and_several_are_told_apart() -> None:
    rows = [
        ("h", NOUN, "a", "b", True), ("h", NOUN, "a", "b", False),
        ("g", NOUN, "c", "d", True), ("h", NOUN, "c", "d", False),
    ]  # fmt: skip
    found = run("contradiction", rows).findings

    assert [(f.severity, f.key[1], f.touched) for f in found] == [
        ("warning", "one context", 2),
        ("note", "across contexts", 2),
    ]


def test_an_edge_that_is_denied_within_a_cycle_is_a_contradiction() -> None:
    edges = types(("a", "b", True), ("b", "c", True), ("c", "a", True), ("a", "c", False))
    (finding,) = run("contradiction", edges).findings

    assert "“a” → “c” is invalid, though both lie on a cycle of valid edges" in finding.statement


def test_a_planted_cycle_is_told_across_heads() -> None:
    fault, measured = planted("cycle")
    (finding,) = CHECKS["cycle"].run(measured).findings

    assert (finding.severity, finding.key) == ("note", (NOUN, min(fault.words)))
    assert all(f"“{word}”" in finding.statement for word in fault.words)
    assert "under different heads" in finding.statement


def test_synonyms_are_a_note_of_their_own_words() -> None:
    two = CHECKS["cycle"].run(measured_tuples(cycle(clean_world(7), length=2).dataset)).findings
    pairs = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    several = run("cycle", types(*((*pair, True) for pair in pairs))).findings

    assert [finding.severity for finding in (*two, *several)] == ["note", "note"]
    assert "stated to be synonyms" in two[0].statement
    assert "valid in both directions" in several[0].statement
    assert several[0].evidence["texts"] == 3


@pytest.mark.parametrize("heads", [("h", "h", "h"), ("h", "h", "g")])
def test_a_cycle_under_one_head_is_a_warning_that_names_it(heads: tuple[str, ...]) -> None:
    edges = zip(heads, [("a", "b"), ("b", "c"), ("c", "a")], strict=True)
    (finding,) = run("cycle", [(head, NOUN, a, b, True) for head, (a, b) in edges]).findings
    one = len(set(heads)) == 1

    assert finding.severity == ("warning" if one else "note")
    assert ("under the same head" in finding.statement) == one
    assert ("(under “h”)" in finding.statement) == one


def test_texts_are_told_as_they_are_whatever_characters_they_have() -> None:
    texts = ["{edges}", "[b]", "x" * 500]
    edges = zip(texts, [*texts[1:], texts[0]], strict=True)
    (finding,) = run("cycle", types(*((a, b, True) for a, b in edges))).findings

    assert "“(edges)”" in finding.statement
    assert "“(b)”" in finding.statement
    assert len(finding.statement) < 400


def test_invalid_tuples_and_texts_that_are_their_own_concepts_are_no_cases_of_a_cycle() -> None:
    rows = types(("a", "b", True), ("b", "a", True), ("a", "a", True), ("a", "b", False))
    measured = measured_tuples(stated(rows))
    (finding,) = CHECKS["cycle"].run(measured).findings

    assert finding.touched == 2
    assert case_ids(CHECKS["cycle"], measured, finding) == ["t0", "t1"]


def test_all_redundant_edges_of_a_relation_are_one_finding_with_their_share() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d"), ("b", "d")]
    (finding,) = run("redundant_edge", types(*((*edge, True) for edge in edges))).findings

    assert shown(finding).startswith("3 of 6 valid edges of Hypernym (50.0%) follow from others")
    assert finding.touched == 3


def test_a_violation_under_one_head_is_a_warning_that_counts_what_is_open() -> None:
    edges = [("a", "b", True), ("b", "c", True), ("a", "c", False), ("c", "d", True)]
    (finding,) = run("transitivity", [("h", NOUN, a, b, valid) for a, b, valid in edges]).findings

    assert finding.severity == "warning"
    assert "(under “h”)" in finding.statement
    assert (finding.evidence["chains"], finding.evidence["open"]) == (2, 1)


def test_an_edge_that_is_stated_as_valid_too_is_no_violation() -> None:
    edges = types(("a", "b", True), ("b", "c", True), ("a", "c", False), ("a", "c", True))
    assert run("transitivity", edges).findings == ()


def test_all_tuples_of_a_head_in_two_splits_are_cases() -> None:
    fault, measured = planted("head_in_two_splits")
    check, tuples = CHECKS["head_in_two_splits"], fault.dataset.tuples
    (finding,) = check.run(measured).findings
    moved = tuples.filter(pl.col("id").is_in(sorted(fault.ids)))
    of_keys = tuples.join(moved, on=["head", "instance"], how="semi")

    in_test = tuples.filter(split="test").select("head", "instance").n_unique()
    assert finding.evidence["of"] == in_test
    assert set(case_ids(check, measured, finding)) == set(of_keys["id"])
    assert f"“{moved['head'][0][:40]}" in finding.statement


def test_the_same_head_with_another_instance_is_no_fault() -> None:
    heads = WORLD.tuples.select("head", "split").unique()
    assert heads["head"].is_duplicated().any()
    assert CHECKS["head_in_two_splits"].run(of_world()).status == "pass"


def test_the_order_of_rows_does_not_matter() -> None:
    fault, measured = planted("head_in_two_splits")
    turned = measured_tuples(dataset_of(fault.dataset.tuples.reverse(), fault.dataset.votes))
    one, other = (CHECKS["head_in_two_splits"].run(each).findings[0] for each in (measured, turned))
    assert (one.id, one.evidence) == (other.id, other.evidence)


def test_repeated_tuples_are_told_apart() -> None:
    measured = measured_tuples(stated(("h", NOUN, "h", concept, True) for concept in "aba"))
    (finding,) = CHECKS["duplicate_tuple"].run(measured).findings

    assert (finding.key, finding.severity) == ((NOUN,), "warning")
    assert (finding.evidence["tuples"], finding.evidence["of"]) == (1, 3)
    assert "“t2” repeats “t0”" in finding.statement
    assert case_ids(CHECKS["duplicate_tuple"], measured, finding) == ["t2"]


def test_repeats_in_another_split_are_an_error() -> None:
    made = stated(("h", NOUN, "h", "a", True) for _ in range(2))
    split = pl.Series("split", ["train", "test"])
    dataset = dataset_of(made.tuples.with_columns(split), made.votes)
    (finding,) = CHECKS["duplicate_tuple"].run(measured_tuples(dataset)).findings

    assert (finding.severity, finding.evidence["across"]) == ("error", 1)


def test_each_relation_and_fault_of_a_tail_is_a_finding_of_its_own() -> None:
    made = stated(
        [
            ("a {dog} barks", NOUN, "{dog}", "pet", True),
            ("a cat naps", NOUN, "whale", "pet", True),
            ("a cat naps", NOUN, "cat", "pet", True),
            ("a cat naps", EVENT, "a cat", "rest", True),
        ]
    )
    tails = pl.Series("tail", ["x", "a pet naps", "a cat naps", "rest"])
    dataset = replace(made, tuples=made.tuples.with_columns(tails))
    found = {one.key: one for one in CHECKS["tail_mismatch"].run(measured_tuples(dataset)).findings}

    assert {key: finding.evidence["of"] for key, finding in found.items()} == {
        (NOUN, "head_lacks_instance"): 3, (NOUN, "tail_repeats_head"): 3,
        (NOUN, "tail_differs"): 3, (EVENT, "instance_not_head"): 1,
    }  # fmt: skip
    assert "“whale” in “a cat naps”" in found[NOUN, "head_lacks_instance"].statement


def test_of_long_texts_what_sets_them_apart_is_quoted() -> None:
    head = "PersonX shows the dog around in the old house behind the station to"
    made = stated([(f"{head} PersonY", NOUN, "dog", "pet", True)])
    dataset = replace(
        made, tuples=made.tuples.with_columns(tail=pl.lit(head.replace("dog", "pet")))
    )
    (finding,) = CHECKS["tail_mismatch"].run(measured_tuples(dataset)).findings

    assert "“…behind the station to” and not “…behind the station to PersonY”" in finding.statement


def test_ties_and_labels_against_the_votes_are_counted_apart() -> None:
    labels = [(NOUN, True, 2), (NOUN, True, 1), (NOUN, False, 4), (NOUN, True, 4), (VERB, True, 4)]
    made = stated((f"h{n}", one[0], "h", f"c{n}", one[1]) for n, one in enumerate(labels))
    votes = pl.Series("votes_valid", [one[2] for one in labels])
    tuples = made.tuples.with_columns(votes, votes=pl.lit(4, pl.Int64))
    measured = measured_tuples(replace(made, tuples=tuples))
    (finding,) = CHECKS["weak_label"].run(measured).findings

    evidence = finding.evidence
    assert finding.severity == "error"
    assert [evidence[name] for name in ("tuples", "of", "ties", "against")] == [3, 4, 1, 2]
    assert "c2” is invalid by 0 of 4 votes; " in finding.statement


def against(positives: pl.DataFrame) -> tuple[Measurements, tuple[Finding, ...]]:
    """The world beside a generation set, and what is told of it."""
    world = clean_world(5)
    measured = measured_tuples(world, positives=replace(world, tuples=positives))
    return measured, CHECKS["generation_mismatch"].run(measured).findings


def test_a_generation_set_of_the_valid_tuples_has_no_finding() -> None:
    assert against(clean_world(5).tuples.filter("valid").reverse())[1] == ()


@examples(10)
@given(lacking=st.integers(0, 5), more=st.integers(0, 5))
def test_what_a_generation_set_lacks_and_has_too_much_is_counted(lacking: int, more: int) -> None:
    valid = clean_world(5).tuples.filter("valid")
    noun = valid.filter(relation=NOUN).unique(["head", "tail", "instance", "concept"])
    left_out = noun.head(lacking)
    added = noun.tail(more).with_columns(concept=pl.col("concept") + " of old")
    _, found = against(pl.concat([valid.join(left_out, on="id", how="anti"), added]))

    if not lacking and not more:
        assert found == ()
        return
    (finding,) = found
    assert finding.nodes == (NOUN,)
    assert (finding.evidence["lacking"], finding.evidence["more"]) == (lacking, more)


def test_tuples_that_a_generation_set_itself_calls_invalid_are_too_many() -> None:
    tuples = clean_world(5).tuples
    (finding,) = (one for one in against(tuples)[1] if one.key == (NOUN,))
    invalid = tuples.filter(~pl.col("valid"), relation=NOUN)
    different = invalid.select("head", "tail", "instance", "concept").unique()

    assert (finding.evidence["lacking"], finding.evidence["more"]) == (
        0,
        len(different),
    )


def test_cases_of_a_generation_set_are_the_tuples_that_it_lacks() -> None:
    valid = clean_world(5).tuples.filter("valid")
    lacking = valid.filter(relation=NOUN)["id"][0]
    measured, (finding,) = against(valid.filter(pl.col("id") != lacking))

    assert case_ids(CHECKS["generation_mismatch"], measured, finding) == [lacking]
