"""Different labels are mapped once, as a dataset in memory maps every row."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import audit
from audit.counting.file import count_pairs
from audit.data.dataset import LabelDataset
from audit.data.mapping import LABELS, REASONS, LabelNodes, label_counts, label_nodes, summed_counts
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.coded import icd9cm
from fixtures.toy import toy

Row = tuple[str | None, str | None]

WRITTEN = ("dog", "cow", "object", "unicorn", "elf", None)
CODES = ("428.0", "4280", "401.9", "718.60", "250.97", "nonsense", "999.99", "V30.00")
rows = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.sampled_from(WRITTEN)))


def frame(found: list[Row]) -> pl.DataFrame:
    """Rows as `audit.data.batches.labels_of` gives them."""
    schema = {"instance": pl.String, "label": pl.String}
    made = pl.DataFrame(found, schema, orient="row")
    return made.with_columns(row=pl.int_range(pl.len()), counted=pl.lit(True))


def mapped(found: list[Row], hierarchy: Hierarchy) -> LabelNodes:
    return label_nodes(summed_counts([label_counts(frame(found))]), hierarchy)


def instances_by_number(labels: LabelNodes, found: list[Row]) -> np.ndarray:
    names = labels.written.filter(pl.col("number").is_not_null()).sort("number")["label"]
    having = [{i for i, label in found if i is not None and label == name} for name in names]
    return np.array(list(map(len, having)), np.int64)


@given(rows, st.integers(1, 4))
def test_counts_of_batches_add_up(found: list[Row], size: int) -> None:
    parts = [found[start : start + size] for start in range(0, len(found), size)]
    counts = summed_counts(label_counts(frame(part)) for part in parts)

    assert_frame_equal(counts, summed_counts([label_counts(frame(found))]))
    expected = {key: found.count(key) for key in found}
    assert counts["rows"].sum() == sum(expected.values()) == len(found)
    for label, _, homeless, n in counts.iter_rows():
        assert n == sum((i is None) == homeless and own == label for i, own in found)


@given(rows)
def test_every_number_is_of_one_label_with_a_node_or_a_reason(found: list[Row]) -> None:
    hierarchy, labels = toy(), mapped(found, toy())
    homed = {label for i, label in found if i is not None}

    numbered = labels.written.filter(pl.col("number").is_not_null())
    assert sorted(numbered["number"].to_list()) == list(range(len(homed)))
    for label, number in numbered.select("label", "number").iter_rows():
        node, reason = int(labels.node_of[number]), int(labels.reason_of[number])
        if label in hierarchy:
            assert (hierarchy.nodes[node], reason) == (label, -1)
        else:
            assert (node, REASONS[reason]) == (-1, "unknown_code" if label else "missing_code")
    assert labels.written["added"].is_null().equals(labels.written["node"].is_null())
    assert_frame_equal(labels.counts, summed_counts([label_counts(frame(found))]))
    assert dict(labels.counts.schema) == LABELS


@given(rows)
def test_rows_get_the_number_of_their_label(found: list[Row]) -> None:
    labels = mapped(found, toy())
    numbered = labels.numbered(frame(found))
    names = dict(labels.written.drop_nulls("number").select("number", "label").iter_rows())

    assert numbered.columns == ["instance", "label", "row"]
    assert numbered["instance"].to_list() == [i for i, _ in found]
    for (instance, label), number in zip(found, numbered["label"], strict=True):
        if instance is not None:
            assert names[number] == label


def test_a_row_that_is_not_counted_has_no_number() -> None:
    found: list[Row] = [("a", "dog"), ("b", None), ("c", None)]
    rows = frame(found).with_columns(counted=pl.col("instance") != "b")
    labels = label_nodes(summed_counts([label_counts(rows)]), toy())

    assert labels.numbered(rows)["label"].to_list() == [0, None, 1]
    assert labels.counts["rows"].sum() == 2


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(WRITTEN[:-1])), min_size=1))
def test_tables_are_those_of_a_dataset(found: list[Row]) -> None:
    dataset = LabelDataset.from_rows(frame(found).select("instance", "label"), toy())
    labels = mapped(found, toy())
    instances = instances_by_number(labels, found)

    assert_frame_equal(labels.refusals(instances), dataset.refusals)
    assert_frame_equal(labels.mappings(instances), dataset.mappings)
    without = dataset.ledger.instances_without_labels
    assert labels.ledger(len(dataset), without) == dataset.ledger


def test_codes_that_a_classification_lacks_hang_where_a_dataset_hangs_them() -> None:
    given_one = icd9cm()
    found: list[Row] = [(i, code) for i in "ab" for code in CODES]
    dataset = LabelDataset.from_rows(frame(found).select("instance", "label"), given_one)
    labels = mapped(found, given_one)

    assert labels.hierarchy.sha256 == dataset.hierarchy.sha256 != given_one.sha256
    hung = {labels.hierarchy.index(node) for node in {*labels.hierarchy.nodes} - {*given_one.nodes}}
    assert hung
    assert labels.hierarchy.assignable[sorted(hung)].all()
    assert_frame_equal(labels.mappings(np.full(len(CODES), 2)), dataset.mappings)
    assert_frame_equal(labels.refusals(np.full(len(CODES), 2)), dataset.refusals)


def test_a_row_without_an_instance_is_bad_whatever_its_label_is() -> None:
    labels = mapped([(None, "dog"), (None, "unicorn"), ("a", "dog")], toy())

    assert labels.refusals().select("reason", "label", "rows", "instances").rows() == [
        ("bad_row", "dog", 1, 0),
        ("bad_row", "unicorn", 1, 0),
    ]
    assert labels.ledger(1, 0).refused == {"bad_row": 2}
    assert len(labels.node_of) == 1


def test_no_label_at_all() -> None:
    labels = label_nodes(summed_counts([]), toy())

    assert labels.hierarchy.nodes == toy().nodes
    assert (len(labels.node_of), len(labels.reason_of)) == (0, 0)
    assert labels.ledger(0, 0).rows_read == 0
    assert labels.refusals().is_empty()
    assert labels.mappings(np.zeros(0, np.int64)).is_empty()


def test_refused_labels_come_before_those_that_are_missing() -> None:
    bad: list[Row] = [(None, None), (None, "elf"), (None, "dog"), ("a", None), ("a", "unicorn")]
    dataset = LabelDataset.from_rows(frame(bad).select("instance", "label"), toy())
    expected = [("bad_row", "dog"), ("bad_row", "elf"), ("bad_row", None)]
    for refusals in (mapped(bad, toy()).refusals(), dataset.refusals):
        assert refusals.select("reason", "label").rows()[:3] == expected


TITLED = pl.DataFrame(
    {
        "child": ["0", "1", "2", "3", "4"],
        "parent": ["", "0", "0", "2", "1"],
        "title": ["All", "Heart failure", "Lung (left)", "Other", "Other"],
    }
)


@pytest.mark.parametrize(
    ("labels", "nodes"),
    [
        (["Heart failure", "1", "HEART  failure", "none of it"], ["1", "1", "1", None]),
        (["Lung_(left) ?", "'Heart failure'", "x"], ["2", "1", None]),
        (["Other", "Heart failure"], [None, None]),
        (["Other", "Heart failure", "lung (left)"], [None, "1", "2"]),
        (["Lung (left) > Other", "All/Heart failure|Other"], ["3", "4"]),
        (["1", "Heart", "failure", "Heart failure"], ["1", None, None, None]),
    ],
)
def test_labels_are_titles_where_most_that_are_no_nodes_name_one_node(
    labels: list[str], nodes: list[str | None]
) -> None:
    rows = {"id": [*map(str, range(len(labels)))], "label": labels}
    hierarchy = audit.load_hierarchy(TITLED)
    read = audit.load_labels(rows, hierarchy, format="long")
    found = dict(read.mappings.select("label", "node").iter_rows())
    assert [found.get(label) for label in labels] == nodes
    said = [one for one in read.readings if one.option == "--codes as-written"]
    titled = sum(node not in (None, label) for node, label in zip(nodes, labels, strict=True))
    assert [one.rows for one in said] == [titled] * (titled > 0)
    alone = audit.load_labels(rows, hierarchy, format="long", codes="as-written")
    assert alone.ledger.rows_mapped == labels.count("1")
    batches = count_pairs(pl.DataFrame(rows), hierarchy, format="long")
    assert (batches.ledger.rows_mapped, batches.labels.readings) == (
        read.ledger.rows_mapped,
        read.readings,
    )


def test_marks_around_titles_stay_where_what_is_taken_off_is_stated() -> None:
    rows = {"id": ["1", "2", "3"], "label": ["Heart failure ?", "<b>Heart failure", "1"]}
    hierarchy = audit.load_hierarchy(TITLED)
    read = audit.load_labels(rows, hierarchy, strip=["<b>"])
    assert read.mappings["label"].to_list() == ["1"]
    read = audit.load_labels(rows, hierarchy, strip=["<b>", "?"])
    assert read.ledger.rows_mapped == 3
