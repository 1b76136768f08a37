"""The command line from files to a run: exit statuses, messages, and what is left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

import reports
from audit.base.errors import RenderError
from audit.checks import CHECKS
from audit.checks.check import Check
from audit.measure.measure import Measurements
from audit.results.findings import CheckResult
from audit.runs import audit as run_module
from audit.runs import folder as run_folder
from audit.runs import manifest
from fixtures.commands import audit
from reports import pdf

ROOT = Path(__file__).parents[2]
Files = tuple[Path, Path]


def audited(files: Files, out: Path, *options: object) -> Result:
    labels, hierarchy = files
    return audit("run", labels, "--hierarchy", hierarchy, "--out", out, "--no-pdf", *options)


AUDIT = str(Path(sys.executable).with_name("audit"))


def command(files: Files, out: Path, *options: str) -> list[str]:
    labels, hierarchy = map(str, files)
    run = [AUDIT, "run", labels, "--hierarchy", hierarchy, "--out", str(out), "--no-pdf"]
    return [*run, *options]


def installed(
    files: Files, out: Path, *options: str, **changed: str | None
) -> subprocess.CompletedProcess[str]:
    """The command as it is installed, piped, with variables of the environment changed."""
    environment = {k: v for k, v in (os.environ | changed).items() if v is not None}
    return subprocess.run(
        command(files, out, *options),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def table_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("Report: ")]


def left_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "run"


# --- a run ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_summary_that_is_piped_is_plain(toy_files: Files, out: Path) -> None:
    done = installed(toy_files, out, FORCE_COLOR=None)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert not {c for c in done.stdout if not (c == "\n" or (c.isascii() and c.isprintable()))}
    lines = [one for one in table_lines(done.stdout) if not one.startswith("audit cases ")]
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)


@pytest.mark.slow
def test_a_title_that_the_output_cannot_spell_is_no_error(tmp_path: Path, out: Path) -> None:
    labels, hierarchy = tmp_path / "labels.csv", tmp_path / "toy.csv"
    labels.write_text("instance,label\na,kü\na,😀\n", "utf-8")
    hierarchy.write_text("child,parent\nkü,tier\n😀,tier\n", "utf-8")
    done = installed((labels, hierarchy), out, PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, "")


def test_only_the_manifest_has_a_path_a_host_or_a_time(
    toy_files: Files, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "a-host-of-its-own")
    audited(toy_files, out)
    manifest = json.loads((out / "manifest.json").read_text())

    assert manifest["host"] == "a-host-of-its-own"
    assert str(toy_files[0]) in {source["path"] for source in manifest["inputs"]}
    assert manifest["started"] <= manifest["finished"]
    for path in out.rglob("*"):
        if path.is_file() and path.name != "manifest.json":
            content = path.read_bytes()
            told = (str(tmp_path), "a-host-of-its-own", manifest["started"])
            assert not [text for text in told if text.encode() in content], path


# --- exit statuses ----------------------------------------------------------------------------


def boom(measured: Measurements) -> CheckResult:
    raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize("fail_on", ["never", "error"])
def test_a_check_that_crashes_exits_3_and_keeps_the_run(
    toy_files: Files, out: Path, monkeypatch: pytest.MonkeyPatch, fail_on: str
) -> None:
    broken = Check(CHECKS[0].name, CHECKS[0].title, boom)
    monkeypatch.setattr(run_module, "CHECKS", (broken, *CHECKS[1:]))
    result = audited(toy_files, out, "--fail-on", fail_on)

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
    result = audit("run", labels, "--hierarchy", hierarchy, "--out", out, "--fail-on", "error")

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


@pytest.mark.parametrize(
    "options",
    [
        *(["--seed", "-1"], ["--jobs", "100000"], ["--min-cell", "9" * 20], ["--seed", "9" * 20]),
        *(["--min-cell", "9" * 18], ["--title", "a\udcff"], ["--strata", "b\udcff"]),
    ],
)
def test_numbers_and_texts_that_nothing_holds(
    toy_files: Files, out: Path, options: list[str]
) -> None:
    result = audited(toy_files, out, *options)
    assert result.exit_code == 2
    assert options[0] in result.output
    assert not out.exists()


@pytest.mark.parametrize("place", ["file", "folder", "part"])
def test_a_path_that_is_no_utf8_is_refused_before_anything_is_read(
    toy_files: Files, tmp_path: Path, out: Path, place: str
) -> None:
    strange = tmp_path / os.fsdecode(b"strange\xff")
    strange.mkdir()
    part = strange / "a.csv" if place != "part" else tmp_path / "parts" / f"{strange.name}.csv"
    part.parent.mkdir(exist_ok=True)
    part.write_bytes(toy_files[0].read_bytes())
    labels = part.parent if place in ("folder", "part") else part
    result = audited((labels, toy_files[1]), out)
    assert result.exit_code == 2
    assert "UTF-8" in result.output
    assert not out.exists()


@pytest.mark.parametrize("epoch", ["abc", "9" * 20, "1.5"])
def test_a_date_that_is_none_is_refused(toy_files: Files, out: Path, epoch: str) -> None:
    command = [sys.executable, "-c", "from audit.cli.app import app; app()", "run", "x.csv"]
    ended = subprocess.run(
        [*command, "--hierarchy", "icd9cm", "--out", str(out)],
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("Error: SOURCE_DATE_EPOCH is the seconds since 1970")


def test_a_terminal_obeys_no_id_and_no_title(tmp_path: Path) -> None:
    labels, hierarchy, out = (tmp_path / name for name in ("labels.csv", "toy.csv", "run"))
    hierarchy.write_text("child,parent,title\nx\x1b[2J,top,\u009b1m\ny,top,\n")
    labels.write_text("instance,label\ni\x1b[0m,x\x1b[2J\nj,z\x1b]0;\x07\n")
    shown = [
        audited((labels, hierarchy), out, "--keep-instances"),
        audit("cases", out, "--instance", "i\x1b[0m"),
        audit("cases", out, "--instance", "\x1b[0m"),
        audit("cases", out),
        audit("run", labels, "--hierarchy", tmp_path / "\x1b[2J", "--out", tmp_path / "none"),
        audited((labels, hierarchy), out, "--overwrite", "--json"),
    ]

    assert [one.exit_code for one in shown] == [0, 0, 2, 0, 2, 0]
    for one in shown:
        assert not set(one.output) & {"\x1b", "\x9b", "\x07"}
    assert "x\\x1b[2J \\x9b1m" in shown[1].stdout


# --- the output folder --------------------------------------------------------------------------


STAGES: list[tuple[Any, str]] = [
    (run_module, "measure"),
    (run_folder, "write_tables"),
    (manifest, "seal"),
    (reports, "write_html"),
    (run_folder, "_put_in_place"),
]


@pytest.mark.parametrize(("where", "stage"), STAGES, ids=[stage for _, stage in STAGES])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("earlier", [False, True])
def test_an_error_at_any_stage_leaves_nothing_half_written(
    toy_files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: Any,
    stage: str,
    error: type[BaseException],
    earlier: bool,
) -> None:
    out = tmp_path / "out" / "run"
    out.parent.mkdir()
    if earlier:
        audited(toy_files, out)
    before = left_in(out.parent)
    seal = (out / "manifest.json").read_bytes() if earlier else b""

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(where, stage, fails)
    result = audited(toy_files, out, "--overwrite")

    assert result.exit_code != 0
    assert left_in(out.parent) == before
    assert not earlier or (out / "manifest.json").read_bytes() == seal


@pytest.mark.slow
def test_sigterm_leaves_nothing_behind(toy_files: Files, tmp_path: Path) -> None:
    labels, hierarchy = toy_files
    out = tmp_path / "out" / "run"
    command = [sys.executable, "-c", "from audit.cli.app import app; app()", "run", str(labels)]
    options = ["--hierarchy", str(hierarchy), "--out", str(out)]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE) as child:
        while not (out.parent / ".run.work").exists():
            assert child.poll() is None
            time.sleep(0.01)
        child.terminate()
        child.communicate()

    assert child.returncode == 130
    assert not out.parent.exists()


# --- bad input ------------------------------------------------------------------------------------


# --- the other commands --------------------------------------------------------------------------
