"""The machine: number of processor cores to use, and memory that was freed."""

from __future__ import annotations

import ctypes
import os
import sys


def cores() -> int:
    """Number of processor cores that this process may use; ``AUDIT_JOBS`` overrides it if set."""
    if asked := os.environ.get("AUDIT_JOBS"):
        return max(int(asked), 1)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def give_back_freed_memory() -> None:
    """Give freed memory back to the operating system, where the C library would keep it.

    The C library of GNU keeps what arrays below 32 MB leave behind. Elsewhere nothing is done.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
