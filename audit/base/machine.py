"""The machine: processor cores, memory that was freed, packages that are there, torch's device."""

from __future__ import annotations

import ctypes
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from audit.base.errors import InputError

if TYPE_CHECKING:
    import torch


MOST_CORES = 1_024
"""Threads that may be asked for, at most."""


def cores() -> int:
    """Number of processor cores that this process may use; ``AUDIT_JOBS`` overrides it if set."""
    if asked := os.environ.get("AUDIT_JOBS"):
        if not (asked.isdecimal() and 1 <= int(asked[:9]) <= MOST_CORES):
            required = f"AUDIT_JOBS is a number of threads from 1 to {MOST_CORES:,}"
            raise InputError(required, found=repr(asked))
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def give_back_freed_memory() -> None:
    """Give memory back to the operating system: of arrays that stand in files, and what was freed
    where the C library keeps it, as that of GNU does of arrays below 32 MB."""
    from audit.base.arrays import give_back_pages

    give_back_pages()
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)


EXTRAS = {
    "model": ("torch", "statsmodels"),
    "spark": ("pyspark",),
    "explain": ("captum", "shap"),
    "sql": ("adbc_driver_postgresql", "adbc_driver_sqlite", "duckdb"),
    "formats": ("fastexcel", "pyoxigraph", "obstore", "nltk"),
}
"""The packages that each extra installs."""


def require_package(package: str, purpose: str) -> None:
    """Raise InputError, which names the extra, if a package of `EXTRAS` is not installed; the
    ``purpose`` is what it is needed for, as "to compute LIME"."""
    if find_spec(package) is None:
        extra = next(name for name, packages in EXTRAS.items() if package in packages)
        raise InputError(
            f"the package {package} is required {purpose}",
            found="it is not installed",
            hint=f"pip install 'hierarchy-audit[{extra}]'",
        )


def torch_device(name: str | None) -> torch.device:
    """The device of that name, a GPU where there is one if None; InputError if it is not there."""
    import torch

    named = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=named).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            "a device that torch can use is required",
            found=f"{named!r}: {str(error).splitlines()[0]}",
            hint="device='cpu'",
        ) from None
