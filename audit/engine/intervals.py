"""Intervals of shares."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

FloatArray: TypeAlias = NDArray[np.float64]

LEVEL = 0.95
"""Coverage of the intervals in reports."""


def wilson(k: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson score interval of a share k / n; n may be an effective number.

    Returns:
        Lower and upper bound in [0, 1], the share between them; (0, 1) where n is 0.
    """
    if n <= 0:
        return 0.0, 1.0
    z = float(ndtri((1 + level) / 2))
    share = k / n
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low, high = (centre - spread) / scale, (centre + spread) / scale
    return max(min(low, share), 0.0), min(max(high, share), 1.0)


def newcombe(
    share: float, n: float, elsewhere: float, n_elsewhere: float, level: float = LEVEL
) -> tuple[float, float]:
    """Newcombe's hybrid score interval of ``share - elsewhere``; n may be effective numbers.

    Returns:
        Lower and upper bound, the difference between them.
    """
    low, high = wilson(share * n, n, level)
    low_there, high_there = wilson(elsewhere * n_elsewhere, n_elsewhere, level)
    difference = share - elsewhere
    return (
        difference - math.hypot(share - low, high_there - elsewhere),
        difference + math.hypot(high - share, elsewhere - low_there),
    )


def effective_n(k: FloatArray, n: FloatArray) -> float:
    """Instances that a grouped share is worth: n over its design effect, never above n.

    The variance of the share over groups is that of a ratio estimator; the design effect is that
    variance over the binomial one.

    Args:
        k: Instances that count, per group, shape (n_groups,).
        n: Instances per group, shape (n_groups,), positive.

    Returns:
        Between 1 and ``n.sum()``; 0 without instances. Where all or none of them count, or with
        one group, nothing varies: what groups constant in themselves are worth, their number
        where they are of one size.
    """
    total, groups = float(n.sum()), len(n)
    share = float(k.sum()) / total if total else 0.0
    binomial = share * (1 - share) / total if total else 0.0
    if groups < 2 or binomial == 0:
        return total**2 / float((n**2).sum()) if total else 0.0
    between = groups / (groups - 1) * float(((k - share * n) ** 2).sum()) / total**2
    return float(np.clip(total * binomial / between, 1.0, total)) if between > 0 else total
