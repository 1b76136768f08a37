"""The same table gives the same rows however it is stored and counted: mapped, refused, told."""

from __future__ import annotations

import gzip
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import audit
from audit import Hierarchy, LabelDataset
from fixtures.coded import icd9cm
from fixtures.doors import AskedError
from fixtures.registered import Stated

TREE = dict.fromkeys(("401.9", "250.00", "428.0", "V58.67"), "disease")
N = 12
CODES = ["401.9", "250.00", "428.0", "V58.67", "none"]


def codes(shift: int) -> list[str]:
    return [CODES[(row + shift) % len(CODES)] for row in range(N)]


IDS = {"id": [f"s{row}" for row in range(N)]}
STAYS = {"id": [f"s{row // 2}" for row in range(N)]}
TWICE = {"site": [f"a{row // 6}" for row in range(N)]}
FEW = [["401.9", "none"], [], ["428.0"], ["250.00", "401.9"]] * 3


@dataclass(frozen=True)
class Layout:
    """A table, how many rows of labels it has, and what the user states."""

    columns: Mapping[str, list[Any]]
    rows: int
    stated: Stated = field(default_factory=Stated)


FAMILY = Stated(label=("DX#",))
LAYOUTS = {
    "long": Layout({**STAYS, "label": codes(0)}, N),
    "long with blanks": Layout({**STAYS, "label": ["", " ", *codes(0)[2:]]}, N),
    "a column that is named": Layout(
        {**STAYS, "when": codes(1), "what": codes(0)}, N, Stated(label=("what",))
    ),
    "rows without an id": Layout({"id": ["", *STAYS["id"][1:]], "label": codes(0)}, N),
    "ids that became decimals": Layout(
        {"id": [f"{row // 2}.0" for row in range(N)], "label": codes(0)}, N
    ),
    "ids of two columns": Layout(
        {**TWICE, **STAYS, "dx": codes(0)}, N, Stated(id=("site", "id"), label=("dx",))
    ),
    "rows that do not count": Layout(
        {**STAYS, "label": codes(0), "main": ["1", "0", "1"] * 4}, N, Stated(where=("main=1",))
    ),
    "lists": Layout({**IDS, "labels": FEW}, 15),
    "lists without ids": Layout({**TWICE, "labels": FEW}, 15, Stated(id=("row",))),
    "joined": Layout({**IDS, "labels": [";".join(cell) for cell in FEW]}, 15, Stated(sep=";")),
    "taken": Layout(
        {**IDS, "labels": ["dx 401.9", "none", "250.00 / 428.0", "V58.67"] * 3},
        N,
        Stated(take=r"V?\d+\.\d+"),
    ),
    "joined in several columns": Layout(
        {**IDS, "DX1": ["250.00,401.9", "428.0"] * 6, "DX2": ["", "428.0,V58.67,none"] * 6},
        36,
        Stated(label=("DX#",), sep=","),
    ),
    "joined without ids": Layout(
        {**TWICE, "codes": ["|".join(cell) for cell in FEW]},
        15,
        Stated(id=("row",), label=("codes",), sep="|"),
    ),
    "a family": Layout(
        {**IDS, "DX1": codes(0), "DX2": codes(1), "DXVER": ["9"] * N}, 2 * N, FAMILY
    ),
    "a family with gaps": Layout({**IDS, "DX1": codes(0), "DX4": codes(1)}, 2 * N, FAMILY),
    "a family beside flags": Layout(
        {
            **IDS,
            **{f"dx{n}_code": codes(n) for n in (1, 2)},
            "dx1_poa": ["Y"] * N,
            "dx2_poa": ["N"] * N,
        },
        2 * N,
        Stated(label=("dx#_code",)),
    ),
    "a family without ids": Layout(
        {**TWICE, "DX1": codes(0), "DX2": [""] * N}, N, Stated(id=("row",), label=("DX#",))
    ),
    "two columns that nobody named": Layout({"scan_id": STAYS["id"], "dx": codes(0)[:4] * 3}, N),
    "flags": Layout(
        {**IDS, "401.9": ["1", "0"] * 6, "428.0": ["", "0", "1"] * 4}, 10, Stated(flags=True)
    ),
}


def of_pandas(frame: pl.DataFrame, _: Path) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(frame.to_dict(as_series=False))


def with_notes(frame: pl.DataFrame, folder: Path) -> Path:
    path = folder / "noted.tsv"
    path.write_text("# a table\n#\tmade by hand\n" + frame.write_csv(separator="\t"))
    return path


def stored(name: str) -> Callable[[pl.DataFrame, Path], Any]:
    def write(frame: pl.DataFrame, folder: Path) -> Path:
        path = folder / name
        if name.endswith(".parquet"):
            frame.write_parquet(path)
        elif name.endswith("jsonl"):
            frame.write_ndjson(path)
        else:
            frame.write_csv(path)
        return path

    return write


STORED: Mapping[str, Callable[[pl.DataFrame, Path], Any]] = {
    "csv": stored("a.csv"),
    "tsv with notes": with_notes,
    "parquet": stored("a.parquet"),
    "polars": lambda frame, _: frame,
    "pandas": of_pandas,
}
LISTED = {"parquet": STORED["parquet"], "jsonl": stored("a.jsonl"), "polars": STORED["polars"]}


def found(counted: LabelDataset | Any) -> tuple[Any, ...]:
    ledger = counted.ledger
    readings = (counted if isinstance(counted, LabelDataset) else counted.labels).readings
    kept = (ledger.rows_mapped, dict(ledger.refused), ledger.instances)
    return (ledger.rows_read, *kept, sorted(map(str, readings)))


