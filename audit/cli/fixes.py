"""``audit fixes``, ``apply`` and ``sample``: from findings to mended data."""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.base.errors import InputError
from audit.base.plurals import counted
from audit.base.settings import Argument, Option, located
from audit.cli.options import PrintJson, RunFolder
from audit.cli.output import print_json, print_shown

if TYPE_CHECKING:
    from audit.hierarchies.hierarchy import Hierarchy
    from audit.results.result import AuditResult
    from audit.runs.fixes.changes import Change


def fixes(
    run: RunFolder,
    finding: Annotated[
        str | None, Argument("Id of a finding; without one, all findings.", metavar="FINDING")
    ] = None,
    csv: Annotated[
        Path | None, Option("Write a sheet to decide on as CSV.", metavar="FILE", writes=True)
    ] = None,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
    as_json: PrintJson = False,
) -> None:
    """Propose what would mend the findings of a run: which label of which record becomes what."""
    from audit.cli.terminal.listings import proposal_summary
    from audit.runs.fixes.sheet import Proposals
    from audit.runs.read import read_run

    if overwrite and csv is None:
        raise InputError("--overwrite needs --csv", found="--overwrite alone")
    proposals = Proposals(read_run(run))
    if csv is not None:
        _write(proposals.sheet(finding), csv, "proposals", overwrite)
        typer.echo("Fill in its column decision: accept, reject, remove, or other: LABEL")
        typer.echo(f"Then: audit apply {run} --decisions {csv} --by NAME --out PATH")
    elif as_json:
        print_json({"proposals": proposals.summary().to_dicts()})
    else:
        findings = sum(len(check.findings) for check in proposals.run.checks)
        print_shown(proposal_summary(proposals.summary(), findings))


def _write(sheet: Any, file: Path, what: str, overwrite: bool) -> None:
    """Write a sheet as CSV, and print its path and number of rows, called ``what``."""
    from audit.base.disk import replacing
    from audit.base.stored_tables import defused

    with replacing(file, overwrite=overwrite) as begun:
        defused(sheet).write_csv(begun)
    typer.echo(f"Sheet: {file} ({counted(len(sheet), what)})")


def apply(
    run: RunFolder,
    out: Annotated[
        Path,
        Option(
            "Corrected copy to write; of data that are no table, a list of corrections as CSV.",
            metavar="PATH",
            writes=True,
        ),
    ],
    decisions: Annotated[
        Path | None, Option("Sheet of `audit fixes` with what was decided.", metavar="FILE")
    ] = None,
    certain: Annotated[bool, Option("Apply what is certain, with a sheet or without one.")] = False,
    by: Annotated[str, Option("Who decided on the sheet.", metavar="NAME")] = "",
    data: Annotated[
        str | None,
        Option("Where the dataset is now, if it moved.", metavar="PATH", parse=located),
    ] = None,
) -> None:
    """Write a corrected copy of the tables of a run, and a log of every change beside it."""
    if not (decisions or certain):
        raise InputError(
            "--decisions FILE or --certain is required",
            found="neither",
            hint="`audit fixes RUN --csv FILE` writes the sheet",
        )
    from audit.runs.fixes.changes import CERTAIN
    from audit.runs.fixes.corrections import data_of, write_corrected
    from audit.runs.sealed_run import refuse_broken

    if by == CERTAIN:
        raise InputError("a name or pseudonym of who decided is required", found=repr(by))
    refuse_broken([run])
    settings, labels = data_of(run, data)
    changes = _changes(run, decisions, by, certain, labels.hierarchy)
    done = write_corrected(run, settings, labels, changes, out)
    said = counted(len(done.changes), "changes")
    if not done.files:
        typer.echo(f"{said}\nCorrections: {done.out}\nLog: {done.log}")
        typer.echo("The data are no table that is copied: carry them out where the data are made")
        return
    typer.echo(f"{said} in {', '.join(done.files)}\nCopy: {done.out}\nLog: {done.log}")
    given, new = ("--like", run, "--reference", run), done.out.with_name(f"{done.out.stem}-run")
    again = ("run", done.out, *given, "--changes", done.log, "--out", new)
    for then in (again, ("compare", run, new)):
        typer.echo(f"Then: {join(map(str, ('audit', *then)))}")


def _changes(
    run: Path, sheet: Path | None, by: str, certain: bool, hierarchy: Hierarchy
) -> list[Change]:
    """What a sheet decides, and if ``certain`` what is sure of the rest; InputError if nothing."""
    from audit.runs.fixes.sheet import Proposals, decided, read_sheet
    from audit.runs.read import read_run

    proposals = Proposals(read_run(run))
    found = []
    if sheet is not None:
        found = decided(proposals, read_sheet(sheet), sheet, hierarchy, by)
    if certain:
        taken = {(one.instance, one.label) for one in found}
        sure = proposals.certain
        found += [one for one in sure if (one.instance, one.label) not in taken]
    if not found:
        raise InputError(
            "a change to make is required",
            found="no decision that makes one" if sheet else "no certain proposal",
            where=sheet or run,
            hint="`audit fixes RUN` says what is proposed, and `--csv FILE` writes a sheet of it",
        )
    return found


def sample(
    run: RunFolder,
    per_finding: Annotated[int, Option("Number of records of each finding.", least=1)] = 20,
    seed: Annotated[int, Option("Seed of the drawing.", least=0)] = 0,
    csv: Annotated[
        Path | None, Option("Write the blind sheet to judge as CSV.", metavar="FILE", writes=True)
    ] = None,
    judged: Annotated[
        Path | None,
        Option(
            "Sheet that came back with verdicts: say what coders confirmed of each finding, and "
            "how many records of the data are concerned.",
            metavar="FILE",
        ),
    ] = None,
    as_json: PrintJson = False,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
) -> None:
    """Draw records of findings among as many others, for coders who do not know which is which."""
    from audit.runs.fixes.judgements import Sample
    from audit.runs.read import read_run

    if (csv is None) == (judged is None):
        found = "neither" if csv is None else "both"
        raise InputError("--csv FILE or --judged FILE is required", found=found)
    if as_json and judged is None:
        raise InputError("--json needs --judged FILE", found="none")
    result = read_run(run)
    if csv is not None:
        _write(Sample(result, per_finding, seed).sheet(), csv, "records", overwrite)
    elif judged is not None:
        _print_shares_wrong(result, judged, as_json=as_json)


def _print_shares_wrong(run: AuditResult, judged: Path, *, as_json: bool) -> None:
    """Print what share of each finding's records the coders of a judged sheet call wrong."""
    from dataclasses import asdict

    from audit.cli.terminal.listings import confirmed_lines
    from audit.runs.fixes.judgements import confirmed
    from audit.runs.fixes.sheet import read_table

    found = confirmed(run, read_table(judged), judged)
    if as_json:
        print_json({"findings": [asdict(one) for one in found]})
    else:
        print_shown(confirmed_lines(found))
