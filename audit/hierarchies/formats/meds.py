"""MEDS: the codes of a data set with those above them, ``metadata/codes.parquet``."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.errors import HierarchyError, SchemaError, first_cases
from audit.base.files import read_table
from audit.hierarchies.formats.format import HierarchyFormat, Shape, hierarchy_of, titles_of
from audit.hierarchies.formats.tables import columns_of, is_parquet
from audit.hierarchies.hierarchy import Hierarchy

_COLUMNS = ["code", "description", "parent_codes"]


def matches(path: Path, head: bytes) -> bool:
    """Whether it is Parquet with the three columns of MEDS."""
    return is_parquet(path) and {*_COLUMNS} <= {*columns_of(path, head)}


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read the codes that have parents, or are some; others, such as laboratory tests, are none.

    Raises:
        HierarchyError: If no code has a parent, or on a cycle.
        SchemaError: If parents are no lists of text, or a code has two descriptions.
    """
    table = read_table(path)
    kinds = [pl.String, pl.String, pl.List(pl.String)]
    if [table.schema.get(name) for name in _COLUMNS] != kinds:
        found = first_cases(f"{name}: {dtype}" for name, dtype in table.schema.items())
        required = "columns of text code and description, and of lists, parent_codes, are required"
        raise SchemaError(required, found=found, where=path)
    edges = table.select(_COLUMNS).explode("parent_codes").drop_nulls(["code", "parent_codes"])
    if edges.is_empty():
        raise HierarchyError(
            "codes with parent_codes are required",
            found="none",
            where=path,
            hint="name another hierarchy, such as --hierarchy icd9cm",
        )
    above = dict.fromkeys(edges["parent_codes"])
    own = {*edges["code"], *above}
    said = table.filter(pl.col("code").is_in([*own])).select("code", "description")
    listed = {*said["code"]}
    titles = titles_of([*said.iter_rows(), *((code, None) for code in above)])
    return hierarchy_of(
        path,
        edges.select("code", "parent_codes").iter_rows(),
        [(code, title, code in listed) for code, title in titles.items()],
        dangling=shape.dangling,
    )


FORMAT = HierarchyFormat(
    "meds",
    "Parquet with the columns code, description, parent_codes, as metadata/codes.parquet of MEDS",
    matches,
    read,
)
