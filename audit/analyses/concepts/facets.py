"""Facets of labels: the concept that a label has in each dimension, as told, or by depth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from audit.base.declared import schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.records import pick
from audit.hierarchies.hierarchy import Hierarchy

FACETS = schema(("node dimension concept", pl.String))
"""Columns of a facet table; a node has at most one concept in a dimension."""

Kind: TypeAlias = Literal["crossed", "nested"]
"""Crossed dimensions vary freely; nested ones are ancestors at a depth of a hierarchy."""


@dataclass(frozen=True, eq=False)
class Facets:
    """The concepts of labels, dimension by dimension.

    Args:
        table: Columns `FACETS`, in the order of dimensions.
        kinds: Per dimension, in order, whether it is crossed with the others or nested in them.
        partial: Whether a label without any concept is left out and counted; else it is refused.
    """

    table: pl.DataFrame
    kinds: dict[str, Kind]
    partial: bool = False


def check_facets(facets: Facets, labels: Iterable[str]) -> None:
    """Refuse a facet table that does not describe the labels.

    Raises:
        SchemaError: If a value is missing, a node has two concepts in a dimension, a dimension has
            one concept, or a dimension has no kind.
        InputError: If labels have no concept and the table is not partial.
    """
    table = facets.table.select(list(FACETS))
    if table.null_count().sum_horizontal().item():
        raise SchemaError(
            "every row of a facet table must have a node, a dimension and a concept",
            found=f"{table.filter(pl.any_horizontal(pl.all().is_null())).height:,} rows without",
        )
    several = table.unique().filter(pl.struct("node", "dimension").is_duplicated())
    if len(several):
        cases = several.select(pl.format("{} in {}", "node", "dimension")).to_series().unique()
        raise SchemaError(
            "a node must have one concept in a dimension",
            found=f"several of {first_cases(cases.sort())}",
            hint="split the dimension in two, or keep the concept that matters",
        )
    _check_dimensions(facets, table)
    _check_labels(facets, table, labels)


def _check_dimensions(facets: Facets, table: pl.DataFrame) -> None:
    concepts = table.group_by("dimension", maintain_order=True).agg(pl.col("concept").n_unique())
    if set(concepts["dimension"]) != set(facets.kinds):
        raise SchemaError(
            "every dimension of a facet table must be crossed or nested",
            found=f"the dimensions {first_cases(concepts['dimension'])},"
            f" and kinds of {first_cases(facets.kinds)}",
        )
    if concepts.is_empty():
        raise SchemaError("a facet table must have a dimension", found="none")
    single = concepts.filter(pl.col("concept") < 2)["dimension"]
    if len(single):
        raise SchemaError(
            "a dimension must have at least two concepts that exclude each other",
            found=f"one concept in {first_cases(single)}",
            hint="leave the dimension out of the facet table",
        )


def _check_labels(facets: Facets, table: pl.DataFrame, labels: Iterable[str]) -> None:
    known = set(table["node"])
    missing = sorted({label for label in labels if label not in known})
    if missing and not facets.partial:
        raise InputError(
            "the facet table must describe every label of the representations",
            found=f"no row for {first_cases(missing)}",
            hint="add the labels to the table, or leave their instances out",
        )


def facets_from_depths(hierarchy: Hierarchy, depths: Sequence[int]) -> Facets:
    """Nested dimensions: the ancestors of nodes at depths of a hierarchy, the node itself included.

    A node with no ancestor at a depth, or with several, has no concept there. Depths at which
    there are no two concepts are left out.

    Args:
        hierarchy: The hierarchy of the labels.
        depths: Depths (longest path; the root has 0), each once.

    Raises:
        InputError: If no depth has two nodes above labels.
    """
    tables = [table for depth in depths if (table := _at_depth(hierarchy, depth)) is not None]
    if not tables:
        raise InputError(
            f"a depth of {hierarchy.name} with at least two nodes is required",
            found=f"none among {first_cases(depths)}; the deepest is {int(hierarchy.depth.max())}",
        )
    table = pl.concat(tables)
    kinds = dict.fromkeys(table["dimension"].unique(maintain_order=True).to_list(), _NESTED)
    return Facets(table, kinds, partial=True)


_NESTED: Kind = "nested"


def _at_depth(hierarchy: Hierarchy, depth: int) -> pl.DataFrame | None:
    above = hierarchy.closure.tocoo()
    there = hierarchy.depth[above.col] == depth
    rows, columns = above.row[there].tolist(), above.col[there].tolist()
    table = pl.DataFrame(
        {
            "node": [hierarchy.nodes[row] for row in rows],
            "dimension": [f"depth {depth}"] * len(rows),
            "concept": [hierarchy.nodes[column] for column in columns],
        },
        schema=FACETS,
    ).filter(pl.col("node").is_unique())
    return table.sort("node") if table["concept"].n_unique() > 1 else None


def join_facets(first: Facets, *others: Facets) -> Facets:
    """The dimensions of several tables, one after the other."""
    every = (first, *others)
    names = [name for one in every for name in one.kinds]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SchemaError(
            "every dimension must have a name of its own",
            found=f"several are named {first_cases(repeated)}",
        )
    kinds: dict[str, Kind] = {}
    for one in every:
        kinds |= one.kinds
    return Facets(
        pl.concat([one.table.select(list(FACETS)) for one in every]),
        kinds,
        partial=all(one.partial for one in every),
    )


def read_facets(path: Path | str) -> Facets:
    """Read the columns ``node, dimension, concept``; all dimensions are taken as crossed.

    Rows that say the same count once; dimensions are in the order in which they first occur.

    Args:
        path: CSV, TSV or Parquet.

    Raises:
        InputError: If the file cannot be read or has no row.
        SchemaError: If a column is missing, a value is blank, or as
            `audit.analyses.concepts.facets.check_facets`.
    """
    source = open_table(Path(path))
    table = pick(source.frame(), source, **{name: name for name in FACETS})
    if table.is_empty():
        raise SchemaError("a facet table with rows is required", found="none", where=source)
    _refuse_blank(table, source)
    distinct = table.unique(maintain_order=True)
    dimensions = distinct["dimension"].unique(maintain_order=True)
    place = pl.col("dimension").replace_strict(
        dimensions, pl.int_range(len(dimensions), eager=True)
    )
    ordered = distinct.sort(place, maintain_order=True)
    facets = Facets(ordered, dict.fromkeys(dimensions.to_list(), "crossed"))
    try:
        check_facets(facets, labels=())
    except SchemaError as error:
        raise SchemaError(
            error.required, found=error.found, where=source, hint=error.hint
        ) from None
    return facets


def _refuse_blank(table: pl.DataFrame, source: Table) -> None:
    blank = table.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_true()
    if len(blank):
        rows = [f"row {row + 1}" for row in blank.head(5)]
        raise SchemaError(
            "every row must have a node, a dimension and a concept",
            found=f"a blank in {first_cases(rows, len(blank))}",
            where=source,
            hint="leave out the row of a node that has no concept in a dimension",
        )
