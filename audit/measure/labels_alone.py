"""Labels that came with the files of an analysis as a dataset, where there is no other one."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.data.dataset import LabelDataset
from audit.data.mapping import mapped
from audit.data.numbered import NumberedRows
from audit.data.rows import completed
from audit.hierarchies.hierarchy import Hierarchy

FLAT = "flat"
"""Name of the hierarchy that has all labels below one root."""


def labels_alone(
    rows: pl.DataFrame,
    instances: pl.Series,
    format: str,
    sources: tuple[Path, ...],
    hierarchy: Hierarchy | None,
) -> LabelDataset:
    """A dataset of labels.

    Args:
        rows: ``instance, label``, each once, in order; where rows were refused before, also
            ``refused``, the reason, and neither instance nor label.
        instances: Every instance once, in order.
        format: Format of the dataset, by which it is known to be these labels alone.
        hierarchy: The hierarchy; None to have all labels below one root.
    """
    hierarchy = hierarchy or _flat(rows["label"].drop_nulls().unique().sort())
    every = instances.alias("instance").to_frame().with_columns(counted=pl.lit(False))
    asserted = completed(rows.with_columns(counted=pl.lit(True)))
    fields = mapped(NumberedRows.of(pl.concat([completed(every), asserted])), hierarchy)
    return LabelDataset(**fields, sources=sources, format=format)


def _flat(labels: pl.Series) -> Hierarchy:
    root = "all labels"
    while root in labels:
        root = f"({root})"
    edges = pl.DataFrame({"child": labels, "parent": [root] * len(labels)})
    return Hierarchy.build(edges, name="labels without a hierarchy")
