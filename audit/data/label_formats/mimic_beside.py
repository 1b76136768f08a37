"""ADMISSIONS and PATIENTS of MIMIC: columns of admissions that the tables of codes lack."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import files_in, read_table
from audit.data.columns import names_of, pick
from audit.data.label_format import STRATUM
from audit.data.unnamed_columns import candidates, unnamed_columns

KEYS = ("hadm_id", "subject_id")
"""Keys by which the other tables are joined to the tables of codes, the narrower key first."""

_TABLES = {
    "hadm_id": re.compile(r"admissions\.(?:csv|csv\.gz|parquet)", re.IGNORECASE),
    "subject_id": re.compile(r"patients\.(?:csv|csv\.gz|parquet)", re.IGNORECASE),
}


def columns_beside(
    rows: pl.DataFrame, wanted: Mapping[str, str | None], tables: Sequence[Path]
) -> tuple[list[pl.DataFrame], list[Path]]:
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
    rows: pl.DataFrame, taken: Collection[str], tables: Sequence[Path]
) -> tuple[list[pl.DataFrame], list[Path]]:
    """Possible strata, from the tables beside the tables of codes, that the user did not name.

    Args:
        rows: ``instance`` and those of `KEYS` that the tables of codes have.
        taken: Columns that have a role.
        tables: The tables of codes.

    Returns:
        For each table with one of the keys a frame of ``instance`` and such columns; and the files
        that were read.
    """
    keyed = [(key, file) for key, file in _beside(tables) if key in rows.columns]
    read = [(key, file) for key, file in keyed if _has(key, file)]
    return [_unnamed_in(file, key, rows, taken) for key, file in read], [file for _, file in read]


def _unnamed_in(file: Path, key: str, rows: pl.DataFrame, taken: Collection[str]) -> pl.DataFrame:
    table = read_table(file)
    few = candidates(table, (*KEYS, *taken))
    values = pick(table, file, key=key, **{f"{STRATUM}{name}": name for name in few})
    joined = rows.select("instance", key).unique().join(values, left_on=key, right_on="key")
    named = {f"{STRATUM}{name}": name for name in few}
    return unnamed_columns(joined.drop(key).rename(named), "instance", (), file)


def _has(name: str, file: Path) -> bool:
    return name.lower() in (column.strip().lower() for column in names_of(file))


def _place_of(name: str, tables: Sequence[Path], keys: Sequence[str]) -> tuple[str, Path]:
    """Key and file of the first table beside the codes that has a column of that name."""
    beside = _beside(tables)
    for key, file in beside:
        if key in keys and _has(name, file):
            return key, file
    searched = first_cases(file.name for file in (*tables, *(file for _, file in beside)))
    raise SchemaError(
        f"a column named {name!r} is required",
        found=f"none in {searched}",
        where=tables[0].parent,
        hint="strata, drift, code_dates and person of the policy name columns of the tables of "
        "codes, of ADMISSIONS or of PATIENTS",
    )


def _beside(tables: Sequence[Path]) -> list[tuple[str, Path]]:
    folders = sorted({table.parent for table in tables})
    return [
        (key, entry)
        for key in KEYS
        for folder in folders
        for entry in files_in(folder)
        if _TABLES[key].fullmatch(entry.name) and entry.is_file()
    ]


def _joined(rows: pl.DataFrame, role: str, name: str, key: str, file: Path) -> pl.DataFrame:
    values = pick(read_table(file), file, **{key: key, role: name})
    return rows.select("instance", key).unique().join(values, on=key, how="inner").drop(key)
