"""Running a command in a child process, and what it took."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
"""Where measurements are kept; not part of the repository."""
CORES = 2
"""Cores that everything is measured on, where the system lets a process choose."""


@dataclass(frozen=True)
class Taken:
    """What one run of a command took.

    Args:
        wall: Seconds from start to end.
        cpu: Seconds of all its threads and children together.
        peak: Largest resident memory, in bytes.
        output: What it wrote to standard output.
    """

    wall: float
    cpu: float
    peak: int
    output: str


def run(command: list[str], folder: Path | None = None) -> Taken:
    """Run a command to its end, in a folder; SystemExit with its last words if it fails."""
    started = time.perf_counter()
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}:\n{output[-300:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Taken(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit, output)


def stay_on_cores(cores: int = CORES) -> int:
    """Keep this process and its children to so many cores; returns how many it has."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    return len(os.sched_getaffinity(0))


def surroundings(cores: int) -> dict[str, Any]:
    """What the numbers were measured with; the load tells whether the machine was idle."""
    packages = ("numpy", "scipy", "polars")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": cores,
        "load": os.getloadavg()[0],
        **{package: version(package) for package in packages},
    }
