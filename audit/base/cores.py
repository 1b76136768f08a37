"""Number of processor cores to use."""

from __future__ import annotations

import os


def cores() -> int:
    """Number of processor cores that this process may use; ``AUDIT_JOBS`` overrides it if set."""
    if asked := os.environ.get("AUDIT_JOBS"):
        return max(int(asked), 1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
