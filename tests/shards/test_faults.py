"""A seeded sample of faults at writes: the old folder whole or the new one, and nothing beside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks a program that has threads")
def test_a_fault_at_any_write_loses_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "try_faults.py"), "--sample", "20"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1].startswith("20 of ")
