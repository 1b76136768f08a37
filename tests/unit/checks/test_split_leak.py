"""split_leak: what stands in two splits, and what training lacks, against plain sets."""

from __future__ import annotations

from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.data.dataset import LabelDataset
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult, Finding
from fixtures.checked import CHECK_OF
from fixtures.toy import toy

CHECK = CHECK_OF["split_leak"]

NODES = [*toy().nodes]
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
    assert (finding.evidence["instances"], finding.evidence["of"]) == (1, 2)
    assert [(p.nodes, p.evidence["instances"]) for p in finding.parts] == [(("test", "train"), 1)]


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
    assert (finding.evidence["groups"], finding.evidence["of_groups"]) == (1, 2)
    assert (finding.evidence["instances"], finding.evidence["of"]) == (3, 5)
    assert finding.parts[0].evidence["groups"] == 1


def test_a_group_leaks_through_one_torn_instance_where_it_has_another() -> None:
    torn: list[Row] = [("a", "dog", "p", "train"), ("a", "dog", "p", "test")]

    assert set(by_key(checked(*torn, ("b", "dog", "q", "test")))) == {"instance"}
    assert set(by_key(checked(*torn, ("b", "dog", "p", "test")))) == {"instance", "group"}


def new_codes(times: int, groups: bool = False) -> list[Row]:
    """60 instances in training and 20 in test, of which so many carry what training lacks."""
    trained: list[Row] = [(f"a{n:02}", "dog", None, "Training") for n in range(60)]
    tested: list[Row] = [
        (f"b{n:02}", label, f"p{n // 10}" if groups else None, "test")
        for n in range(20)
        for label in (["cow", "bird"] if n < times else ["dog"])
    ]
    return [*trained, *tested]


def test_labels_that_training_lacks_are_a_note() -> None:
    found = checked(*new_codes(9))
    (finding,) = found.findings
    values = finding.evidence

    assert (found.status, finding.key) == ("note", ("unseen",))
    assert "'Training'" in finding.statement
    assert (values["labels"], values["instances"], values["of"]) == (2, 9, 20)
    by_hand = 2 * comb(20, 9) / comb(80, 9)
    assert values["expected_labels"] == pytest.approx(by_hand)
    assert [(p.nodes, p.evidence["instances"]) for p in finding.parts] == [
        (("bird",), 9),
        (("cow",), 9),
    ]


def test_a_rare_label_that_any_split_would_leave_out_is_no_finding() -> None:
    assert checked(*new_codes(1)).findings == ()


def test_what_one_group_brings_alone_is_no_surprise_where_groups_are_split() -> None:
    assert len(checked(*new_codes(9)).findings) == 1
    assert checked(*new_codes(9, groups=True)).findings == ()


@pytest.mark.slow
def test_a_random_split_is_reported_no_oftener_than_stated() -> None:
    found = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        rows: list[Row] = []
        for n in range(200):
            split = "train" if draw.random() < 0.8 else "test"
            labels = {NODES[int(k)] for k in np.minimum(draw.geometric(0.4, 3), len(NODES)) - 1}
            rows += [(f"i{n:03}", label, None, split) for label in sorted(labels)]
        found += bool(checked(*rows).findings)

    assert found <= 4  # at 2.5 %, more in 2 of 1,000 sets of seeds


def test_without_a_name_the_largest_split_is_trained_on() -> None:
    found = checked(("a", "dog", None, "x"), ("b", "cow", None, "y"), ("c", "dog", None, "y"))

    assert found.status == "pass"


def test_without_a_split_the_question_cannot_be_asked() -> None:
    assert checked(("a", "dog", None, None)).not_applicable == "no split is named"
    one = checked(("a", "dog", None, "train"), ("b", "dog", None, "train"))
    assert (one.status, one.denominator) == ("pass", 2)


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

    touched = {key: int(one.evidence["instances"] or 0) for key, one in found.items()}
    assert touched.get("instance", 0) == len(torn)
    assert "group" not in found  # each is one instance
    if "unseen" in found and "train" in {s for _, _, s in drawn}:
        inside = {label for i in splits if "train" in splits[i] for label in labels[i]}
        unseen = {label for i in splits if "train" not in splits[i] for label in labels[i]} - inside
        assert found["unseen"].evidence["labels"] == len(unseen)
