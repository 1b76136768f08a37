"""Verification of the seals of runs that a command is about to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from audit.runs.seal_key import SealKey


def key_of(file: Path | None) -> SealKey | None:
    """Read the key in a file; None without a file."""
    from audit.runs.seal_key import read_key

    return read_key(file) if file else None


def refuse_broken(
    runs: Sequence[Path], key: SealKey | None, force: bool, remade: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Refuse runs with a broken seal; with ``force``, print and return what is broken."""
    if not runs:
        return ()
    from audit.runs.sealed_run import broken_of

    broken = broken_of(runs, key, forced=force, remade=remade)
    for fault in broken:
        typer.echo(f"Continued in spite of: {fault}", err=True)
    return broken


@contextmanager
def reading_runs(
    runs: Sequence[Path], key: SealKey | None, force: bool, remade: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """As `refuse_broken`; where something is broken, what that makes readers raise is one error."""
    from audit.runs.read import damage_refused

    broken = refuse_broken(runs, key, force, remade)
    with damage_refused(runs) if broken else nullcontext():
        yield broken
