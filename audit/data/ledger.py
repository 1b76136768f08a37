"""The ledger: every row of labels, mapped to a node or refused for a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

REASONS = (
    "unknown_code",
    "retired_code",
    "malformed_code",
    "missing_code",
    "left_out",
    "no_place",
    "other_version",
    "no_hierarchy",
    "bad_row",
)
"""Reasons why a row is refused, in the order of the ledger."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Numbers of mapped and refused rows: ``rows_read == rows_mapped + sum(refused.values())``.

    Args:
        rows_read: Number of instance-label assertions read.
        rows_mapped: Number of those that have a node, duplicates included.
        refused: Number of rows without a node by reason; reasons that do not occur are left out.
        instances: Number of instances, those without labels included.
        instances_without_labels: Number of instances none of whose rows has a node.
        groups: Number of distinct groups; None if there are none.
    """

    rows_read: int
    rows_mapped: int
    refused: Mapping[str, int]
    instances: int
    instances_without_labels: int
    groups: int | None


def refused_rows(refusals: pl.DataFrame) -> Mapping[str, int]:
    """Number of refused rows by reason, as `REASONS` orders them, from ``reason, rows``."""
    refused = dict(refusals.group_by("reason").agg(pl.col("rows").sum()).iter_rows())
    return {reason: refused[reason] for reason in REASONS if reason in refused}
