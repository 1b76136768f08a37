"""The loss of depth since a reference, computed again in plain Python.

Nothing here imports ``audit`` or a library of statistics; the formulas are in docs/methods/.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import cache

from validation.plain_releases import Release

STEPS = 2_000
"""Intervals of Simpson's rule."""


def depths_of(release: Release) -> dict[str, int]:
    """The longest path from the root to each node; several roots hang below one of their own.

    They are the product's where the plain hierarchy is whole; that of MIMIC-III ends at categories.
    """
    roots = [node for node in release.nodes if not release.parents.get(node)]
    top = int(len(roots) > 1)

    @cache
    def depth(node: str) -> int:
        return max((depth(parent) + 1 for parent in release.parents.get(node, ())), default=top)

    return {node: depth(node) for node in release.nodes}


def loss_of_depth(now: Release, before: Release) -> dict[str, float]:
    """Mean depths, and the loss with its 95 % interval and its p value, by name.

    Args:
        now: A release; its groups are the units, its records where it has none.
        before: The reference, on the same hierarchy.
    """
    depth = depths_of(now)
    units: dict[str, list[int]] = {}
    for record, labels in now.labels.items():
        own = [depth[label] for label in set(labels)]
        units.setdefault(now.groups.get(record, record), []).extend(own)
    drawn = [own for own in units.values() if own]
    here = [d for own in drawn for d in own]
    there = [depth[label] for labels in before.labels.values() for label in set(labels)]
    mean, mean_there = sum(here) / len(here), sum(there) / len(there)
    alone, alone_there = _alone(here), _alone(there)
    spread = sum((sum(own) - mean * len(own)) ** 2 for own in drawn)
    between = len(drawn) / (len(drawn) - 1) * spread / len(here) ** 2
    alike = sum(len(own) ** 2 for own in drawn) / len(here)
    effect = max(between / alone, 1.0) if alone else alike
    error = math.sqrt(effect * (alone + alone_there))
    freedom = min(len(drawn), _units(before)) - 1
    lost, reach = mean_there - mean, quantile(0.975, freedom) * error
    return {
        "depth": mean,
        "depth_before": mean_there,
        "lost": lost,
        "lost_low": lost - reach,
        "lost_high": lost + reach,
        "p_value": 2 * tail(abs(lost) / error, freedom),
    }


def _alone(depths: list[int]) -> float:
    """Variance of the mean of depths, were labels drawn one by one."""
    n, mean = len(depths), sum(depths) / len(depths)
    return sum(k * (d - mean) ** 2 for d, k in Counter(depths).items()) / n**2


def _units(release: Release) -> int:
    groups: Mapping[str, str] = release.groups
    return len({groups.get(record, record) for record, own in release.labels.items() if own})


def tail(t: float, freedom: int) -> float:
    """The chance that Student's variable is above t, not negative.

    With x = tan(u) * sqrt(freedom) the density is c cos(u) ^ (freedom - 1), over u up to pi / 2.
    """
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    constant /= math.sqrt(math.pi)
    low = math.atan(t / math.sqrt(freedom))
    step = (math.pi / 2 - low) / STEPS
    weights = (1 if i in (0, STEPS) else 4 if i % 2 else 2 for i in range(STEPS + 1))
    heights = (max(math.cos(low + i * step), 0.0) ** (freedom - 1) for i in range(STEPS + 1))
    return constant * step / 3 * sum(w * h for w, h in zip(weights, heights, strict=True))


def quantile(p: float, freedom: int) -> float:
    """Where Student's variable has a share p below it, p from a half on."""
    low, high = 0.0, 1e3
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, freedom) > 1 - p else (low, middle)
    return (low + high) / 2
