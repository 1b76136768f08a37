"""CI runs the quick tests and one shard at each commit; every test is in exactly one of these."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fixtures.shards import SHARDS, shards

ROOT = Path(__file__).parents[2]
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "PYTEST_ARGS")
"""What `make` tells a `make` below it."""


def pytest_of(target: str) -> list[str]:
    """What a target of the Makefile gives to pytest."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    own = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    command = [make, "--dry-run", target, "PYTEST_ARGS=", "SHARD=3"]
    dry = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, check=True)
    (given,) = re.findall(r"^\S+ -m pytest\b(.*)$", dry.stdout, re.M)
    return shlex.split(given)


def files_of(*options: str) -> set[Path]:
    """The files of which pytest collects tests with these options."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {ROOT / line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}


def test_each_file_is_in_one_shard_and_no_shard_is_empty() -> None:
    assert {*shards().values()} == {*range(SHARDS)}
    assert {*shards()} == {*(ROOT / "tests").rglob("test_*.py")}


def test_what_is_not_installed_for_the_tests_is_needed_in_shards_with_extras_alone() -> None:
    for path, shard in shards().items():
        if shard < 6 and path.name != Path(__file__).name:
            named = re.findall(r"(?:importorskip|find_spec)\(\"(\w+)", path.read_text("utf-8"))
            assert [one for one in named if find_spec(one) is None] == [], path


@pytest.mark.slow
def test_a_shard_is_its_files_with_every_test_of_theirs() -> None:
    given = [one for one in pytest_of("shard") if "num" not in one and "dist" not in one]
    assert given == ["--shard=3"]
    assert files_of(*given, "tests/contract") == {
        path for path, own in shards().items() if own == 3 and path.parent.name == "contract"
    }


def test_all_shards_are_every_test_on_all_examples() -> None:
    given = pytest_of("shards")
    assert [one for one in given if not one.startswith("--num")] == ["--dist=worksteal"]
    assert "not slow" in pytest_of("test")


def test_ci_runs_what_a_newcomer_runs_and_then_a_shard() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    lines = [line.strip() for line in script.splitlines()]

    order = ["make demo", "make test", "make slow", "hashed extras", "make .venv/.extras"]
    assert [line for line in lines if line in order] == order
    assert f"shard=${{SHARD:-$(($(git rev-list --count HEAD) % {SHARDS}))}}" in lines
    assert lines[-1] == 'make shard SHARD="$shard"'
    assert "set -euo pipefail" in lines
    assert "PYTEST_ADDOPTS" not in script
