"""How the tables of analyses are declared: a title, what a row is, and the columns."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from audit.base.declared import Column, Columns, Table


def table(title: str, row: str, *columns: Iterable[Column], **shown: Any) -> Table:
    """A `Table` of a title, what a row is, and columns; ``shown`` are its further fields."""
    return Table(Columns(*columns), title, row, **shown)


folded = partial(table, fold=True)
