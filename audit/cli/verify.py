"""``audit verify``: verify a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from audit.base.errors import InputError
from audit.base.settings import Option
from audit.cli.options import JUnitFile, PrintJson, RunFolder, SealKeyFile
from audit.cli.output import print_json, print_shown, shown_progress
from audit.cli.seal_verification import key_of


def verify(
    run: RunFolder,
    recompute: Annotated[bool, Option("Make the audit again from its inputs.")] = False,
    data: Annotated[Path | None, Option("Where the dataset is now, with --recompute.")] = None,
    seal_key: SealKeyFile = None,
    junit: JUnitFile = None,
    as_json: PrintJson = False,
) -> None:
    """Check whether a run is as it was sealed, agrees with itself and can be made again."""
    if data is not None and not recompute:
        raise InputError("--data goes with --recompute", found="--data alone")
    from audit.cli.ci.junit import refuse_no_file
    from audit.cli.ci.outcomes import of_verification
    from audit.cli.ci.publishing import publish

    refuse_no_file(junit, run)
    with shown_progress() as progress:
        progress("verifying")
        from audit.runs.verify import verify_run

        verdicts = verify_run(run, recompute=recompute, data=data, key=key_of(seal_key))
    holds = all(verdict.outcome != "does not hold" for verdict in verdicts)
    if as_json:
        summary = {"run": str(run), "holds": holds, "verdicts": [asdict(v) for v in verdicts]}
        print_json(summary)
    else:
        from audit.cli.terminal.listings import verdict_table

        print_shown(verdict_table(verdicts))
    publish(of_verification(run.name, verdicts), junit)
    raise typer.Exit(int(not holds))
