"""Parts of a result beside the counts: what each keeps, shares, and reads back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import polars as pl

Tables: TypeAlias = Mapping[str, pl.DataFrame | pl.LazyFrame]
"""Restricted tables by the name of their Parquet file."""
ReadTable: TypeAlias = Callable[[str], pl.LazyFrame]
"""Gives a restricted table of a run by its name."""


class ResultPart(Protocol):
    """An analysis whose tables are in a run besides those of the data."""

    name: ClassVar[str]
    """What other code calls it."""

    def tables(self) -> Tables:
        """The tables that a run keeps in ``restricted/``."""
        ...

    def shared(self, min_cell: int) -> Mapping[str, Any]:
        """Entries of ``result.json``, in which no count below ``min_cell`` can be read."""
        return {}

    @classmethod
    def absent(cls) -> Mapping[str, Any]:
        """Entries of ``result.json`` for a result without this part."""
        return {}

    @classmethod
    def read(cls, table: ReadTable, shared: Mapping[str, Any]) -> Self | None:
        """The part of a run, from its tables and its ``result.json``; None if it has none."""
        ...
