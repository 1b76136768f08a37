"""duplicate_label: repeated labels by hand, and against counting in plain Python."""

from __future__ import annotations

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.coded import icd9cm
from fixtures.labelled import labelled
from fixtures.toy import toy

CHECK = CHECK_OF["duplicate_label"]

LEAVES = ["dog", "cow", "bird", "tool"]


def checked(labels: dict[str, list[str]]) -> CheckResult:
    return CHECK.run(measure(labelled(toy(), labels), Policy()))


def test_it_is_one_note_with_its_labels() -> None:
    found = checked({"a": ["dog"] * 3 + ["cow"], "b": ["cow"], "c": ["cow", "cow"], "d": []})
    (finding,) = found.findings

    assert (found.status, found.denominator) == ("note", 3)
    assert finding.evidence["instances"] == 2
    assert finding.evidence["share"] == 2 / 3
    assert finding.evidence["extra"] == 3
    assert finding.evidence["labels"] == 2
    assert [p.nodes for p in finding.parts] == [("cow",), ("dog",)]


def test_a_code_written_in_two_ways_is_one_label() -> None:
    dataset = labelled(icd9cm(), {"a": ["4019", "401.9"]}, table="diagnoses")

    assert CHECK.run(measure(dataset, Policy())).status == "note"


def test_an_instance_in_two_places_is_left_to_the_other_check(toy_hierarchy: Hierarchy) -> None:
    rows = [("a", "dog", "train"), ("a", "dog", "test"), ("b", "dog", "train"), ("b", "dog", None)]
    frame = pl.DataFrame(rows, ["instance", "label", "split"], orient="row")
    found = CHECK.run(measure(LabelDataset.from_rows(frame, toy_hierarchy), Policy()))

    assert [f.evidence["instances"] for f in found.findings] == [1]


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from(LEAVES)), min_size=1))
def test_extra_rows_are_rows_less_different_labels(labels: dict[str, list[str]]) -> None:
    counts = {i: Counter(own) for i, own in labels.items()}
    touched = [i for i, own in counts.items() if any(n > 1 for n in own.values())]
    extra = sum(len(own) - len(set(own)) for own in labels.values())
    findings = checked(labels).findings

    assert [f.evidence["instances"] for f in findings] == [len(touched)] * bool(touched)
    assert [f.evidence["extra"] for f in findings] == [extra] * bool(touched)
