"""Labels of data that are counted without loading their instances, each mapped once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.base.readings import Reading
from audit.data.columns import Columns
from audit.data.mapping import REASONS, Ledger, refused_rows
from audit.data.placing import placed
from audit.engine.pairs.record_counts import Records
from audit.hierarchies.hierarchy import Hierarchy

KEYS = ("label", "table", "refused", "homeless")
LABELS = schema(("label table refused", pl.String), ("homeless", pl.Boolean), ("rows", pl.Int64))
"""Columns of label counts: number of assertions by label, its table, the reason to refuse it that
is known already, and whether it lacks an instance."""


def label_counts(rows: pl.DataFrame) -> pl.DataFrame:
    """Number of assertions of each label, as `LABELS`, from rows as `audit.data.rows.ROWS`."""
    homeless = pl.col("instance").is_null()
    asserted = rows.filter("counted").select("label", "table", "refused", homeless=homeless)
    first = asserted[:1]  # what is alike in all rows need not be grouped by
    alike = [one for one in KEYS[1:] if len(first) and asserted[one].eq_missing(first[one]).all()]
    keys = [name for name in KEYS if name not in alike]
    same = [asserted[name].first() for name in alike]
    constants = [pl.lit(one).alias(name) for one, name in zip(same, alike, strict=True)]
    counts = asserted.group_by(keys).agg(pl.len().alias("rows")).with_columns(constants)
    return counts.select(pl.col(name).cast(kind) for name, kind in LABELS.items())


def summed_counts(counts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Sum of the rows of several batches for each of `KEYS`, sorted by them, nulls last."""
    listed = pl.concat([pl.DataFrame(schema=LABELS), *counts])
    return listed.group_by(KEYS).agg(pl.col("rows").sum()).sort(KEYS, nulls_last=True)


@dataclass(frozen=True, eq=False)
class LabelNodes:
    """The labels, mapped or refused, of a source that is counted without loading its instances.

    Args:
        hierarchy: The hierarchy, with a node for every label that was kept.
        written: ``label, table, refused, homeless, rows, number, reason, node, added``: the labels
            as written; ``number`` is null if the rows have no instance, ``node`` and ``added`` if
            the label is refused.
        node_of: Node of each label number, shape (n_labels,); -1: refused.
        reason_of: Position in `REASONS` of each label number, shape (n_labels,); -1: not refused.
        readings: What columns, cells and labels were taken to mean.
        persons: Whether rows are records of persons.
    """

    hierarchy: Hierarchy
    written: pl.DataFrame
    node_of: IntArray
    reason_of: IntArray
    readings: tuple[Reading, ...] = ()
    persons: bool = False

    @property
    def counts(self) -> pl.DataFrame:
        """Number of assertions of each label, refused ones too, as `label_counts` returns it."""
        return self.written.select(*LABELS)

    def numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Convert rows as `audit.data.rows.ROWS` to ``instance, label`` with label numbers.

        ``label`` is null of a row without a label to count.
        """
        known = self.written.filter(~pl.col("homeless"))
        keys = [key for key in KEYS[:3] if key == "label" or known[key].n_unique() > 1]
        joined = rows.select("instance", "counted", *keys).join(
            known.select(*keys, "number"),
            on=keys,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        return joined.select("instance", pl.when("counted").then("number").alias("label"))

    def counted(self, records: Records) -> CountedLabels:
        """The ledger, and the mapped and refused labels with their rows and counted instances."""
        lengths, labelled = records.at("length", 1), records.at("label", len(self.node_of))
        numbers = pl.DataFrame({"number": np.arange(len(labelled)), "instances": labelled})
        lines = self.written.join(numbers, on="number", how="left").with_columns(
            pl.col("rows").cast(pl.UInt32), pl.col("instances").fill_null(0).cast(pl.UInt32)
        )
        by_label = lines.drop_nulls("reason").group_by("reason", "label", "table")
        refusals = by_label.agg(pl.col("rows", "instances").sum())
        mapped = lines.drop_nulls("node")
        refused, read = refused_rows(refusals), int(self.written["rows"].sum())
        return CountedLabels(
            hierarchy=self.hierarchy,
            readings=self.readings,
            ledger=Ledger(
                rows_read=read,
                rows_mapped=read - sum(refused.values()),
                refused=refused,
                instances=int(lengths.sum()),
                instances_without_labels=int(lengths[0]),
                groups=None,
            ),
            mappings=mapped.select("label", "table", "node", "added", "rows", "instances").sort(
                "label"
            ),
            refusals=refusals.sort("reason", "label", "table", nulls_last=True),
        )


@dataclass(frozen=True, eq=False)
class CountedLabels:
    """What is known of labels and rows that were counted, as of a `LabelDataset`.

    Args:
        hierarchy: The hierarchy, with a node for every label that was kept.
        readings: What columns, cells and labels were taken to mean.
        ledger: The ledger of all rows; groups are not read.
        mappings: The mapped labels, in the form of `LabelDataset.mappings`.
        refusals: The refused labels, in the form of `LabelDataset.refusals`.
    """

    hierarchy: Hierarchy
    readings: tuple[Reading, ...]
    ledger: Ledger
    mappings: pl.DataFrame
    refusals: pl.DataFrame


def label_nodes(
    counts: pl.DataFrame,
    hierarchy: Hierarchy,
    columns: Columns | None = None,
    where: object = "",
) -> LabelNodes:
    """Map each distinct label of some label counts to its node, or refuse it; as `placed`."""
    homeless, missing = pl.col("homeless"), pl.col("label").is_null()
    asked = counts.filter(~homeless & ~missing & pl.col("refused").is_null())
    found = placed(asked, hierarchy, columns, where)
    places = found.frame.with_columns(refused=pl.lit(None, pl.String))
    keys = ("label", "table", "refused")
    by_label = counts.join(places, on=keys, how="left", nulls_equal=True)
    known = pl.when(homeless).then(pl.lit("bad_row")).otherwise("refused")
    lacking = pl.when(missing).then(pl.lit("missing_code"))
    written = by_label.with_columns(
        number=pl.when(~homeless).then((~homeless).cum_sum().cast(pl.Int64) - 1),
        reason=pl.coalesce(known, lacking, "reason"),
        node=pl.when(~homeless).then("node"),
        added=pl.when(~homeless & pl.col("node").is_not_null()).then("added"),
    )
    numbered = written.filter(~homeless)
    return LabelNodes(
        hierarchy=found.hierarchy,
        written=written,
        node_of=_places_of(numbered["node"], found.hierarchy.nodes),
        reason_of=_places_of(numbered["reason"], REASONS),
        readings=found.readings,
    )


def _places_of(values: pl.Series, names: Iterable[str]) -> IntArray:
    """Position of each value among names, shape (n,); -1 where it is none."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places.get(value, -1) for value in values], np.int64)
