"""Shares of cases with their bounds, and the lines of docs/truth.md that are made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from scipy.stats import binom

Z2 = 3.841459
"""Square of the normal quantile of a 95 % interval."""
SIDE = 0.025
"""Probability beyond one end of it."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Share:
    """A number of cases among others, with its 95 % Wilson interval."""

    k: int
    n: int

    @property
    def value(self) -> float:
        """The share; not a number for none."""
        return self.k / self.n if self.n else math.nan

    @property
    def low(self) -> float:
        """Lower bound; 0 for none."""
        return max(self._middle - self._reach, 0.0) if self.n else 0.0

    @property
    def high(self) -> float:
        """Upper bound; 1 for none."""
        return min(self._middle + self._reach, 1.0) if self.n else 1.0

    def is_above(self, rate: float) -> bool:
        """Whether so many cases are hardly chance at this rate, by an exact test at 2.5 %."""
        return self.n > 0 and float(binom.sf(self.k - 1, self.n, rate)) < SIDE

    def is_below(self, rate: float) -> bool:
        """The same of so few cases."""
        return self.n > 0 and float(binom.cdf(self.k, self.n, rate)) < SIDE

    @property
    def _middle(self) -> float:
        return (self.k + Z2 / 2) / (self.n + Z2)

    @property
    def _reach(self) -> float:
        p = self.k / self.n
        return math.sqrt(Z2 * (p * (1 - p) + Z2 / 4 / self.n) / self.n) / (1 + Z2 / self.n)

    def __add__(self, other: Share) -> Share:
        return Share(self.k + other.k, self.n + other.n)

    def __str__(self) -> str:
        if not self.n:
            return ""
        return f"{self.k:,}/{self.n:,} ({self.value:.3f}; {self.low:.3f} to {self.high:.3f})"

    def bounded(self) -> str:
        """Without the share itself."""
        return f"{self.brief()} ({self.low:.3f} to {self.high:.3f})" if self.n else ""

    def brief(self) -> str:
        """Without the interval."""
        return f"{self.k:,}/{self.n:,}" if self.n else ""


NONE = Share(0, 0)


@dataclass(frozen=True)
class Row:
    """What a check makes of the releases of one law.

    Args:
        check: The check.
        world: The law, or the kind of fault.
        what: What it is.
        releases: How many there are.
        found: Of what is planted, what is told.
        findings: Of what is told, what is false.
        told: Of the releases, those with something false.
        scored: Whether a goal holds for it; not where nothing in the rows tells what is false.
        recall: Goal of `found`, at least.
        rate: Goal of `told`, or of `findings` where releases are not counted, at most.
    """

    check: str
    world: str
    what: str
    releases: int
    found: Share = NONE
    findings: Share = NONE
    told: Share = NONE
    scored: bool = True
    recall: float = 0.0
    rate: float = 1.0

    def missed_goals(self) -> Iterator[str]:
        """Goals that it misses by more than its sampling error."""
        if self.scored and self.found.is_below(self.recall):
            yield f"{self.check}: recall of {self.world}"
        if self.scored and (self.told if self.told.n else self.findings).is_above(self.rate):
            yield f"{self.check}: false findings, {self.world}"

    def cells(self) -> tuple[str, ...]:
        """Its line of the page."""
        name = self.world if self.scored else f"{self.world} (not scored)"
        shares = (self.found, self.findings, self.told)
        return name, f"{self.releases:,}", *(share.brief() for share in shares)


def tables(rows: Iterable[Row]) -> Iterator[str]:
    """A heading and a table for each check, as lines of Markdown; below it all that is scored."""
    of_check: dict[str, list[Row]] = {}
    for row in rows:
        of_check.setdefault(row.check, []).append(row)
    head = ("releases", "number", "planted and told", "false of the findings",
            "releases with a false one")  # fmt: skip
    for check, own in sorted(of_check.items()):
        scored = [row for row in own if row.scored]
        every = [[getattr(row, one) for row in scored] for one in ("found", "findings", "told")]
        last = ("all that are scored", "", *(str(sum(shares, NONE)) for shares in every))
        yield f"### `{check}`\n"
        yield table(head, [*(row.cells() for row in own), *([last] if len(own) > 1 else ())])


def summary(rows: Iterable[Row]) -> str:
    """A line for each check, of all its releases that are scored, as a table in Markdown."""
    of_check: dict[str, list[Row]] = {}
    for row in rows:
        if row.scored:
            of_check.setdefault(row.check, []).append(row)
    head = ("check", "planted and told", "false of the findings", "releases with a false one")
    lines = []
    for check, own in sorted(of_check.items()):
        found, findings, told = (sum(some, NONE) for some in zip(*map(_shares, own), strict=True))
        lines.append((f"`{check}`", found.bounded(), findings.bounded(), told.brief()))
    return table(head, lines)


def _shares(row: Row) -> tuple[Share, Share, Share]:
    return row.found, row.findings, row.told


@dataclass(frozen=True)
class Off:
    """A guard of a check, and what is told with it and without.

    Args:
        check: The check.
        guard: What the guard is called.
        instead: What takes its place while it is off.
        world: Where it is tried.
        releases: On how many.
        numbers: What is counted, with the guard at work and off.
    """

    check: str
    guard: str
    instead: str
    world: str
    releases: int
    numbers: Mapping[str, tuple[str, str]]

    def cells(self) -> tuple[str, ...]:
        """Its line of the page: what changes."""
        changes = [f"{one} {on} → {off}" for one, (on, off) in self.numbers.items() if on != off]
        name = f"{self.guard} (`{self.check}`)"
        return name, self.world, str(self.releases), "; ".join(changes) or "nothing"


def compared(
    on: Sequence[_T], off: Sequence[_T], counts: Mapping[str, Callable[[Sequence[_T]], object]]
) -> dict[str, tuple[str, str]]:
    """What is counted of releases with a guard at work, and of the same without it."""
    return {name: (str(count(on)), str(count(off))) for name, count in counts.items()}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
