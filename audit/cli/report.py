"""``audit report``: render the reports of a run again."""

from __future__ import annotations

import typer

from audit.cli.options import Force, RunFolder, SealKeyFile, WritePdf
from audit.cli.output import print_report_place, shown_progress
from audit.cli.rendering import imprint_of_run, rendering
from audit.cli.seal_verification import key_of, reading_runs


def report(
    run: RunFolder,
    pdf: WritePdf = True,
    seal_key: SealKeyFile = None,
    force: Force = False,
) -> None:
    """Render the reports of a run again, without recounting."""
    from audit.runs.folder import rewriting_run, seal_reports
    from audit.runs.read import read_run

    with (
        reading_runs([run], key_of(seal_key), force, ("report.html", "report.pdf")) as forced,
        shown_progress() as progress,
        rewriting_run(run) as folder,
    ):
        result = read_run(run, unsealed=True)
        with rendering(result, folder, imprint_of_run(run), pdf, progress) as unrendered:
            pass
        seal_reports(run, folder, forced)
    print_report_place(run / "report.html", unrendered)
    raise typer.Exit(3 if unrendered else 0)
