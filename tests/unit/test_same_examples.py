"""Everybody's tests draw the same examples, and one seed explores the same ones everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSTANTS = f"NUMBERS = {list(range(70_000, 70_200))}\n"
DRAWS = """\
from constants import NUMBERS
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(), st.text())
def test_draws(number, text):
    print("\\ndrawn", number, ascii(text))
"""


def drawn(folder: Path, options: tuple[str, ...], **environment: str) -> list[str]:
    """What a test draws that lies in a folder, beside constants that Hypothesis would draw too."""
    folder.mkdir(exist_ok=True)
    (folder / "constants.py").write_text(CONSTANTS)
    (folder / "test_draws.py").write_text(DRAWS)
    command = [sys.executable, "-m", "pytest", "-s", "-p", "tests.conftest", *options, str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if line.startswith("drawn")]


def of_two_people(options: tuple[str, ...], folder: Path) -> list[str]:
    """What both draw, in folders and on machines of their own."""
    here = drawn(folder / "here", options, PYTHONHASHSEED="1", CI="")
    there = drawn(folder / "tests", options, PYTHONHASHSEED="2", CI="1")
    assert here == there
    return here


@pytest.mark.slow
def test_without_options_everybody_draws_the_same(tmp_path: Path) -> None:
    assert len(of_two_people((), tmp_path)) >= 30


@pytest.mark.slow
def test_a_seed_explores_the_same_for_everybody_and_another_seed_does_not(tmp_path: Path) -> None:
    explore = "--hypothesis-profile=explore"
    one = of_two_people((explore, "--hypothesis-seed=1"), tmp_path)

    assert len(one) >= 200
    assert one != drawn(tmp_path / "here", (explore, "--hypothesis-seed=2"))
