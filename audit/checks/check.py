"""The record that registers a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from audit.measure import Measurements
from audit.result import CheckResult

TOP_PARTS = 10
"""Lines of a finding's breakdown."""


@dataclass(frozen=True)
class Check:
    """One rule over numbers.

    Args:
        name: What results, policies and ``audit list checks`` call it.
        title: The question it answers, in one line.
        run: Applies it.
    """

    name: str
    title: str
    run: Callable[[Measurements], CheckResult]
