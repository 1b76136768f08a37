"""Checks: numbers in, findings out; one rule a file, in report order."""

from __future__ import annotations

from audit.checks import (
    cross_branch,
    malformed_code,
    model_confuses,
    model_habit,
    parent_and_child,
    residual_overuse,
    unknown_code,
)
from audit.checks.check import Check

CHECKS: tuple[Check, ...] = (
    unknown_code.CHECK,
    malformed_code.CHECK,
    parent_and_child.CHECK,
    residual_overuse.CHECK,
    cross_branch.CHECK,
    model_confuses.CHECK,
    model_habit.CHECK,
)
