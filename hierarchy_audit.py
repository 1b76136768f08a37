"""The command line of ``audit``, under a name that nothing else has.

A script called ``audit.py`` may stand before the package in the search path, and another package
called ``reports`` may take the place of ours. This module says so.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

_ALLOCATORS = {"_RJEM_MALLOC_CONF": "muzzy_decay_ms:0", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Have Polars and Arrow give freed memory back at once; they read it when they are imported."""


_FIRST = {"audit": b"", "reports": b"Reports of an audit"}
"""Our packages, and what the first line of each holds: another may have overwritten it."""


def main() -> None:
    """Run the command line; exit with 2 where something else took the name of a package of ours."""
    for name, first in _FIRST.items():
        ours, found = Path(__file__).with_name(name) / "__init__.py", _origin(name)
        if found is None or not found.samefile(ours) or first not in found.read_bytes():
            sys.stderr.write(
                f"Error: {found} took the name of the package {name}, which lies in {ours.parent}\n"
                "Hint: rename that file or take its folder out of PYTHONPATH; where another package"
                " was installed over ours: python -m pip install --force-reinstall --no-deps"
                " hierarchy-audit\n"
            )
            sys.exit(2)
    for name, value in _ALLOCATORS.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(50_000, 20, 50)  # most of what a command makes stays until it ends
    status: list[int] = []
    atexit.register(_end, status)  # first, so that all that others register runs before it
    from audit.cli.app import app

    try:
        app()
    except SystemExit as ended:
        status += [ended.code] if isinstance(ended.code, int) else []
        raise


def _end(status: list[int]) -> None:
    """End the process with a status, if there is one, without giving back object by object.

    The system frees the memory of a process at once; Python takes a second for it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if status:
        os._exit(*status)


def _origin(name: str) -> Path | None:
    """The file that a name is imported from; None where there is none."""
    spec = find_spec(name)
    return Path(spec.origin) if spec and spec.origin else None


if __name__ == "__main__":
    main()
