"""``audit report``: a run rendered again, or judged again by another policy."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn, TypeAlias

import typer

from audit.base.errors import InputError
from audit.base.settings import OUTPUT, Option
from audit.cli.options import AsJson, FailOn, JUnitFile, Quiet, RunFolder, WritePdf
from audit.cli.output import exit_status, print_report_place, shown_progress, summarise
from audit.cli.rendering import imprint_of_run, refuse_no_pdf, render, tell_no_pdf
from audit.runs.settings import Judging

if TYPE_CHECKING:
    from reports.pdf import Variant

PdfVariant: TypeAlias = Literal["a-3a", "ua-1"]
VARIANTS: dict[PdfVariant, Variant] = {"a-3a": "pdf/a-3a", "ua-1": "pdf/ua-1"}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What is written of a run that is judged by another policy, and printed."""

    out: Annotated[
        Path | None, Option("Folder of the run as it is judged by --policy.", OUTPUT, writes=True)
    ] = None
    overwrite: Annotated[
        bool, Option("Replace the run itself, or an earlier one at --out.", OUTPUT)
    ] = False
    fail_on: FailOn = "never"
    as_json: AsJson = False
    junit: JUnitFile = None


def report(
    run: RunFolder,
    judging: Judging,
    judged: Judged,
    exact: Annotated[
        bool, Option("Write the report with exact numbers, restricted/exact.html.", OUTPUT)
    ] = False,
    pdf: WritePdf = None,
    pdf_variant: Annotated[
        PdfVariant, Option("The standard that the PDF follows: PDF/A-3a or PDF/UA-1.", OUTPUT)
    ] = "a-3a",
    quiet: Quiet = False,
) -> None:
    """Render the reports of a run again, or judge it by another policy; nothing is counted."""
    refuse_no_pdf(pdf)
    variant, again = VARIANTS[pdf_variant], judging.reference or judged != Judged()
    if exact and (again or judging.policy is not None):
        raise InputError(
            "--exact is given with --pdf or --no-pdf alone",
            found="options on how a run is judged again",
            hint="judge it first, then: audit report RUN --exact",
        )
    if judging.policy is not None:
        _judge(run, judging, judging.policy, judged, pdf, variant)
    if again:
        raise InputError(
            "options on how a run is judged again need a policy",
            found="no --policy",
            hint="add --policy FILE",
        )
    _render(run, pdf, variant, exact=exact)


def _render(run: Path, pdf: bool | None, variant: Variant, *, exact: bool) -> NoReturn:
    """Render the reports of a run in its own folder, or the one with exact numbers, and exit."""
    from audit.base.files import read_json
    from audit.runs.folder import EXACT, rewriting_run, seal_reports
    from audit.runs.manifest import RESTRICTED, RESULT
    from audit.runs.read import read_run
    from audit.runs.sealed_run import refuse_broken

    name = f"{RESTRICTED}/{EXACT}" if exact else "report"
    refuse_broken([run], (f"{name}.html", f"{name}.pdf"))
    with shown_progress() as progress, rewriting_run(run) as folder:
        progress("reading the run")
        shown = read_run(run, unsealed=True).exact() if exact else read_json(run / RESULT)
        (folder / name).parent.mkdir(mode=0o700, exist_ok=True)
        imprint = replace(imprint_of_run(run), exact=exact)
        unrendered = render(shown, folder, imprint, pdf, progress, name, variant)
        seal_reports(run, folder)
    print_report_place(run / f"{name}.html", unrendered)
    if exact:
        typer.echo("It is for those who may see the records; it is not to be shared.")
    else:
        tell_no_pdf(pdf, run, unrendered)
    raise typer.Exit(3 if unrendered else 0)


def _judge(
    run: Path, judging: Judging, file: Path, output: Judged, pdf: bool | None, variant: Variant
) -> NoReturn:
    """Write a run folder of the run as the policy in ``file`` judges it, print it, and exit."""
    from audit.cli.ci_output import publish, refuse_foreign_file
    from audit.cli.outcomes import of_audit
    from audit.policy.reading import load_policy
    from audit.runs.folder import seal_judged, write_judged_tables, writing_run
    from audit.runs.inputs import judge_again
    from audit.runs.read import read_run
    from audit.runs.sealed_run import refuse_broken

    refuse_foreign_file(output.junit)
    target, policy = _judged_place(run, output), load_policy(file)
    refuse_broken([judging.reference] if judging.reference else [])
    with (
        shown_progress() as progress,
        writing_run(target, overwrite=output.overwrite) as folder,
    ):
        progress("reading the run")
        found = read_run(run)
        progress("judging")
        result = judge_again(judging, policy, found)
        imprint = replace(imprint_of_run(run), day=judging.today)
        write_judged_tables(run, result, folder)
        unrendered = render(result.shared(), folder, imprint, pdf, progress, variant=variant)
        seal_judged(
            run,
            folder,
            result,
            command=["audit", *sys.argv[1:]],
            judging=judging.stored(),
        )
    summarise(result, target, unrendered, as_json=output.as_json)
    tell_no_pdf(pdf, target, unrendered, as_json=output.as_json)
    shared = result.shared()
    publish(of_audit("report", shared, output.fail_on, unrendered, imprint.title), output.junit)
    raise typer.Exit(exit_status(result, output.fail_on, unrendered))


def _judged_place(run: Path, output: Judged) -> Path:
    """Where the run as it is judged now is written; one of --out and --overwrite must say so."""
    from audit.runs.folder import refuse_no_run

    refuse_no_run(run)
    if output.out is None and not output.overwrite:
        raise InputError(
            "a place for the run as it is judged now is required",
            found="neither --out nor --overwrite",
            hint="--out DIR writes a run beside this one, --overwrite replaces it",
        )
    return output.out or run
