"""The run folder: whole or not at all, whatever crashes; sealed, read back the same."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

import reports
from audit import AuditResult, CheckResult, read_run, run_audit, write_run
from audit.base.errors import InputError, OutputError, RenderError
from audit.checks import CHECKS
from audit.checks.check import Check
from audit.measure.measure import Measurements
from audit.results.result import to_json_bytes
from audit.runs import audit as run_module
from audit.runs import folder as run_folder
from audit.runs import manifest
from audit.runs.folder import rewriting_run, seal_reports, write_tables, writing_run
from audit.runs.sealed_run import SealedRun
from fixtures.doors import command
from fixtures.labelled import labelled, repeated, tree
from reports import pdf

BODY = tree(
    "lung heart < body",
    "asthma other_lung < lung",
    "attack < heart",
    titles={"other_lung": "Other {of} 100 % é"},
    labelled_ancestors="fault",
)
COUNTS = [
    (40, ["other_lung"]),
    (20, ["asthma", "attack", "lung"]),
    (3, ["attack"]),
    (10, []),
    (2, ["elf"]),
]


@pytest.fixture
def result() -> AuditResult:
    return run_audit(labelled(BODY, repeated(COUNTS), persons=True))


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_run_written_again_has_the_same_bytes(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    before = {
        path.name: path.read_bytes() for path in run.rglob("*.*") if path.name != "manifest.json"
    }
    write_run(read_run(run), run, overwrite=True)

    for name in ("result.json", "nodes.parquet", "findings.parquet", "pairs.parquet"):
        (path,) = run.rglob(name)
        assert path.read_bytes() == before[name], name


def test_a_link_to_a_run_stays_a_link(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    link = tmp_path / "latest"
    link.symlink_to(run)
    write_run(result, link, overwrite=True)

    assert link.is_symlink()
    assert read_run(run).size == 75


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_what_is_not_to_be_shared_can_be_opened_by_its_owner_alone(
    result: AuditResult, tmp_path: Path
) -> None:
    run = write_run(result, tmp_path / "run")
    assert (run / "restricted").stat().st_mode & 0o777 == 0o700


def test_a_report_that_is_not_made_anew_stays(result: AuditResult, tmp_path: Path) -> None:
    run = write_run(result, tmp_path / "run")
    (run / "report.pdf").write_text("earlier")
    with rewriting_run(run) as folder:
        (folder / "report.html").write_text("new")
        seal_reports(run, folder)

    assert (run / "report.pdf").read_text() == "earlier"
    assert SealedRun(run).intact("report.pdf")


@pytest.mark.parametrize(
    ("kind", "overwrite", "earlier"),
    [("folder", False, False), ("file", True, False), ("link", True, True), ("folder", True, True)],
)
def test_what_appears_meanwhile_stays(
    result: AuditResult, tmp_path: Path, overwrite: bool, earlier: bool, kind: str
) -> None:
    out, thesis = tmp_path / "run", tmp_path / "elsewhere" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("years")
    if earlier and overwrite:
        write_run(result, out)

    def written() -> None:
        with writing_run(out, overwrite=overwrite) as folder:
            write_tables(result, folder)
            shutil.rmtree(out, ignore_errors=True)
            if kind == "folder":
                shutil.copytree(thesis.parent, out)
            elif kind == "file":
                shutil.copy(thesis, out)
            else:
                out.symlink_to(thesis.parent)

    with pytest.raises(OutputError, match="not a run"):
        written()
    assert (out if kind == "file" else out / "thesis.txt").read_text() == "years"
    assert left_in(tmp_path) == {"run", "elsewhere"}


def test_a_run_that_appears_meanwhile_stays_unless_it_may_be_replaced(
    result: AuditResult, tmp_path: Path
) -> None:
    run = write_run(result, tmp_path / "made")

    def made_beside(out: Path, overwrite: bool) -> None:
        with writing_run(out, overwrite=overwrite) as folder:
            shutil.copytree(run, folder, dirs_exist_ok=True)
            (folder / "later").touch()
            shutil.copytree(run, out)

    with pytest.raises(OutputError, match="--overwrite"):
        made_beside(tmp_path / "run", overwrite=False)
    assert not (tmp_path / "run" / "later").exists()

    made_beside(tmp_path / "other", overwrite=True)
    assert (tmp_path / "other" / "later").exists()


def test_a_run_that_has_changed_is_read_only_when_asked(
    result: AuditResult, tmp_path: Path
) -> None:
    run = write_run(result, tmp_path / "run")
    (run / "beside.txt").touch()

    with pytest.raises(InputError, match="a run as it was sealed is required"):
        read_run(run)
    assert to_json_bytes(read_run(run, unsealed=True).shared()) == to_json_bytes(result.shared())


Files = tuple[Path, Path]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "run"


def audited(files: Files, out: Path, *options: object) -> Result:
    labels, hierarchy = files
    words = ("run", labels, "--hierarchy", hierarchy, "--out", out, "--no-pdf", *options)
    return command(*words)


def boom(measured: Measurements) -> CheckResult:
    raise ZeroDivisionError("by nothing")


def test_a_check_that_crashes_exits_3_and_keeps_the_run(
    toy_files: Files, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Check(CHECKS[0].name, CHECKS[0].title, boom)
    monkeypatch.setattr(run_module, "CHECKS", (broken, *CHECKS[1:]))
    result = audited(toy_files, out, "--fail-on", "never")

    assert result.exit_code == 3
    assert "ZeroDivisionError" in result.stdout
    shared = json.loads((out / "result.json").read_text())
    assert shared["status"] == "error"
    assert (out / "report.html").is_file()


def unrenderable(*_: object, **__: object) -> None:
    raise RenderError("Pango is required", hint="apt install it")


def test_a_pdf_that_cannot_be_rendered_exits_3_and_keeps_the_rest(
    toy_files: Files, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "typeset", unrenderable)
    labels, hierarchy = toy_files
    result = command("run", labels, "--hierarchy", hierarchy, "--out", out, "--fail-on", "error")

    assert result.exit_code == 3
    assert "Not written: Pango is required" in result.stderr
    assert "Hint: apt install it" in result.stderr
    assert "Report:" in result.stdout
    assert {"report.html", "result.json", "manifest.json"} <= left_in(out)
    assert "report.pdf" not in left_in(out)


def test_a_report_half_rendered_is_not_kept(
    toy_files: Files, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(_: object, path: Path, __: object) -> None:
        path.write_text("half")
        unrenderable()

    monkeypatch.setattr(reports, "write_html", half)
    result = audited(toy_files, out)

    assert result.exit_code == 3
    assert "report.html" not in left_in(out)
    assert "report.html" not in json.loads((out / "manifest.json").read_text())["outputs"]


STAGES: list[tuple[Any, str]] = [
    (run_module, "measure"),
    (run_folder, "write_tables"),
    (manifest, "seal"),
    (reports, "write_html"),
    (run_folder, "_put_in_place"),
]


@pytest.mark.parametrize(("where", "stage"), STAGES, ids=[stage for _, stage in STAGES])
@pytest.mark.parametrize("earlier", [False, True])
def test_an_error_at_any_stage_leaves_nothing_half_written(
    toy_files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: Any,
    stage: str,
    earlier: bool,
) -> None:
    out = tmp_path / "out" / "run"
    out.parent.mkdir()
    if earlier:
        audited(toy_files, out)
    before = left_in(out.parent)
    seal = (out / "manifest.json").read_bytes() if earlier else b""

    def fails(*_: object, **__: object) -> None:
        raise KeyboardInterrupt if earlier else RuntimeError

    monkeypatch.setattr(where, stage, fails)
    result = audited(toy_files, out, "--overwrite")

    assert result.exit_code != 0
    assert left_in(out.parent) == before
    assert not earlier or (out / "manifest.json").read_bytes() == seal
