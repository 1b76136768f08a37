"""What a run that is looked at answers with: rows of its tables, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Row: TypeAlias = Mapping[str, Any]
"""One row of a table by column; nothing in it is suppressed if the run is read in full."""
Source: TypeAlias = Literal["data", "model"]
"""Whether labels or predictions were counted."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a longer table, and how many it has."""

    rows: Sequence[Row] = ()
    total: int = 0

    def each(self, change: Callable[[Row], Row]) -> Page:
        """The same page with each row changed."""
        return Page([change(row) for row in self.rows], self.total)


@dataclass(frozen=True, slots=True)
class Span:
    """Which rows of a table are wanted: ``limit`` of them after the first ``offset``."""

    offset: int = 0
    limit: int | None = None

    @property
    def rows(self) -> slice:
        """The same as a slice."""
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)

    def of(self, rows: Sequence[Row]) -> Page:
        """These rows of a table that is held as a whole."""
        return Page(rows[self.rows], len(rows))
