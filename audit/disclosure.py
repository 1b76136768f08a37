"""Small cells: what a count may say once it leaves the folder marked restricted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Shown: TypeAlias = int | float | str | None
"""A value as published: a number, a bound such as ``<11``, or null where it is withheld."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a finding's evidence, with what it takes to publish it safely.

    Args:
        value: The number itself.
        kind: ``count`` of instances or groups; ``derived`` from counts; ``exempt`` (rows of the
            ledger, totals of the release, limits of the policy).
        totals: For a count: the totals it is part of, whose remainders count as cells too.
        sources: For a derived value: the counts it could be turned back into.
    """

    value: int | float | str | None
    kind: Literal["count", "derived", "exempt"] = "exempt"
    totals: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()


def count(value: int, *totals: int) -> Quantity:
    """A count of instances or groups, part of each of the totals."""
    return Quantity(int(value), "count", tuple(int(total) for total in totals))


def derived(value: float | None, *sources: str) -> Quantity:
    """A number computed from the named counts of the same evidence."""
    return Quantity(None if value is None else float(value), "derived", sources=sources)


def shown_count(value: int, totals: Iterable[int], min_cell: int) -> int | str:
    """A count as published: itself, or a bound where it or a remainder is a small cell.

    None of a total is no remainder: then the total itself is the cell to protect.

    >>> shown_count(5, [100], 11), shown_count(95, [100], 11), shown_count(0, [100], 11)
    ('<11', '>89', 0)
    """
    if is_small(value, min_cell):
        return f"<{min_cell}"
    close = [total for total in totals if value and is_small(total - value, min_cell)]
    return f">{min(close) - min_cell}" if close else value


def is_small(value: int, min_cell: int) -> bool:
    """Whether a count lies from 1 to ``min_cell - 1``."""
    return 0 < value < min_cell


def shown(evidence: Mapping[str, Quantity], min_cell: int) -> dict[str, Shown]:
    """Evidence as published: small counts as bounds, and null for what is derived from one."""
    published: dict[str, Shown] = {
        name: shown_count(int(quantity.value), quantity.totals, min_cell)
        if quantity.kind == "count" and quantity.value is not None
        else quantity.value
        for name, quantity in evidence.items()
    }
    for name, quantity in evidence.items():
        if any(isinstance(published[source], str) for source in quantity.sources):
            published[name] = None
    return published
