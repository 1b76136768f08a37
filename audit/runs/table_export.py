"""What a run shares, as CSV files or a workbook."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.disk import exchange, on_disk, replacing, working_beside
from audit.base.errors import OutputError
from audit.base.spreadsheets import defused, write_workbook
from audit.runs.read import read_run

Tables = Mapping[str, pl.DataFrame]
_OWN_TABLES = ("checks", "waivers")


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


def exported_tables(shared: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """The tables of a shared view, by name.

    ``summary`` has every single value with its place, ``checks`` a row a check, ``findings`` a row
    a finding, ``evidence`` a row for each number of a finding (part 0) or of a part of it, and
    ``waivers`` a row a waiver. Every other list of records is a table called by its place
    (``metrics``, ``overview_pairs``). A column is of numbers if all its values are, else of text as
    they are shown ("<11", "withheld"); lists and records in a cell are JSON. Lists without rows are
    left out.
    """
    rest = _without(shared, *_OWN_TABLES)
    rows: dict[str, Sequence[Mapping[str, Any]]] = {
        "summary": [{"place": place, "value": value} for place, value in _values(rest, "")],
        "checks": [_without(check, "findings") for check in shared["checks"]],
        "findings": [
            _finding(check, one) for check in shared["checks"] for one in check["findings"]
        ],
        "evidence": list(_evidence(shared)),
        "waivers": shared["waivers"],
        **dict(_lists(rest, "")),
    }
    return {name: _frame(table) for name, table in rows.items() if table}


def _values(record: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    """Single values of a record and of those in it, with their places."""
    for name, value in record.items():
        at = f"{place}.{name}" if place else name
        if isinstance(value, Mapping):
            yield from _values(value, at)
        elif not _is_table(value):
            yield at, _plain(value)


def _lists(record: Mapping[str, Any], place: str) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Lists of records in a record and in those in it, called by their places."""
    for name, value in record.items():
        at = f"{place}_{name}" if place else name
        if isinstance(value, Mapping):
            yield from _lists(value, at)
        elif _is_table(value):
            yield at, value


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _finding(check: Mapping[str, Any], finding: Mapping[str, Any]) -> dict[str, Any]:
    kept = _without(finding, "evidence", "parts", "nodes")
    return {"check": check["name"], **kept, "nodes": _ids(finding["nodes"])}


def _evidence(shared: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for check in shared["checks"]:
        for finding in check["findings"]:
            for place, one in enumerate((finding, *finding["parts"])):
                for name, value in one["evidence"].items():
                    about = {"finding": finding["id"], "part": place, "nodes": _ids(one["nodes"])}
                    yield about | {"name": name, "value": value}


def _ids(nodes: list[Mapping[str, Any]]) -> str:
    return "; ".join(node["id"] for node in nodes)


def _without(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame([_column(name, [_plain(row.get(name)) for row in rows]) for name in names])


def _plain(value: Any) -> Any:
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, (Mapping, list, bool)) else value
    )


def _column(name: str, values: list[Any]) -> pl.Series:
    full = [value for value in values if value is not None]
    if full and not any(isinstance(value, str) for value in full):
        whole = all(isinstance(value, int) for value in full)
        return pl.Series(name, values, pl.Int64 if whole else pl.Float64, strict=False)
    return pl.Series(name, [None if value is None else str(value) for value in values], pl.String)
