"""What a run shares, as CSV files or a workbook."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from audit.base.disk import exchange, on_disk, working_beside
from audit.base.errors import OutputError
from audit.base.new_file import replacing
from audit.base.spreadsheets import defused, write_workbook
from audit.results.exported_tables import exported_tables
from audit.runs.read import read_run

Tables = Mapping[str, pl.DataFrame]


def shared_tables(run: Path) -> dict[str, pl.DataFrame]:
    """The tables of a run's shared view; see `exported_tables`. Nothing withheld is in them.

    Raises:
        InputError: As `audit.read_run`.
    """
    return exported_tables(read_run(run, unsealed=True).shared())


def write_csv_folder(tables: Tables, folder: Path, *, overwrite: bool) -> None:
    """Write a CSV file for each table; what a spreadsheet would take for a formula is defused.

    Raises:
        OutputError: If the folder holds something else than CSV files, or any without
            ``overwrite``; if it cannot be written.
    """
    inside = list(folder.iterdir()) if folder.is_dir() else []
    others = [entry.name for entry in inside if entry.suffix != ".csv" or not entry.is_file()]
    if folder.exists() and (not folder.is_dir() or others or (inside and not overwrite)):
        raise OutputError(
            "a new or an empty folder is required",
            found=f"{len(inside)} entries" if folder.is_dir() else "a file",
            where=folder,
            hint="name another" if others or not folder.is_dir() else "add --overwrite",
        )
    out = folder.resolve()
    with working_beside(out) as begun, on_disk(out):
        for name, table in tables.items():
            defused(table).write_csv(begun / f"{name}.csv")
        if out.exists():
            exchange(begun, out)
        else:
            begun.rename(out)


def write_xlsx(tables: Tables, file: Path, *, overwrite: bool) -> None:
    """Write a workbook with a sheet for each table.

    Raises:
        InputError: If the package that writes workbooks is not installed.
        OutputError: If the file exists and shall not be replaced, or cannot be written.
    """
    with replacing(file, overwrite=overwrite) as begun:
        write_workbook(tables, begun)
