"""split_leak: what stands in two splits, and what training lacks, against plain sets."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.checks.split_leak import CHECK
from audit.dataset import LabelDataset
from audit.measure import measure
from audit.policy import Policy
from audit.result import CheckResult, Finding
from fixtures.toy import toy

Row = tuple[str, str | None, str | None, str | None]


def checked(*rows: Row) -> CheckResult:
    columns = dict.fromkeys(("instance", "label", "group", "split"), pl.String)
    dataset = LabelDataset.from_rows(pl.DataFrame(rows, columns, orient="row"), toy())
    return CHECK.run(measure(dataset, Policy()))


def by_key(result: CheckResult) -> dict[str, Finding]:
    return {finding.key[0]: finding for finding in result.findings}


def test_an_instance_in_two_splits_is_an_error() -> None:
    found = checked(
        ("a", "dog", None, "train"),
        ("a", "cow", None, "test"),
        ("b", "cow", None, "train"),
        ("c", "dog", None, None),
    )
    finding = by_key(found)["instance"]

    assert (found.status, found.denominator) == ("fail", 2)
    assert (finding.evidence["instances"].value, finding.evidence["of"].value) == (1, 2)
    assert [(p.nodes, p.evidence["instances"].value) for p in finding.parts] == [
        (("test", "train"), 1)
    ]


def test_a_group_in_two_splits_is_an_error_with_all_its_instances() -> None:
    found = checked(
        ("a", "dog", "p", "train"),
        ("b", "dog", "p", "dev"),
        ("c", "dog", "p", "train"),
        ("d", "dog", "q", "train"),
        ("e", "dog", "q", None),
        ("f", "dog", None, "dev"),
    )
    (finding,) = found.findings

    assert (found.status, finding.key) == ("fail", ("group",))
    assert (finding.evidence["groups"].value, finding.evidence["of_groups"].value) == (1, 2)
    assert (finding.evidence["instances"].value, finding.evidence["of"].value) == (3, 5)
    assert finding.parts[0].evidence["groups"].value == 1


def test_a_group_leaks_through_one_torn_instance() -> None:
    found = checked(
        ("a", "dog", "p", "train"), ("a", "dog", "p", "test"), ("b", "dog", "q", "test")
    )

    assert set(by_key(found)) == {"instance", "group"}


def test_labels_that_training_lacks_are_a_note() -> None:
    found = checked(
        ("a", "dog", None, "Training"),
        ("b", "cow", None, "test"),
        ("c", "cow", None, "test"),
        ("c", "bird", None, "test"),
        ("d", "dog", None, "dev"),
    )
    (finding,) = found.findings

    assert (found.status, finding.key) == ("note", ("unseen",))
    assert "'Training'" in finding.statement
    assert finding.evidence["labels"].value == 2
    assert (finding.evidence["instances"].value, finding.evidence["of"].value) == (2, 3)
    assert [(p.nodes, p.evidence["instances"].value) for p in finding.parts] == [
        (("cow",), 2),
        (("bird",), 1),
    ]


def test_without_a_name_the_largest_split_is_trained_on() -> None:
    found = checked(("a", "dog", None, "x"), ("b", "cow", None, "y"), ("c", "dog", None, "y"))

    assert found.status == "pass"


def test_without_two_splits_the_question_cannot_be_asked() -> None:
    assert checked(("a", "dog", None, None)).not_applicable == "no split is named"
    one = checked(("a", "dog", None, "train"), ("b", "dog", None, "train"))
    assert one.not_applicable == "all instances stand in one split"


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcde"),
            st.sampled_from(["dog", "cow", "bird"]),
            st.sampled_from(["train", "test", "dev"]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_it_equals_plain_sets(drawn: list[tuple[str, str, str]]) -> None:
    splits = {i: {s for j, _, s in drawn if j == i} for i, _, _ in drawn}
    labels = {i: {label for j, label, _ in drawn if j == i} for i, _, _ in drawn}
    found = by_key(checked(*((i, label, f"of {i}", s) for i, label, s in drawn)))
    torn = {i for i, own in splits.items() if len(own) > 1}

    for key in ("instance", "group"):
        assert (int(found[key].evidence["instances"].value or 0) if key in found else 0) == len(
            torn
        )
    if "train" in {s for _, _, s in drawn}:
        inside = {label for i in splits if "train" in splits[i] for label in labels[i]}
        unseen = {label for i in splits if "train" not in splits[i] for label in labels[i]} - inside
        assert (found["unseen"].evidence["labels"].value if unseen else 0) == len(unseen)
        assert ("unseen" in found) == bool(unseen)
