"""The folder of a history: the view, its tables as CSV and Parquet, and the manifest."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.files import sha256_as_read
from audit.base.schemas import schema
from audit.base.spreadsheets import defused
from audit.results.result import to_json_bytes
from audit.runs.folder import HISTORY, HISTORY_VERSION
from audit.runs.manifest import RESULT, write_manifest

HTML = "history.html"

_COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "checks": schema(
        ("run", pl.Int64),
        ("name started check status", pl.String),
        ("error warning note waived folded not_shown", pl.Int64),
    ),
    "metrics": schema(
        ("run", pl.Int64),
        ("name started metric scope parameters", pl.String),
        ("value low high", pl.Float64),
        ("n", pl.String),
    ),
    "findings": schema(("run", pl.Int64), ("name started check id severity since_last", pl.String)),
}
"""Columns of each table; a row stands for one run."""


def write_history_tables(history: Mapping[str, Any], folder: Path) -> None:
    """Write ``history.json`` and its tables, each as CSV and as Parquet.

    ``checks`` has a row for each check and run, ``metrics`` one for each metric and run, and
    ``findings`` one for each finding and run in which it stands or from which it is gone. In CSV, a
    text that a spreadsheet would read as a formula begins with an apostrophe.
    """
    (folder / HISTORY.content).write_bytes(to_json_bytes(history))
    for name, table in history_tables(history).items():
        table.write_parquet(folder / f"{name}.parquet")
        defused(table).write_csv(folder / f"{name}.csv")


def history_tables(history: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """The tables of a history by name, runs in order within each check, metric and finding."""
    runs = {run["run"]: {"name": run["name"], "started": run["started"]} for run in history["runs"]}
    metrics = (
        {
            **row,
            "parameters": json.dumps(row["parameters"], ensure_ascii=False, sort_keys=True),
            "n": None if row["n"] is None else str(row["n"]),
        }
        for row in history["metrics"]
    )
    rows = {"checks": history["checks"], "metrics": metrics, "findings": _finding_rows(history)}
    return {
        name: pl.DataFrame(
            [{c: {**runs[row["run"]], **row}[c] for c in columns} for row in rows[name]],
            schema=dict(columns),
        )
        for name, columns in _COLUMNS.items()
    }


def _finding_rows(history: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "run": place,
            "check": row["check"],
            "id": row["id"],
            "severity": severity,
            "since_last": step,
        }
        for row in history["findings"]
        for place, (severity, step) in enumerate(
            zip(row["severities"], [None, *row["steps"]], strict=True), 1
        )
        if severity is not None or step is not None
    ]


def seal_history(
    folder: Path,
    history: Mapping[str, Any],
    *,
    runs: Sequence[Path],
    command: Sequence[str],
    started: datetime,
) -> None:
    """Write the manifest: digests of the runs' ``result.json`` and of every file of the folder."""
    write_manifest(
        folder,
        {
            "schema_version": HISTORY_VERSION,
            "inputs": [
                {"role": "run", "path": str(run / RESULT), "sha256": sha256_as_read(run / RESULT)}
                for run in runs
            ],
            "command": list(command),
            "host": socket.gethostname(),
            "started": started.isoformat(timespec="seconds"),
        },
    )
