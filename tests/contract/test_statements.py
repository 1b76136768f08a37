"""Statements that change a table, run on databases: the rows that plain Python makes, and back."""

from __future__ import annotations

import random
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from audit.base.errors import InputError
from audit.cli.app import app
from audit.data.sources import source_of
from audit.runs.fixes.changes import Change
from audit.runs.fixes.copying import log_of, undone, write_statements
from audit.runs.fixes.written_back import read_again
from audit.runs.settings import Settings
from fixtures.corrected_copies import copied
from fixtures.postgres import ingest, server
from tests.unit.data import test_omop as omop

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
duckdb = pytest.importorskip("duckdb")

WORDS = ("dog", "Dog", "o'wl", 'c"at', "a;\nb", "back\\n", "ünder", "-- 5")
TREE = "child,parent\n" + "".join('"' + w.replace('"', '""') + '",top\n' for w in WORDS)
KINDS = ("sqlite", "duckdb", "postgresql")


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as address:
        yield address


class Base:
    """Tables in a database of a kind, one called ``tag`` unless another is named."""

    def __init__(self, kind: str, folder: Path, server: str) -> None:
        self.kind, self.path = kind, folder / "base"
        self.address = server if kind == "postgresql" else f"{kind}:///{self.path}"

    def create(self, rows: pl.DataFrame, table: str = "tag") -> None:
        if self.kind == "postgresql":
            ingest(self.address, table, rows)
        elif self.kind == "duckdb":
            with duckdb.connect(str(self.path)) as made:
                made.register("given", rows.to_arrow())
                made.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM given")
        else:
            names = {pl.String: "TEXT COLLATE NOCASE", pl.Int64: "INTEGER", pl.Float64: "REAL"}
            kinds = ", ".join(f"{name} {names[type(k)]}" for name, k in rows.schema.items())
            with sqlite3.connect(self.path) as made:
                made.execute(f"DROP TABLE IF EXISTS {table}")
                made.execute(f"CREATE TABLE {table} ({kinds})")
                marks = ", ".join("?" * rows.width)
                made.executemany(f"INSERT INTO {table} VALUES ({marks})", rows.iter_rows())

    def execute(self, script: Path) -> bool:
        """Whether all statements of a script were carried out, by a console that goes on."""
        text = re.sub(r"(?m)^--.*\n", "", script.read_text("utf-8"))
        fine = True
        with self.opened() as run:
            for part in re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^;'\"])+;", text):
                try:
                    run(part)
                except (sqlite3.Error, duckdb.Error, dbapi.Error):
                    fine = False
        return fine

    @contextmanager
    def opened(self) -> Iterator[Callable[[str], object]]:
        if self.kind == "postgresql":
            with dbapi.connect(self.address, autocommit=True) as opened, opened.cursor() as cursor:
                yield cursor.execute
        elif self.kind == "duckdb":
            with duckdb.connect(str(self.path)) as opened:
                yield opened.execute
        else:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as opened:
                yield opened.execute

    def rows(self, table: str = "tag") -> Counter[tuple[Any, ...]]:
        return Counter(source_of(self.address, table=table).table().rows())


@pytest.fixture(params=KINDS)
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Base:
    needed = request.param == "postgresql"
    return Base(request.param, tmp_path, request.getfixturevalue("postgres") if needed else "")


def written(base: Base, changes: Sequence[Change], folder: Path, **named: Any) -> tuple[Path, Path]:
    """The statements of changes, and those that take them back."""
    (folder / "tree.csv").write_text(TREE, "utf-8")
    (folder / "run").mkdir(exist_ok=True)
    (folder / "run" / "result.json").write_text("{}")
    tree = {"hierarchy": str(folder / "tree.csv"), "table": "tag"}
    known = Settings(dataset=base.address, **(tree | named))
    out = folder / f"fixes{len(list(folder.iterdir()))}.sql"
    write_statements(folder / "run", known, read_again(known), changes, out)
    return out, undone(log_of(out), out.with_suffix(".back.sql"))


