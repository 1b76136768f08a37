"""A typesetter that fails takes nothing else with it; the title and the day stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.doors import made

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
EDGES = "child,parent\na,top\nb,top\na1,a\na2,a\nb1,b\n"
LABELS = "id,label\n" + "".join(f"{n},{('a1', 'a2', 'b1')[n % 3]}\n" for n in range(60))
RUN = ("run", "labels.csv", "--hierarchy", "edges.csv", "--out")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text(EDGES, "utf-8")
    (tmp_path / "labels.csv").write_text(LABELS, "utf-8")
    return tmp_path


def typed(place: Path, typesetter: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command that finds another typesetter."""
    (place / "weasyprint.py").write_text(typesetter, "utf-8")
    where = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
    asked = [sys.executable, "-m", "audit", *words]
    return subprocess.run(asked, cwd=place, env=where, capture_output=True, text=True, check=False)


def test_a_crash_of_the_typesetter_leaves_a_whole_run(place: Path) -> None:
    done = typed(place, "import os; os.abort()", *RUN, "run")

    assert done.returncode == 3
    assert "Not written: report.pdf could not be rendered" in done.stderr
    assert "ended with status -6" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "run" / "report.pdf").exists()
    assert (place / "run" / "report.html").exists()
    assert json.loads((place / "run" / "result.json").read_text("utf-8"))["checks"]
    made("verify", place / "run")


def test_without_pango_all_but_the_pdf_is_written(place: Path) -> None:
    pango = "raise OSError('cannot load libpango')"
    done = typed(place, pango, *RUN, "run")
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("No report.pdf: install Pango.")
    assert last.endswith("Then `audit report RUN` writes it.")
    again = typed(place, pango, "report", "run")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, last)
    assert {path.name for path in (place / "run").iterdir()} == {
        "manifest.json", "report.html", "restricted", "result.json",
    }  # fmt: skip
    for asked in ((*RUN, "other", "--pdf"), ("report", "run", "--pdf")):
        refused = typed(place, pango, *asked)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "Error: --pdf needs the system library Pango" in refused.stderr
        assert "brew install pango" in refused.stderr
    assert not (place / "other").exists()


def test_the_title_and_the_day_stand_in_the_report_and_stay_when_it_is_written_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(place)
    made(*RUN, "run", "--title", "Ward 7", "--no-pdf")
    before = (place / "run" / "report.html").read_text("utf-8")

    assert "<h1>Audit of Ward 7</h1>" in before
    assert "14 November 2023" in before
    assert "Ward 7" not in (place / "run" / "result.json").read_text("utf-8")
    manifest = json.loads((place / "run" / "manifest.json").read_bytes())
    assert manifest["settings"]["title"] == "Ward 7"
    made("report", "run", "--no-pdf")
    assert (place / "run" / "report.html").read_text("utf-8") == before
