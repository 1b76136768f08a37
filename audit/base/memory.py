"""Memory that was freed."""

from __future__ import annotations

import ctypes
import sys


def give_back_freed_memory() -> None:
    """Give freed memory back to the operating system, where the C library would keep it.

    The C library of GNU keeps what arrays below 32 MB leave behind. Elsewhere nothing is done.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
