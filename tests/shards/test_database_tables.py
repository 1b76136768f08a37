"""Rows of databases are those that were written, in one snapshot, and no query writes: a run shows
neither types of columns nor what another connection does meanwhile."""

from __future__ import annotations

import gc
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from audit import AuditError
from fixtures.doors import one_snapshot, open_table, open_tables
from fixtures.postgres import SECRET, execute, ingest, server

pytest.importorskip("adbc_driver_postgresql")
duckdb = pytest.importorskip("duckdb")

WORDS = ["dog", "cat", " owl ", "0380", "ünder", "", None]
DRAWN = random.Random(0)
ROWS = pl.DataFrame(
    [(DRAWN.choice([*range(9, 60), None]), DRAWN.choice(WORDS)) for _ in range(400)],
    {"visit": pl.Int64, "word": pl.String},
    orient="row",
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as address:
        ingest(address, "tag", ROWS)
        yield address


@pytest.fixture(scope="module", params=["postgresql", "sqlite", "duckdb"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("base") / f"tags {request.param}"
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres"))
    if request.param == "sqlite":
        with sqlite3.connect(path) as made:
            made.execute("PRAGMA journal_mode = WAL")
            made.execute("CREATE TABLE tag (visit INTEGER, word TEXT COLLATE NOCASE)")
            made.executemany("INSERT INTO tag VALUES (?, ?)", ROWS.iter_rows())
    else:
        with duckdb.connect(str(path)) as made:
            made.register("rows", ROWS.to_arrow())
            made.execute("CREATE TABLE tag AS SELECT * FROM rows")
    return f"{request.param}:///{path}"


def test_rows_and_types_are_those_that_were_written(base: str) -> None:
    query = "SELECT visit, word FROM tag -- all; of them\n ;"
    asked, named, alone = (
        open_table(base, query=query), open_table(base, table="tag"), open_table(base)
    )  # fmt: skip
    for table in (asked, named, alone):
        assert table.frame().sort("visit", "word").equals(ROWS.sort("visit", "word"))
        assert table.schema == ROWS.schema
        assert table.digest == asked.digest
    assert next(one.height for one in asked.frames(["word"], 150)) >= 150
    assert asked.queried["query"] == query.rstrip("; \n")
    other = open_table(base, query="SELECT visit, word || '.' AS word FROM tag")
    assert other.digest != asked.digest


def test_both_readings_see_one_snapshot(base: str) -> None:
    if base.startswith("duckdb"):
        pytest.skip("DuckDB lets nobody write to a file that is read")
    added, gone = "INSERT INTO tag VALUES (99, 'dog')", "DELETE FROM tag WHERE visit = 99"

    def write(statement: str) -> None:
        if base.startswith("postgresql"):
            execute(base, statement)
        else:
            with sqlite3.connect(base.split(":///")[1]) as made:
                made.execute(statement)

    with one_snapshot():
        table = open_table(base, table="tag")
        write(added)
        assert table.frame().height == ROWS.height
        assert open_table(base, table="tag").digest == table.digest
    assert open_table(base, table="tag").frame().height == ROWS.height + 1
    write(gone)


def test_connections_end_with_their_tables(postgres: str) -> None:
    held = "SELECT count(*) AS n FROM pg_stat_activity WHERE backend_type = 'client backend'"
    tables = [open_table(postgres, table="tag") for _ in range(3)]
    before = open_table(postgres, query=held).frame().item()
    del tables
    gc.collect()
    for _ in range(200):  # a server ends a process some time after its connection
        if (left := open_table(postgres, query=held).frame().item()) <= before - 3:
            break
        time.sleep(0.05)
    assert left <= before - 3


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("DELETE FROM tag", "(?i)syntax|parser"),
        ("WITH gone AS (DELETE FROM tag RETURNING *) SELECT * FROM gone", "tag|DELETE|modifying"),
        ("SELECT visit, word INTO other FROM tag", "(?i)into"),
        ("SELECT 1; SELECT 2", "(?i)syntax"),
        ("", "(?i)syntax|parser"),
        ("SELECT visit, word FROM nowhere", "nowhere"),
        ("SELECT visit, word FROM tag WHERE", "(?i)incomplete|syntax"),
    ],
)
def test_broken_queries_are_told_in_one_sentence(base: str, query: str, told: str) -> None:
    with pytest.raises(AuditError, match=told) as error:
        open_table(base, query=query).frame()
    assert str(error.value).count("\n") <= 2
    assert "///" in error.value.where


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("mysql://host/base", "mysql"),
        ("sqlite:///nowhere.db", "sqlite:///nowhere.db.*\nFound: none"),
        ("sqlite://two.db", "sqlite:///FILE names"),
        ("postgresql://stranger@127.0.0.1:1/base", "refused"),
        (f"postgresql://me:{SECRET}@host/base", "without a password"),
        (f"postgresql://host/base?password={SECRET}", "without a password"),
        ({"visit": ["1"], "word": ["dog"]}, "needs a database"),
    ],
)
def test_what_is_no_database_is_told(data: object, told: str) -> None:
    with pytest.raises(AuditError, match=told) as error:
        open_table(data, query="SELECT * FROM tag")
    assert SECRET not in str(error.value)


def test_no_secret_is_kept(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    table = open_table(postgres.replace("postgres@", "secret@"), table="tag")
    assert table.name == table.queried["path"] == "postgresql:///postgres"
    assert not any(one in repr(table) for one in (SECRET, "127.0.0.1", "secret@"))
    for role, query, told in [
        ("stranger", "SELECT * FROM tag", "permission denied for table tag"),
        ("hasty", "SELECT tag.*, pg_sleep(9) FROM tag", "statement timeout"),
    ]:
        with pytest.raises(AuditError, match=told):
            open_table(postgres.replace("postgres@", f"{role}@"), query=query).frame()
    os.environ.pop("PGPASSWORD")
    with pytest.raises(AuditError, match="password"):
        open_table(postgres.replace("postgres@", "secret@"), table="tag")


def test_types_of_postgresql_are_plain(postgres: str) -> None:
    with pytest.raises(AuditError, match="different names"):
        open_table(postgres, query="SELECT visit, visit FROM tag")
    query = "SELECT 1.50::numeric AS n, '{a,b}'::text[] AS l, NULL::text AS nothing"
    assert open_table(postgres, query=query).frame().rows() == [("1.50", ["a", "b"], None)]


def test_cells_of_sqlite_of_several_types_are_text(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE t (code TEXT, late)")
        made.executemany("INSERT INTO t VALUES (?, ?)", [("a", None)] * 2_000 + [("b", "038")])
        made.execute("CREATE TABLE other (code TEXT)")
    table, other = open_tables(f"sqlite:///{path}")
    assert [table.name, other.name] == [f"sqlite:///{path}: {name}" for name in ("t", "other")][
        ::-1
    ]
    read = open_table(f"sqlite:///{path}", table="t").frame()
    assert read.row(-1) == ("b", "038")
