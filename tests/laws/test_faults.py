"""A disk that is full at any write of a command: one message, nothing half-written, all else whole.

The operating system's functions fail here, and nothing of the program is exchanged. What writes
tables by itself, Polars and Arrow, is full by the size to which files may grow.
"""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import audit
from fixtures.doors import command
from fixtures.full_disk import full_disk
from fixtures.held import held
from fixtures.small_release import options

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sizes of files are limited")
Words = tuple[object, ...]
_EVENTS = ("open", "os.mkdir", "os.rename", "os.link")


class Watch:
    """The writes below a folder: counted, and from one on let fail."""

    def __init__(self) -> None:
        self.root, self.fails_at, self.count = "", -1, 0
        sys.addaudithook(self.heard)

    def heard(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.root or event not in _EVENTS or not isinstance(given[0], (str, bytes, Path)):
            return
        path = os.fsdecode(given[0])
        reads = event == "open" and not (
            isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        if reads or not path.startswith(self.root):
            return
        number, self.count = self.count, self.count + 1
        if 0 <= self.fails_at <= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    @contextmanager
    def below(self, root: Path, fails_at: int = -1) -> Iterator[None]:
        """Watch during a block."""
        self.root, self.fails_at, self.count = str(root.resolve()), fails_at, 0
        try:
            yield
        finally:
            self.root = ""


@pytest.fixture(scope="module")
def watch() -> Watch:
    """The one hook of these tests; hooks cannot be taken away."""
    return Watch()


def decided(small: Path, place: Path) -> Words:
    """A sheet with what is accepted, and the words that apply it."""
    sheet = place / "sheet.csv"
    command("fixes", small / "first", "--csv", sheet)
    proposed = re.sub('(,replace,.*),"",("",unknown_code)', r"\1,accept,\2", sheet.read_text())
    sheet.write_text(proposed)
    return ("apply", small / "first", "--decisions", sheet)


COMMANDS: dict[str, Callable[[Path, Path], Words]] = {
    "run": lambda small, place: (
        *("run", small / "second.csv", "--keep-instances"),
        *options(small, place / "out" / "out"),
    ),
    "compare": lambda small, place: ("compare", small / "first", small / "second"),
    "history": lambda small, place: ("history", small / "first", small / "second"),
    "export": lambda small, place: ("export", small / "first", "--csv"),
    "workbook": lambda small, place: ("export", small / "first", "--xlsx"),
    "cases": lambda small, place: ("cases", small / "first", "--csv"),
    "fixes": lambda small, place: ("fixes", small / "first", "--csv"),
    "sample": lambda small, place: ("sample", small / "first", "--csv"),
    "apply": decided,
}
"""Commands that write, but for the place."""
_PLACED = ("export", "workbook", "cases", "fixes", "sample")


def words(name: str, small: Path, place: Path) -> Words:
    """A command, which writes ``out/out`` below a folder."""
    (place / "out").mkdir(exist_ok=True)
    given = COMMANDS[name](small, place)
    if name == "run":
        return given
    out = place / "out" / "out"
    return (*given, out) if name in _PLACED else (*given, "--out", out)


def told_of_a_full_disk(said: Words) -> None:
    """Run a command on a disk that is full; assert that it says so in one message."""
    told = command(*said)
    assert told.exit_code == 2, (told.output, told.exception)
    assert isinstance(told.exception, SystemExit)
    assert told.stderr.count("Error: ") == 1
    assert "Traceback" not in told.output


def tried(name: str, small: Path, place: Path, watch: Watch, tries: int) -> None:
    """Let a command fail at some of its writes, drawn over all of them, where nothing was."""
    said = words(name, small, place)
    before = held(small)
    with watch.below(place / "out"):
        told = command(*said)
    assert told.exit_code == 0, (told.output, told.exception)
    number = watch.count
    assert number
    draw = random.Random(name)
    for at in sorted(draw.sample(range(number), min(tries, number))):
        shutil.rmtree(place / "out")
        (place / "out").mkdir()
        with watch.below(place / "out", at):
            told = command(*said)
        if told.exit_code == 0:
            assert any((place / "out").iterdir())
            continue
        assert told.exit_code in (2, 3), (at, told.output, told.exception)
        assert isinstance(told.exception, SystemExit), (at, told.exception)
        assert told.stderr.count("Error: ") == 1
        left = [path.name for path in (place / "out").iterdir()]
        assert left == ["out"] * (told.exit_code == 3), at
    assert held(small) == before


@pytest.mark.parametrize("name", ["compare", "export", "cases", "apply"])
def test_a_full_disk_at_a_write_leaves_nothing(
    name: str, small: Path, tmp_path: Path, watch: Watch
) -> None:
    tried(name, small, tmp_path, watch, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_at_many_writes_leaves_nothing(
    name: str, small: Path, tmp_path: Path, watch: Watch
) -> None:
    tried(name, small, tmp_path, watch, 25)


@pytest.mark.parametrize("size", [0, 3000])
@pytest.mark.parametrize("name", ["run", "compare", "export", "fixes"])
def test_files_that_cannot_grow_leave_nothing(
    name: str, size: int, small: Path, tmp_path: Path
) -> None:
    said = words(name, small, tmp_path)
    with full_disk(size):
        told_of_a_full_disk(said)

    assert [*(tmp_path / "out").iterdir()] == []


@pytest.mark.parametrize("size", [0, 3000])
def test_an_earlier_run_stays_where_a_new_one_finds_no_room(
    small: Path, tmp_path: Path, size: int
) -> None:
    run = tmp_path / "out" / "out"
    shutil.copytree(small / "first", run)
    before = held(run)
    with full_disk(size):
        told_of_a_full_disk((*words("run", small, tmp_path), "--overwrite"))
        told_of_a_full_disk(("report", run, "--no-pdf"))

    assert held(run) == before
    assert [path.name for path in run.parent.iterdir()] == ["out"]
    assert not [one for one in audit.verify_run(run) if one.outcome == "does not hold"]


@pytest.mark.slow
def test_an_earlier_run_stays_at_any_write_of_its_report(
    small: Path, tmp_path: Path, watch: Watch
) -> None:
    run = tmp_path / "out" / "run"
    shutil.copytree(small / "first", run)
    with watch.below(tmp_path / "out"):
        assert command("report", run, "--no-pdf").exit_code == 0
    number, before = watch.count, held(run)
    for at in range(number):
        with watch.below(tmp_path / "out", at):
            told = command("report", run, "--no-pdf")
        assert told.exit_code in (0, 2, 3)
        assert not [one for one in audit.verify_run(run) if one.outcome == "does not hold"]
        assert {name for name, content in held(run).items() if before.get(name) != content} <= {
            *("manifest.json", "report.html")
        }
        assert [path.name for path in run.parent.iterdir()] == ["run"]
