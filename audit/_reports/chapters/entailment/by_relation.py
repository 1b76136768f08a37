"""Tables with a column for each relation, and what many chapters on tuples say of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from audit._reports.words.entailment_words import ALL
from audit._reports.words.parts import Cell, Table
from audit._reports.words.shown_numbers import Row, Rows
from audit._reports.words.table_specs import (
    Spec,
    across,
    optional_table,
    pivoted,
    table,
    texts,
    written,
)

KEPT = "restricted/entailment_{}.parquet"
"""Where a run keeps all rows of a table."""


def relations(rows: Rows) -> list[str]:
    """The relations of some rows, in their order; what is of all comes last."""
    return list(dict.fromkeys(row["relation"] for row in rows))


def by_relation(
    id_: str,
    caption: str,
    rows: Rows,
    by: Sequence[str],
    first: Sequence[Spec],
    cell: Callable[[Row], Cell],
) -> Table | None:
    """A table with a line per combination of some fields, and a cell for each relation."""
    lines = pivoted(rows, by, "relation")
    names = dict.fromkeys(name for line in lines for name in line["relation"])
    own = (across("relation", name, written(name, cell)) for name in names)
    return optional_table(id_, caption, lines, *first, *own)


def with_total(id_: str, caption: str, rows: Rows, *columns: Spec) -> Table | None:
    """A table with a line per relation, and that of all, if there are several, as the total.

    It is None where there are no rows.
    """
    lines = [row for row in rows if row["relation"] != ALL]
    whole = [row for row in rows if row["relation"] == ALL]
    total = whole[0] if whole and len(lines) > 1 else None
    made = table(id_, caption, lines, texts("Relation", _relation), *columns, total=total)
    return made if rows else None


def _relation(row: Row) -> str:
    return "All relations" if row["relation"] == ALL else str(row["relation"])


def first_rows(caption: str, kept: str) -> str:
    """A caption of the first cases of a table that is kept, with the place of all."""
    return f"{caption}. The first of each relation; all are in {KEPT.format(kept)}"
