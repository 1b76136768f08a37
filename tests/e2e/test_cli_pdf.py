"""A typesetter that fails takes nothing else with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pikepdf
import pytest

from audit.runs.verify import verify_run

ROOT = Path(__file__).parents[2]
EDGES = "child,parent\na,top\nb,top\na1,a\na2,a\nb1,b\n"
LABELS = "id,label\n" + "".join(f"{n},{('a1', 'a2', 'b1')[n % 3]}\n" for n in range(60))


@pytest.mark.slow
def test_a_crash_of_the_typesetter_leaves_a_whole_run(tmp_path: Path) -> None:
    (tmp_path / "weasyprint.py").write_text("import os; os.abort()", "utf-8")
    (tmp_path / "edges.csv").write_text(EDGES, "utf-8")
    (tmp_path / "labels.csv").write_text(LABELS, "utf-8")
    asked = "import sys; from audit.cli.app import app; app(sys.argv[1:])"
    options = ("run", "labels.csv", "--hierarchy", "edges.csv", "--out", "run")
    done = subprocess.run(
        [sys.executable, "-c", asked, *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "Not written: report.pdf could not be rendered" in done.stderr
    assert "ended with status -6" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run" / "report.pdf").exists()
    assert (tmp_path / "run" / "report.html").exists()
    assert json.loads((tmp_path / "run" / "result.json").read_text("utf-8"))["checks"]
    outcomes = {verdict.name: verdict.outcome for verdict in verify_run(tmp_path / "run")}
    assert "does not hold" not in outcomes.values()
    assert outcomes["tables"] == "holds"


@pytest.mark.slow
def test_without_pango_all_but_the_pdf_is_written(tmp_path: Path) -> None:
    (tmp_path / "weasyprint.py").write_text("raise OSError('cannot load libpango')", "utf-8")
    (tmp_path / "edges.csv").write_text(EDGES, "utf-8")
    (tmp_path / "labels.csv").write_text(LABELS, "utf-8")
    options = ("run", "labels.csv", "--hierarchy", "edges.csv", "--out")
    where = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}

    def audit(*arguments: str) -> subprocess.CompletedProcess[str]:
        asked = [sys.executable, "-m", "audit", *arguments]
        return subprocess.run(asked, cwd=tmp_path, env=where, capture_output=True, text=True)

    done = audit(*options, "run")
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("No report.pdf: install Pango.")
    assert last.endswith("Then `audit report RUN` writes it.")
    again = audit("report", "run")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, last)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "manifest.json", "report.html", "restricted", "result.json",
    }  # fmt: skip
    for asked in ((*options, "other", "--pdf"), ("report", "run", "--pdf")):
        refused = audit(*asked)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "Error: --pdf needs the system library Pango" in refused.stderr
        assert "brew install pango" in refused.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_characters_without_a_font_are_told_and_no_standard_is_claimed(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES, "utf-8")
    (tmp_path / "labels.csv").write_text(LABELS, "utf-8")
    asked = "import sys; from audit.cli.app import app; app(sys.argv[1:])"
    options = ("run", "labels.csv", "--hierarchy", "edges.csv", "--title", "R \U0010fffd")
    done = subprocess.run(
        [sys.executable, "-c", asked, *options, "--out", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0
    assert "report.pdf: it is no PDF/A-3a" in done.stderr
    assert "U+10FFFD" in done.stderr
    with pikepdf.open(tmp_path / "run" / "report.pdf") as pdf, pdf.open_metadata() as metadata:
        assert metadata.pdfa_status == ""
    outcomes = {verdict.name: verdict.outcome for verdict in verify_run(tmp_path / "run")}
    assert outcomes["files"] == "holds"
