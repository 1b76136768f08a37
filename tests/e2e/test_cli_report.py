"""The reports of the sample release: their name, their day and their length."""

from __future__ import annotations

import json
from pathlib import Path

import pikepdf
import pytest
from typer.testing import CliRunner

from audit.cli.app import app
from fixtures.sample_runs import RELEASE_1, RELEASE_2, SAMPLE_DATA

PAGES = 7
"""In DejaVu Sans too, a wide font, where no other is installed."""


MODEL = ("--predictions", str(SAMPLE_DATA / "predictions.psv"), "--title", "Ward 7")
RUNS = {"alone": (RELEASE_1,), "model": (RELEASE_2, *MODEL), "since": (RELEASE_2, *MODEL)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release alone, a later one with a model, and this one with the first as reference."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        for name, (release, *given) in RUNS.items():
            since = ["--reference", str(folder / "alone")] * (name == "since")
            told = [str(release), "--hierarchy", "icd9cm", *given, *since]
            done = CliRunner().invoke(app, ["run", *told, "--out", str(folder / name)])
            assert done.exit_code == 0, done.output
    return {name: folder / name for name in RUNS}


@pytest.fixture
def run(runs: dict[str, Path]) -> Path:
    return runs["model"]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_release_like_the_sample_is_printed_on_few_pages(
    runs: dict[str, Path], name: str
) -> None:
    with pikepdf.open(runs[name] / "report.pdf") as pdf:
        assert len(pdf.pages) <= PAGES


@pytest.mark.slow
def test_the_title_and_the_day_stand_in_the_report_and_stay_when_it_is_written_again(
    run: Path,
) -> None:
    before = (run / "report.html").read_text("utf-8")
    assert "<h1>Ward 7</h1>" in before
    assert "14 November 2023" in before
    assert "Ward 7" not in (run / "result.json").read_text("utf-8")
    assert json.loads((run / "manifest.json").read_bytes())["settings"]["title"] == "Ward 7"

    done = CliRunner().invoke(app, ["report", str(run), "--no-pdf"])

    assert done.exit_code == 0, done.output
    assert (run / "report.html").read_text("utf-8") == before
