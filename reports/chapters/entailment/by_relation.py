"""Tables with a column for each relation, and what many chapters on tuples say of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from reports.chapters.shown_numbers import UNDEFINED, Row, Rows
from reports.words.parts import Cell, Table, column

KEPT = "restricted/entailment_{}.parquet"
"""Where a run keeps all rows of a table."""


def relations(rows: Rows) -> list[str]:
    """The relations of some rows, in their order; what is of all comes last."""
    return list(dict.fromkeys(row["relation"] for row in rows))


def by_relation(
    id_: str,
    caption: str,
    first: Sequence[str],
    lines: Iterable[tuple[Sequence[Cell], Rows]],
    cell: Callable[[Row], Cell],
) -> Table | None:
    """A table with a line for each given one, and a cell for each relation.

    Args:
        id_: Id of the table.
        caption: Its caption.
        first: Headings of the columns before those of relations.
        lines: The cells of these columns, and a row per relation.
        cell: What is said of a row.
    """
    kept = [(head, rows) for head, rows in lines if rows]
    columns = relations([row for _, rows in kept for row in rows])
    if not columns:
        return None
    return Table(
        id=id_,
        caption=caption,
        columns=column(*first, *columns, numeric=" " * len(first) + "n" * len(columns)),
        rows=tuple((*head, *_cells(rows, columns, cell)) for head, rows in kept),
    )


def _cells(rows: Rows, columns: Sequence[str], cell: Callable[[Row], Cell]) -> list[Cell]:
    own = {row["relation"]: row for row in rows}
    return [cell(own[name]) if name in own else UNDEFINED for name in columns]


def first_rows(caption: str, table: str) -> str:
    """A caption of the first cases of a table, with the place of all."""
    return f"{caption}. The first of each relation; all are in {KEPT.format(table)}"
