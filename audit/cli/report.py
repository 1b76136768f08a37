"""``audit report`` and ``audit judge``: a run rendered again, and judged again."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from audit.base.errors import InputError
from audit.base.settings import OUTPUT, Option
from audit.cli.options import (
    AsJson,
    FailOn,
    Force,
    JUnitFile,
    Quiet,
    RunFolder,
    SealKeyFile,
    WritePdf,
)
from audit.cli.output import exit_status, print_report_place, shown_progress, summarise
from audit.cli.rendering import imprint_of_run, refuse_no_pdf, rendering, tell_no_pdf
from audit.cli.verify import reading_runs, refuse_apart, seal_key_in
from audit.runs.settings import Judging


def report(
    run: RunFolder,
    pdf: WritePdf = None,
    quiet: Quiet = False,
    seal_key: SealKeyFile = None,
    force: Force = False,
) -> None:
    """Render the reports of a run again, without recounting."""
    from audit.base.files import read_json
    from audit.runs.folder import rewriting_run, seal_reports
    from audit.runs.manifest import RESULT
    from audit.runs.read import read_run
    from audit.runs.sealed_run import refuse_lost_key

    refuse_no_pdf(pdf)
    key = seal_key_in(seal_key)
    with (
        reading_runs([run], key, force, ("report.html", "report.pdf")) as forced,
        shown_progress() as progress,
        rewriting_run(run) as folder,
    ):
        refuse_lost_key(run, key, forced=force)
        result = read_run(run, unsealed=True)
        forced += refuse_apart(run, result, force)
        shared = result.shared() if forced else read_json(run / RESULT)
        with rendering(shared, folder, imprint_of_run(run), pdf, progress) as unrendered:
            pass
        seal_reports(run, folder, forced, key)
    print_report_place(run / "report.html", unrendered)
    tell_no_pdf(pdf, run, unrendered)
    raise typer.Exit(3 if unrendered else 0)


def judge(
    run: RunFolder,
    judging: Judging,
    out: Annotated[
        Path | None, Option("Folder of the run as it is judged now.", OUTPUT, writes=True)
    ] = None,
    overwrite: Annotated[
        bool, Option("Replace the run itself, or an earlier one at --out.", OUTPUT)
    ] = False,
    pdf: WritePdf = None,
    fail_on: FailOn = "never",
    as_json: AsJson = False,
    quiet: Quiet = False,
    junit: JUnitFile = None,
    seal_key: SealKeyFile = None,
    force: Force = False,
) -> None:
    """Judge a run again by another policy, without recounting."""
    from audit.cli.ci_output import publish, refuse_no_file
    from audit.cli.outcomes import of_audit
    from audit.policy.reading import load_policy
    from audit.runs.folder import seal_judged, write_judged_tables, writing_run
    from audit.runs.inputs import judge_again
    from audit.runs.manifest import decided_in, with_keyed_data
    from audit.runs.read import read_run
    from audit.runs.sealed_run import refuse_lost_key

    refuse_no_file(junit)
    refuse_no_pdf(pdf)
    target, policy = _judged_place(run, out, overwrite=overwrite), load_policy(judging.policy)
    key, before = seal_key_in(seal_key), list(judging.reference)
    with (
        shown_progress() as progress,
        writing_run(target, overwrite=overwrite) as folder,
        reading_runs([run], key, force) as forced,
        reading_runs(before, None, force) as forced_before,
    ):
        progress("reading the run")
        found = read_run(run, unsealed=True)
        refuse_lost_key(run, key, forced=force)
        forced += refuse_apart(run, found, force)
        progress("judging")
        found = replace(found, decided=None if forced else decided_in(run))
        result = with_keyed_data(judge_again(judging, policy, found), key)
        imprint = replace(imprint_of_run(run), day=judging.today)
        with rendering(result.shared(), folder, imprint, pdf, progress) as unrendered:
            write_judged_tables(run, result, folder)
        seal_judged(
            run,
            folder,
            result,
            command=["audit", *sys.argv[1:]],
            judging=judging.stored(),
            key=key,
            forced=forced + forced_before,
        )
    summarise(result, target, unrendered, as_json=as_json)
    tell_no_pdf(pdf, target, unrendered, as_json=as_json)
    publish(of_audit("judge", result.shared(), fail_on, unrendered, imprint.title), junit)
    raise typer.Exit(exit_status(result, fail_on, unrendered))


def _judged_place(run: Path, out: Path | None, *, overwrite: bool) -> Path:
    """Where the run as it is judged now is written."""
    from audit.runs.folder import refuse_no_run

    refuse_no_run(run)
    if out is None and not overwrite:
        raise InputError(
            "a place for the run as it is judged now is required",
            found="neither --out nor --overwrite",
            hint="--out DIR writes a run beside this one, --overwrite replaces it",
        )
    return out or run
