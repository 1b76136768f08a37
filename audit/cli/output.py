"""Output of all commands: results, progress, error messages and the exit status."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Live

from audit.base.disk import dated
from audit.base.errors import AuditError, InputError, RenderError
from audit.base.files import inputs_of_a_command
from audit.base.progress import Progress, logged
from audit.cli.options import Severity

if TYPE_CHECKING:
    from rich.console import RenderableType

    from audit.results.result import AuditResult


def progress_columns() -> tuple[ProgressColumn, ...]:
    """Columns of a running step: a bar, how much is done, and the time left or taken."""
    return (
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[said]}", style="dim"),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )


def following(live: Live) -> Progress:
    """Progress callback that shows each step on its own line; a new name ends the previous step."""
    steps: dict[str, TaskID] = {}

    def follow(step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        if step not in steps:
            for task in live.tasks:
                if not task.finished:
                    live.update(task.id, total=task.completed)
            steps[step] = live.add_task(step, total=total, said="")
        of = f" of {total:,}" if total else ""
        said = f"{done:,}{of} {unit}" if unit and done else ""
        live.update(steps[step], completed=done, total=total, said=said)

    return follow


READ_ENOUGH = 141
"""Exit status if the reader closes the output early (128 + SIGPIPE), as for other programs."""


@contextmanager
def user_mistakes() -> Iterator[None]:
    """Report user errors in one message and exit with their status."""
    try:
        _refuse_no_moment()
        _log_as_asked()
        with _ended_as_by_ctrl_c(), inputs_of_a_command():
            yield
    except AuditError as error:
        _print_error(error)
        raise typer.Exit(error.exit_status) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(READ_ENOUGH) from None
    except OSError as error:
        typer.echo(f"Error: {error.filename or 'a file'}: {error.strerror or error}", err=True)
        raise typer.Exit(2) from None


def _print_error(error: AuditError) -> None:
    typer.echo(f"Error: {_inert(str(error))}", err=True)
    if os.environ.get("GITHUB_ACTIONS"):
        from audit.cli.ci_output import annotation
        from audit.cli.outcomes import Statement

        typer.echo(annotation(Statement("error", str(error)), "audit"), err=True)


def _inert(text: str) -> str:
    """The text as it is, but where GitHub's runner would take lines of it for commands."""
    if not os.environ.get("GITHUB_ACTIONS"):
        return text
    from audit.cli.ci_output import inert

    return inert(text)


def _log_as_asked() -> None:
    """Log to standard error from the level on that ``AUDIT_LOG`` names, such as ``info``."""
    if asked := os.environ.get("AUDIT_LOG"):
        levels = logging.getLevelNamesMapping()
        if asked.upper() not in levels:
            raise InputError(f"AUDIT_LOG is one of {', '.join(levels).lower()}", found=repr(asked))
        logging.basicConfig(format="%(asctime)s %(name)s %(message)s", level=asked.upper())


def _refuse_no_moment() -> None:
    """Refuse an invalid SOURCE_DATE_EPOCH before a library fails on it."""
    if os.environ.get("SOURCE_DATE_EPOCH") == "":
        del os.environ["SOURCE_DATE_EPOCH"]
    dated()


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """While open, SIGTERM and SIGHUP do as SIGINT: in the main thread, if at their default."""
    names = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP
    signals = [getattr(signal, name) for name in names if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        signals = []

    def interrupt(_: int, frame: FrameType | None) -> None:
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(on_ctrl_c):  # a shell starts what runs in the background without one
            raise KeyboardInterrupt
        on_ctrl_c(signal.SIGINT, frame)

    own = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    for number in own:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in own:
            signal.signal(number, signal.SIG_DFL)


_QUIET = ContextVar("quiet", default=False)


@contextmanager
def quietly(quiet: bool, as_json: bool) -> Iterator[None]:
    """Silence standard output and progress in a block if ``quiet``; InputError beside JSON."""
    if not quiet:
        yield
        return
    if as_json:
        raise InputError("only one of --quiet and --json may be given", found="both")
    token = _QUIET.set(True)
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            yield
    finally:
        _QUIET.reset(token)


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Yield a progress callback that draws on a terminal; elsewhere, and quietly, it logs."""
    if not sys.stderr.isatty() or _QUIET.get():
        yield logged
        return
    from rich.console import Console

    console = Console(stderr=True)
    with Live(*progress_columns(), console=console, transient=True) as live:
        yield following(live)


def print_shown(shown: RenderableType) -> None:
    """Print to standard output in a readable width, without trailing spaces."""
    from rich.console import Console

    from audit.cli.terminal.tables import WIDEST

    console = Console(highlight=False, emoji=False)
    console.width = min(console.width, WIDEST)
    with console.capture() as captured:
        console.print(shown, crop=False)
    write_lines("\n".join(line.rstrip() for line in captured.get().splitlines()))


def write_lines(text: str) -> None:
    """Write lines to standard output; characters that it cannot encode are replaced."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    typer.echo(_inert(text).encode(encoding, "replace").decode(encoding))


def print_json(content: Mapping[str, Any]) -> None:
    """Print JSON with control characters escaped, and what GitHub's runner would obey."""
    import json

    shown = json.dumps(content, ensure_ascii=False, indent=1).replace("##[", "\\u0023#[")
    typer.echo("".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in shown))


def summarise(
    result: AuditResult,
    out: Path,
    unrendered: list[RenderError],
    *,
    as_json: bool,
) -> None:
    """Print the summary of an audit, as text or as JSON, and the path of its report."""
    from audit.cli.terminal.summary import machine_summary, summary

    shared = result.shared()
    if as_json:
        print_json(machine_summary(shared, out, unrendered))
    else:
        print_shown(summary(shared, out))
    print_report_place(out / "report.html", unrendered, as_json=as_json)
    if shared["rounding"] and not as_json:
        typer.echo(f"Exact numbers: audit explore {out}, or audit report {out} --exact")


def print_report_place(path: Path, unrendered: list[RenderError], *, as_json: bool = False) -> None:
    """Print rendering errors, and unless ``as_json`` the path of the report, or of the tables."""
    if not as_json:
        made = [str(one) for one in (path, path.with_suffix(".pdf")) if one.exists()]
        typer.echo(f"Report: {' and '.join(made)}" if made else f"Tables: {path.parent}")
    for error in unrendered:
        typer.echo(f"Not written: {error}", err=True)


def exit_status(result: AuditResult, fail_on: Severity, unrendered: list[RenderError]) -> int:
    """3 if a check crashed or a report was not made, 1 if findings reach ``fail_on``, else 0."""
    if unrendered or result.status == "error":
        return 3
    failing = {"never": (), "error": ("fail",), "warning": ("fail", "warn")}[fail_on]
    return int(any(check.status in failing for check in result.checks))
