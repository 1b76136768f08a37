"""``audit compare``: compare two runs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from audit.base.settings import Argument, Option
from audit.cli.options import AsJson, Force, JUnitFile
from audit.cli.output import print_json, print_report_place, print_shown, shown_progress
from audit.cli.rendering import imprint_of_run, render_comparison
from audit.cli.seal_verification import reading_runs
from audit.runs.settings import SameHierarchy


def compare(
    old: Annotated[Path, Argument("Folder of the earlier run.", metavar="OLD")],
    new: Annotated[Path, Argument("Folder of the later run.", metavar="NEW")],
    out: Annotated[Path, Option("Folder of the comparison.")] = Path("audit-comparison"),
    overwrite: Annotated[bool, Option("Replace an earlier comparison.")] = False,
    same_hierarchy: SameHierarchy = False,
    as_json: AsJson = False,
    junit: JUnitFile = None,
    force: Force = False,
) -> None:
    """Show what changed between two runs, and why."""
    from audit.cli.ci.junit import refuse_no_file
    from audit.cli.ci.outcomes import of_comparison
    from audit.cli.ci.publishing import publish
    from audit.runs.compare import COMPARISON, HTML, compare_runs, seal_comparison, write_changes
    from audit.runs.folder import writing_run
    from audit.runs.read import read_run

    started = datetime.now(UTC)
    refuse_no_file(junit, old, new, out)
    with (
        shown_progress() as progress,
        writing_run(out, overwrite=overwrite, kind=COMPARISON) as folder,
        reading_runs([old, new], None, force) as forced,
    ):
        progress("comparing")
        runs = [read_run(run, unsealed=True) for run in (old, new)]
        comparison = compare_runs(*runs, same_hierarchy=same_hierarchy)
        shared = comparison.shared()
        write_changes(comparison, shared, folder)
        progress("writing the report")
        unrendered = render_comparison(shared, (old, new), folder / HTML)
        seal_comparison(
            folder,
            comparison,
            runs=(old, new),
            command=["audit", *sys.argv[1:]],
            started=started,
            forced=forced,
        )
    from audit.cli.terminal.comparison import comparison_summary, machine_comparison

    if as_json:
        print_json(machine_comparison(shared, out, unrendered))
    else:
        print_shown(comparison_summary(shared))
    print_report_place(out / HTML, unrendered, as_json=as_json)
    publish(of_comparison(shared, unrendered, imprint_of_run(new).title), junit)
    raise typer.Exit(3 if unrendered else 0)
