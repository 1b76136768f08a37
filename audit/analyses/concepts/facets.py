"""Facets of labels: the concept that a label has in each dimension, as told, or by depth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.tables import open_table
from audit.data.records import pick
from audit.hierarchies.hierarchy import Hierarchy

FACETS = schema(("node dimension concept", pl.String()), ("nested", pl.Boolean()))
"""Columns of facets, dimension after dimension; a node has at most one concept in a dimension.
Dimensions are crossed, which vary freely, or nested: ancestors at a depth of a hierarchy."""


def read_facets(path: Path | str) -> pl.DataFrame:
    """Read the columns ``node, dimension, concept`` as `FACETS`; all dimensions are crossed.

    Rows that say the same count once; dimensions are in the order in which they first occur.

    Args:
        path: CSV, TSV or Parquet.

    Raises:
        InputError: If the file cannot be read.
        SchemaError: If it has no row, a column is missing, a value is blank, a node has two
            concepts in a dimension, or a dimension has one concept.
    """
    source = open_table(Path(path))
    table = pick(source.frame(), source, node="node", dimension="dimension", concept="concept")
    blank = table.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_true()
    if len(blank) or table.is_empty():
        rows = [f"row {row + 1}" for row in blank.head(5)]
        raise SchemaError(
            "rows with a node, a dimension and a concept are required",
            found=f"a blank in {first_cases(rows, len(blank))}" if rows else "no row",
            where=source,
            hint="leave out the row of a node that has no concept in a dimension",
        )
    facets = table.unique(maintain_order=True).with_columns(nested=pl.lit(False))
    refuse_unfit(facets, source)
    return facets


def refuse_unfit(facets: pl.DataFrame, where: object = "") -> None:
    """Refuse facets in which a node has two concepts in a dimension, or a dimension has one."""
    several = facets.unique().filter(pl.struct("node", "dimension").is_duplicated())
    if len(several):
        cases = several.select(pl.format("{} in {}", "node", "dimension")).to_series().unique()
        raise SchemaError(
            "a node must have one concept in a dimension",
            found=f"several of {first_cases(cases.sort())}",
            where=where,
            hint="split the dimension in two, or keep the concept that matters",
        )
    of = facets.group_by("dimension", maintain_order=True).agg(pl.col("concept").n_unique())
    single = of.filter(pl.col("concept") < 2)["dimension"]
    if len(single):
        raise SchemaError(
            "a dimension must have at least two concepts that exclude each other",
            found=f"one concept in {first_cases(single)}",
            where=where,
            hint="leave the dimension out of the facet table",
        )


def facets_from_depths(hierarchy: Hierarchy, depths: Sequence[int]) -> pl.DataFrame:
    """Nested dimensions: the ancestors of nodes at depths of a hierarchy, the node itself included.

    A node with no ancestor at a depth, or with several, has no concept there. Depths at which
    there are no two concepts are left out.

    Args:
        hierarchy: The hierarchy of the labels.
        depths: Depths (longest path; the root has 0), each once.

    Raises:
        InputError: If no depth has two nodes above labels.
    """
    ends, names = hierarchy.closure.tocoo(), pl.Series(hierarchy.nodes, dtype=pl.String)
    above = pl.DataFrame({"node": names.gather(ends.row), "concept": names.gather(ends.col)})
    tables = [
        above.filter(pl.Series(hierarchy.depth[ends.col] == depth))
        .filter(pl.col("node").is_unique())
        .sort("node")
        .select("node", pl.lit(f"depth {depth}").alias("dimension"), "concept", nested=True)
        for depth in depths
    ]
    told = [table for table in tables if table["concept"].n_unique() > 1]
    if not told:
        raise InputError(
            f"a depth of {hierarchy.name} with at least two nodes is required",
            found=f"none among {first_cases(depths)}; the deepest is {int(hierarchy.depth.max())}",
        )
    return pl.concat(told)
