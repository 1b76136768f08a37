"""Checks: rules that turn measurements into findings, one per file, listed in report order."""

from __future__ import annotations

from audit.checks import waivers
from audit.checks.check import Check, WaiverCheck
from audit.checks.rules import (
    codes,
    cross_branch,
    duplicate_instance,
    duplicate_label,
    editions,
    empty_instance,
    excludes1,
    group_confined,
    label_suspects,
    lost_zero,
    missing_companion,
    missing_stratum,
    model_confuses,
    parent_and_child,
    record_cap,
    redundant_nodes,
    residual_overuse,
    sex_age_conflict,
    sibling_exclusive,
    split_leak,
    unexpected_pair,
    unspecific_beside_specific,
)
from audit.checks.rules.habits import (
    chronic_gap,
    copied_records,
    depth_shift,
    principal_position,
    sibling_shift,
)

CHECKS: tuple[Check, ...] = (
    codes.UNKNOWN_CODE,
    codes.MALFORMED_CODE,
    lost_zero.CHECK,
    codes.IN_WRONG_TABLE,
    editions.RETIRED_CODE,
    codes.MIXED_VERSIONS,
    editions.NOT_SPECIFIC,
    parent_and_child.CHECK,
    duplicate_label.CHECK,
    empty_instance.CHECK,
    duplicate_instance.CHECK,
    copied_records.CHECK,
    principal_position.CHECK,
    record_cap.CHECK,
    depth_shift.CHECK,
    split_leak.CHECK,
    group_confined.CHECK,
    sibling_shift.CHECK,
    residual_overuse.CHECK,
    cross_branch.CHECK,
    unspecific_beside_specific.CHECK,
    sibling_exclusive.CHECK,
    excludes1.CHECK,
    missing_companion.CHECK,
    sex_age_conflict.CHECK,
    chronic_gap.CHECK,
    unexpected_pair.CHECK,
    missing_stratum.CHECK,
    redundant_nodes.CHECK,
    model_confuses.CHECK,
    label_suspects.CHECK,
)
"""Rules over measurements of data and models, in report order."""

ON_WAIVERS: tuple[WaiverCheck, ...] = (waivers.EXPIRED, waivers.UNUSED)
"""Rules over the policy's waivers, applied and reported after all others."""