def drawn(draws: random.Random) -> tuple[pl.DataFrame, list[Change], Counter[tuple[Any, ...]]]:
    """Rows of labels, changes of some, and the rows after them."""
    rows, after, changes = list[Any](), list[Any](), list[Change]()
    for visit in range(1, 9):
        own = draws.sample(WORDS, draws.randint(1, 4))
        own += draws.choice([[], own[:1]])
        held = [(visit, word, n, "s" if visit % 2 else None, 0.5) for n, word in enumerate(own)]
        became: list[Any] = [*held]
        free = [word for word in WORDS if word not in own]
        for word in dict.fromkeys(own):
            kind = draws.choice(["", "", "replace", "remove"])
            if kind == "replace":
                new = free.pop()
                changes.append(Change(str(visit), "replace", word, new))
                became = [(r[0], new, *r[2:]) if r and r[1] == word else r for r in became]
            elif kind == "remove":
                changes.append(Change(str(visit), "remove", word))
                last = [r for r in became if r and r[1] == word][-1]
                became = [r for r in became if not (r and r[1] == word)]
                if not became:
                    became = [(visit, None, *last[2:])]
        if draws.random() < 0.3:
            changes.append(Change(str(visit), "add", new=free[0]))
            became.append((visit, free[0], None, held[0][3], 0.5))
        rows, after = [*rows, *held], [*after, *became]
    names = {"visit": pl.Int64, "label": pl.String, "n": pl.Int64, "sex": pl.String}
    names["w"] = pl.Float64
    return pl.DataFrame(rows, names, orient="row"), changes, Counter(after)


@pytest.mark.parametrize("seed", range(3))
def test_statements_make_the_rows_that_plain_python_makes_and_are_taken_back(
    seed: int, base: Base, tmp_path: Path
) -> None:
    rows, changes, expected = drawn(random.Random(seed))
    base.create(rows)
    script, back = written(base, changes, tmp_path, id="visit", label="label")
    rows.write_csv(tmp_path / "tag.csv")
    known = Settings(dataset=str(tmp_path / "tag.csv"), hierarchy=str(tmp_path / "tree.csv"))

    assert base.execute(script)

    assert base.rows() == expected
    copy = copied(tmp_path, replace(known, id="visit", label="label"), changes)
    assert Counter(pl.read_csv(copy, schema=rows.schema).rows()) == expected
    assert base.execute(back)
    assert base.rows() == Counter(rows.rows())


def test_other_rows_than_were_read_are_not_changed(base: Base, tmp_path: Path) -> None:
    rows, changes, _ = drawn(random.Random(1))
    base.create(rows)
    script, _ = written(base, changes, tmp_path, id="visit", label="label")
    first = changes[0]
    held = (pl.col("visit") == int(first.instance)) & (pl.col("label") == first.label)
    other = rows.with_columns(pl.when(held).then(pl.lit("-- 5")).otherwise("label").alias("label"))
    base.create(other)

    assert not base.execute(script)

    assert base.rows() == Counter(other.rows())


def test_one_of_equal_labels_goes_and_comes_back(base: Base, tmp_path: Path) -> None:
    columns = {"visit": [1, 1, 1, 2], "label": ["dog", "dog", "dog", "dog"], "n": [7, 7, 8, 7]}
    base.create(pl.DataFrame(columns))
    before = base.rows()
    changes = [Change("1", "remove", "dog", keep=2)]
    script, back = written(base, changes, tmp_path, id="visit", label="label")

    assert base.execute(script)

    gone = before - base.rows()
    assert sum(gone.values()) == 1
    assert next(iter(gone))[:2] == (1, "dog")
    assert base.execute(back)
    assert base.rows() == before


@pytest.mark.parametrize(
    ("columns", "changes", "after"),
    [
        (
            {"visit": [1, 2], "dx1": ["dog", "o'wl"], "dx2": ["Dog", None], "dx3": [None, None]},
            [Change("1", "remove", "dog"), Change("2", "add", new="-- 5")],
            {(1, None, "Dog", None), (2, "o'wl", "-- 5", None)},
        ),
        (
            {"visit": [1, 2], "labels": ["dog;Dog", "o'wl"]},
            [Change("1", "replace", "Dog", "ünder"), Change("2", "add", new="dog")],
            {(1, "dog;ünder"), (2, "o'wl;dog")},
        ),
        (
            {"visit": [1, 2], "dog": [1, 0], "ünder": [0, 0]},
            [Change("1", "replace", "dog", "ünder")],
            {(1, 0, 1), (2, 0, 0)},
        ),
    ],
)
def test_cells_of_other_shapes_are_changed(
    columns: Mapping[str, Any],
    changes: list[Change],
    after: set[tuple[Any, ...]],
    base: Base,
    tmp_path: Path,
) -> None:
    text = {n: pl.String for n in columns if n.startswith("dx")}
    base.create(pl.DataFrame(columns, schema_overrides=text))
    before = base.rows()
    script, back = written(base, changes, tmp_path, id="visit")

    assert base.execute(script)

    assert {*base.rows()} == after
    assert base.execute(back)
    assert base.rows() == before


