"""The command as a process: piped, ended, given odd texts; what it says of where it ran."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import Result

from fixtures.doors import command

Files = tuple[Path, Path]
AUDIT = str(Path(sys.executable).with_name("audit"))


def audited(files: Files, out: Path, *options: object, **environment: str) -> Result:
    labels, hierarchy = files
    words = ("run", labels, "--hierarchy", hierarchy, "--out", out, "--no-pdf", *options)
    return command(*words, **environment)


def installed(files: Files, out: Path, **changed: str | None) -> subprocess.CompletedProcess[str]:
    """The command as it is installed, piped, with variables of the environment changed."""
    labels, hierarchy = map(str, files)
    return subprocess.run(
        [AUDIT, "run", labels, "--hierarchy", hierarchy, "--out", str(out), "--no-pdf"],
        env={k: v for k, v in (os.environ | changed).items() if v is not None},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "run"


@pytest.mark.slow
def test_a_summary_that_is_piped_is_plain(toy_files: Files, out: Path) -> None:
    done = installed(toy_files, out, FORCE_COLOR=None)

    assert (done.returncode, done.stderr) == (0, "")
    assert not {c for c in done.stdout if not (c == "\n" or (c.isascii() and c.isprintable()))}
    copied = ("Report: ", "audit cases ")
    lines = [line for line in done.stdout.splitlines() if not line.startswith(copied)]
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


def test_numbers_and_texts_that_nothing_holds_are_refused(toy_files: Files, out: Path) -> None:
    for option, value in (
        *(("--seed", "-1"), ("--jobs", "100000"), ("--min-cell", "9" * 20), ("--seed", "9" * 20)),
        *(("--min-cell", "9" * 18), ("--title", "a\udcff"), ("--strata", "b\udcff")),
    ):
        result = audited(toy_files, out, option, value)
        assert (result.exit_code, option in result.output) == (2, True), (option, value)
    for epoch in ("abc", "9" * 20, "1.5"):
        result = audited(toy_files, out, SOURCE_DATE_EPOCH=epoch)
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: SOURCE_DATE_EPOCH is the seconds since 1970")
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


def test_a_terminal_obeys_no_id_and_no_title(tmp_path: Path) -> None:
    labels, hierarchy, out = (tmp_path / name for name in ("labels.csv", "toy.csv", "run"))
    hierarchy.write_text("child,parent,title\nx\x1b[2J,top,\u009b1m\ny,top,\n")
    labels.write_text("instance,label\ni\x1b[0m,x\x1b[2J\nj,z\x1b]0;\x07\n")
    shown = [
        audited((labels, hierarchy), out, "--keep-instances"),
        command("cases", out, "--instance", "i\x1b[0m"),
        command("cases", out, "--instance", "\x1b[0m"),
        command("cases", out),
        command("run", labels, "--hierarchy", tmp_path / "\x1b[2J", "--out", tmp_path / "none"),
        audited((labels, hierarchy), out, "--overwrite", "--json"),
    ]

    assert [one.exit_code for one in shown] == [0, 0, 2, 0, 2, 0]
    for one in shown:
        assert not set(one.output) & {"\x1b", "\x9b", "\x07"}
    assert "x\\x1b[2J \\x9b1m" in shown[1].stdout


@pytest.mark.slow
def test_sigterm_leaves_nothing_behind(toy_files: Files, tmp_path: Path) -> None:
    labels, hierarchy = toy_files
    words = [sys.executable, "-c", "from audit.cli.app import app; app()", "run", str(labels)]
    for attempt in range(3):
        out = tmp_path / f"out_{attempt}" / "run"
        options = ["--hierarchy", str(hierarchy), "--out", str(out)]
        with subprocess.Popen([*words, *options], stderr=subprocess.PIPE) as child:
            while not (out.parent / ".run.work").exists():
                assert child.poll() is None
                time.sleep(0.01)
            child.terminate()
            child.communicate()
        if child.returncode:
            break
        assert (out / "manifest.json").exists()  # it ended before the signal could tell

    assert child.returncode == 130
    assert not out.parent.exists()
