"""How many things may be done at once."""

from __future__ import annotations

import os


def cores() -> int:
    """Processor cores that this process may use; as many as ``AUDIT_JOBS`` says where it is set."""
    if asked := os.environ.get("AUDIT_JOBS"):
        return max(int(asked), 1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
