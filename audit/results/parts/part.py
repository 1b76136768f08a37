"""Parts of a result beside the counts: what each keeps, and reads back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import polars as pl

Tables: TypeAlias = Mapping[str, pl.DataFrame | pl.LazyFrame]
"""Restricted tables by the name of their Parquet file."""
ReadTable: TypeAlias = Callable[[str], pl.LazyFrame]
"""Gives a restricted table of a run by its name."""


class ResultPart(Protocol):
    """What was measured beside the counts, with tables of its own in a run."""

    def tables(self) -> Tables:
        """The tables that a run keeps in ``restricted/``."""
        ...
