"""What the columns of a table, and the numbers of a finding, are: declared once, by their kinds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias

Kind: TypeAlias = Literal[
    "text", "whole", "setting", "exact", "count", "sum", "mean", "factor", "estimate",
    "share", "ratio", "difference", "end", "chance",
]  # fmt: skip
"""What a column holds. Told as they are: ``text`` (ids, titles, flags, days), ``whole`` numbers of
a hierarchy or a file, ``setting`` and, with a reason, ``exact``. Told in bins: ``count`` and
``sum``. In steps: ``mean``. In two digits: ``factor`` and ``estimate``. Computed from told ones:
``share``, ``ratio``, ``difference``, and ``end``, an end of the interval of one of these. For the
window alone: ``chance``, whatever follows from a test."""

NONE = "none"
"""Total of what has none, such as labels and exchanges."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or a number of a finding.

    Args:
        name: What tables and JSON call it.
        kind: What it holds.
        of: Names of the columns that it is computed from: k and n of a share, k and expectation of
            a ratio, both shares of a difference, both supports of a factor, n of a mean or an
            estimate, the estimate of an end. Of a count that it is never told above, such as the
            instances of some groups.
        total: What a count is part of: ``rows, instances, groups``, another total of its
            analysis, or `NONE`.
        effective: Column with the effective number behind a share or a ratio; empty if none is.
        low: Least value of a mean.
        high: Greatest value of a mean.
        side: -1 for a lower end, 1 for an upper one.
        reason: Why it may be told as it is.
    """

    name: str
    kind: Kind
    of: tuple[str, ...] = ()
    total: str = ""
    effective: str = ""
    low: float = 0.0
    high: float = 1.0
    side: int = 0
    reason: str = ""


class Columns(dict[str, Column]):
    """Columns by name, in order.

    >>> list(Columns(count("instances of"), share("share", of="instances of", ends="low high")))
    ['instances', 'of', 'share', 'low', 'high']
    """

    def __init__(self, *columns: Iterable[Column]) -> None:
        super().__init__((one.name, one) for some in columns for one in some)

    def stored(self) -> list[dict[str, Any]]:
        """The columns as JSON, each without what is as usual."""
        usual = {one.name: one.default for one in fields(Column)}
        every = ({name: getattr(one, name) for name in usual} for one in self.values())
        return [{k: v for k, v in one.items() if v != usual[k]} for one in every]

    @classmethod
    def read(cls, stored: Iterable[Mapping[str, Any]]) -> Self:
        """The columns that were `stored`.

        >>> kept = Columns(count("n"), mean("rate", n="n", ends="low high"))
        >>> Columns.read(kept.stored()) == kept
        True
        """
        return cls(Column(**{**one, "of": tuple(one.get("of", ()))}) for one in stored)


def text(names: str) -> tuple[Column, ...]:
    """Ids, titles, words, flags and days of a file, a policy or a hierarchy."""
    return _each(names, "text")


def whole(names: str) -> tuple[Column, ...]:
    """Numbers that count no persons: depths, nodes of a hierarchy, tuples."""
    return _each(names, "whole")


def setting(names: str) -> tuple[Column, ...]:
    """Numbers that a policy, a file or a hierarchy states, such as limits."""
    return _each(names, "setting")


def exact(names: str, *, reason: str, of: str = "") -> tuple[Column, ...]:
    """Counts of persons that may be told as they are: the totals of sharing.

    ``of`` names a total that is told in its class where it would give a small count away.
    """
    return tuple(Column(name, "exact", total=of, reason=reason) for name in names.split())


def count(names: str, *, of: str = "instances", under: str = "") -> tuple[Column, ...]:
    """Counts, parts of a total; each is told no higher than the one that it is ``under``."""
    beside = tuple(under.split())
    return tuple(Column(name, "count", beside, total=of) for name in names.split())


def total(names: str, *, under: str = "") -> tuple[Column, ...]:
    """Sums of weights or of counts, part of no total; each told no higher than what it is under."""
    beside = tuple(under.split())
    return tuple(Column(name, "sum", beside, total=NONE) for name in names.split())


def mean(
    names: str, *, n: str, low: float = 0.0, high: float = 1.0, ends: str = ""
) -> tuple[Column, ...]:
    """Means over n instances of values from ``low`` to ``high``, with the ends of its interval."""
    own = (Column(name, "mean", (n,), low=low, high=high) for name in names.split())
    return (*own, *_ends(names, ends))


def factor(name: str, *, of: str) -> tuple[Column, ...]:
    """The expectation of a pair with two supports."""
    return (Column(name, "factor", tuple(of.split())),)


def estimate(names: str, *, n: str = "", reason: str) -> tuple[Column, ...]:
    """Numbers that no count follows from, told in two digits where each n is large enough."""
    of = tuple(n.split())
    return tuple(Column(name, "estimate", of, reason=reason) for name in names.split())


def share(name: str, *, of: str, ends: str = "", effective: str = "") -> tuple[Column, ...]:
    """The first of two counts as a share of the second, with the ends of its interval."""
    return (Column(name, "share", tuple(of.split()), effective=effective), *_ends(name, ends))


def ratio(name: str, *, of: str, ends: str = "", effective: str = "") -> tuple[Column, ...]:
    """A count over an expectation or another count, with the ends of its interval."""
    return (Column(name, "ratio", tuple(of.split()), effective=effective), *_ends(name, ends))


def difference(name: str, *, of: str, ends: str = "") -> tuple[Column, ...]:
    """The first of two shares less the second, with the ends of its interval."""
    return (Column(name, "difference", tuple(of.split())), *_ends(name, ends))


def chance(names: str) -> tuple[Column, ...]:
    """P and q values, ranks, sizes of families, and other numbers of tests."""
    return _each(names, "chance")


def _each(names: str, kind: Kind) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name in names.split())


def _ends(name: str, ends: str) -> tuple[Column, ...]:
    sides = zip(ends.split(), (-1, 1), strict=False)
    return tuple(Column(end, "end", (name,), side=side) for end, side in sides)


def undeclared(names: Iterable[str], columns: Mapping[str, Column]) -> list[str]:
    """The names that have no kind."""
    return [name for name in names if name not in columns]


def finite(value: float | None) -> float | None:
    """A number as JSON has it: none where it is not finite."""
    return value if value is not None and math.isfinite(value) else None
