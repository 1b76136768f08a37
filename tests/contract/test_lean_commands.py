"""Commands load what they use: a list of modules that each must not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OTHERS = ("sklearn", "statsmodels", "networkx", "torch", "pyspark", "duckdb", "scipy.stats")
NUMBERS = ("polars", "numpy", "scipy", "pyarrow", "pydantic", "weasyprint", *OTHERS)
MEASURING = ("scipy.optimize", "audit.checks", "audit.measure", "audit.data")
READING = {"audit.counting", "audit.counting.pair_table", "audit.counting.pair_verdicts"}
"""What of counting the table of pairs of a run is read by; a report loads no more of it."""
ANALYSES = ("audit.runs.analyses", "audit.runs.compare", "audit.explorer")


def loaded(*command: object) -> set[str]:
    """The modules that an interpreter has loaded when a command ends well."""
    told = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    code = f"{told}; from audit.cli.app import app; app()"
    asked = [sys.executable, "-c", code, *map(str, command)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.slow
def test_no_command_loads_what_it_does_not_use(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("child,parent\ncow,animal\ndog,animal\n")
    (tmp_path / "labels.csv").write_text("instance,label\na,cow\nb,dog\n")
    hierarchy, out = ("--hierarchy", tmp_path / "edges.csv"), tmp_path / "run"

    for command, without in {
        ("--help",): NUMBERS,
        ("run", tmp_path / "labels.csv", *hierarchy, "--out", out, "--no-pdf"): (*OTHERS, "pandas"),
        ("report", out, "--no-pdf"): (*OTHERS, *MEASURING, *ANALYSES, "weasyprint", "pandas"),
    }.items():
        assert loaded(*command) & set(without) == set(), command[0]

    told = loaded("report", out, "--no-pdf")
    assert {one for one in told if one.startswith("audit.counting")} <= READING
