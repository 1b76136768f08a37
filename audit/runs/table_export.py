"""Tables that a run shares, as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.disk import exchange, on_disk, replacing, working_beside
from audit.base.errors import OutputError
from audit.base.stored_tables import defused, write_workbook
from audit.results.order import in_report_order


@contextmanager
def new_export(folder: Path, *, overwrite: bool, names: Callable[[str], bool]) -> Iterator[Path]:
    """Yield a folder that takes the place of ``folder`` when the block ends; OutputError if it has
    files whose names ``names`` refuses, or any without ``overwrite``."""
    inside = list(folder.iterdir()) if folder.is_dir() else []
    others = [entry.name for entry in inside if not (entry.is_file() and names(entry.name))]
    if folder.exists() and (not folder.is_dir() or others or (inside and not overwrite)):
        found = f"something else ({', '.join(sorted(others)[:3])})" if others else "a file"
        raise OutputError(
            "the output must be a new folder or an earlier export",
            found="an earlier export" if inside and not others else found,
            where=folder,
            hint="add --overwrite, or name another folder"
            if inside and not others
            else "name another folder",
        )
    out = folder.resolve()
    with working_beside(out) as begun, on_disk(out):
        yield begun
        if out.exists():
            exchange(begun, out)
        else:
            begun.rename(out)


Tables = Mapping[str, pl.DataFrame]
_OWN_TABLES = ("checks", "waivers")


def write_csv_folder(tables: Tables, folder: Path, *, overwrite: bool) -> None:
    """Write a CSV file for each table; what a spreadsheet would take for a formula is defused."""
    with new_export(folder, overwrite=overwrite, names=lambda name: name.endswith(".csv")) as begun:
        for name, table in tables.items():
            defused(table).write_csv(begun / f"{name}.csv")


def write_xlsx(tables: Tables, file: Path, *, overwrite: bool) -> None:
    """Write a workbook with a sheet for each table."""
    with replacing(file, overwrite=overwrite) as begun:
        write_workbook(tables, begun)


def exported_tables(shared: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """The tables of a shared view, by name.

    ``summary`` has every single value with its place, ``checks`` a row a check, ``findings`` a row
    a finding, those to act on first, ``evidence`` a row for each number of a finding (part 0) or of
    a part of it, and ``waivers`` a row a waiver. Every other list of records is a table called by
    its place (``metrics``, ``overview_pairs``). Counts are as they are shared; how they are
    rounded ``summary`` says once, in ``rounding.note``. A column is of numbers if all its values
    are, else of text; lists and records in a cell are JSON. Lists without rows are left out.
    """
    rest = _without(shared, *_OWN_TABLES)
    rows: dict[str, Sequence[Mapping[str, Any]]] = {
        "summary": [{"place": place, "value": value} for place, value in _values(rest, "")],
        "checks": [_without(check, "findings") for check in shared["checks"]],
        "findings": [_finding(check, one) for check, one in in_report_order(shared)],
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
        elif not _is_list_of_records(value):
            yield at, _plain(value)


def _lists(record: Mapping[str, Any], place: str) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Lists of records in a record and in those in it, each with its names joined by ``_``."""
    for name, value in record.items():
        at = f"{place}_{name}" if place else name
        if isinstance(value, Mapping):
            yield from _lists(value, at)
        elif _is_list_of_records(value):
            yield at, value


def _is_list_of_records(value: Any) -> bool:
    """Whether a value is a list, not empty, that begins with a record."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _finding(check: str, finding: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of `AuditResult.findings` as far as they are shared, then what else is told."""
    evidence = finding["evidence"]
    return {
        "check": check,
        **{name: finding[name] for name in ("id", "severity")},
        "sentence": finding["statement"],
        "nodes": _ids(finding["nodes"]),
        "titles": "; ".join(node["title"] or "" for node in finding["nodes"]),
        **{name: evidence.get(name) for name in ("instances", "share", "low", "high")},
        **_without(finding, "id", "severity", "statement", "evidence", "parts", "nodes"),
    }


def _evidence(shared: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each number of a finding, part 0, and of its parts."""
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
    """A value as a cell holds it: lists, records and flags as JSON."""
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, (Mapping, list, bool)) else value
    )


def _column(name: str, values: list[Any]) -> pl.Series:
    full = [value for value in values if value is not None]
    if full and not any(isinstance(value, str) for value in full):
        whole = all(isinstance(value, int) for value in full)
        return pl.Series(name, values, pl.Int64 if whole else pl.Float64, strict=False)
    return pl.Series(name, [None if value is None else str(value) for value in values], pl.String)
