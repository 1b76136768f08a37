"""Facet tables: the concept that each label has in each dimension, from CSV or Parquet."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.concepts.facets import FACETS, Facets, check_facets
from audit.data.records import pick
from audit.data.sources import File


def read_facets(path: Path | str) -> Facets:
    """Read the columns ``node, dimension, concept``; all dimensions are taken as crossed.

    Rows that say the same count once; dimensions are in the order in which they first occur.

    Args:
        path: CSV, TSV or Parquet.

    Raises:
        InputError: If the file cannot be read or has no row.
        SchemaError: If a column is missing, a value is blank, or as
            `audit.concepts.facets.check_facets`.
    """
    source = File(Path(path))
    table = pick(source.table(), source, **{name: name for name in FACETS})
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


def _refuse_blank(table: pl.DataFrame, source: File) -> None:
    blank = table.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_true()
    if len(blank):
        rows = [f"row {row + 1}" for row in blank.head(5)]
        raise SchemaError(
            "every row must have a node, a dimension and a concept",
            found=f"a blank in {first_cases(rows, len(blank))}",
            where=source,
            hint="leave out the row of a node that has no concept in a dimension",
        )
