"""``audit export``: a run as tables, of a shared copy too, and its exact pairs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from audit.runs.read import read_run
from fixtures.commands import audit as command
from fixtures.toy import EDGES

LABELS = {"r2": ["dog"], "r1": ["cow", "tool"], "r3": ["bird"], "r4": [], "r5": ["mammal"]}


class Run:
    """A run of five instances."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hierarchy = self.write("toy.csv", ["child,parent", *map(",".join, EDGES)])
        lines = [json.dumps({"id": i, "labels": own}) for i, own in LABELS.items()]
        self.labels = self.write("labels.jsonl", lines)

    def write(self, name: str, lines: list[str]) -> Path:
        (self.folder / name).write_text("\n".join(lines) + "\n", "utf-8")
        return self.folder / name

    def made(self) -> Path:
        place = ("--hierarchy", self.hierarchy, "--no-pdf", "--out", self.folder / "run")
        done = command("run", self.labels, *place)
        assert done.exit_code == 0, done.output
        return self.folder / "run"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_place_must_be_named(run: Run) -> None:
    run.made()
    told = command("export", run.folder / "run")

    assert told.exit_code == 2
    assert "--croissant FILE or --restricted --parquet FILE" in " ".join(told.output.split())


def test_the_table_of_pairs_is_written_whole_for_who_knows_that_it_is_exact(run: Run) -> None:
    made, file = run.made(), run.folder / "pairs.parquet"
    for alone in (["--parquet", file], ["--restricted", "--csv", file]):
        refused = command("export", made, *alone)
        assert (refused.exit_code, file.exists()) == (2, False)
        assert "audit export RUN --restricted --parquet FILE" in refused.output
    told = command("export", made, "--restricted", "--parquet", file)
    pairs = read_run(made).pairs.collect()

    assert told.exit_code == 0, told.output
    assert f"{len(pairs)} pairs, exact counts, not for sharing" in " ".join(told.output.split())
    assert pl.read_parquet(file).equals(pairs)
    assert "not for sharing" in pl.read_parquet_metadata(file)["sharing"]
    assert "--overwrite" in command("export", made, "--restricted", "--parquet", file).output


def test_what_is_shared_is_written_as_tables(run: Run) -> None:
    pytest.importorskip("xlsxwriter")
    made = run.made()
    tables, book = run.folder / "tables", run.folder / "tables.xlsx"
    places = ("--csv", tables, "--xlsx", book)
    done = command("export", made, *places)
    assert done.exit_code == 0, done.output

    shared = json.loads((made / "result.json").read_text("utf-8"))
    checks = pl.read_csv(tables / "checks.csv", infer_schema=False)
    assert checks["name"].to_list() == [check["name"] for check in shared["checks"]]
    assert {"summary", "metrics", "ledger"} & {file.stem for file in tables.iterdir()}
    assert book.stat().st_size > 0
    before = {file.name: file.read_bytes() for file in tables.iterdir()}

    assert command("export", made, *places).exit_code == 2
    assert command("export", made, *places, "--overwrite").exit_code == 0
    assert {file.name: file.read_bytes() for file in tables.iterdir()} == before
    (tables / "mine.txt").write_text("mine")
    told = command("export", made, "--csv", tables, "--overwrite")
    assert (told.exit_code, "name another" in told.output) == (2, True)
    assert (tables / "mine.txt").read_text() == "mine"


def test_a_shared_copy_gives_the_same_tables(run: Run) -> None:
    made = run.made()
    copy = run.folder / "copy"
    shutil.copytree(made, copy, ignore=shutil.ignore_patterns("restricted"))
    own, shared = run.folder / "own", run.folder / "shared"

    assert command("export", made, "--csv", own).exit_code == 0
    assert command("export", copy, "--csv", shared).exit_code == 0
    assert {one.name: one.read_bytes() for one in own.iterdir()} == {
        one.name: one.read_bytes() for one in shared.iterdir()
    }
    file = run.folder / "pairs.parquet"
    told = command("export", copy, "--restricted", "--parquet", file)
    assert (told.exit_code, file.exists()) == (2, False)
    assert "`audit history` work with a shared copy" in " ".join(told.output.split())

    result = copy / "result.json"
    result.write_text(result.read_text("utf-8").replace('"instances": ', '"instances": 1'), "utf-8")
    told = command("export", copy, "--csv", run.folder / "changed")
    assert (told.exit_code, (run.folder / "changed").exists()) == (2, False)
    assert "changed: 'result.json'" in told.output
