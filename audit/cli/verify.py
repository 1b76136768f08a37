"""``audit verify``, and the verification of seals of runs that other commands read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.base.errors import InputError
from audit.base.settings import Option, located
from audit.cli.options import JUnitFile, PrintJson, Quiet, RunFolder, SealKeyFile
from audit.cli.output import print_json, print_shown, shown_progress

if TYPE_CHECKING:
    from audit.results.result import AuditResult
    from audit.runs.manifest import SealKey


def seal_key_in(file: Path | None) -> SealKey | None:
    """Read the key in a file; None without a file."""
    from audit.runs.manifest import read_key

    return read_key(file) if file else None


def refuse_broken(
    runs: Sequence[Path], key: SealKey | None, force: bool, remade: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Refuse runs with a broken seal; with ``force``, print and return what is broken."""
    if not runs:
        return ()
    from audit.runs.sealed_run import broken_of

    return print_ignored(broken_of(runs, key, forced=force, remade=remade))


def refuse_apart(run: Path, result: AuditResult, force: bool) -> tuple[str, ...]:
    """Refuse a run whose tables contradict each other; otherwise as `refuse_broken`."""
    from audit.runs.consistency import disagreements
    from audit.runs.sealed_run import refuse_faults

    apart = tuple(disagreements(result))
    if not force:
        refuse_faults(run, apart)
    return print_ignored(apart)


def read_view(run: Path, force: bool) -> Mapping[str, Any]:
    """Read what a run or a shared copy of it shares; one that has changed only with ``force``."""
    from audit.runs.shared_runs import read_shared_runs

    (read,) = read_shared_runs([run], forced=force)
    print_ignored(read.faults)
    return read.shared


def print_ignored(faults: tuple[str, ...]) -> tuple[str, ...]:
    """Print and return the faults in spite of which a command continues."""
    for fault in faults:
        typer.echo(f"Continued in spite of: {fault}", err=True)
    return faults


@contextmanager
def reading_runs(
    runs: Sequence[Path], key: SealKey | None, force: bool, remade: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """As `refuse_broken`; where something is broken, what that makes readers raise is one error."""
    from audit.runs.read import damage_refused

    broken = refuse_broken(runs, key, force, remade)
    with damage_refused(runs) if broken else nullcontext():
        yield broken


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
    seal_key: SealKeyFile = None,
    junit: JUnitFile = None,
    as_json: PrintJson = False,
    quiet: Quiet = False,
) -> None:
    """Check whether a run is as it was sealed, agrees with itself and can be made again."""
    if data is not None and not recompute:
        raise InputError("--data needs --recompute", found="--data alone")
    from audit.cli.ci_output import publish, refuse_no_file
    from audit.cli.outcomes import of_verification

    refuse_no_file(junit)
    with shown_progress() as progress:
        progress("verifying")
        from audit.cli.rendering import rendered_again
        from audit.runs.verify import verify_run

        key = seal_key_in(seal_key)
        verdicts = verify_run(
            run,
            recompute=recompute,
            data=data,
            allow_network=allow_network,
            key=key,
            render=rendered_again,
        )
    holds = all(verdict.outcome != "does not hold" for verdict in verdicts)
    if as_json:
        summary = {"run": str(run), "holds": holds, "verdicts": [asdict(v) for v in verdicts]}
        print_json(summary)
    else:
        from audit.cli.terminal.listings import verdict_table

        print_shown(verdict_table(verdicts))
    publish(of_verification(run.name, verdicts), junit)
    raise typer.Exit(int(not holds))
