"""Rows of databases are those of plain Python, however they are read, and broken ones are told."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import audit
from audit.base.databases import one_snapshot
from audit.base.errors import InputError
from audit.cli.app import app
from audit.counting.file import count_pairs
from audit.data.sources import source_of
from audit.hierarchies.reading import load_hierarchy
from audit.runs.verify import verify_run
from fixtures.postgres import SECRET, execute, ingest, server

pytest.importorskip("adbc_driver_postgresql")
duckdb = pytest.importorskip("duckdb")

TREE = {"dog": "pet", "cat": ["pet", "wild"], "ünder": "pet", "owl": ["wild", "bird"]}
TREE |= {"0380": "bird", "Other birds": "bird"}
HIERARCHY = load_hierarchy(TREE)
WRITTEN = ["dog", "cat", " owl ", "pet", "Other birds", "0380", "ünder", "unicorn", "", None]


def drawn(seed: int) -> pl.DataFrame:
    """Rows in no order, of ids that are numbers or none."""
    rng = random.Random(seed)
    rows = [(rng.choice([*range(9, 60), None]), rng.choice(WRITTEN)) for _ in range(400)]
    return pl.DataFrame(rows, {"visit": pl.Int64, "word": pl.String}, orient="row")


ROWS = drawn(0)
TRUE: Mapping[str, Counter[str]] = {
    str(visit): Counter(w.strip() for v, w in ROWS.iter_rows() if v == visit and w and w.strip())
    for visit in {*ROWS["visit"].drop_nulls()}
}
"""The labels of each instance."""


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


def labels_of(read: audit.LabelDataset) -> Mapping[str, Counter[str]]:
    lines = [*read.mappings["label"], *read.refusals["label"]]
    found = {name: Counter[str]() for name in read.instances["instance"]}
    for instance, node in read.assertions.select("instance", "node").iter_rows():
        found[read.instances["instance"][instance]][read.hierarchy.nodes[node]] += 1
    assert {*lines} - {None} == {*WRITTEN} - {None, "", " owl "} | {"owl"}
    return found


def test_rows_are_those_of_plain_python(base: str) -> None:
    query = "SELECT visit, word FROM tag -- all; of them\n ;"

    read = audit.load_labels(base, TREE, query=query, id="visit", label="word")

    nodes = {*HIERARCHY.nodes}
    known = {i: Counter({w: n for w, n in own.items() if w in nodes}) for i, own in TRUE.items()}
    assert labels_of(read) == known
    assert read.queried["query"] == query.split("--")[0].strip()
    table = audit.load_labels(base, TREE, table="tag", id="visit", label="word")
    assert table.mappings.equals(read.mappings)
    assert table.digest == read.digest


def test_batches_count_what_a_file_gives(base: str, tmp_path: Path) -> None:
    ROWS.sort("visit").write_csv(tmp_path / "rows.csv")
    named = {"instance": "visit", "label": "word", "batch": 50}
    wanted = count_pairs(tmp_path / "rows.csv", HIERARCHY, **named)  # type: ignore[arg-type]
    source = source_of(base, "SELECT word, visit, 1 AS one FROM tag")

    found = count_pairs(source, HIERARCHY, **named)  # type: ignore[arg-type]

    assert found.ledger == wanted.ledger
    assert found.record_frame.equals(wanted.record_frame)
    assert found.frame(found.pairs).equals(wanted.frame(wanted.pairs))
    assert source.digest == audit.load_labels(base, TREE, table="tag", id="visit").digest
    alone = source_of(base, table="tag").by_instance()
    assert sum(frame.height for frame in alone.frames(["visit"], 50)) == ROWS.height
    assert "frame" not in vars(source), "they were loaded"


@pytest.mark.parametrize("shared", [False, True])
def test_duckdb_sorts_in_little_memory_unless_the_connection_is_the_users(
    shared: bool, tmp_path: Path
) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE tag AS SELECT 1 AS visit, 'a' AS word")

    def limit(source: Any) -> str:
        ordered = source.by_instance()
        (told,) = ordered.connection.execute("SELECT current_setting('memory_limit')").fetchone()
        return str(told)

    with one_snapshot() if shared else nullcontext():
        assert limit(source_of(f"duckdb:///{path}", table="tag")) == "95.3 MiB"
    with duckdb.connect(str(path), config={"memory_limit": "1GiB"}) as own:
        assert limit(source_of(own, table="tag")) == "1.0 GiB"


def adding(base: str) -> Callable[[], None]:
    """What adds a row to a base beside those that read it."""
    added = "INSERT INTO tag VALUES (99, 'dog')"
    if base.startswith("postgresql"):
        return lambda: execute(base, added)

    def add() -> None:
        with sqlite3.connect(base.split(":///")[1]) as made:
            made.execute(added)

    return add


def test_both_readings_see_one_snapshot(base: str) -> None:
    if base.startswith("duckdb"):
        pytest.skip("DuckDB lets nobody write to a file that is read")
    add, named = adding(base), {"instance": "visit", "label": "word"}
    wanted = count_pairs(source_of(base, table="tag"), HIERARCHY, **named)  # type: ignore[arg-type]
    steps: list[str] = []

    def progress(step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        if step == "reading labels" and step not in steps:
            add()
        steps.append(step)

    source = source_of(base, table="tag")
    found = count_pairs(source, HIERARCHY, progress=progress, **named)  # type: ignore[arg-type]

    assert found.record_frame.equals(wanted.record_frame)
    then = count_pairs(source_of(base, table="tag"), HIERARCHY, **named)  # type: ignore[arg-type]
    assert len(then) == len(found) + 1


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("DELETE FROM tag", "one query that reads"),
        ("WITH gone AS (DELETE FROM tag RETURNING *) SELECT * FROM gone", "tag|read-only|DELETE"),
        ("SELECT visit, word INTO other FROM tag", "(?i)into"),
        ("SELECT 1; SELECT 2", "two statements"),
        ("SELECT ';' AS word, visit FROM tag) AS t; DROP TABLE tag; --", "two statements"),
        ("", "one query that reads"),
        ("SELECT visit, word FROM nowhere", "nowhere"),
        ("SELECT visit, word FROM tag WHERE", "(?i)incomplete|syntax"),
        ("SELECT visit, visit FROM tag", "different names"),
        ("SELECT 'a' || {chr}(0) AS word, 1 AS visit", "(?i)null character"),
    ],
)
def test_broken_queries_are_told_in_one_sentence(base: str, query: str, told: str) -> None:
    query = query.format(chr="char" if base.startswith("sqlite") else "chr")
    with pytest.raises(InputError, match=told) as error:
        audit.load_labels(base, TREE, query=query, id="visit", label="word")
    assert str(error.value).count("\n") <= 2
    assert error.value.where == base or "///" in error.value.where


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("mysql://host/base", "mysql"),
        ("sqlite:///nowhere.db", "sqlite:///nowhere.db.*\nFound: nothing there"),
        ("sqlite://two.db", "sqlite:///FILE is required"),
        ("postgresql://stranger@127.0.0.1:1/base", "refused"),
        (f"postgresql://me:{SECRET}@host/base", "without a password"),
        (f"postgresql://host/base?password={SECRET}", "without a password"),
        ({"visit": ["1"], "word": ["dog"]}, "need a database"),
    ],
)
def test_what_is_no_database_is_told(data: object, told: str) -> None:
    with pytest.raises(InputError, match=told) as error:
        audit.load_labels(data, TREE, table="tag")
    assert SECRET not in str(error.value)


def test_a_database_of_another_kind_is_named(base: str) -> None:
    if not base.startswith("postgresql"):
        scheme, path = base.split(":///")
        other = "duckdb" if scheme == "sqlite" else "sqlite"
        with pytest.raises(InputError, match=f"{scheme}:///.* names it"):
            audit.load_labels(f"{other}:///{path}", TREE, table="tag")
    with pytest.raises(InputError, match=r"the tables are .*tag'"):
        audit.load_labels(base, TREE)


def test_labels_that_are_numbers_are_refused_with_what_makes_them_text(base: str) -> None:
    query = "SELECT visit, 389 AS label, word FROM tag"
    for read in (
        lambda: audit.load_labels(base, TREE, query=query, id="visit", format="long"),
        lambda: count_pairs(source_of(base, query), HIERARCHY, instance="visit", format="long"),
    ):
        with pytest.raises(InputError, match=r"must be text(?s:.)*as text"):
            read()


def test_roles_that_may_not_and_queries_that_take_too_long_are_told(postgres: str) -> None:
    for role, query, told in [
        ("stranger", "SELECT * FROM tag", "permission denied for table tag"),
        ("hasty", "SELECT tag.*, pg_sleep(9) FROM tag", "statement timeout"),
        ("secret", "SELECT * FROM tag", "password"),
    ]:
        with pytest.raises(InputError, match=told):
            audit.load_labels(postgres.replace("postgres@", f"{role}@"), TREE, query=query)


def test_a_cut_connection_is_told(postgres: str) -> None:
    source = source_of(postgres, table="tag")

    def cut(step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        execute(postgres, f"{others} WHERE pid <> pg_backend_pid() AND state IS NOT NULL")

    with pytest.raises(InputError, match=r"terminat|closed"):
        count_pairs(source, HIERARCHY, instance="visit", label="word", progress=cut)


def test_connections_and_relations_of_python_are_read(base: str, postgres: str) -> None:
    from adbc_driver_postgresql import dbapi

    scheme, _, path = base.partition(":///")
    if scheme == "duckdb":
        connection = duckdb.connect()
        connection.register("tag", ROWS.to_arrow())
    else:
        connection = dbapi.connect(base) if base == postgres else sqlite3.connect(path)
    named: dict[str, Any] = {"id": "visit", "label": "word"}
    wanted = audit.load_labels(base, TREE, table="tag", **named)
    query = "SELECT * FROM tag"
    asked: list[tuple[Any, dict[str, Any]]] = [(connection, {"query": query})]
    if scheme == "duckdb":
        asked += [(connection.sql(query), {}), (connection.sql(query), {"table": "audit_relation"})]
    for data, said in asked:
        read = audit.load_labels(data, TREE, **named, **said)
        assert read.mappings.equals(wanted.mappings)
        assert read.digest == wanted.digest
    connection.close()


@pytest.mark.slow
def test_a_run_tells_no_secret_and_is_recomputed(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    HIERARCHY.edge_frame().select("child", "parent").write_csv(tmp_path / "tree.csv")
    monkeypatch.setenv("PGPASSWORD", SECRET)
    address = base.replace("postgres@", "secret@")
    query = "SELECT visit, word FROM tag WHERE visit IS NULL OR visit < 99"
    ROWS.sort("visit").write_csv(tmp_path / "rows.csv")
    command = ["--hierarchy", str(tmp_path / "tree.csv"), "--id", "visit", "--label", "word"]
    for n, way in enumerate(([], ["--memory", "100MB"])):
        out, file = tmp_path / f"run{n}", tmp_path / f"file{n}"
        asked = [*command, *way, "--format", "long", "--no-pdf", "--out"]
        read = CliRunner().invoke(app, ["run", address, "--sql", query, *asked, str(out)])
        CliRunner().invoke(app, ["run", str(tmp_path / "rows.csv"), *asked, str(file)])

        assert read.exit_code == 0, read.output
        results = [json.loads((run / "result.json").read_text()) for run in (out, file)]
        for one in results:
            one["identity"]["hierarchy"] = None
        assert results[0] == results[1]
        kept = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
        assert not any(secret.encode() in kept for secret in (SECRET, "127.0.0.1", "secret@"))
        manifest = json.loads((out / "manifest.json").read_text())
        (data,) = [one for one in manifest["inputs"] if one["role"] == "data"]
        assert data["query"] == manifest["settings"]["sql"] == query
        assert data["driver"].split()[1][0].isdigit()
        verdicts = {v.name: v for v in verify_run(out, recompute=True, data=address)}
        assert verdicts["recomputation"].outcome == "holds", verdicts["recomputation"]
        gone = {v.name: v for v in verify_run(out, recompute=True, data=address[:-2])}
        assert gone["recomputation"].outcome == "not checked"
        assert "database is needed" in gone["inputs"].detail
