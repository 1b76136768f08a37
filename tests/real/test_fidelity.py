"""docs/fidelity.md is what its script makes of the real data, and says what it must."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "fidelity.md"


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("AUDIT_DATA"), reason="AUDIT_DATA names no folder with the real data"
)
def test_the_page_is_what_the_script_makes(tmp_path: Path) -> None:
    made = tmp_path / "fidelity.md"
    command = [sys.executable, str(ROOT / "scripts" / "make_fidelity.py"), "--out", str(made)]
    subprocess.run(command, check=True, cwd=tmp_path)

    assert made.read_text("utf-8") == PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    "said",
    [
        "| nodes | 21,164 | 21,166 | 21,116 (section 4.3); 21,166 (appendix A.2) |",
        "| leaves | 17,445 | 17,447 | 17,447 in the released notebook |",
        "(a node counts from 0.01) | 7,818 | 7,818 |",
        "Accuracy at the leaves: 0.929; stated: 0.929.",
        "Accuracy at the leaves: 0.923; stated: 0.923.",
    ],
)
def test_the_page_says_what_was_to_be_shown(said: str) -> None:
    assert said in PAGE.read_text("utf-8")


MARKS = {"equal", "command", "no"}


def test_every_published_number_is_marked_with_how_or_why() -> None:
    text = PAGE.read_text("utf-8").split("## Published numbers")[1]
    tables = [table.splitlines() for table in text.split("\n### ")[1:]]
    published = [
        [cell.strip() for cell in line[1:].split(" | ")]
        for _, *lines in tables
        for line in [line for line in lines if line.startswith("| ")][2:]
    ]

    assert len(tables) == 6
    assert len(published) >= 40
    assert {mark for _, mark, *_ in published} == MARKS
    for _, mark, command, out in published:
        assert out.strip("| ") or command
        assert mark != "command" or "`" in command or command[:8] == "the same"
