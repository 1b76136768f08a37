"""Places are locked, cleared after a killed process, and written whole."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pytest

from audit.base import disk
from audit.base.disk import exchange, on_disk, replacing, working_beside, written_whole
from audit.base.errors import OutputError

ENDED = """
import os, signal, sys
from pathlib import Path
from audit.base import disk

disk._exchanged_at_once = lambda *_: False
out, when = Path(sys.argv[1]), int(sys.argv[2])
rename = Path.rename

def counted(path, target):
    global when
    if not when:
        os.kill(os.getpid(), signal.SIGKILL)
    when -= 1
    return rename(path, target)

with disk.working_beside(out) as folder:
    (folder / "new").touch()
    Path.rename = counted
    if out.exists():
        disk.exchange(folder, out)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def killed(out: Path, when: int = 0) -> None:
    """Let a process be killed at a rename while it works on ``out``."""
    ended = subprocess.run([sys.executable, "-c", ENDED, str(out), str(when)], check=False)
    assert ended.returncode == -signal.SIGKILL


def test_two_do_not_work_on_one_place(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with (
        working_beside(out) as folder,
        pytest.raises(OutputError, match="another audit that is under way"),
        working_beside(out),
    ):
        pass
    assert left_in(tmp_path) == set()
    assert not folder.exists()


def test_what_a_killed_process_left_goes_with_the_next(tmp_path: Path) -> None:
    out = tmp_path / "run"
    killed(out)
    assert left_in(tmp_path) == {".run.work"}

    with working_beside(out) as folder:
        assert left_in(tmp_path / ".run.work") == {folder.name}
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize("when", [1, 2, 3])
def test_a_folder_that_was_being_replaced_is_there_again(tmp_path: Path, when: int) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "old").touch()
    killed(out, when)
    with working_beside(out):
        assert left_in(out) == ({"old"} if when < 2 else {"new"})

    assert left_in(tmp_path) == {"run"}


@pytest.mark.parametrize("at_once", [True, False])
def test_two_folders_change_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    for name in ("a", "b"):
        (tmp_path / name / name).mkdir(parents=True)
    if not at_once:
        monkeypatch.setattr(disk, "_exchanged_at_once", lambda *_: False)
    elif sys.platform == "linux":
        monkeypatch.delattr(Path, "rename")
    monkeypatch.chdir(tmp_path)
    exchange(Path("a"), Path("b"))

    assert (left_in(tmp_path / "a"), left_in(tmp_path / "b")) == ({"b"}, {"a"})
    assert left_in(tmp_path) == {"a", "b"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows says it in other words")
@pytest.mark.parametrize("out", ["nowhere", "a/within"])
def test_folders_that_cannot_change_places_stay_where_they_were(tmp_path: Path, out: str) -> None:
    """One that is not there, and one within the other, which two renames cannot exchange either."""
    (tmp_path / "a" / "within" / "deep").mkdir(parents=True)
    with pytest.raises(
        OSError, match=os.strerror(errno.ENOENT if out == "nowhere" else errno.EINVAL)
    ):
        exchange(tmp_path / "a", tmp_path / out)

    assert left_in(tmp_path) == {"a"}
    assert (tmp_path / "a" / "within" / "deep").is_dir()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES])
def test_a_full_disk_is_told_apart_from_one_that_may_not_be_written(
    tmp_path: Path, number: int
) -> None:
    room = "a writable folder" if number == errno.EACCES else "room on the disk"
    with pytest.raises(OutputError) as told, on_disk(tmp_path):
        raise OSError(number, os.strerror(number))
    assert room in str(told.value)
    assert os.strerror(number) in str(told.value)


class Interrupt:
    """Ctrl-C when a line of the module is about to run, counted from 0."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _: object) -> Interrupt | None:
        if frame.f_code.co_filename != disk.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == -1:
                raise KeyboardInterrupt
        return self


def interrupted(out: Path, at: int) -> bool:
    """Whether there was a line to interrupt before the folder was there."""
    tracing = sys.gettrace()
    try:
        with suppress(KeyboardInterrupt):
            sys.settrace(Interrupt(at))
            with working_beside(out):
                sys.settrace(tracing)
                return False
    finally:
        sys.settrace(tracing)
    return True


def test_an_interrupt_at_any_line_leaves_nothing(tmp_path: Path) -> None:
    at = 0
    while interrupted(tmp_path / "made" / "for it" / "run", at):
        assert left_in(tmp_path) == set(), at
        at += 1
    assert at > 20


def test_folders_above_a_file_are_made_and_nothing_half_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "made" / "for it" / "file"
    with suppress(KeyError), written_whole(path) as begun:
        begun.write_text("half")
        raise KeyError
    assert left_in(path.parent) == set()

    for content in ("first", "second"):
        with written_whole(path) as begun:
            begun.write_text(content)
        assert path.read_text() == content
        assert left_in(path.parent) == {"file"}


def refusing(number: int) -> Callable[[int, int], None]:
    def refuse(held: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks on Windows")
def test_a_disk_that_knows_no_locks_is_worked_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(fcntl, "flock", refusing(errno.ENOLCK))
    with working_beside(tmp_path / "run") as folder, working_beside(tmp_path / "run") as other:
        assert folder != other
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize(
    ("stands", "overwrite", "told"),
    [("file", False, "replaced only when asked"), ("folder", True, "a regular file is required")],
)
def test_what_stands_there_is_replaced_only_if_it_is_a_file_and_asked(
    stands: str, overwrite: bool, told: str, tmp_path: Path
) -> None:
    for name in ("file", "new"):
        (tmp_path / name).write_text("old")
    (tmp_path / "folder").mkdir()

    with pytest.raises(OutputError, match=told), replacing(tmp_path / stands, overwrite=overwrite):
        pytest.fail("nothing may be written")
    with replacing(tmp_path / "new", overwrite=True) as begun:
        begun.write_text("new")

    assert (tmp_path / "file").read_text() == "old"
    assert (tmp_path / "new").read_text() == "new"
