"""The ledger: every row is mapped or refused, and batches count what a dataset holds."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit.counting.label_nodes import LABELS, LabelNodes, label_counts, label_nodes, summed_counts
from audit.data.dataset import LabelDataset
from audit.data.mapping import REASONS, mapped
from audit.data.numbered import NumberedRows
from audit.data.rows import completed
from audit.engine.pairs.record_counts import RecordCounts
from audit.engine.pairs.sums import counts_by_place
from fixtures.coded import icd9cm

LABEL = st.sampled_from(["4019", "401.9", "3893", "71860", "2765", "V99", "N/A", "486.", None])
TABLE = st.sampled_from([None, None, "diagnoses", "procedures", "diagnoses-10", "icd-9"])
ROW = st.tuples(
    st.sampled_from(["a", "b", "c", None]),
    LABEL,
    TABLE,
    st.sampled_from([None, None, "left_out", "bad_row"]),
    st.booleans(),
)


def frame(found: list[tuple[str | None, str | None, str | None, str | None, bool]]) -> pl.DataFrame:
    """Rows as a reader gives them; one without an instance is always counted, and refused."""
    names = ["instance", "label", "table", "refused", "counted"]
    homeless = pl.col("instance").is_null()
    made = pl.DataFrame(found, dict.fromkeys(names[:4], pl.String) | {"counted": pl.Boolean},
                        orient="row")  # fmt: skip
    counted = pl.col("counted") | homeless | pl.col("label").is_not_null()
    refused = pl.when(homeless).then(pl.lit("bad_row")).otherwise("refused")
    rows = completed(made.with_columns(counted=counted, refused=refused))
    return rows.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))


def counted(rows: pl.DataFrame) -> LabelNodes:
    return label_nodes(summed_counts([label_counts(rows)]), icd9cm())


@given(st.lists(ROW, max_size=12), st.integers(1, 4))
def test_every_row_is_in_the_ledger_once_whole_and_in_batches(
    found: list[tuple[str | None, str | None, str | None, str | None, bool]], size: int
) -> None:
    rows = frame(found)
    dataset = LabelDataset(**mapped(NumberedRows.of(rows), icd9cm()))
    ledger = dataset.ledger
    assert ledger.rows_read == rows["counted"].sum()
    assert ledger.rows_read == ledger.rows_mapped + sum(ledger.refused.values())
    assert {*ledger.refused} <= {*REASONS}
    assert dataset.instances["instance"].to_list() == sorted({one[0] for one in found if one[0]})
    assert dataset.mappings["rows"].sum() == ledger.rows_mapped == len(dataset.assertions)

    labels = counted(rows)
    parts = [label_counts(part) for part in rows.iter_slices(size)]
    assert_frame_equal(summed_counts(parts), labels.counts)
    assert dict(labels.counts.schema) == LABELS
    parts = [labels.numbered(part) for part in rows.iter_slices(size)]
    numbers = pl.concat([labels.numbered(rows[:0]), *parts])
    assert_frame_equal(numbers, labels.numbered(rows))
    homed = numbers.drop_nulls().unique(["instance", "label"])
    instances = np.bincount(homed["label"].to_numpy(), minlength=len(labels.node_of))
    without = ledger.instances_without_labels
    lengths = counts_by_place(np.array([without, len(dataset) - without], np.int64))
    records = RecordCounts({"label": counts_by_place(instances), "length": lengths})
    known = labels.counted(records)
    assert_frame_equal(known.mappings, dataset.mappings, check_row_order=False)
    assert_frame_equal(known.refusals, dataset.refusals)
    assert known.hierarchy.sha256 == dataset.hierarchy.sha256
    assert known.ledger == ledger


@given(st.lists(ROW, max_size=12))
def test_a_number_is_that_of_a_label_with_its_node_or_reason(
    found: list[tuple[str | None, str | None, str | None, str | None, bool]],
) -> None:
    rows = frame(found)
    labels = counted(rows)
    own = labels.written.drop_nulls("number").sort("number")
    assert own["number"].to_list() == [*range(len(own))]
    nodes = [None if n < 0 else labels.hierarchy.nodes[n] for n in labels.node_of]
    reasons = [None if n < 0 else REASONS[n] for n in labels.reason_of]
    assert (own["node"].to_list(), own["reason"].to_list()) == (nodes, reasons)
    assert all((a is None) != (b is None) for a, b in zip(nodes, reasons, strict=True))
    keys = own.select("label", "table", "refused").rows()
    for row, number in zip(rows.rows(named=True), labels.numbered(rows)["label"], strict=True):
        if number is None:
            assert row["instance"] is None or not row["counted"]
        elif row["instance"] is not None:
            assert keys[number] == (row["label"], row["table"], row["refused"])
