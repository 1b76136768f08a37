"""Comparison of two runs: what changed, and why."""

from audit.runs.compare.result import Comparison
from audit.runs.compare.run import (
    compare_runs,
    seal_comparison,
    write_changes,
    write_comparison,
)

__all__ = [
    "Comparison",
    "compare_runs",
    "seal_comparison",
    "write_changes",
    "write_comparison",
]
