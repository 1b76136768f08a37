"""``audit verify``: whether a run is as it was sealed, and can be made again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from audit.base.errors import InputError
from audit.base.settings import Option, located
from audit.cli.options import PrintJson, Quiet, RunFolder
from audit.cli.output import print_json, print_shown, shown_progress


def verify(
    run: RunFolder,
    recompute: Annotated[bool, Option("Make the audit again from its inputs.")] = False,
    data: Annotated[
        str | None,
        Option("Where the dataset is now, with --recompute.", metavar="PATH", parse=located),
    ] = None,
    allow_network: Annotated[
        bool, Option("Read inputs at addresses there, with --recompute.")
    ] = False,
    as_json: PrintJson = False,
    quiet: Quiet = False,
) -> None:
    """Check whether a run is as it was sealed, and can be made again."""
    if data is not None and not recompute:
        raise InputError("--data needs --recompute", found="--data alone")
    with shown_progress() as progress:
        progress("verifying")
        from audit.cli.rendering import rendered_again
        from audit.runs.verify import verify_run

        verdicts = verify_run(
            run,
            recompute=recompute,
            data=data,
            allow_network=allow_network,
            render=rendered_again,
        )
    holds = all(verdict.outcome != "does not hold" for verdict in verdicts)
    if as_json:
        summary = {"run": str(run), "holds": holds, "verdicts": [asdict(v) for v in verdicts]}
        print_json(summary)
    else:
        from audit.cli.terminal.listings import verdict_table

        print_shown(verdict_table(verdicts))
    raise typer.Exit(int(not holds))
