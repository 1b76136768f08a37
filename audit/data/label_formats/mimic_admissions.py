"""ADMISSIONS and PATIENTS of MIMIC: columns of admissions that the tables of codes lack."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import files_in
from audit.data.records import STRATUM, pick
from audit.data.sources import File, Folder, Source
from audit.data.unnamed_columns import candidates, unnamed_columns

KEYS = ("hadm_id", "subject_id")
"""Keys by which the other tables are joined to the tables of codes, the narrower key first."""

_TABLES = {
    "hadm_id": re.compile(r"admissions\.(?:csv|csv\.gz|parquet)", re.IGNORECASE),
    "subject_id": re.compile(r"patients\.(?:csv|csv\.gz|parquet)", re.IGNORECASE),
}


def columns_beside(
    rows: pl.DataFrame, wanted: Mapping[str, str | None], tables: Sequence[Source]
) -> tuple[list[pl.DataFrame], list[File]]:
    """Look up columns of the instances in the tables beside the tables of codes.

    Args:
        rows: ``instance`` and those of `KEYS` that the tables of codes have.
        wanted: Name of the wanted column by role.
        tables: The tables of codes.

    Returns:
        For each wanted column a frame of ``instance`` and the role; and the files that were read.

    Raises:
        SchemaError: If no table beside the codes has a wanted column.
    """
    found = {role: _place_of(str(name), tables, rows.columns) for role, name in wanted.items()}
    frames = [_joined(rows, role, str(wanted[role]), *place) for role, place in found.items()]
    return frames, list(dict.fromkeys(file for _, file in found.values()))


def unnamed_beside(
    rows: pl.DataFrame, taken: Collection[str], tables: Sequence[Source]
) -> tuple[list[pl.DataFrame], list[File]]:
    """Possible strata, from the tables beside the tables of codes, that the user did not name.

    Args:
        rows: ``instance`` and those of `KEYS` that the tables of codes have.
        taken: Columns that have a role.
        tables: The tables of codes.

    Returns:
        For each table with one of the keys a frame of ``instance`` and such columns; and the files
        that were read.
    """
    keyed = [(key, file) for key, file in _admission_tables(tables) if key in rows.columns]
    read = [(key, file) for key, file in keyed if _has(key, file)]
    return [_unnamed_in(file, key, rows, taken) for key, file in read], [file for _, file in read]


def _unnamed_in(file: File, key: str, rows: pl.DataFrame, taken: Collection[str]) -> pl.DataFrame:
    table = file.table()
    few = candidates(table, (*KEYS, *taken))
    values = pick(table, file, key=key, **{f"{STRATUM}{name}": name for name in few})
    joined = rows.select("instance", key).unique().join(values, left_on=key, right_on="key")
    named = {f"{STRATUM}{name}": name for name in few}
    return unnamed_columns(joined.drop(key).rename(named), "instance", (), file)


def _has(name: str, file: File) -> bool:
    return name.lower() in file.columns


def _place_of(name: str, tables: Sequence[Source], keys: Sequence[str]) -> tuple[str, File]:
    """Key and file of the first table beside the codes that has a column of that name."""
    beside = _admission_tables(tables)
    for key, file in beside:
        if key in keys and _has(name, file):
            return key, file
    read = (*tables, *(file for _, file in beside))
    searched = first_cases(Path(source.name).name for source in read)
    raise SchemaError(
        f"a column named {name!r} is required",
        found=f"none in {searched}",
        where=next(iter(folders_of(tables)), tables[0]),
        hint="strata, drift, code_dates and person of the policy name columns of the tables of "
        "codes, of ADMISSIONS or of PATIENTS",
    )


def folders_of(tables: Iterable[Source]) -> list[Path]:
    """The folders that tables are in, sorted; none for tables that are in no file."""
    paths = (table.path for table in tables if isinstance(table, (File, Folder)))
    return sorted({path.parent for path in paths})


def _admission_tables(tables: Sequence[Source]) -> list[tuple[str, File]]:
    return [
        (key, File(entry))
        for key in KEYS
        for folder in folders_of(tables)
        for entry in files_in(folder)
        if _TABLES[key].fullmatch(entry.name) and entry.is_file()
    ]


def _joined(rows: pl.DataFrame, role: str, name: str, key: str, file: File) -> pl.DataFrame:
    values = pick(file.table(), file, **{key: key, role: name})
    return rows.select("instance", key).unique().join(values, on=key, how="inner").drop(key)