@pytest.mark.parametrize("end", ["", " WHERE visit > 0", " LIMIT 5"])
def test_a_query_that_is_no_whole_table_is_refused(end: str, tmp_path: Path) -> None:
    base = Base("sqlite", tmp_path, "")
    base.create(pl.DataFrame({"visit": [1], "label": ["dog"]}))
    query = f"SELECT visit, label FROM (SELECT * FROM tag) AS t{end}"

    with pytest.raises(InputError, match="need a table whose rows are audited"):
        written(base, [Change("1", "remove", "dog")], tmp_path, table=None, sql=query)


@pytest.mark.slow
def test_occurrences_of_omop_change_as_those_in_files_do(base: Base, tmp_path: Path) -> None:
    """Each visit with two codes loses one, each with one gets another, in both tables at once."""
    own = defaultdict[str, set[str]](set)
    for visit, code, _, refused in omop.expected("ICD9CM", "source"):
        if refused is None:
            own[visit].add(code)
    changes = [
        Change(visit, "remove", "428.0")
        if "401.9" in codes
        else Change(visit, "replace", "428.0", "401.9")
        for visit, codes in own.items()
        if "428.0" in codes
    ]
    (folder := tmp_path / "cdm").mkdir()
    tables = {one.stem: pl.read_csv(one) for one in omop.written(folder).iterdir()}
    for name, rows in tables.items():
        base.create(rows, name)
    known = Settings(dataset=str(folder), hierarchy=str(folder), vocabulary="ICD9CM")
    copy = copied(tmp_path, known, changes)
    of_base = {"table": None, "hierarchy": base.address, "vocabulary": "ICD9CM"}
    script, back = written(base, changes, tmp_path, **of_base)

    assert base.execute(script)

    assert {one.kind for one in changes} == {"remove", "replace"}
    for name, rows in tables.items():
        mended = pl.read_csv(copy / f"{name}.csv", schema=rows.schema)
        assert base.rows(name) == Counter(mended.rows()), name
        assert (base.rows(name) != Counter(rows.rows())) == name.endswith("occurrence")
    assert base.execute(back)
    assert all(base.rows(name) == Counter(rows.rows()) for name, rows in tables.items())


@pytest.mark.slow
@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_an_audit_is_mended_by_the_command_line(base: Base, tmp_path: Path) -> None:
    rows = [(f"r{n}", code) for n in range(40) for code in ("250.00", "401.9", "427.31")]
    base.create(pl.DataFrame([*rows, ("r1", "250")], ["visit", "label"], orient="row"))

    def audit(*arguments: object, exits: int = 0) -> str:
        done = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})
        assert done.exit_code == exits, done.output
        return done.output

    def run(out: Path) -> None:
        audit("run", base.address, "--table", "tag", "--id", "visit", "--label", "label",
              "--hierarchy", "icd9cm", "--out", out, "--no-pdf")  # fmt: skip

    run(tmp_path / "run")
    certain = ("--certain", "--data", base.address, "--out")
    said = audit("apply", tmp_path / "run", *certain, tmp_path / "fixes.sql")
    assert base.execute(tmp_path / "fixes.sql")
    run(tmp_path / "again")

    assert "Statements:" in said
    assert base.rows() == Counter(rows)
    told = audit("apply", tmp_path / "again", *certain, tmp_path / "none.sql", exits=2)
    assert "no certain proposal" in told
    told = audit("apply", tmp_path / "run", *certain, tmp_path / "c.sql", exits=2)
    assert "the query gives other rows" in told
