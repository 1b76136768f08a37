"""Restricted tables of a run as a window pages through them, whatever they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from audit.explorer.run.vocabulary import Page, Span

Values: TypeAlias = Literal["text", "count", "number", "flag", "texts"]
"""What a column holds: a text, a whole number, any other number, yes or no, or several texts."""


@dataclass(frozen=True, slots=True)
class TableQuery:
    """Which rows of a table, and in which order.

    Args:
        equal: Texts that columns must be equal to, by column.
        holding: A text that one of the columns of text must hold, whatever its case; empty for any.
        order: Column of numbers to order by; empty for the order of the table.
        rising: Whether the smallest come first. Ties keep their order, and rows without a number
            come last.
    """

    equal: Mapping[str, str] = field(default_factory=dict)
    holding: str = ""
    order: str = ""
    rising: bool = False


class ExploredTable(Protocol):
    """A table that is read by pages."""

    @property
    def columns(self) -> Mapping[str, Values]:
        """What each of its columns holds, in order; columns of nested numbers are left out."""

    @property
    def rows(self) -> int:
        """Number of its rows."""

    def page(self, query: TableQuery, span: Span) -> Page:
        """Rows of a query; columns that the table lacks, or that hold no text, restrict nothing."""

    def choices(self, column: str) -> Sequence[str]:
        """The different texts of a column in code-point order; empty if they are many or none."""
