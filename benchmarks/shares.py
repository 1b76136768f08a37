"""A share of cases, with its bounds."""

from __future__ import annotations

import math
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

    def brief(self) -> str:
        """Without the interval."""
        return f"{self.k:,}/{self.n:,}" if self.n else ""