def kept_as(layout: Layout) -> Mapping[str, Callable[[pl.DataFrame, Path], Any]]:
    return (
        LISTED
        if any(isinstance(cell, list) for cell in layout.columns.get("labels", []))
        else STORED
    )


def loaded(data: Any, hierarchy: Any, stated: Stated) -> LabelDataset:
    said = {n: value for n, value in asdict(stated).items() if value and n != "called"}
    return audit.load_labels(data, hierarchy, unlisted="refuse", **said)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_way_of_storing_and_counting_gives_the_same_rows(
    layout: Layout, tmp_path: Path
) -> None:
    hierarchy, frame = audit.load_hierarchy(TREE), pl.DataFrame(layout.columns)
    ways = {}
    for name, kept in kept_as(layout).items():
        data = kept(frame, tmp_path)
        ways[name] = found(loaded(data, hierarchy, layout.stated))
    wanted = ways["polars"]
    assert wanted[0] == layout.rows
    assert {way: rows for way, rows in ways.items() if rows != wanted} == {}


def packed(frame: pl.DataFrame, folder: Path) -> Path:
    (folder / "a.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    return folder / "a.csv.gz"


def parts(frame: pl.DataFrame, folder: Path) -> Path:
    (folder / "parts").mkdir(exist_ok=True)
    for n, part in enumerate([frame[:5], frame[5:]]):
        part.write_csv(folder / "parts" / f"{n}.csv")
    return folder / "parts"


ASKED = {
    "two columns of labels": {"scan": IDS["id"], "dx": codes(0), "other": codes(1)},
    "cells that are joined": {**IDS, "label": ["401.9;428.0", "250.00", "V58.67;401.9"] * 4},
    "labels in other words": {**IDS, "label": ["dx:401.9", "dx:428.0", "250.00"] * 4},
    "kinds of rows": {**IDS, "label": [*CODES[:4] * 2, *"wxyz"], "kind": [*"aaaaaaaabbbb"]},
}
ENDED = {**STORED, "jsonl": LISTED["jsonl"], "packed": packed, "parts": parts}


@pytest.mark.parametrize("stored", ENDED.values(), ids=ENDED)
@pytest.mark.parametrize("columns", ASKED.values(), ids=ASKED)
def test_the_same_is_asked_however_it_is_stored_and_counted(
    columns: Mapping[str, list[Any]], stored: Callable[[pl.DataFrame, Path], Any], tmp_path: Path
) -> None:
    tree, frame = audit.load_hierarchy(TREE), pl.DataFrame(columns)
    with pytest.raises(AskedError) as wanted:
        audit.load_labels(frame, tree)
    assert wanted.value.options
    data = stored(frame, tmp_path)
    with pytest.raises(AskedError) as caught:
        audit.load_labels(data, tree)
    assert caught.value.options == wanted.value.options
    assert caught.value.reads == wanted.value.reads


UNDOTTED = {"DX1": ["4019", "", "3605", "0389"] * 3, "PR1": ["3605", "4019", " ", "3961"] * 3}
CODED: dict[str, tuple[Mapping[str, list[Any]], Stated]] = {
    "several": ({**IDS, **UNDOTTED}, Stated(label=("DX1", "PR1"), codes=("procedures",))),
    "as written": ({**IDS, **UNDOTTED}, Stated(label=("DX1", "PR1"), codes=("as-written",))),
    "long": ({**STAYS, "code": UNDOTTED["PR1"]}, Stated(label=("code",), codes=("procedures",))),
    "lists": (
        {**IDS, "code": [["3605", "4019"], [], ["3961"]] * 4},
        Stated(label=("code",), codes=("procedures",)),
    ),
    "joined": (
        {**IDS, "code": ["3605;3961", "4019", "3961"] * 4},
        Stated(label=("code",), codes=("procedures",), sep=";"),
    ),
    "begun": (
        {**IDS, "code": ["dx:4019", "px:3961", "dx:0389"] * 4},
        Stated(label=("code",), codes=("dx:*", "diagnoses")),
    ),
}
"""Stated whose code sets are stated: the table, and what is stated."""


def coded(name: str, path: Path) -> Stated:
    """What is stated of a table, which is written to the path."""
    columns, stated = CODED[name]
    pl.DataFrame(columns).write_parquet(path)
    return replace(stated, id=("id",), where=("id!=s3",))


def placed(counted: LabelDataset | Any) -> pl.DataFrame:
    return counted.mappings.select("label", "table", "node", "rows")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_spark_gives_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    from pyspark.sql import SparkSession

    from fixtures.task_counts import counted_by_spark

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    different = {}
    building = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = building.config("spark.sql.shuffle.partitions", "1").getOrCreate()

    def counted(path: Path, hierarchy: Hierarchy, stated: Stated) -> Any:
        return counted_by_spark(path, hierarchy, replace(stated, unlisted="refuse"))

    hierarchy = audit.load_hierarchy(TREE)
    for name, layout in LAYOUTS.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        path = kept_as(layout)["parquet"](pl.DataFrame(layout.columns), folder)
        wanted = found(loaded(path, hierarchy, layout.stated))
        if (counts := found(counted(path, hierarchy, layout.stated))) != wanted:
            different[name] = counts, wanted
    for name in CODED:
        stated = coded(name, path := tmp_path / f"{name}.parquet")
        known, count = loaded(path, icd9cm(), stated), counted(path, icd9cm(), stated)
        if found(count) != found(known) or not placed(count).equals(placed(known)):
            different[f"{name}, codes are stated"] = found(count), found(known)
    session.stop()
    assert different == {}
