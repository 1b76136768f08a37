"""Rows of a database are those of a frame: loaded, or of a query."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import audit
from tests.laws.test_round_trips import rows_of

TREE = audit.load_hierarchy({"dog": "pet", "cat": ["pet", "wild"], "ünder": "pet", "owl": "wild"})
WRITTEN = ["dog", "cat", " owl ", "pet", "ünder", "unicorn", "", None]
NAMED = {"id": "instance", "label": "label"}
TABLES = ("instances", "assertions", "mappings", "refusals", "refused")


def drawn(seed: int) -> pl.DataFrame:
    """Rows in no order, of ids that are numbers or none."""
    draw = Random(seed)
    rows = [(draw.choice([*range(9, 30), None]), draw.choice(WRITTEN)) for _ in range(120)]
    return pl.DataFrame(rows, {"instance": pl.Int64, "label": pl.String}, orient="row")


def loaded(data: Any, **named: Any) -> dict[str, Any]:
    read = audit.load_labels(data, TREE, **NAMED, **named)
    return {name: rows_of(getattr(read, name)) for name in TABLES} | {"ledger": read.ledger}


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_table_and_a_query_give_the_rows_of_the_frame(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_sqlite" if kind == "sqlite" else "duckdb")
    rows, path = drawn(0), tmp_path / f"tags of {kind}"
    if kind == "sqlite":
        with sqlite3.connect(path) as made:
            made.execute("CREATE TABLE tag (instance INTEGER, label TEXT COLLATE NOCASE)")
            made.executemany("INSERT INTO tag VALUES (?, ?)", rows.iter_rows())
        made.close()
    else:
        with pytest.importorskip("duckdb").connect(str(path)) as made:
            made.register("rows", rows.to_arrow())
            made.execute("CREATE TABLE tag AS SELECT * FROM rows")
    wanted = loaded(rows)

    assert loaded(f"{kind}:///{path}", table="tag") == wanted
    query = "SELECT 1 AS one, label, instance FROM tag -- all; of them\n ;"
    assert loaded(f"{kind}:///{path}", query=query) == wanted
