"""Sheets of a workbook, read in a process of its own, whose memory is limited.

``python -m audit.data.sources.sheets WORKBOOK FOLDER BYTES`` writes them to a folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from audit.base.columnar import read_stream
from audit.base.errors import InputError
from audit.base.files import read_json
from audit.base.limits import EXPANSION, UNPACKED
from audit.base.machine import require_package
from audit.base.text_tables import titles_above, told_of_titles
from audit.data.sources.source import HEAD
from audit.data.sources.tables import TableFile

_ITSELF = 2**30
"""Bytes for the process itself."""
_TOLD = "told.json"


def read_sheets(path: Path) -> dict[str, tuple[pl.DataFrame, int]]:
    """The sheets with rows by name, every cell as text, and how many titles stand above the header.

    A single cell far down, or a number of shared texts, can make a small file ask for any memory,
    and end the process that reads it; so it is one of its own.
    """
    require_package("fastexcel", "to read a workbook")
    allowed = EXPANSION * path.stat().st_size
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        stated = sum(member.file_size for member in archive.infolist())
        UNPACKED.refuse_beyond(stated, path, allowed=allowed)
    most = UNPACKED.in_force(allowed)
    with TemporaryDirectory(prefix="audit-") as folder:
        command = [sys.executable, "-m", __name__, str(path), folder, str(2 * most + _ITSELF)]
        paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "RUST_BACKTRACE": "0"}
        done = subprocess.run(command, capture_output=True, env={**os.environ, **paths})
        if done.returncode:
            raise InputError(
                f"a workbook that can be read in {2 * most:,} bytes of memory is required",
                found="its reader needs more, or fails",
                where=path,
                hint="save the sheet as CSV; in Python, audit.limits(unpacked="
                f"{2 * most}) gives it more",
            )
        told: dict[str, Any] = read_json(Path(folder) / _TOLD)
        if "error" in told:
            required = "a workbook that can be read is required"
            raise InputError(required, found=told["error"], where=path)
        files = [Path(folder) / f"{number}.arrow" for number in range(len(told["above"]))]
        return {
            name: (read_stream(file), above)
            for (name, above), file in zip(told["above"], files, strict=True)
        }


def workbook(path: Path) -> TableFile:
    """The sheets with rows; every cell is text, so that no zero is lost, but a number's are."""
    sheets = read_sheets(path)
    if not sheets:
        required = "a workbook with a sheet of rows is required"
        raise InputError(required, found="none", where=path)
    above = [rows for _, rows in sheets.values()]
    titles = above[0] if len(above) == 1 else 0
    filled = {name: sheet for name, (sheet, _) in sheets.items()}
    return TableFile(path, filled, told_of_titles(titles, titles), kind="a workbook")


def write_sheets(path: Path, folder: Path) -> None:
    """Write the sheets with rows, and what is told of them, to a folder."""
    import fastexcel

    try:
        sheets = _sheets(fastexcel.read_excel(path))
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError) as error:
        told: dict[str, Any] = {"error": str(error).split("\n")[0]}
    else:
        told = {"above": [(name, above) for name, _, above in sheets]}
        for number, (_, sheet, _) in enumerate(sheets):
            file = folder / f"{number}.arrow"
            sheet.write_ipc_stream(file, compat_level=pl.CompatLevel.oldest())
    (folder / _TOLD).write_text(json.dumps(told), "utf-8")


def _sheets(book: Any) -> list[tuple[str, pl.DataFrame, int]]:
    """The sheets with rows; every cell is text, so that no zero is lost, but a number's are.

    A row whose cells are all empty is none, as a blank line of text.
    """

    def table(name: str, header: int | None = None) -> pl.DataFrame:
        sheet = pl.DataFrame(book.load_sheet(name, header_row=header, dtypes="string"))
        return sheet.cast(pl.String)

    found = list[tuple[str, pl.DataFrame, int]]()
    for name in book.sheet_names:
        sheet = table(name, 0)
        if sheet.is_empty():
            continue
        every = table(name)
        if rows := titles_above(every.head(HEAD).rows()):
            names = [cell.strip() for cell in every.row(rows)]
            sheet = every[rows + 1 :].rename(dict(zip(every.columns, names, strict=True)))
        found.append((name, sheet.filter(~pl.all_horizontal(pl.all().is_null())), rows))
    return found


def limit_memory(room: int) -> None:
    """Let this process take so many bytes beside those that it has."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + room
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    limit_memory(int(sys.argv[3]))
    write_sheets(Path(sys.argv[1]), Path(sys.argv[2]))
