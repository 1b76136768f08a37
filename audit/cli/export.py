"""``audit export``: write a run as tables, or as Croissant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from audit.base.errors import InputError
from audit.base.plurals import counted
from audit.base.settings import Option
from audit.cli.options import RunFolder
from audit.cli.rendering import name_of_run


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Where what is made of ``result.json`` is written."""

    csv: Annotated[
        Path | None,
        Option("Folder for a CSV file of each table that is shared.", metavar="DIR", writes=True),
    ] = None
    xlsx: Annotated[
        Path | None,
        Option("Workbook with a sheet for each table that is shared.", metavar="FILE", writes=True),
    ] = None
    croissant: Annotated[
        Path | None,
        Option("Croissant description of the dataset.", metavar="FILE", writes=True),
    ] = None


def export(
    run: RunFolder,
    shared: Shared,
    parquet: Annotated[
        Path | None,
        Option(
            "Parquet file for the whole table of pairs, with --restricted; it is not for sharing.",
            metavar="FILE",
            writes=True,
        ),
    ] = None,
    restricted: Annotated[
        bool, Option("Confirm that exact counts are exported; needed for --parquet.")
    ] = False,
    overwrite: Annotated[bool, Option("Replace what was exported there earlier.")] = False,
) -> None:
    """Write what a run shares as tables or Croissant, or its exact pairs."""
    described = any(vars(shared).values())
    if parquet is None and not described:
        raise InputError(
            "a folder or file to export to is required",
            found="none",
            hint="--csv DIR, --xlsx FILE, --croissant FILE or --restricted --parquet FILE",
        )
    if restricted != (parquet is not None):
        raise InputError(
            "the table of pairs has exact counts and is exported only with --restricted",
            found="--restricted alone" if restricted else "--parquet alone",
            hint="audit export RUN --restricted --parquet FILE",
        )
    if described:
        _export_shared(run, shared, overwrite=overwrite)
    if parquet is not None:
        from audit.runs.table_export import write_pairs

        pairs = write_pairs(run, parquet, overwrite=overwrite)
        typer.echo(f"{parquet}: {counted(pairs, 'pairs')}, exact counts, not for sharing.")


def _export_shared(run: Path, out: Shared, *, overwrite: bool) -> None:
    """Write what ``result.json`` says; a copy without ``restricted/`` has all of it."""
    from audit.runs.shared_runs import read_shared_runs

    (read,) = read_shared_runs([run])
    view = read.shared
    if out.csv or out.xlsx:
        _export_tables(view, out, overwrite=overwrite)
    if out.croissant:
        from audit.runs.croissant import write_croissant

        write_croissant(view, name_of_run(run), out.croissant, overwrite=overwrite)
        typer.echo(f"{out.croissant}: the dataset described in Croissant, of what the run shares.")


def _export_tables(shared: Mapping[str, Any], out: Shared, *, overwrite: bool) -> None:
    from audit.runs.table_export import exported_tables, write_csv_folder, write_xlsx

    tables = exported_tables(shared)
    sentence = f"{counted(len(tables), 'tables')} of what the run shares."
    if out.csv:
        write_csv_folder(tables, out.csv, overwrite=overwrite)
        typer.echo(f"{out.csv}: {sentence}")
    if out.xlsx:
        write_xlsx(tables, out.xlsx, overwrite=overwrite)
        typer.echo(f"{out.xlsx}: {sentence}")
