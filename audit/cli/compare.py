"""``audit compare`` and ``audit history``: two runs, or several, beside each other."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from audit.base.settings import Argument, Option
from audit.cli.options import AsJson, JUnitFile, Quiet
from audit.cli.output import print_json, print_report_place, print_shown, shown_progress
from audit.cli.rendering import imprint_of_run, render_comparison


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
    """Show what changed between two runs, and why."""
    from audit.cli.ci_output import publish, refuse_no_file
    from audit.cli.outcomes import of_comparison
    from audit.runs.compare.comparison import compare_runs, seal_comparison, write_changes
    from audit.runs.folder import COMPARISON, writing_run
    from audit.runs.read import read_run

    started = datetime.now(UTC)
    refuse_no_file(junit)
    with (
        shown_progress() as progress,
        writing_run(out, overwrite=overwrite, kind=COMPARISON) as folder,
    ):
        progress("comparing")
        comparison = compare_runs(read_run(old), read_run(new))
        shared = comparison.shared()
        write_changes(comparison, shared, folder)
        progress("writing the report")
        unrendered = render_comparison(shared, (old, new), folder / COMPARISON.reports[0])
        command = ["audit", *sys.argv[1:]]
        seal_comparison(folder, comparison, (old, new), command=command, started=started)
    if as_json:
        not_written = [str(error) for error in unrendered]
        print_json({"comparison": str(out), **shared, "not_written": not_written})
    else:
        from audit.cli.terminal.listings import comparison_summary

        print_shown(comparison_summary(shared))
    print_report_place(out / COMPARISON.reports[0], unrendered, as_json=as_json)
    publish(of_comparison(shared, unrendered, imprint_of_run(new).title), junit)
    raise typer.Exit(3 if unrendered else 0)


def history(
    runs: Annotated[tuple[Path, ...], Argument("Folders of the runs.", metavar="RUN...")],
    out: Annotated[
        Path | None,
        Option("Write the history as a page of HTML.", metavar="FILE", writes=True),
    ] = None,
    as_named: Annotated[
        bool, Option("Keep the runs in the order in which they are named.")
    ] = False,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show how checks, metrics and findings changed over several runs."""
    from audit.base.disk import replacing
    from audit.cli.terminal.listings import history_summary
    from audit.runs.history import history_of
    from audit.runs.shared_runs import read_shared_runs
    from reports.compared import history_html

    told = history_of(read_shared_runs(runs), as_named=as_named)
    if out is not None:
        with replacing(out, overwrite=overwrite) as file:
            file.write_bytes(history_html(told).encode())
    if as_json:
        print_json(told)
    else:
        print_shown(history_summary(told))
