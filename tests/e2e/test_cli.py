"""The command line from files to a run: exit statuses, messages, and what is left behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import Result

import reports
from audit.base.errors import RenderError
from audit.checks import CHECKS, ON_WAIVERS
from audit.checks.check import Check
from audit.measure.measure import Measurements
from audit.results.findings import CheckResult
from audit.runs import audit as run_module
from audit.runs import folder as run_folder
from audit.runs import manifest
from audit.runs.read import read_run
from audit.runs.schema import result_schema
from fixtures.commands import audit, refused
from reports import pdf
from reports.findings import verdict as verdict_of

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


def test_a_summary_goes_to_standard_output(toy_files: Files, out: Path) -> None:
    result = audited(toy_files, out)
    text = " ".join(result.stdout.split())

    assert result.stderr == ""
    assert result.stdout.startswith("Read as\n  labels that are no nodes are refused: 'unicorn'")
    assert "\nErrors in " in result.stdout
    assert "6 instances; 8 of 9 rows mapped to toy; refused: unknown_code 1 (unicorn 1)." in text
    assert all(check.name in text for check in (*CHECKS, *ON_WAIVERS))
    assert f"Report: {out / 'report.html'}" in result.stdout.splitlines()


def test_the_summary_says_what_the_report_says(toy_files: Files, out: Path) -> None:
    """The same verdict, and findings that stand in the published view, word for word."""
    text = " ".join(audited(toy_files, out).stdout.split())
    shared = json.loads((out / "result.json").read_text("utf-8"))
    findings = [finding for check in shared["checks"] for finding in check["findings"]]
    (told,) = re.findall(r"first: (\d+) of (\d+) findings", text)

    verdict = verdict_of(shared)
    assert verdict.said in text
    assert told == (str(min(len(findings), 5)), str(len(findings)))
    assert "1 of 9 rows" in text


@pytest.mark.slow
def test_a_summary_that_is_piped_is_plain(toy_files: Files, out: Path) -> None:
    done = installed(toy_files, out, FORCE_COLOR=None)

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert not {c for c in done.stdout if not (c == "\n" or (c.isascii() and c.isprintable()))}
    lines = [one for one in table_lines(done.stdout) if not one.startswith("audit cases ")]
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)


@pytest.mark.slow
def test_who_stops_reading_gets_no_message_and_a_whole_run(toy_files: Files, out: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command(toy_files, out), stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")
    assert (out / "manifest.json").is_file()


@pytest.mark.slow
def test_a_title_that_the_output_cannot_spell_is_no_error(tmp_path: Path, out: Path) -> None:
    labels, hierarchy = tmp_path / "labels.csv", tmp_path / "toy.csv"
    labels.write_text("instance,label\na,kü\na,😀\n", "utf-8")
    hierarchy.write_text("child,parent\nkü,tier\n😀,tier\n", "utf-8")
    done = installed((labels, hierarchy), out, PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, "")


def test_result_json_is_the_shared_view_and_validates(toy_files: Files, out: Path) -> None:
    audited(toy_files, out)
    shared = json.loads((out / "result.json").read_text("utf-8"))
    schema = result_schema()

    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(shared)
    assert read_run(out).shared() == shared


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


@pytest.mark.slow
def test_the_command_runs_as_it_is_installed(toy_files: Files, out: Path) -> None:
    done = installed(toy_files, out, "--json")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["status"] == "fail"
    assert json.loads((out / "manifest.json").read_text())["command"][1] == "run"


# --- exit statuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(("fail_on", "status"), [("never", 0), ("warning", 1), ("error", 0)])
def test_a_warning_among_the_findings_exits_as_asked(
    toy_files: Files, out: Path, tmp_path: Path, fail_on: str, status: int
) -> None:
    labels, policy = tmp_path / "warned.csv", tmp_path / "policy.toml"
    labels.write_text("instance,label\na,dog\na,pet\n")
    policy.write_text('labelled_ancestors = "fault"\n')
    files = (labels, toy_files[1])

    assert audited(files, out, "--fail-on", fail_on, "--policy", policy).exit_code == status


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


@pytest.mark.slow
def test_an_instance_is_drawn_however_deep_its_label_lies(tmp_path: Path) -> None:
    labels, hierarchy, out = (tmp_path / name for name in ("labels.csv", "chain.csv", "run"))
    hierarchy.write_text("child,parent\n" + "".join(f"n{n + 1},n{n}\n" for n in range(1200)))
    labels.write_text("instance,label\na,n1200\n")
    audited((labels, hierarchy), out, "--keep-instances")
    shown = audit("cases", out, "--instance", "a")

    assert shown.exit_code == 0
    assert [line.split()[-1] for line in shown.stdout.splitlines()[2:]] == [
        f"n{number}" for number in range(1201)
    ]


# --- the output folder --------------------------------------------------------------------------


def test_an_occupied_place_is_told_before_anything_is_read(toy_files: Files, out: Path) -> None:
    audited(toy_files, out)

    assert str(out) in refused(audited((Path("none.csv"), Path("none.csv")), out))


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

GOOD_EDGES = b"child,parent\ncow,animal\n"
GOOD_LABELS = b"instance,label\na,cow\n"
TORN_JSON = b'{"id": 1, "labels": ["cow"]}\n{"id": \n'


def labels_file(name: str, content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    return make


BAD_LABELS: dict[str, tuple[Callable[[Path], Path], list[str], str]] = {
    "nothing there": (lambda folder: folder / "none.csv", [], "nothing there"),
    "no such column": (labels_file("labels.csv", GOOD_LABELS), ["--label", "code"], "'code'"),
    "a pickle named csv": (labels_file("labels.csv", b"\x80\x04K\x01."), [], "pickled"),
    "a torn row": (labels_file("labels.csv", GOOD_LABELS + b"b,cow,dog\n"), [], "fields"),
    "no column of nodes": (labels_file("labels.csv", b"x,y\n1,2\n"), [], "--id and --label"),
    "a broken JSON line": (labels_file("labels.jsonl", TORN_JSON), [], "JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels_exit_2_with_one_message(tmp_path: Path, out: Path, name: str) -> None:
    make, options, told = BAD_LABELS[name]
    hierarchy = tmp_path / "edges.csv"
    hierarchy.write_bytes(GOOD_EDGES)
    path = make(tmp_path)
    message = refused(audited((path, hierarchy), out, *options))

    assert told in message
    assert path.name in message
    assert not out.parent.exists()


BAD_HIERARCHIES: dict[str, tuple[str, bytes, str]] = {
    "a cycle": ("edges.csv", b"child,parent\na,b\nb,c\nc,a\nd,a\n", "a -> b -> c -> a"),
    "no column of parents": ("edges.csv", b"from,to\na,b\n", "--hierarchy-parent COL"),
    "a gz of no bytes": ("edges.csv.gz", b"", "Found: nothing"),
}


@pytest.mark.parametrize("name", BAD_HIERARCHIES)
def test_a_bad_hierarchy_exits_2_with_one_message(tmp_path: Path, out: Path, name: str) -> None:
    file, content, told = BAD_HIERARCHIES[name]
    labels, hierarchy = tmp_path / "labels.csv", tmp_path / file
    labels.write_bytes(GOOD_LABELS)
    hierarchy.write_bytes(content)
    message = refused(audited((labels, hierarchy), out))

    assert told in message
    assert hierarchy.name in message
    assert not out.parent.exists()


def test_a_hierarchy_that_is_not_there_names_what_is(toy_files: Files, out: Path) -> None:
    message = refused(audited((toy_files[0], Path("icd9")), out))

    assert "icd9cm" in message


# --- the other commands --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ('[[expected]]\nnodes = ["dog", "yeti"]\nsource = "s"', "expected: yeti"),
        ('[[expected]]\nnodes = ["dog", "animal"]\nsource = "s"', "expected: dog and animal"),
    ],
)
def test_what_pairs_cannot_be_judged_by_is_refused(
    toy_files: Files, out: Path, tmp_path: Path, policy: str, told: str
) -> None:
    (tmp_path / "pairs.toml").write_text(policy)

    message = refused(audited(toy_files, out, "--policy", tmp_path / "pairs.toml"))
    assert told in re.sub(r"\s+", " ", message)
    assert not out.exists()
