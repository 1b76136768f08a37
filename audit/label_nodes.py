"""The node of each different label, found once before rows are counted in batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from audit.dataset import REASONS, Ledger, map_labels
from audit.hierarchy import Hierarchy
from audit.loaders.format import INSTANCES, ROWS, RawLabels

LABELS = {"label": pl.String, "homeless": pl.Boolean, "rows": pl.Int64}
"""Assertions by label, and whether they lack an instance."""


@dataclass(frozen=True, eq=False)
class LabelNodes:
    """The labels of a source, mapped as `audit.dataset.map_labels` maps them.

    Args:
        hierarchy: With a node for every label that was kept.
        nodes: ``label, node`` (index) of the labels that have one.
        rows_read: Assertions of the source.
        refusals: ``reason, label, rows``: what is refused, a row a label.
    """

    hierarchy: Hierarchy
    nodes: pl.DataFrame
    rows_read: int
    refusals: pl.DataFrame

    def ledger(self, instances: int, without_labels: int) -> Ledger:
        """What became of every row, once the instances are counted; groups are not read."""
        refused = dict(self.refusals.group_by("reason").agg(pl.col("rows").sum()).iter_rows())
        return Ledger(
            rows_read=self.rows_read,
            rows_mapped=self.rows_read - sum(refused.values()),
            refused={reason: refused[reason] for reason in REASONS if reason in refused},
            instances=instances,
            instances_without_labels=without_labels,
            groups=None,
        )


def with_nodes(rows: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Rows with the index of the ``node`` of their ``label``, null where ``nodes`` has none."""
    return rows.join(nodes, on="label", how="left", maintain_order="left")


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
    asked = counts.filter(pl.col("label").is_not_null() & ~pl.col("homeless"))["label"]
    placed = map_labels(_each_once(asked), hierarchy)
    nodes = pl.DataFrame({"node": placed.hierarchy.nodes}).with_row_index("index")
    mapped = placed.mappings.select("label", "node").join(nodes, on="node", how="left")
    reasons = counts.join(placed.refusals.select("label", "reason"), on="label", how="left")
    homeless, missing = pl.col("homeless"), pl.col("label").is_null()
    reason = pl.when(homeless).then(pl.lit("bad_row")).when(missing).then(pl.lit("missing_code"))
    refused = reasons.with_columns(reason=reason.otherwise("reason")).drop_nulls("reason")
    return LabelNodes(
        hierarchy=placed.hierarchy,
        nodes=mapped.select("label", pl.col("index").cast(pl.Int64).alias("node")),
        rows_read=int(counts["rows"].sum()),
        refusals=refused.select("reason", "label", "rows").sort("reason", "label", nulls_last=True),
    )


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
