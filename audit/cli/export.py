"""``audit export``: write what a run shares as tables, or as Croissant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from audit.base.errors import InputError
from audit.base.plurals import counted
from audit.base.settings import Option
from audit.cli.options import RunFolder
from audit.cli.rendering import name_of_run


def export(
    run: RunFolder,
    csv: Annotated[
        Path | None,
        Option("Folder for a CSV file of each table that is shared.", metavar="DIR", writes=True),
    ] = None,
    xlsx: Annotated[
        Path | None,
        Option("Workbook with a sheet for each table that is shared.", metavar="FILE", writes=True),
    ] = None,
    croissant: Annotated[
        Path | None,
        Option("Croissant description of the dataset.", metavar="FILE", writes=True),
    ] = None,
    overwrite: Annotated[bool, Option("Replace what was exported there earlier.")] = False,
) -> None:
    """Write what a run shares as tables or Croissant; a shared copy has all of it."""
    from audit.runs.croissant import write_croissant
    from audit.runs.shared_runs import read_shared_runs
    from audit.runs.table_export import exported_tables, write_csv_folder, write_xlsx

    if not (csv or xlsx or croissant):
        raise InputError(
            "a folder or file to export to is required",
            found="none",
            hint="--csv DIR, --xlsx FILE or --croissant FILE",
        )
    (read,) = read_shared_runs([run])
    tables = exported_tables(read.shared)
    if csv:
        write_csv_folder(tables, csv, overwrite=overwrite)
    if xlsx:
        write_xlsx(tables, xlsx, overwrite=overwrite)
    for place in filter(None, (csv, xlsx)):
        typer.echo(f"{place}: {counted(len(tables), 'tables')} of what the run shares.")
    if croissant:
        write_croissant(read.shared, name_of_run(run), croissant, overwrite=overwrite)
        typer.echo(f"{croissant}: the dataset described in Croissant, of what the run shares.")
