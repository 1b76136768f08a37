"""The tests that `make test` leaves out are run by CI, on all examples."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "PYTEST_ARGS")
"""What `make` tells a `make` below it."""
WHAT = ("quick", "slow", "skipped", "example")
TESTS = """\
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.examples import examples


def test_quick():
    print("\\nran quick")


@pytest.mark.slow
def test_slow():
    print("\\nran slow")


def test_skipped():
    if "EXTRAS" not in os.environ:
        pytest.skip("needs an extra")
    print("\\nran skipped")


@examples(40)
@given(st.integers())
def test_law(number):
    print("\\nran example")
"""


def pytest_of(target: str) -> list[str]:
    """What a target of the Makefile gives to pytest."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    own = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    command = [make, "--dry-run", target, "PYTEST_ARGS="]
    dry = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    (given,) = re.findall(r"^\S+ -m pytest\b(.*)$", dry.stdout, re.M)
    return shlex.split(given)


def ran(target: str, folder: Path, *more: str) -> dict[str, int]:
    """How many quick and slow tests, and examples of a law, a target runs."""
    (folder / "test_three.py").write_text(TESTS, "utf-8")
    options = ["-p", "tests.conftest", *pytest_of(target), "--numprocesses=0", "-s", *more]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder / "test_three.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    return {what: lines.count(f"ran {what}") for what in WHAT}


@pytest.mark.slow
def test_slow_ones_and_all_examples_and_what_did_not_pass_are_left_to_test_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = tmp_path / "passed.json"
    some = ran("test", tmp_path, f"--note-passed={passed}")
    monkeypatch.setenv("EXTRAS", "installed")
    rest = ran("test-all", tmp_path, f"--but-passed={passed}")

    assert some == {"quick": 1, "slow": 0, "skipped": 0, "example": 4}
    assert rest == {"quick": 0, "slow": 1, "skipped": 1, "example": 24}
    assert "-m" not in pytest_of("test-all")


def test_ci_runs_every_test() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    lines = script.splitlines()

    plain = lines.index("make test PYTEST_ARGS=--note-passed=.passed.json")
    rest = lines.index("make test-all PYTEST_ARGS=--but-passed=.passed.json")
    assert lines.index("make demo") < plain < script[: script.index("[spark")].count("\n") < rest
    assert "set -euo pipefail" in lines
    assert "PYTEST_ADDOPTS" not in script
