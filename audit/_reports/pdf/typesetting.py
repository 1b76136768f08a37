"""Interface to the typesetting process: its input, its limits and its errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from tempfile import TemporaryFile
from typing import IO, Any

from audit._reports.pdf.worker import REFUSED
from audit.base.errors import RenderError

INSTALL_PANGO = (
    "install Pango. Debian, Ubuntu: sudo apt-get install -y libpango-1.0-0 libpangoft2-1.0-0 "
    "libharfbuzz-subset0. macOS: brew install pango"
)
AGAIN = (
    "nothing else of the run is lost; audit report RUN renders it again, --no-pdf leaves this out"
)

COMMAND = (sys.executable, "-P", "-m", "audit._reports.pdf.worker")
_KEPT = ("HOME", "LANG", "PATH", "SOURCE_DATE_EPOCH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
_KEPT_FAMILIES = ("DYLD_", "FONTCONFIG_", "LC_", "LD_LIBRARY_", "WEASYPRINT_", "XDG_")
"""Prefixes of environment variables passed to the typesetter: fonts, libraries, folders,
language.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of typesetting.

    Args:
        seconds: Limit of elapsed time, and of processor time.
        memory: Limit of the address space in bytes; ignored on systems that do not support it.
    """

    seconds: int = 300
    memory: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Task:
    """A document for typesetting.

    Args:
        moment: Date of the file and its attachment, in seconds since 1970.
        claims: Whether it says that it conforms to PDF/A-3a and PDF/UA-1, in its metadata too.
    """

    html: str
    attached: str
    attachment: str
    identifier: str
    moment: int
    pages: int
    claims: bool = True


class NoTypesetterError(RenderError):
    """WeasyPrint, or the library Pango that it uses, is missing."""


class TooLongError(Exception):
    """The document exceeds the largest number of pages."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        super().__init__(f"{pages} pages")


class UnshownError(Exception):
    """The document says that it conforms, and has characters that forbid it."""

    def __init__(self, characters: str) -> None:
        self.characters = characters
        super().__init__(f"{len(characters)} characters")


@contextmanager
def typesetting(task: Task, limits: Limits) -> Iterator[Callable[[], bytes]]:
    """Start typesetting in a child process, which ends with the block at the latest.

    Yields:
        A function that waits for the PDF. It raises `TooLongError` on too many pages,
        `UnshownError` if what it claims of itself is not true, and `RenderError` if WeasyPrint or
        Pango is missing, a limit is reached, or the child fails.

    Raises:
        RenderError: If no child process can be started.
    """
    given = json.dumps(asdict(task) | asdict(limits)).encode("ascii")
    with ExitStack() as files:
        try:
            stdin, written, errors = (files.enter_context(TemporaryFile()) for _ in range(3))
            stdin.write(given)
            stdin.seek(0)
            child = subprocess.Popen(
                COMMAND, stdin=stdin, stdout=written, stderr=errors, env=child_environment()
            )
        except OSError as error:
            raise RenderError("report.pdf needs a process of its own", found=str(error)) from error
        deadline = time.monotonic() + limits.seconds
        with _killed_at_the_end(child):
            yield lambda: _typeset(child, written, errors, limits, deadline)


def typeset(task: Task, limits: Limits) -> bytes:
    """Typeset a PDF; parameters and errors as in `typesetting`."""
    with typesetting(task, limits) as finished:
        return finished()


def refuse_no_typesetter() -> None:
    """Raise NoTypesetterError if WeasyPrint or Pango is missing; takes half a second."""
    nothing = Task("", "", "", "", 0, pages=0)
    with suppress(TooLongError):
        typeset(nothing, Limits())


@contextmanager
def _killed_at_the_end(child: subprocess.Popen[bytes]) -> Iterator[None]:
    with child:
        try:
            yield
        finally:
            child.kill()


def _typeset(
    child: subprocess.Popen[bytes],
    written: IO[bytes],
    errors: IO[bytes],
    limits: Limits,
    deadline: float,
) -> bytes:
    try:
        status = child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as late:
        raise _overdue(limits) from late
    written.seek(0)
    errors.seek(0)
    if status == 0:
        return written.read()
    raise _failure(status, errors.read(), limits)


def child_environment() -> dict[str, str]:
    """Environment of the child process: the module search path of this process, and little else."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_FAMILIES)
    }
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _failure(status: int, errors: bytes, limits: Limits) -> Exception:
    if status == REFUSED:
        return _error_of(json.loads(errors.splitlines()[-1]), limits)
    if status == -getattr(signal, "SIGXCPU", 0):
        return _overdue(limits)
    last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
    ended = f"the process that typesets it ended {how_ended(status)}"
    return RenderError(
        "report.pdf could not be rendered",
        found=f"{ended}: {last}" if last else ended,
        hint=f"it may use {limits.memory >> 20:,} MiB of memory; {AGAIN}",
    )


def _error_of(refusal: Mapping[str, Any], limits: Limits) -> Exception:
    if "pages" in refusal:
        return TooLongError(refusal["pages"])
    if "unshown" in refusal:
        return UnshownError("".join(map(chr, refusal["unshown"])))
    found = str(refusal["found"]).strip().partition("\n")[0]
    if refusal.get("missing") == "pango":
        return NoTypesetterError(
            "report.pdf needs the system library Pango", found=found, hint=INSTALL_PANGO
        )
    if refusal.get("missing") == "weasyprint":
        return NoTypesetterError(
            "report.pdf needs the package weasyprint", found=found, hint="pip install weasyprint"
        )
    if found.startswith("MemoryError"):
        return RenderError(
            f"report.pdf must be rendered in {limits.memory >> 20:,} MiB of memory",
            found="it needs more",
            hint=AGAIN,
        )
    return RenderError("report.pdf could not be rendered", found=found, hint=AGAIN)


def _overdue(limits: Limits) -> RenderError:
    return RenderError(
        f"report.pdf must be rendered within {limits.seconds} s",
        found="it takes longer",
        hint=AGAIN,
    )


def how_ended(status: int) -> str:
    """Describe the exit status of a process.

    >>> how_ended(-9), how_ended(1)
    ('by SIGKILL', 'with status 1')
    """
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
