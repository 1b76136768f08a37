"""``audit show`` and ``audit cases``: individual instances of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from audit.base.errors import InputError, printable
from audit.base.limits import USUAL, limits
from audit.base.plurals import counted
from audit.base.settings import Argument, Option
from audit.cli.options import Force, RunFolder
from audit.cli.output import print_shown, write_lines
from audit.cli.seal_verification import reading_runs
from audit.runs.settings import Limits

if TYPE_CHECKING:
    from audit.data.instance_tree import InstanceTree


def show(
    run: Annotated[Path, Argument("Run made with --keep-instances.", metavar="RUN")],
    instance: Annotated[str, Argument("Id of an instance.", metavar="INSTANCE")],
    least: Annotated[
        float, Option("Leave out nodes below this share of the root.", least=0, most=1)
    ] = 0.01,
    html: Annotated[
        Path | None, Option("Write the tree as an HTML page instead.", metavar="FILE")
    ] = None,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
    force: Force = False,
    limit: Limits = USUAL,
) -> None:
    """Draw labels and predictions of one instance in one tree, with hits and misses marked."""
    from audit.runs.instances import instance_view, read_instance

    if overwrite and html is None:
        raise InputError("--overwrite goes with --html", found="--overwrite alone")
    with limits(**limit), reading_runs([run], None, force):
        tree = read_instance(run, instance, unsealed=True)
        if html is None:
            _print_tree(tree, instance, least)
        else:
            import reports
            from audit.base.disk import replacing

            with replacing(html, overwrite=overwrite) as begun:
                reports.write_instance(instance_view(tree, instance, least), begun)
            typer.echo(f"Page: {html}")


def _print_tree(tree: InstanceTree, instance: str, least: float) -> None:
    from audit.cli.instance_drawing import instance_lines

    columns, encoding = get_terminal_size().columns, getattr(sys.stdout, "encoding", None)
    drawn = instance_lines(tree, least, columns=columns, encoding=encoding or "utf-8")
    heading = "Labels" if tree.predictions is None else "Labels and predictions"
    write_lines("\n".join([f"{heading} of {printable(instance)}", *drawn]))


def cases(
    run: RunFolder,
    finding: Annotated[
        str | None,
        Argument("Id of a finding; without one, all findings are listed.", metavar="FINDING"),
    ] = None,
    sample: Annotated[
        int | None, Option("Draw N cases of a finding at random.", metavar="N", least=1)
    ] = None,
    seed: Annotated[int, Option("Seed of the drawing.")] = 0,
    csv: Annotated[Path | None, Option("Write the cases as CSV instead.", metavar="FILE")] = None,
    overwrite: Annotated[bool, Option("Replace an earlier FILE.")] = False,
    force: Force = False,
) -> None:
    """List the instances behind a finding of a run, or count those behind each finding."""
    from audit.cli.terminal.listings import case_summary
    from audit.runs.case_lists import cases_of, drawn, listed, write_csv
    from audit.runs.read import read_run

    if sample and finding is None and csv is None:
        raise InputError("--sample goes with FINDING or --csv", found="neither")
    if overwrite and csv is None:
        raise InputError("--overwrite goes with --csv", found="--overwrite alone")
    with reading_runs([run], None, force):
        result = read_run(run, unsealed=True)
        found = cases_of(result, finding)
        if sample:
            found = drawn(found, sample, seed)
        if csv is not None:
            write_csv(found, csv, overwrite=overwrite)
            typer.echo(f"Cases: {csv}")
        elif finding is None:
            print_shown(case_summary(listed(result)))
        else:
            ids = found.collect(engine="streaming")["instance"].to_list()
            _print_cases(f"{counted(len(ids), result.called)} behind {finding}", ids)


def _print_cases(heading: str, instances: list[str]) -> None:
    """Print ids, one a line; a terminal sees how many they are, and obeys nothing in them."""
    if sys.stderr.isatty():
        typer.echo(heading, err=True)
    if instances:
        from audit.cli.terminal.tables import one_line

        lines = map(one_line, instances) if sys.stdout.isatty() else instances
        write_lines("\n".join(lines))
