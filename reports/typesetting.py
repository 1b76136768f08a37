"""The door to the typesetter's process: what it is given, and what becomes of its failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from audit.errors import RenderError
from reports.pdf_worker import TOLD

INSTALL_PANGO = (
    "install Pango. Debian, Ubuntu: sudo apt-get install -y libpango-1.0-0 libpangoft2-1.0-0 "
    "libharfbuzz-subset0. macOS: brew install pango"
)
AGAIN = (
    "nothing else of the run is lost; audit report RUN renders it again, --no-pdf leaves this out"
)

_KEPT = ("HOME", "LANG", "PATH", "SOURCE_DATE_EPOCH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
_KEPT_FAMILIES = ("DYLD_", "FONTCONFIG_", "LC_", "LD_LIBRARY_", "WEASYPRINT_", "XDG_")
"""What the typesetter may know of its surroundings: fonts, libraries, folders, the language."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What typesetting may take.

    Args:
        seconds: Of time, and of processor time.
        memory: Bytes of address space; no limit on systems that cannot limit it.
    """

    seconds: int = 300
    memory: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Task:
    """A document to be typeset.

    Args:
        html: The document.
        attached: Text of the file that is attached inside.
        attachment: Name of that file.
        identifier: What identifies the file among others.
        moment: Seconds since 1970 that stand as its date, and its attachment's.
        pages: How many it may have at most.
    """

    html: str
    attached: str
    attachment: str
    identifier: str
    moment: int
    pages: int


class TooLongError(Exception):
    """The document has more pages than it may have."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        super().__init__(f"{pages} pages")


def typeset(task: Task, limits: Limits) -> bytes:
    """The PDF, typeset by a child process that can neither outlive nor harm this one.

    Raises:
        TooLongError: If it has too many pages.
        RenderError: If WeasyPrint or Pango is missing, a limit is reached, or the child fails.
    """
    command = [sys.executable, "-P", "-m", "reports.pdf_worker"]
    given = json.dumps(asdict(task) | asdict(limits)).encode("ascii")
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, timeout=limits.seconds, env=_environment()
        )
    except subprocess.TimeoutExpired as late:
        raise _overdue(limits) from late
    except OSError as error:
        raise RenderError("report.pdf needs a process of its own", found=str(error)) from error
    if done.returncode == 0:
        return done.stdout
    raise _failure(done, limits)


def _environment() -> dict[str, str]:
    """The child finds the modules that this process finds, and little else."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_FAMILIES)
    }
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _failure(done: subprocess.CompletedProcess[bytes], limits: Limits) -> Exception:
    if done.returncode == TOLD:
        return _told(json.loads(done.stderr.splitlines()[-1]), limits)
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        return _overdue(limits)
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    ended = f"the process that typesets it ended {_ended(done.returncode)}"
    return RenderError(
        "report.pdf could not be rendered",
        found=f"{ended}: {last}" if last else ended,
        hint=f"it may use {limits.memory >> 20:,} MiB of memory; {AGAIN}",
    )


def _told(told: Mapping[str, Any], limits: Limits) -> Exception:
    if "pages" in told:
        return TooLongError(told["pages"])
    found = str(told["found"]).strip().partition("\n")[0]
    if told.get("missing") == "pango":
        return RenderError(
            "report.pdf needs the system library Pango", found=found, hint=INSTALL_PANGO
        )
    if told.get("missing") == "weasyprint":
        return RenderError(
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


def _ended(status: int) -> str:
    """How a process ended.

    >>> _ended(-9), _ended(1)
    ('by SIGKILL', 'with status 1')
    """
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
