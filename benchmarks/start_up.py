"""How long ``audit --help`` takes, and whether it imports what it must not."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from measure import keep, run, stay_on_cores, surroundings

AUDIT = str(Path(sys.executable).with_name("audit"))
HEAVY = ("polars", "scipy", "networkx", "pyarrow", "weasyprint", "torch")
LIMIT = 0.4
"""Seconds that ``audit --help`` may take."""
WARM_UPS, ROUNDS = 2, 10

_IMPORTED = f"""
import sys
sys.argv = ["audit", "--help"]
from audit.cli.app import app
try:
    app()
except SystemExit:
    pass
print("imported:", *(name for name in {HEAVY!r} if name in sys.modules))
"""


def measure_start_up() -> dict[str, Any]:
    """Median and least wall time of ``audit --help``, and the heavy modules it imports."""
    walls = [run([AUDIT, "--help"]).wall for _ in range(WARM_UPS + ROUNDS)][WARM_UPS:]
    last = run([sys.executable, "-c", _IMPORTED]).output.splitlines()[-1]
    return {
        "wall_median": statistics.median(walls),
        "wall_least": min(walls),
        "rounds": ROUNDS,
        "limit": LIMIT,
        "heavy_imports": last.removeprefix("imported:").split(),
    }


def show_start_up(result: dict[str, Any]) -> None:
    """Print one line about the time and one about the imports."""
    print(
        f"audit --help: {result['wall_median']:.3f} s median of {ROUNDS}, "
        f"{result['wall_least']:.3f} s least (limit {LIMIT} s)"
    )
    print(f"heavy imports: {', '.join(result['heavy_imports']) or 'none'}")


if __name__ == "__main__":
    cores = stay_on_cores()
    measured = measure_start_up()
    show_start_up(measured)
    print(keep("start_up", {"surroundings": surroundings(cores), "start_up": measured}))
