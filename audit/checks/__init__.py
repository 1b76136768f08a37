"""Checks: rules that turn measurements into findings, listed in report order."""

from __future__ import annotations

from audit.checks import waivers
from audit.checks.check import Check
from audit.checks.rules import (
    apart,
    chronic_gap,
    codes,
    drift,
    duplicates,
    editions,
    lost_zero,
    model_confuses,
    nodes,
    pairs,
    records,
    required,
    residual_overuse,
    split_leak,
    together,
)

CHECKS: tuple[Check, ...] = (
    codes.UNKNOWN_CODE,
    codes.MALFORMED_CODE,
    lost_zero.CHECK,
    codes.IN_WRONG_TABLE,
    editions.RETIRED_CODE,
    codes.MIXED_VERSIONS,
    editions.NOT_SPECIFIC,
    together.PARENT_AND_CHILD,
    duplicates.CHECK,
    records.EMPTY_INSTANCE,
    records.PRINCIPAL_POSITION,
    records.RECORD_CAP,
    drift.CHECK,
    split_leak.CHECK,
    nodes.GROUP_CONFINED,
    residual_overuse.CHECK,
    apart.CROSS_BRANCH,
    together.UNSPECIFIC,
    together.EXCLUSIVE,
    apart.EXCLUDES1,
    required.MISSING_COMPANION,
    required.SEX_AGE_CONFLICT,
    chronic_gap.CHECK,
    pairs.UNEXPECTED_PAIR,
    pairs.MISSING_STRATUM,
    nodes.REDUNDANT_NODES,
    model_confuses.CHECK,
)
"""Rules over measurements of data and models, in report order."""

ON_WAIVERS: tuple[waivers.WaiverCheck, ...] = (waivers.EXPIRED, waivers.UNUSED)
"""Rules over the policy's waivers, applied and reported after all others."""
