"""Joined labels: one row per instance, and all its labels in one cell, joined by a sign."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from audit.base.files import called
from audit.base.readings import Reading
from audit.data.known_nodes import separator_of, sign_between
from audit.data.label_format import Chosen, Columns
from audit.data.label_formats import caml, tables
from audit.data.records import column_for
from audit.data.sources import Source

_NAMES = ("labels", "label", "codes")
"""Names of the column of labels unless the user names one; case is ignored."""


def choose(source: Source, columns: Columns, rows: Source) -> Chosen:
    """The columns of the joined labels and of the id, as `audit.data.label_format.Choose`.

    Labels are joined by the sign that the first cells show; where they show none, each cell holds
    one label, a blank one none.

    Raises:
        SchemaError: If a column is missing.
    """
    names = list(source.schema)
    usual = called(names, _NAMES) or _NAMES
    label = column_for("label", columns.label or usual[0], names, source)
    cells = source.first_cells(label)
    sign, by_nodes = sign_between(cells, source.nodes)
    sign = sign or separator_of(cells)
    chosen = tables.chosen_rows(source, columns, rows, [label], joined=True, sign=sign)
    if sign:
        values = tables.values_of(rows)(label)
        inside = pl.col(label).str.strip_chars().str.contains(sign, literal=True)
        split = sum(int(one.to_frame().select(inside.sum()).item()) for one in values)
        decision = f"the cells of {label!r} are several labels, joined by {sign!r}"
        why = "their parts are nodes" if by_nodes else "their parts look like codes or words"
        told = Reading(decision, why, split, "--format long")
        chosen = replace(chosen, readings=(*chosen.readings, told))
    return chosen


def matches(source: Source) -> bool:
    """Whether a column named ``labels``, ``label`` or ``codes`` has cells with several labels."""
    named = called(source.schema, _NAMES)
    return len(named) == 1 and not caml.matches(source) and holds_several(source, named[0])


def holds_several(source: Source, column: str) -> bool:
    """Whether the first cells of a column hold several labels; as codes in a column ``label``."""
    codes = column.strip().lower() == "label"
    return sign_between(source.first_cells(column), source.nodes, codes=codes)[0] is not None


FORMAT = tables.table_format(
    name="joined",
    title="CSV, TSV or Parquet with a row per instance and its codes in one cell, joined by ; , |"
    " or a blank",
    matches=matches,
    choose=choose,
)
