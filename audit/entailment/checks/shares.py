"""Shares as evidence of findings about tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.disclosure import Quantity, count, derived


def share_of(name: str, k: int, n: int, row: Mapping[str, Any]) -> dict[str, Quantity]:
    """So many of n as evidence, with the ``share, low, high`` of a row of a table."""
    bounds = {bound: derived(row[bound], name) for bound in ("share", "low", "high")}
    return {name: count(k, n), "of": Quantity(n), **bounds}
