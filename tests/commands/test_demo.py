"""``audit demo``: the first command that a user types."""

from __future__ import annotations

from pathlib import Path

import pytest

import audit
from fixtures.doors import made, refused
from fixtures.held import held


@pytest.mark.slow
def test_a_folder_with_data_runs_and_a_comparison(tmp_path: Path) -> None:
    said = made("demo", tmp_path / "demo", "--no-pdf")
    runs = sorted({path.parent for path in (tmp_path / "demo").rglob("result.json")})

    assert runs
    for run in runs:
        assert (run / "report.html").exists()
        assert not [one for one in audit.verify_run(run) if one.outcome == "does not hold"]
    assert "audit " in said
    before = held(tmp_path)
    refused("demo", tmp_path / "demo", "--no-pdf")
    assert held(tmp_path) == before


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    before = held(tmp_path)

    refused("demo", tmp_path / "demo", "--no-pdf")
    assert held(tmp_path) == before
