"""Shares of cases with their bounds, and the lines of the study of truth that are made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scipy.stats import binom

Z2 = 3.841459
"""Square of the normal quantile of a 95 % interval."""
SIDE = 0.025
"""Probability beyond one end of it."""


@dataclass(frozen=True)
class Share:
    """A number of cases among others, with its 95 % Wilson interval."""

    k: int
    n: int

    @property
    def value(self) -> float:
        """The share; not a number for none."""
        return self.k / self.n if self.n else math.nan

    def is_above(self, rate: float) -> bool:
        """Whether so many cases are hardly chance at this rate, by an exact test at 2.5 %."""
        return self.n > 0 and float(binom.sf(self.k - 1, self.n, rate)) < SIDE

    def is_below(self, rate: float) -> bool:
        """The same of so few cases."""
        return self.n > 0 and float(binom.cdf(self.k, self.n, rate)) < SIDE

    def __add__(self, other: Share) -> Share:
        return Share(self.k + other.k, self.n + other.n)

    def __str__(self) -> str:
        if not self.n:
            return ""
        p, whole = self.value, self.n + Z2
        middle = (self.k + Z2 / 2) / whole
        reach = math.sqrt(Z2 * (p * (1 - p) + Z2 / 4 / self.n) / self.n) / (1 + Z2 / self.n)
        low, high = max(middle - reach, 0.0), min(middle + reach, 1.0)
        return f"{self.k:,}/{self.n:,} ({low:.3f} to {high:.3f})"


NONE = Share(0, 0)


@dataclass(frozen=True)
class Row:
    """What a check makes of the releases of one law.

    Args:
        check: The check.
        world: The law, or the kind of fault.
        found: Of what is planted, what is told.
        findings: Of what is told, what is false.
        told: Of the releases, those with something false.
        recall: Goal of `found`, at least.
        rate: Goal of `told`, or of `findings` where releases are not counted, at most.
    """

    check: str
    world: str
    found: Share = NONE
    findings: Share = NONE
    told: Share = NONE
    recall: float = 0.0
    rate: float = 1.0

    def missed_goals(self) -> Iterator[str]:
        """Goals that it misses by more than its sampling error."""
        if self.found.is_below(self.recall):
            yield f"{self.check}: recall of {self.world}"
        if (self.told if self.told.n else self.findings).is_above(self.rate):
            yield f"{self.check}: false findings, {self.world}"


def tables(rows: Iterable[Row]) -> Iterator[str]:
    """A table of all checks, and one of each law, as lines of Markdown."""
    of_check: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.check):
        of_check.setdefault(row.check, []).append(row)
    head = ("planted and told", "false of the findings", "releases with a false one")
    every = [(f"`{check}`", *map(str, _sums(own))) for check, own in of_check.items()]
    yield _table(("check", *head), every)
    laws = [
        (f"`{row.check}`", row.world, str(row.found), str(row.findings), str(row.told))
        for own in of_check.values()
        for row in own
    ]
    yield _table(("check", "releases of", *head), laws)


def _sums(rows: Sequence[Row]) -> Iterator[Share]:
    for name in ("found", "findings", "told"):
        yield sum((getattr(row, name) for row in rows), NONE)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
