"""A sheet of Excel."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.files import first_bytes, sha256_of
from audit.base.packages import require_package
from audit.data.sources.frame import Frame

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


class Sheet(Frame):
    """The only sheet with rows of a workbook; every cell is text, so that no zero is lost.

    A cell that holds a number has lost its zeros in the workbook already.
    """

    kind = "a sheet"

    def __init__(self, path: Path) -> None:
        super().__init__(_read(path))
        self.name = str(path)
        self.path = path
        self.files = (path,)
        self.suffix = path.suffix.lower()
        self.head = first_bytes(path)

    @cached_property
    def digest(self) -> str:
        return sha256_of(self.path)

    @cached_property
    def size(self) -> int:
        return self.path.stat().st_size


def _read(path: Path) -> pl.DataFrame:
    require_package("fastexcel", "to read a workbook")
    import fastexcel

    try:
        workbook = fastexcel.read_excel(path)
        sheets = {
            name: pl.DataFrame(workbook.load_sheet(name, dtypes="string")).cast(pl.String)
            for name in workbook.sheet_names
        }
    except (fastexcel.FastExcelError, OSError) as error:
        raise InputError(
            "a workbook that can be read is required", found=str(error).split("\n")[0], where=path
        ) from None
    filled = {name: sheet for name, sheet in sheets.items() if not sheet.is_empty()}
    if len(filled) == 1:
        return next(iter(filled.values()))
    raise InputError(
        "a workbook with one sheet of rows is required",
        found=f"{len(filled)}: {first_cases(filled)}" if filled else "none",
        where=path,
        hint="save the sheet that is meant as a file of its own",
    )
