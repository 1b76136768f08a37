"""excludes1: which notes instances conflict with, worked by hand and by brute force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.coding import Exclusion, Exclusions
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.coded import icd10cm
from fixtures.labelled import labelled, repeated, tree

CHECK = CHECK_OF["excludes1"]

PLAIN = tree(
    "A B C < top",
    "A1 A2 < A",
    "A11 A12 < A1",
    "B1 B2 < B",
    "B21 < B2",
    titles={"A1": "Sugar", "B21": "Gout"},
)
NODES = PLAIN.nodes


def note(node: str, *excluded: str, wide: bool = False, text: str = "") -> Exclusion:
    return Exclusion(node, excluded, text or f"others ({', '.join(excluded)})", wide)


def noting(*notes: Exclusion, unparsed: int = 0) -> Hierarchy:
    unread = tuple(("A", f"see index {n}") for n in range(unparsed))
    return replace(PLAIN, exclusions=Exclusions("of May", notes, unread))


def checked(
    labels: Mapping[str, Sequence[str]], *notes: Exclusion, unparsed: int = 0
) -> CheckResult:
    return CHECK.run(measure(labelled(noting(*notes, unparsed=unparsed), labels), Policy()))


def told(found: CheckResult) -> dict[tuple[str, ...], int]:
    """Instances by the nodes of the notes that stand."""
    return {finding.nodes: finding.touched for finding in found.findings if not finding.folded_into}


LABELS = {"a": ["A11", "B21"], "b": ["A1", "B2", "A2"], "c": ["A11", "A12"], "d": ["B21"], "e": []}


def test_a_note_is_told_once_with_its_pairs_of_labels() -> None:
    labels = {**LABELS, "f": ["B21", "A11", "A2"]}
    (finding,) = checked(labels, note("A1", "B2", text="gout (B2.-)")).findings

    assert finding.id == "excludes1:A1:B2"
    assert finding.severity == "warning"
    assert finding.statement == (
        "{instances} of {of} instances with at least two labels ({share}) "
        "{instances|has|have} Sugar (A1) beside a code that its Excludes1 note rules out. The note "
        "(release of May): “gout (B2.-)”. Two unrelated conditions are allowed."
    )
    values = dict(finding.evidence)
    assert values == {"instances": 3, "of": 4, "share": 3 / 4}
    assert [(part.nodes, part.evidence["instances"]) for part in finding.parts] == [
        (("A11", "B21"), 2),
        (("A1", "B2"), 1),
    ]


def test_a_wide_note_is_no_more_than_a_note() -> None:
    found = checked(LABELS, note("A", "B", wide=True))

    assert found.status == "note"
    assert told(found) == {("A", "B"): 2}


def test_labels_are_told_of_by_the_most_specific_note() -> None:
    found = checked(LABELS, note("A", "B"), note("B21", "A11"), note("A11", "B21"), note("A1", "B"))
    folded = {finding.nodes: finding.folded_into for finding in found.findings}

    assert folded == {
        ("A11", "B21"): (),
        ("B21", "A11"): ("excludes1:A11:B21",),
        ("A1", "B"): (),
        ("A", "B"): (),
    }
    assert found.folded == 1


def test_a_wide_note_is_folded_into_narrow_ones_that_tell_all_of_it() -> None:
    labels = {"a": ["A11", "B21"], "b": ["A2", "B1"]}
    found = checked(labels, note("A", "B", wide=True), note("A1", "B"), note("A", "B1"))
    folded = {finding.nodes: finding.folded_into for finding in found.findings}

    assert folded[("A", "B")] == ("excludes1:A:B1", "excludes1:A1:B")
    assert found.status == "warn"


def test_a_narrow_note_tells_before_a_deeper_wide_one() -> None:
    found = checked(LABELS, note("A11", "B21", wide=True), note("A", "B"))

    assert told(found) == {("A", "B"): 2}
    assert found.status == "warn"


def test_notes_of_a_node_that_exclude_the_same_are_one() -> None:
    found = checked(LABELS, note("A1", "B2", text="gout (B2)"), note("A1", "B2", text="pain (B2)"))

    assert told(found) == {("A1", "B2"): 2}
    assert "“gout (B2)”, “pain (B2)”" in found.findings[0].statement


def test_the_notes_that_could_be_read_are_counted() -> None:
    found = checked(LABELS, note("A1", "B2"), note("B", text="all its own (B1)"), unparsed=2)

    assert (found.denominator, found.denominator_unit) == (
        3,
        "instances with at least two labels (2 of 4 notes of release of May name only codes)",
    )


def test_without_notes_it_says_why_it_does_not_apply() -> None:
    found = CHECK.run(measure(labelled(PLAIN, {"a": ["A1", "B2"]}), Policy()))

    assert found.not_applicable == "this hierarchy has no Excludes1 notes"


@pytest.mark.parametrize("labels", [["A1"], []])
def test_without_two_labels_it_passes(labels: list[str]) -> None:
    found = CHECK.run(measure(labelled(noting(note("A1", "B2")), {"a": labels}), Policy()))

    assert (found.status, found.denominator) == ("pass", 0)


def test_without_readable_notes_nothing_is_told() -> None:
    assert checked(LABELS, unparsed=3).status == "pass"


ABOVE = {node: {node, *PLAIN.ancestors(node)} for node in NODES}


def apart(one: str, other: str) -> bool:
    return one not in ABOVE[other] and other not in ABOVE[one]


notes = st.lists(
    st.sampled_from([pair for pair in product(NODES, NODES) if apart(*pair)]), unique=True
)
datasets = st.lists(st.lists(st.sampled_from(NODES), max_size=4), min_size=1, max_size=6)


@given(notes, datasets)
def test_every_conflict_is_told_and_nothing_else(
    pairs: list[tuple[str, str]], records: list[list[str]]
) -> None:
    labels = {f"i{n}": record for n, record in enumerate(records)}
    found = checked(labels, *(note(*pair) for pair in pairs))
    conflicts = {
        pair: {(frozenset(two), name) for name, given in labels.items()
               for two in product(given, given)
               if pair[0] in ABOVE[two[0]] and pair[1] in ABOVE[two[1]]}
        for pair in pairs
    }  # fmt: skip
    by_nodes = {finding.nodes: finding for finding in found.findings}
    standing = [finding for finding in found.findings if not finding.folded_into]

    assert {nodes: finding.touched for nodes, finding in by_nodes.items()} == {
        pair: len({name for _, name in met}) for pair, met in conflicts.items() if met
    }
    told_of = [conflicts[pair] for pair in pairs if pair in {finding.nodes for finding in standing}]
    assert set().union(*told_of) == set().union(*conflicts.values())
    ids = {finding.id for finding in standing}
    assert all(set(finding.folded_into) <= ids for finding in found.findings)


@pytest.mark.slow
def test_a_planted_conflict_of_icd10cm_is_found_and_plain_comorbidity_is_not() -> None:
    planted = [
        (30, ["R739", "E119"]),
        (20, ["E119", "I10", "N179"]),
        (15, ["K5000", "K5190", "I10"]),
    ]
    dataset = labelled(icd10cm(), repeated(planted), table="diagnoses-10")
    found = CHECK.run(measure(dataset, built_in_policy("icd10cm")))

    assert told(found) == {("R73", "E08-E13"): 30, ("K50", "K51"): 15}
    assert {finding.severity for finding in found.findings} == {"warning"}
    assert "“diabetes mellitus (E08-E13)”" in found.findings[0].statement
    assert "release April 2026" in found.findings[0].statement
