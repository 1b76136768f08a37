"""The node of each different label, found once before rows are counted in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.data.dataset import REASONS, Ledger, map_labels
from audit.data.label_format import INSTANCES, ROWS, RawLabels
from audit.hierarchies.hierarchy import Hierarchy

LABELS: dict[str, Any] = {"label": pl.String, "homeless": pl.Boolean, "rows": pl.Int64}
"""Assertions by label, and whether they lack an instance."""


@dataclass(frozen=True, eq=False)
class LabelNodes:
    """The labels of a source, mapped as `audit.data.dataset.map_labels` maps them.

    Args:
        hierarchy: With a node for every label that was kept.
        written: ``label, homeless, rows, number, reason, node, added``: the labels as
            written; ``number`` is null where rows have no instance, ``node`` and what follows it
            where they are refused.
        node_of: Node of each number, shape (n_labels,); -1: refused.
        reason_of: Place in `REASONS` of each number, shape (n_labels,); -1: not refused.
    """

    hierarchy: Hierarchy
    written: pl.DataFrame
    node_of: IntArray
    reason_of: IntArray

    @property
    def counts(self) -> pl.DataFrame:
        """How often each label is asserted, as `label_counts` gives it."""
        return self.written.select(*LABELS)

    def numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows as `audit.counting.instances.ROWS`, from those of `audit.data.batches.labels_of`."""
        numbers = self.written.filter(~pl.col("homeless")).select("label", "number")
        joined = rows.join(numbers, on="label", how="left", nulls_equal=True, maintain_order="left")
        return joined.select("instance", pl.when("counted").then("number").alias("label"), "row")

    def ledger(self, instances: int, without_labels: int) -> Ledger:
        """What became of every row, once the instances are counted; groups are not read."""
        refused = dict(self.refusals().group_by("reason").agg(pl.col("rows").sum()).iter_rows())
        read = int(self.written["rows"].sum())
        return Ledger(
            rows_read=read,
            rows_mapped=read - sum(refused.values()),
            refused={reason: refused[reason] for reason in REASONS if reason in refused},
            instances=instances,
            instances_without_labels=without_labels,
            groups=None,
        )

    def refusals(self, instances: IntArray | None = None) -> pl.DataFrame:
        """What was refused, as a dataset tells it.

        Args:
            instances: With each label, by number, shape (n_labels,); None: not counted yet.
        """
        refused = self._with(instances).filter(pl.col("reason").is_not_null())
        by_label = refused.group_by("reason", "label", "table").agg(
            pl.col("rows", "instances").sum()
        )
        return by_label.sort("reason", "label", "table", nulls_last=True)

    def mappings(self, instances: IntArray) -> pl.DataFrame:
        """What was mapped, as a dataset tells it; parameters as of `refusals`."""
        mapped = self._with(instances).filter(pl.col("node").is_not_null())
        columns = ("label", "table", "node", "added", "rows", "instances")
        return mapped.select(columns).sort("label")

    def _with(self, instances: IntArray | None) -> pl.DataFrame:
        counts = np.zeros(len(self.node_of), np.int64) if instances is None else instances
        counted = pl.DataFrame({"number": np.arange(len(counts)), "instances": counts})
        joined = self.written.join(counted, on="number", how="left").with_columns(
            pl.col("instances").fill_null(0), table=pl.lit(None, pl.String)
        )
        return joined.with_columns(pl.col("rows", "instances").cast(pl.UInt32))


def label_counts(rows: pl.DataFrame) -> pl.DataFrame:
    """How often each label is asserted in rows with ``instance, label, counted``."""
    asserted = rows.filter("counted").select("label", homeless=pl.col("instance").is_null())
    return asserted.group_by("label", "homeless").agg(pl.len().cast(pl.Int64).alias("rows"))


def summed_counts(counts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Label counts of several batches together, sorted."""
    together = pl.concat([pl.DataFrame(schema=LABELS), *counts])
    by_label = together.group_by("label", "homeless").agg(pl.col("rows").sum())
    return by_label.sort("label", "homeless", nulls_last=True)


def label_nodes(counts: pl.DataFrame, hierarchy: Hierarchy) -> LabelNodes:
    """Map each different label once."""
    homeless, missing = pl.col("homeless"), pl.col("label").is_null()
    placed = map_labels(_each_once(counts.filter(~homeless & ~missing)["label"]), hierarchy)
    mapped = placed.mappings.select("label", "node", "added")
    refused = placed.refusals.select("label", reason_told="reason")
    told = counts.join(refused, on="label", how="left").join(mapped, on="label", how="left")
    reason = pl.when(homeless).then(pl.lit("bad_row")).when(missing).then(pl.lit("missing_code"))
    written = told.with_columns(
        number=pl.when(~homeless).then((~homeless).cum_sum().cast(pl.Int64) - 1),
        reason=reason.otherwise("reason_told"),
        **{name: pl.when(~homeless).then(name) for name in ("node", "added")},
    ).drop("reason_told")
    numbered = written.filter(~homeless)
    places = {node: index for index, node in enumerate(placed.hierarchy.nodes)}
    reasons = {reason: index for index, reason in enumerate(REASONS)}
    return LabelNodes(
        hierarchy=placed.hierarchy,
        written=written,
        node_of=_looked_up(numbered["node"], places),
        reason_of=_looked_up(numbered["reason"], reasons),
    )


def _looked_up(values: pl.Series, places: Mapping[str, int]) -> IntArray:
    return np.array([places.get(value, -1) for value in values], np.int64)


def _each_once(labels: pl.Series) -> RawLabels:
    rows = pl.DataFrame({"instance": labels, "label": labels})
    missing = [pl.lit(None, kind).alias(name) for name, kind in ROWS.items() if name not in rows]
    instances = rows.select("instance").with_columns(
        pl.lit(None, kind).alias(name) for name, kind in INSTANCES.items() if name != "instance"
    )
    return RawLabels(
        rows=rows.with_columns(missing).select(*ROWS),
        instances=instances.select(*INSTANCES),
        sources=(),
    )
