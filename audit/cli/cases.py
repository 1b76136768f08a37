"""``audit cases``: the instances behind findings of a run, and one of them as a tree."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.base.errors import InputError, printable
from audit.base.plurals import counted
from audit.base.settings import Argument, Option
from audit.cli.options import PrintJson, RunFolder
from audit.cli.output import print_json, print_shown, write_lines

if TYPE_CHECKING:
    from audit.results.result import AuditResult


def cases(
    run: RunFolder,
    finding: Annotated[
        str | None,
        Argument("Id of a finding; without one, all findings are listed.", metavar="FINDING"),
    ] = None,
    sample: Annotated[
        int | None, Option("Draw N cases of a finding at random.", metavar="N", least=1)
    ] = None,
    seed: Annotated[int, Option("Seed of the drawing.", least=0)] = 0,
    csv: Annotated[
        Path | None, Option("Write the cases as CSV instead.", metavar="FILE", writes=True)
    ] = None,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
    as_json: PrintJson = False,
    instance: Annotated[
        str | None,
        Option(
            "Draw labels and predictions of this instance in one tree instead, of a run made "
            "with --keep-instances.",
            metavar="ID",
        ),
    ] = None,
    least: Annotated[
        float,
        Option("Leave out nodes of its tree below this share of the root.", least=0, most=1),
    ] = 0.01,
) -> None:
    """List the instances behind a finding of a run, or count those behind each finding."""
    from audit.runs.case_lists import cases_of, drawn, records_behind, write_csv
    from audit.runs.read import read_run

    if instance is not None:
        if finding or sample or csv:
            raise InputError(
                "--instance is given without FINDING, --sample and --csv", found="one of them too"
            )
        _print_tree(run, instance, least)
        return
    if sample and finding is None and csv is None:
        raise InputError("--sample needs FINDING or --csv", found="neither")
    if overwrite and csv is None:
        raise InputError("--overwrite needs --csv", found="--overwrite alone")
    result = read_run(run)
    found = cases_of(result, finding)
    if sample:
        found = drawn(found, sample, seed)
    if csv is not None:
        write_csv(records_behind(result, found), csv, overwrite=overwrite)
        typer.echo(f"Cases: {csv}")
    else:
        _tell(result, finding, found, as_json=as_json)


def _tell(result: AuditResult, finding: str | None, found: Any, *, as_json: bool) -> None:
    """Print all findings; where ``finding`` names one, the records behind it (``found``)."""
    from audit.cli.terminal.listings import case_summary
    from audit.runs.case_lists import listed, records_behind

    if as_json:
        told = {"findings": [asdict(one) for one in listed(result)]}
        if finding is not None:
            records = (one.to_dicts() for one in records_behind(result, found))
            told = {"cases": [row for rows in records for row in rows]}
        print_json(told)
    elif finding is None:
        print_shown(case_summary(listed(result)))
    else:
        ids = found.collect(engine="streaming")["instance"].to_list()
        heading = f"{counted(len(ids), result.called)} behind {finding}"
        _print_cases(heading, ids, records_behind(result, found))


def _print_tree(run: Path, instance: str, least_share: float) -> None:
    """Print labels and predictions in a tree; nodes below ``least_share`` of both are left out."""
    from audit.cli.terminal.instance import instance_lines
    from audit.runs.instances import read_instance

    tree = read_instance(run, instance)
    drawn = instance_lines(tree, least_share, columns=get_terminal_size().columns)
    heading = "Labels" if tree.predictions is None else "Labels and predictions"
    write_lines("\n".join([f"{heading} of {printable(instance)}", *drawn]))


def _print_cases(heading: str, ids: Sequence[str], told: Iterator[Any]) -> None:
    """Print ids, one a line; on a terminal a heading, and each with its labels from ``told``."""
    if sys.stderr.isatty():
        typer.echo(heading, err=True)
    if sys.stdout.isatty():
        from audit.cli.terminal.listings import record_lines

        for one in told:
            print_shown(record_lines(one))
    elif ids:
        write_lines("\n".join(ids))
