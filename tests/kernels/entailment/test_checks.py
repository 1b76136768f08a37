"""Checks of entailment graphs: what is a finding, how severe it is, and the tuples behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
import pytest

from audit.analyses.entailment.analysis import Entailment
from audit.analyses.entailment.dataset import EVENT, HYPERNYM, NOUN
from audit.base.plurals import filled
from audit.results.findings import CheckResult, Finding
from fixtures.entailed_release import Stated, measured_tuples, planted, stated
from fixtures.entailment_world.faults import FAULTS

CHECKS = {check.name: check for check in Entailment.checks}


def run(name: str, rows: Iterable[Stated], **changed: Iterable[Any]) -> CheckResult:
    """What a check says of tuples with some of their columns changed."""
    return told(name, rows, **changed)[0]


def told(
    name: str, rows: Iterable[Stated], **changed: Iterable[Any]
) -> tuple[CheckResult, list[list[str]]]:
    """The same, with the ids of the tuples behind each finding."""
    columns = [pl.Series(column, [*values]) for column, values in changed.items()]
    measured = measured_tuples(stated(rows).tuples.with_columns(columns))
    found = CHECKS[name].run(measured)
    ids, cases = measured.loaded.dataset.instances["instance"], CHECKS[name].cases
    assert cases is not None
    return found, [ids[cases(measured, one)].to_list() for one in found.findings]


def types(*edges: tuple[str, str, bool]) -> list[Stated]:
    """Edges of a relation whose instance is the head."""
    return [(one, HYPERNYM, one, other, valid) for one, other, valid in edges]


def under(heads: str, *edges: str) -> list[Stated]:
    """Valid edges of two letters each, one that begins with ``-`` denied, each under a head."""
    both = zip(heads, edges, strict=True)
    return [(head, NOUN, edge[-2], edge[-1], edge[0] != "-") for head, edge in both]


def evidence(finding: Finding, *names: str) -> list[Any]:
    return [finding.evidence[name] for name in names]


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_with_its_tuples_and_nothing_else(name: str) -> None:
    fault, measured = planted(name)
    found = [one for check in Entailment.checks for one in check.run(measured).findings]
    cases = CHECKS[name].cases
    assert cases is not None
    ids = measured.loaded.dataset.instances["instance"]

    assert {finding.check for finding in found} == {name}
    assert fault.ids <= {one for finding in found for one in ids[cases(measured, finding)]}
    assert all(len(cases(measured, finding)) == finding.touched for finding in found)
    assert not any("{" in filled(finding.statement, finding.evidence) for finding in found)


NOTHING: Mapping[str, tuple[list[Stated], str]] = {
    "contradiction": (types(("a", "a", True)), "no tuple states an edge"),
    "cycle": (types(("a", "b", False)), "no tuple states a valid edge"),
    "redundant_edge": (types(("a", "b", False)), "no tuple states a valid edge"),
    "transitivity": (types(("a", "b", True)), "no valid edge begins where another ends"),
    "head_in_two_splits": (types(("a", "b", True)), "there are no two splits"),
    "weak_label": (types(("a", "b", True)), "no tuple has votes"),
    "generation_mismatch": (types(("a", "b", True)), "no generation set was given"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_where_there_is_nothing_to_judge_it_does_not_apply(name: str) -> None:
    assert run(name, NOTHING[name][0]).not_applicable == NOTHING[name][1]


ONE_HEAD = {
    "contradiction": (("ab", "-ab"), ["t0", "t1"]),
    "cycle": (("ab", "bc", "ca"), ["t0", "t1", "t2"]),
    "transitivity": (("ab", "bc", "-ac"), ["t0", "t1", "t2"]),
}
"""Edges, the last of which is or is not under the head of the others, and the tuples behind."""


@pytest.mark.parametrize("name", ONE_HEAD)
@pytest.mark.parametrize(("last", "severity"), [("h", "warning"), ("g", "note")])
def test_what_needs_several_heads_is_a_note(name: str, last: str, severity: str) -> None:
    edges, ids = ONE_HEAD[name]
    found, cases = told(name, under(("h" * len(edges))[:-1] + last, *edges))
    (finding,) = found.findings

    assert (finding.severity, cases) == (severity, [ids])
    assert ("under the same head" in finding.statement) == (last == "h")
    assert ("(under “h”)" in finding.statement) == (last == "h")


def test_synonyms_and_edges_that_are_denied_within_a_cycle() -> None:
    pairs = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    (several,) = run("cycle", types(*((*pair, True) for pair in pairs))).findings
    stated_twice = types(*((*p, True) for p in (*pairs[:2], "aa")), ("a", "b", False))
    (two,) = run("cycle", stated_twice).findings
    ring = types(("a", "b", True), ("b", "c", True), ("c", "a", True), ("a", "c", False))
    (denied,) = run("contradiction", ring).findings

    assert (several.severity, evidence(several, "texts", "edges")) == ("note", [3, 4])
    assert "valid in both directions" in several.statement
    assert (two.touched, "stated to be synonyms" in two.statement) == (2, True)
    assert "though both lie on a cycle of valid edges" in denied.statement


def test_shares_are_of_the_edges_of_the_relation() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c"), ("a", "d"), ("b", "d")]
    (redundant,) = run("redundant_edge", types(*((*edge, True) for edge in edges))).findings
    (denied,) = run("transitivity", under("hhhhh", "ab", "bc", "-ac", "cd", "-xy")).findings

    assert evidence(redundant, "edges", "of", "share", "instances") == [3, 6, 0.5, 3]
    assert evidence(denied, "edges", "of", "chains", "open") == [1, 2, 2, 1]


def test_texts_are_told_as_they_are_whatever_characters_they_have() -> None:
    texts = ["{edges}", "[b]", "x" * 500]
    edges = zip(texts, [*texts[1:], texts[0]], strict=True)
    (finding,) = run("cycle", types(*((a, b, True) for a, b in edges))).findings

    assert all(said in finding.statement for said in ("“(edges)”", "“(b)”"))
    assert len(finding.statement) < 400


def test_keys_in_two_splits_and_repeats_in_another_are_errors() -> None:
    rows = [("h", NOUN, "h", concept, True) for concept in "aab"]
    split = ["train", "test", "train"]
    (shared,), (repeated,) = (
        run(name, rows, split=split).findings for name in ("head_in_two_splits", "duplicate_tuple")
    )

    assert (shared.severity, shared.nodes, shared.key) == ("error", (), ("train", "test"))
    assert evidence(shared, "keys", "of", "astray", "instances") == [1, 1, 1, 3]
    assert (repeated.severity, evidence(repeated, "tuples", "of", "across")) == ("error", [1, 3, 1])
    assert run("duplicate_tuple", rows).findings[0].severity == "warning"


def test_each_fault_of_a_tail_is_a_finding_that_quotes_what_differs() -> None:
    long = "PersonX shows the dog around in the old house behind the station to"
    rows = [(f"{long} Y", NOUN, "dog", "pet", True), ("a cat", NOUN, "whale", "pet", True),
            ("a cat naps", EVENT, "a cat", "rest", True)]  # fmt: skip
    tails = [long.replace("dog", "pet"), "a pet", "rest"]
    found = {one.key: one for one in run("tail_mismatch", rows, tail=tails).findings}

    assert {key: one.evidence["of"] for key, one in found.items()} == {
        (NOUN, "head_lacks_instance"): 2, (NOUN, "tail_differs"): 2,
        (EVENT, "instance_not_head"): 1,
    }  # fmt: skip
    assert (
        "“…behind the station to” and not “…behind the station to Y”"
        in found[NOUN, "tail_differs"].statement
    )


def test_ties_and_labels_against_the_votes_are_counted_apart() -> None:
    rows = [(f"h{n}", NOUN, "h", f"c{n}", label) for n, label in enumerate((1, 1, 0, 1, 0))]
    valid, votes = [2, 1, 4, 4, 1], [4, 4, 4, 4, 5]
    (finding,) = run("weak_label", rows, votes_valid=valid, votes=votes).findings

    assert finding.severity == "error"
    assert evidence(finding, "tuples", "of", "ties", "against") == [3, 5, 1, 2]


def test_what_a_generation_set_lacks_and_has_too_much() -> None:
    detection, given = (
        stated([("h", NOUN, "h", c, valid) for c, valid in rows.items()]).tuples
        for rows in ({"a": True, "b": True, "c": True, "x": False},
                     {"b": True, "c": True, "d": True, "e": False, "x": True})
    )  # fmt: skip
    measured = measured_tuples(detection, given)
    (finding,) = CHECKS["generation_mismatch"].run(measured).findings
    cases = CHECKS["generation_mismatch"].cases
    assert cases is not None

    assert evidence(finding, "lacking", "of", "more", "instances") == [1, 3, 3, 1]
    assert (cases(measured, finding).tolist(), finding.strength) == ([0, 3], 4 / 6)
