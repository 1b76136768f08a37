"""The command line in a terminal of its own: colour, progress, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

pty = pytest.importorskip("pty", reason="pseudo-terminals are of Unix")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

AUDIT = str(Path(sys.executable).with_name("audit"))
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[1-7]m")
SECONDS = 60
Files = tuple[Path, Path]


class Terminal:
    """A command that runs in a pseudo-terminal, and all that it writes there."""

    def __init__(self, command: list[str], columns: int, **changed: str) -> None:
        self.master, own = pty.openpty()
        fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        unset = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
        environment = {k: v for k, v in os.environ.items() if k not in unset}
        self.process = subprocess.Popen(
            command,
            stdin=own,
            stdout=own,
            stderr=own,
            env={**environment, "TERM": "xterm-256color", **changed},
            start_new_session=True,
        )
        os.close(own)
        self.text = ""

    def read(self, until: Callable[[str], bool] = lambda _: False) -> int | None:
        """Read until a text has come, or the end; the exit status is that of the command."""
        end = time.monotonic() + SECONDS
        while not until(self.text):
            assert time.monotonic() < end, self.text
            try:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError:  # the command has closed its side
                return self.process.wait(SECONDS)
        return None


def audited(files: Files, out: Path, *options: str, columns: int = 120, **changed: str) -> Terminal:
    labels, hierarchy = map(str, files)
    command = [AUDIT, "run", labels, "--hierarchy", hierarchy, "--out", str(out), "--no-pdf"]
    return Terminal([*command, *options], columns, **changed)


def summary(text: str) -> str:
    """What stands in the terminal at the end: all after the cursor came back."""
    return text.rpartition("\x1b[?25h")[2].replace("\r", "")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "run"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A part of the sample release: enough for every step, and soon done."""
    folder = tmp_path / "release"
    folder.mkdir()
    for path in (Path(__file__).parents[2] / "sample_data" / "release_1").iterdir():
        first = path.read_text("utf-8").splitlines(keepends=True)[:2000]
        (folder / path.name).write_text("".join(first), "utf-8")
    return folder


@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_the_summary_has_colour_and_fits(toy_files: Files, out: Path, columns: int) -> None:
    terminal = audited(toy_files, out, columns=columns)
    status = terminal.read()
    shown = summary(terminal.text)
    lines = CONTROL.sub("", shown).splitlines()

    assert status == 0, terminal.text
    assert COLOUR.search(shown)
    assert any(line.startswith("Errors in 1 of ") for line in lines)
    copied = ("Report: ", "audit cases ")  # whole, however long the path is
    assert all(len(line) <= columns for line in lines if not line.startswith(copied))


def test_no_color_is_honoured(toy_files: Files, out: Path) -> None:
    terminal = audited(toy_files, out, NO_COLOR="1")

    assert terminal.read() == 0
    assert not COLOUR.search(terminal.text)


def test_steps_are_shown_while_they_run_and_are_gone_at_the_end(
    toy_files: Files, out: Path
) -> None:
    terminal = audited(toy_files, out)
    assert terminal.read() == 0

    plain = CONTROL.sub("", terminal.text)
    for step in ("reading labels", "counting pairs", "applying checks", "rendering report.html"):
        assert step in plain
    assert "9 rows" in plain
    assert "reading labels" not in CONTROL.sub("", summary(terminal.text))


def test_a_terminal_that_cannot_move_its_cursor_shows_no_steps(toy_files: Files, out: Path) -> None:
    terminal = audited(toy_files, out, TERM="dumb")

    assert terminal.read() == 0
    assert "applying checks" not in terminal.text


LATER = [
    pytest.param(one, marks=pytest.mark.slow) for one in ("counting pairs", "rendering report.html")
]


@pytest.mark.parametrize("step", ["reading the hierarchy", *LATER])
def test_ctrl_c_ends_with_130_and_leaves_what_was_there(
    out: Path, release: Path, step: str
) -> None:
    out.mkdir(parents=True)
    for name in ("manifest.json", "result.json"):
        (out / name).write_text("{}")
    before = sorted(out.parent.rglob("*"))
    terminal = audited((release, Path("icd9cm")), out, "--overwrite")
    assert terminal.read(until=lambda text: step in text) is None, terminal.text
    os.killpg(terminal.process.pid, signal.SIGINT)

    assert terminal.read() == 130, terminal.text
    assert sorted(out.parent.rglob("*")) == before
    assert "Traceback" not in terminal.text
    assert terminal.text.rindex("\x1b[?25h") > terminal.text.rindex("\x1b[?25l")
