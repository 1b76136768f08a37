"""The same table gives the same rows however it is stored and counted: mapped, refused, told."""

from __future__ import annotations

import gzip
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import audit
from audit.base.readings import AskedError
from audit.counting.counts import PairCount
from audit.counting.file import count_pairs
from audit.data.code_sets import with_codes
from audit.data.dataset import LabelDataset
from audit.data.label_format import Columns
from audit.data.row_rules import EVERY, RowRules
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.coded import icd9cm

TREE = {
    **dict.fromkeys(("401.9", "250.00", "428.0", "V58.67"), "disease"),
    "12,5": "disease",
}
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
    """A table, what the user names, and how many rows of labels it has."""

    columns: Mapping[str, list[Any]]
    rows: int
    named: Mapping[str, str] = field(default_factory=dict)


LAYOUTS = {
    "long": Layout({**STAYS, "label": codes(0)}, N),
    "long with blanks": Layout({**STAYS, "label": ["", " ", *codes(0)[2:]]}, N),
    "a column that is named": Layout(
        {**STAYS, "when": codes(1), "what": codes(0)}, N, {"label": "what"}
    ),
    "rows without an id": Layout({"id": ["", *STAYS["id"][1:]], "label": codes(0)}, N),
    "ids that became decimals": Layout(
        {"id": [f"{row // 2}.0" for row in range(N)], "label": codes(0)}, N
    ),
    "lists": Layout({**IDS, "labels": FEW}, 15),
    "lists without ids": Layout({**TWICE, "labels": FEW}, 15),
    "joined": Layout({**IDS, "labels": [";".join(cell) for cell in FEW]}, 15),
    "joined by nodes": Layout(
        {**IDS, "mine": ["250.00,401.9", "12,5", "none,12,5"] * 4}, 20, {"label": "mine"}
    ),
    "whole cells by nodes": Layout({**IDS, "mine": ["12,5", "401.9"] * 6}, N, {"label": "mine"}),
    "joined in several columns": Layout(
        {**IDS, "DX1": ["250.00,401.9", "428.0"] * 6, "DX2": ["", "428.0,V58.67,none"] * 6}, 36
    ),
    "joined without ids": Layout({**TWICE, "codes": ["|".join(cell) for cell in FEW]}, 15),
    "a family": Layout({**IDS, "DX1": codes(0), "DX2": codes(1), "DXVER": ["9"] * N}, 2 * N),
    "a family with gaps": Layout({**IDS, "DX1": codes(0), "DX4": codes(1)}, 2 * N),
    "a family beside flags": Layout(
        {
            **IDS,
            **{f"dx{n}_code": codes(n) for n in (1, 2)},
            "dx1_poa": ["Y"] * N,
            "dx2_poa": ["N"] * N,
        },
        2 * N,
        {"label": "dx#_code"},
    ),
    "a family without ids": Layout({**TWICE, "DX1": codes(0), "DX2": [""] * N}, N),
    "columns that nobody named": Layout(
        {
            "row_number": [5001 + row for row in range(N)],
            "stay_id": [100 + row // 2 for row in range(N)],
            "amount": [row * 1.5 for row in range(N)],
            "dx": codes(0),
        },
        N,
    ),
    "a family that nobody named": Layout(
        {"KEY": IDS["id"], "age": [row // 2 for row in range(N)], "d1": codes(0), "d2": codes(1)},
        2 * N,
    ),
    "joined labels that nobody named": Layout(
        {"case_id": IDS["id"], "site": TWICE["site"], "mine": ["250.00,401.9", "428.0"] * (N // 2)},
        18,
    ),
    "two columns that nobody named": Layout({"scan_id": STAYS["id"], "dx": codes(0)}, N),
    "a column without a name": Layout({"": IDS["id"], "dx": codes(0)}, N),
    "a node for a name": Layout({"401.9": ["x"] * N, "DX1": codes(0), "DX2": codes(2)}, 2 * N),
}
"""Tables of a row per instance hold those of `fixtures.label_files` too, which has each format."""


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
BATCHED = ("csv", "parquet", "jsonl", "polars")
"""One of each kind of source; a frame of Pandas is one of Polars before batches are cut."""
LISTED = {"parquet": STORED["parquet"], "jsonl": stored("a.jsonl"), "polars": STORED["polars"]}


def found(counted: LabelDataset | PairCount) -> tuple[Any, ...]:
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


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_way_of_storing_and_counting_gives_the_same_rows(
    layout: Layout, tmp_path: Path
) -> None:
    hierarchy, frame = audit.load_hierarchy(TREE), pl.DataFrame(layout.columns)
    ways = {}
    for name, kept in kept_as(layout).items():
        data, label = kept(frame, tmp_path), layout.named.get("label")
        ways[f"{name} in memory"] = found(audit.load_labels(data, hierarchy, label=label))
        if name in BATCHED:
            count = count_pairs(data, hierarchy, label=label, batch=5, sort=True)
            ways[f"{name} in batches"] = found(count)
    wanted = ways["polars in memory"]
    assert wanted[0] == layout.rows
    assert {way: rows for way, rows in ways.items() if rows != wanted} == {}


def packed(frame: pl.DataFrame, folder: Path) -> Path:
    (folder / "a.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    return folder / "a.csv.gz"


def parts(frame: pl.DataFrame, folder: Path) -> Path:
    (folder / "parts").mkdir(exist_ok=True)
    for n, part in enumerate([frame[:2], frame[2:]]):
        part.write_csv(folder / "parts" / f"{n}.csv")
    return folder / "parts"


ENDED = {**STORED, "jsonl": LISTED["jsonl"], "packed": packed, "parts": parts}


@pytest.mark.parametrize("stored", ENDED.values(), ids=ENDED)
@pytest.mark.parametrize("column", ["label", "labels", "dx"])
def test_a_line_of_totals_is_asked_of_however_it_is_stored_and_counted(
    column: str, stored: Callable[[pl.DataFrame, Path], Any], tmp_path: Path
) -> None:
    tree, named = audit.load_hierarchy(TREE), {"label": column}
    rows = {"id": [*"abc", "Gesamt"], column: ["401.9", "428.0", "250.00", None]}
    data = stored(pl.DataFrame(rows), tmp_path)
    read = partial(audit.load_labels, data, tree, **named)
    for way in (read, partial(count_pairs, data, tree, batch=5, **named)):
        with pytest.raises(AskedError, match="'Gesamt' is a line of totals"):
            way()
    assert read(id="id", where=["id=*"]).ledger.instances == 4


UNDOTTED = {"DX1": ["4019", "", "3605", "0389"] * 3, "PR1": ["3605", "4019", " ", "3961"] * 3}
CODED: dict[str, tuple[Mapping[str, list[Any]], str, list[str]]] = {
    "several": ({**IDS, **UNDOTTED}, "DX1,PR1", ["DX*=diagnoses", "PR*=procedures"]),
    "some": (
        {**IDS, **UNDOTTED, "DX1": ["401.9", "", "428.0", "V58.67"] * 3},
        "DX1,PR1",
        ["PR*=procedures"],
    ),
    "long": ({**STAYS, "code": UNDOTTED["PR1"]}, "code", ["co*=procedures"]),
    "lists": ({**IDS, "code": [["3605", "4019"], [], ["3961"]] * 4}, "code", ["c*=procedures"]),
    "joined": ({**IDS, "code": ["3605;3961", "4019", "3961"] * 4}, "code", ["c*=procedures"]),
}
"""Columns whose code sets are stated: the table, the labels, what is stated."""
RULED = RowRules(where=("id!=s3",), version_column="version")


def coded(name: str, rules: RowRules, path: Path) -> tuple[LabelDataset, Hierarchy]:
    """The table in memory, which is written to the path, and the hierarchy with what is stated."""
    columns, label, stated = CODED[name]
    frame = pl.DataFrame({**columns, "version": ["9", "9", "10"] * 4})
    frame.write_parquet(path)
    told: dict[str, Any] = {
        "where": rules.where,
        "version_column": rules.version_column,
        "codes": stated,
    }
    known = with_codes(icd9cm(), stated)
    return audit.load_labels(path, "icd9cm", id="id", label=label, **told), known


def placed(counted: LabelDataset | PairCount) -> pl.DataFrame:
    return counted.mappings.select("label", "table", "node", "rows")


@pytest.mark.slow
@pytest.mark.parametrize("name", CODED)
@pytest.mark.parametrize("rules", [EVERY, RULED], ids=["every row", "some rows"])
def test_code_sets_of_columns_are_those_in_memory(
    name: str, rules: RowRules, tmp_path: Path
) -> None:
    loaded, known = coded(name, rules, path := tmp_path / "rows.parquet")
    count = count_pairs(
        path, known, instance="id", label=CODED[name][1], rules=rules, memory=2**26, batch=10_000
    )
    assert found(count) == found(loaded)
    assert placed(count).equals(placed(loaded))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_spark_gives_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    from pyspark.sql import SparkSession

    from audit.counting import spark
    from audit.data.known_nodes import KnownNodes
    from audit.data.sources import source_of
    from audit.data.sources.spark import reading

    hierarchy = audit.load_hierarchy(TREE)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    different = {}
    building = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = building.config("spark.sql.shuffle.partitions", "1").getOrCreate()

    def counted(path: Path, known: Hierarchy, **named: Any) -> PairCount:
        columns = Columns(nodes=KnownNodes(known), codes=known.codes, **named)
        with reading(source_of(path), "local[1]", columns) as read:
            told: dict[str, Any] = {"readings": read.readings, "rules": read.rules}
            return spark.count_pairs(read.rows, known, instance=read.id, label=read.label, **told)

    for name, layout in LAYOUTS.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        path = kept_as(layout)["parquet"](pl.DataFrame(layout.columns), folder)
        wanted = found(audit.load_labels(path, hierarchy, **layout.named))  # type: ignore[arg-type]
        if (counts := found(counted(path, hierarchy, **layout.named))) != wanted:
            different[name] = counts, wanted
    for name, rules in zip(CODED, cycle([EVERY, RULED]), strict=False):
        loaded, known = coded(name, rules, path := tmp_path / f"{name} of some.parquet")
        count = counted(path, known, id="id", label=CODED[name][1], rules=rules)
        if found(count) != found(loaded) or not placed(count).equals(placed(loaded)):
            different[f"{name}, codes are stated"] = found(count), found(loaded)
    session.stop()
    assert different == {}
