"""What tasks of a count on Spark make of rows, however the rows are shared among them."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import Hierarchy
from audit.counting import spark
from fixtures import brute_force as plain
from fixtures.brute_force_counts import Spelled, entailed, in_line, record_counts
from fixtures.examples import examples
from fixtures.named_counts import (
    confusion_of_count,
    pairs_of_count,
    records_of_count,
    supports_of_count,
)
from fixtures.task_counts import ROWS, counted_by_tasks, labels_of, sums
from fixtures.toy import toy

LABELS = ("dog", " cow ", "bird", "tool", "pet", "unicorn", None)
SPELLED = Spelled(
    node_of={node: node for node in ("dog", "cow", "bird", "tool", "pet")},
    reason_of={"unicorn": "unknown_code", None: "missing_code"},
    residual={},
)
Row = tuple[int, int]


def frame_of(rows: list[Row]) -> pl.DataFrame:
    schema = {"instance": pl.String, "label": pl.String}
    return pl.DataFrame([(f"i{i}", LABELS[j]) for i, j in rows], schema=schema, orient="row")


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=60),
    st.integers(1, 4),
)
@examples(15)
def test_counts_do_not_depend_on_how_many_tasks_count(rows: list[Row], n_tasks: int) -> None:
    hierarchy = toy()
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    stripped = [label and label.strip() for label in LABELS]
    written = {f"i{i}": [stripped[j] for other, j in rows if other == i] for i, _ in rows}
    labels = {
        i: {SPELLED.node_of[w] for w in own if w in SPELLED.node_of} for i, own in written.items()
    }
    alone = entailed(parents, labels)

    found = counted_by_tasks(frame_of(rows), hierarchy, n_tasks=n_tasks)

    assert {kind: own for kind, own in records_of_count(found).items() if own} == {
        kind: own for kind, own in record_counts(parents, written, SPELLED).items() if own
    }
    assert pairs_of_count(found) == {
        pair: (joint, joint if in_line(parents, *pair) else alone.get(pair, 0))
        for pair, joint in plain.joints(parents, labels).items()
    }
    assert confusion_of_count(found) == pytest.approx(plain.confusions(parents, labels), rel=1e-12)
    assert {node: support for node, (support, _) in supports_of_count(found).items()} == {
        node: support for node, support in plain.supports(parents, labels).items() if support
    }
    assert (found.ledger.instances, found.ledger.rows_read) == (len(written), len(rows))


def test_tasks_without_rows_make_no_pair(toy_hierarchy: Hierarchy) -> None:
    rows = frame_of([])
    labels = labels_of(rows, toy_hierarchy)

    assert [*spark.numbered(ROWS, labels, [])] == []
    assert spark.PAIRS not in sums(rows, labels)["kind"]
    assert len(counted_by_tasks(rows, toy_hierarchy)) == 0
