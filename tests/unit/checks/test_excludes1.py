"""excludes1: which notes instances conflict with, worked by hand and by brute force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import pytest
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


def test_the_notes_that_could_be_read_are_counted() -> None:
    found = checked(LABELS, note("A1", "B2"), note("B", text="all its own (B1)"), unparsed=2)

    assert (found.denominator, found.denominator_unit) == (
        3,
        "instances with at least two labels (2 of 4 notes of release of May name only codes)",
    )


ABOVE = {node: {node, *PLAIN.ancestors(node)} for node in NODES}


def apart(one: str, other: str) -> bool:
    return one not in ABOVE[other] and other not in ABOVE[one]


notes = st.lists(
    st.sampled_from([pair for pair in product(NODES, NODES) if apart(*pair)]), unique=True
)


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
