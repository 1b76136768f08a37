"""Checks of entailment graphs: what is a finding, how severe it is, and the tuples behind it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from audit.analyses.entailment.analysis import Entailment
from audit.analyses.entailment.dataset import EVENT, HYPERNYM, NOUN
from audit.base.plurals import filled
from audit.results.findings import CheckResult
from fixtures.entailed import Stated, measured_tuples, stated

CHECKS = {check.name: check for check in Entailment.checks}


def run(name: str, tuples: pl.DataFrame, positives: pl.DataFrame | None = None) -> CheckResult:
    return CHECKS[name].run(measured_tuples(tuples, positives))


def told(name: str, tuples: pl.DataFrame, *evidence: str, **given: Any) -> list[list[Any]]:
    """Key, severity and some evidence of each finding, and the places of the tuples behind it."""
    measured, cases = measured_tuples(tuples, **given), CHECKS[name].cases
    assert cases is not None
    found = []
    for one in CHECKS[name].run(measured).findings:
        assert "{" not in filled(one.statement, one.evidence)
        behind = cases(measured, one).tolist()
        found.append([one.key, one.severity, *(one.evidence[n] for n in evidence), behind])
    return found


def types(*edges: str) -> pl.DataFrame:
    """Valid edges of two letters each, one that begins with ``-`` denied, of whole heads."""
    return stated((edge[-2], HYPERNYM, edge[-2], edge[-1], edge[0] != "-") for edge in edges)


def under(heads: str, *edges: str) -> pl.DataFrame:
    """The same, each under a head of a letter."""
    both = zip(heads, edges, strict=True)
    return stated((head, NOUN, edge[-2], edge[-1], edge[0] != "-") for head, edge in both)


@pytest.mark.parametrize(
    ("name", "edge"),
    [("contradiction", "aa"), ("cycle", "-ab"), ("transitivity", "ab"),
     ("head_in_two_splits", "ab"), ("weak_label", "ab"), ("generation_mismatch", "ab")],
)  # fmt: skip
def test_where_there_is_nothing_to_judge_it_does_not_apply(name: str, edge: str) -> None:
    assert run(name, types(edge)).not_applicable


@pytest.mark.parametrize(
    ("name", "edges"),
    [("contradiction", ("ab", "-ab")), ("cycle", ("ab", "bc", "ca")),
     ("transitivity", ("ab", "bc", "-ac"))],
)  # fmt: skip
def test_what_needs_several_heads_is_a_note(name: str, edges: tuple[str, ...]) -> None:
    last, every = len(edges) - 1, [*range(len(edges))]
    ((_, same, *behind),) = told(name, under("h" * len(edges), *edges))
    ((_, other, *_),) = told(name, under("h" * last + "g", *edges))
    ((_, whole, *_),) = told(name, types(*edges))

    assert (same, other, whole, behind) == ("warning", "note", "warning", [every])


def test_evidence_of_edges_is_of_those_of_the_relation() -> None:
    cycle = told("cycle", types("ab", "ba", "bc", "cb"), "texts", "edges")
    denied = told(
        "transitivity", under("hhhhh", "ab", "bc", "-ac", "cd", "-xy"),
        "edges", "of", "chains", "open",
    )  # fmt: skip
    on_cycle = told("contradiction", types("ab", "bc", "ca", "-ac"), "edges", "of")

    assert cycle == [[(HYPERNYM, "a"), "note", 3, 4, [0, 1, 2, 3]]]
    assert denied == [[(NOUN, "one context"), "warning", 1, 2, 2, 1, [0, 1, 2]]]
    assert on_cycle == [[(HYPERNYM, "one context"), "warning", 1, 4, [3]]]


def test_texts_are_told_as_they_are_whatever_characters_they_have() -> None:
    texts = ["{edges}", "[b]", "x" * 500]
    edges = zip(texts, [*texts[1:], texts[0]], strict=True)
    (finding,) = run("cycle", stated((a, HYPERNYM, a, b, True) for a, b in edges)).findings

    assert all(said in finding.statement for said in ("“(edges)”", "“(b)”"))
    assert len(finding.statement) < 500


def test_keys_in_two_splits_are_an_error() -> None:
    rows: list[Stated] = [("h", NOUN, "h", concept, True) for concept in "abc"]
    tuples = stated(rows).with_columns(split=pl.Series(["train", "test", "train"]))
    found = told("head_in_two_splits", tuples, "keys", "of", "astray")

    assert found == [[("train", "test"), "error", 1, 1, 1, [0, 1, 2]]]
    assert run("head_in_two_splits", tuples).findings[0].nodes == ()


def test_each_fault_of_a_tail_is_a_finding() -> None:
    rows = [("a dog", NOUN, "dog", "pet", True), ("a cat", NOUN, "whale", "pet", True),
            ("a cat naps", EVENT, "a cat", "rest", True)]  # fmt: skip
    tuples = stated(rows).with_columns(tail=pl.Series(["a d", "a pet", "rest"]))

    assert sorted(told("tail_mismatch", tuples, "tuples", "of")) == [
        [(EVENT, "instance_not_head"), "warning", 1, 1, [2]],
        [(NOUN, "head_lacks_instance"), "warning", 1, 2, [1]],
        [(NOUN, "tail_differs"), "warning", 1, 2, [0]],
    ]


def test_ties_and_labels_against_the_votes_are_counted_apart() -> None:
    rows = [(f"h{n}", NOUN, "h", f"c{n}", label) for n, label in enumerate((1, 1, 0, 1, 0))]
    votes = {"votes_valid": pl.Series([2, 1, 4, 4, 1]), "votes": pl.Series([4, 4, 4, 4, 5])}
    tuples = stated((*row[:4], bool(row[4])) for row in rows).with_columns(**votes)

    assert told("weak_label", tuples, "tuples", "of", "ties", "against") == [
        [(NOUN,), "error", 3, 5, 1, 2, [0, 1, 2]]
    ]


def test_what_a_generation_set_lacks_and_has_too_much() -> None:
    detection, given = (
        stated(("h", NOUN, "h", c, valid) for c, valid in rows.items())
        for rows in ({"a": True, "b": True, "c": True, "x": False},
                     {"b": True, "c": True, "d": True, "e": False, "x": True})
    )  # fmt: skip
    found = told(
        "generation_mismatch", detection, "lacking", "of", "more", "instances", positives=given
    )

    assert found == [[(NOUN,), "warning", 1, 3, 3, 1, [0, 3]]]
