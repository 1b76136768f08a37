"""``audit compare`` and ``audit history``: two runs, or several, beside each other."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from audit.base.errors import InputError, RenderError
from audit.base.settings import Argument, Option
from audit.cli.options import AsJson, JUnitFile, Quiet
from audit.cli.output import print_json, print_report_place, print_shown, shown_progress
from audit.cli.rendering import imprint_of_run, render_comparison, render_history

if TYPE_CHECKING:
    pass


def compare(
    old: Annotated[Path, Argument("Folder of the earlier run.", metavar="OLD")],
    new: Annotated[Path, Argument("Folder of the later run.", metavar="NEW")],
    out: Annotated[Path, Option("Folder of the comparison.", writes=True)] = Path(
        "audit-comparison"
    ),
    overwrite: Annotated[bool, Option("Replace an earlier comparison.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    junit: JUnitFile = None,
) -> None:
    """Show what changed between two runs, and why; of shared copies, what both say."""
    from audit.runs.manifest import RESTRICTED

    if copies := [run for run in (old, new) if run.is_dir() and not (run / RESTRICTED).exists()]:
        _refuse_junit(junit, copies)
        made, failed = _write_history((old, new), out, as_named=True, overwrite=overwrite)
        _print(made, out, failed, as_json=as_json, not_compared=_OF_TABLES)
    from audit.cli.ci_output import publish, refuse_no_file
    from audit.cli.outcomes import of_comparison
    from audit.runs.compare.comparison import compare_runs, seal_comparison, write_changes
    from audit.runs.folder import COMPARISON, writing_run
    from audit.runs.protected_with import refuse_told_together
    from audit.runs.read import read_run

    started = datetime.now(UTC)
    refuse_no_file(junit)
    with (
        shown_progress() as progress,
        writing_run(out, overwrite=overwrite, kind=COMPARISON) as folder,
    ):
        progress("comparing")
        runs = [read_run(run) for run in (old, new)]
        refuse_told_together(dict(zip(map(str, (old, new)), runs, strict=True)))
        comparison = compare_runs(*runs)
        shared = comparison.shared()
        write_changes(comparison, shared, folder)
        progress("writing the report")
        unrendered = render_comparison(shared, (old, new), folder / COMPARISON.reports[0])
        seal_comparison(
            folder,
            comparison,
            runs=(old, new),
            command=["audit", *sys.argv[1:]],
            started=started,
        )
    from audit.cli.terminal.listings import comparison_summary, machine_comparison

    if as_json:
        print_json(machine_comparison(shared, out, unrendered))
    else:
        print_shown(comparison_summary(shared))
    print_report_place(out / COMPARISON.reports[0], unrendered, as_json=as_json)
    publish(of_comparison(shared, unrendered, imprint_of_run(new).title), junit)
    raise typer.Exit(3 if unrendered else 0)


def history(
    runs: Annotated[tuple[Path, ...], Argument("Folders of the runs.", metavar="RUN...")],
    out: Annotated[Path, Option("Folder of the history.", writes=True)] = Path("audit-history"),
    as_named: Annotated[
        bool, Option("Keep the runs in the order in which they are named.")
    ] = False,
    overwrite: Annotated[bool, Option("Replace an earlier history.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show how checks, metrics and findings changed over several runs."""
    made, unrendered = _write_history(runs, out, as_named=as_named, overwrite=overwrite)
    _print(made, out, unrendered, as_json=as_json)


def _write_history(
    runs: tuple[Path, ...], out: Path, *, as_named: bool, overwrite: bool
) -> tuple[Mapping[str, Any], list[RenderError]]:
    """Write a history of what runs share; returns it, and rendering errors."""
    from audit.runs.folder import HISTORY, writing_run
    from audit.runs.history import history_of
    from audit.runs.history_folder import HTML, seal_history, write_history_tables
    from audit.runs.protected_with import refuse_told_together
    from audit.runs.shared_runs import read_shared_runs, whole_runs

    started = datetime.now(UTC)
    with (
        shown_progress() as progress,
        writing_run(out, overwrite=overwrite, kind=HISTORY) as folder,
    ):
        progress("reading the runs")
        found = read_shared_runs(runs)
        refuse_told_together(whole_runs(runs, found, as_named=as_named))
        history = history_of(found, as_named=as_named)
        write_history_tables(history, folder)
        progress("writing the report")
        unrendered = render_history(history, folder / HTML)
        command = ["audit", *sys.argv[1:]]
        seal_history(folder, history, runs=runs, command=command, started=started)
    return history, unrendered


def _print(
    history: Mapping[str, Any],
    out: Path,
    unrendered: Sequence[RenderError],
    *,
    as_json: bool,
    not_compared: Sequence[str] = (),
) -> NoReturn:
    """Print the summary of a history, what is not in it, and the path of its page; exit."""
    from audit.cli.terminal.listings import history_summary
    from audit.runs.history_folder import HTML

    if as_json:
        shown = {name: history[name] for name in ("order", "runs", "steps")}
        left_out = {"not_compared": list(not_compared)} if not_compared else {}
        failed = [str(error) for error in unrendered]
        print_json({"history": str(out), **shown, **left_out, "not_written": failed})
    else:
        print_shown(history_summary(history))
        for one in not_compared:
            typer.echo(f"Not compared: {one}.")
    print_report_place(out / HTML, list(unrendered), as_json=as_json)
    raise typer.Exit(3 if unrendered else 0)


_OF_TABLES = (
    "counts of nodes and pairs",
    "edits of the hierarchy and the policy, and what they explain",
    "whether differences are more than chance",
    "findings that a run does not list",
)
"""What a comparison says only of runs with ``restricted/``."""


def _refuse_junit(junit: Path | None, copies: Sequence[Path]) -> None:
    if junit is not None:
        raise InputError(
            "--junit needs two whole runs",
            found=f"no restricted/ in {' and '.join(map(str, copies))}",
            hint="leave out --junit",
        )
