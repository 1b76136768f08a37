"""Rows that count by what their columns say, and versions of codes, in every format and way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit.base.errors import InputError, SchemaError
from audit.counting import spark
from audit.counting.file import count_pairs
from audit.data.dataset import LabelDataset, load_labels
from audit.data.mapping import label_nodes, summed_counts
from audit.data.row_rules import RowRules, version_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy


@pytest.fixture(scope="module")
def icd9cm() -> Hierarchy:
    return load_hierarchy("icd9cm")


ROWS = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d", "e"],
        "code": ["401.9", "I10", "428.0", "401.9", "E119"],
        "Version": ["ICD9", "ICD-10", "9.0", None, "icd 10 cm"],
        "role": ["", "enables", "NOT|enables", "enables", "not"],
    }
)


def long(folder: Path) -> Path:
    ROWS.write_csv(folder / "rows.csv")
    return folder / "rows.csv"


def parquet(folder: Path) -> Path:
    ROWS.write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def listed(folder: Path) -> Path:
    ROWS.with_columns(pl.concat_list("code")).write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def joined(folder: Path) -> Path:
    ROWS.with_columns(pl.col("code") + ";V700").write_csv(folder / "rows.csv")
    return folder / "rows.csv"


def several(folder: Path) -> Path:
    ROWS.with_columns(code2=pl.lit("V700")).write_csv(folder / "rows.csv")
    return folder / "rows.csv"


def jsonl(folder: Path) -> Path:
    lines = [row | {"code": [row["code"]]} for row in ROWS.iter_rows(named=True)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder / "rows.jsonl"


WRITERS: dict[Callable[[Path], Path], str] = {
    long: "code", parquet: "code", listed: "code", joined: "code", several: "code*", jsonl: "code",
}  # fmt: skip
RULES = RowRules(("role!=NOT*",), "Version")


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_every_format_and_way_of_counting_marks_the_same_rows(
    writer: Callable[[Path], Path], tmp_path: Path, icd9cm: Hierarchy
) -> None:
    path, label = writer(tmp_path), WRITERS[writer]
    loaded = load_labels(
        path, icd9cm, id="id", label=label, where=RULES.where, version_column="version"
    )
    counted = count_pairs(path, icd9cm, instance="id", label=label, rules=RULES)

    each = 2 if writer in (joined, several) else 1
    assert loaded.ledger.refused == {"left_out": 2 * each, "other_version": each, "bad_row": each}
    assert loaded.ledger.rows_read == loaded.ledger.rows_mapped + sum(
        loaded.ledger.refused.values()
    )
    assert counted.ledger == loaded.ledger
    assert_frame_equal(counted.refusals, loaded.refusals)
    assert_frame_equal(counted.mappings, loaded.mappings)


def test_tasks_of_spark_mark_the_same_rows(tmp_path: Path, icd9cm: Hierarchy) -> None:
    rows = ROWS.select("id", "code", "role", "Version")
    marked = list(spark.marked(RULES, [rows[:2], rows[2:]]))
    counts = summed_counts(part for some in marked for part in spark.counted_labels([some]))
    loaded = load_labels(
        rows, icd9cm, id="id", label="code", where=RULES.where, version_column="version"
    )
    assert label_nodes(counts, icd9cm).ledger(5, 4) == loaded.ledger


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (["role=enables"], ["b", "d"]),
        (["role=ENABLES", "role=not*"], ["b", "c", "d", "e"]),
        (["role!=not*", "id!=a"], ["b", "d"]),
        (["role="], ["a"]),
        (["role=*"], ["a", "b", "c", "d", "e"]),
        (["id=a", "role=enables"], []),
    ],
)
def test_conditions(where: list[str], kept: list[str], icd9cm: Hierarchy) -> None:
    found = load_labels(ROWS, icd9cm, id="id", label="code", where=where)
    refused = dict(found.refusals.filter(reason="left_out").select("label", "rows").iter_rows())
    assert sum(refused.values()) == 5 - len(kept)
    assert len(found) == 5


@pytest.mark.parametrize("stated", ["role", "=x", "a>b"])
def test_what_is_no_condition_is_refused(stated: str, icd9cm: Hierarchy) -> None:
    with pytest.raises(InputError, match="COLUMN=VALUE"):
        load_labels(ROWS, icd9cm, id="id", label="code", where=[stated])


@pytest.mark.parametrize("named", [{"where": ["nope=1"]}, {"version_column": "nope"}])
def test_a_column_must_be_there(named: dict[str, str], icd9cm: Hierarchy) -> None:
    with pytest.raises(SchemaError, match="'nope'"):
        load_labels(ROWS, icd9cm, id="id", label="code", **named)


def test_arrays_have_no_columns(icd9cm: Hierarchy) -> None:
    with pytest.raises(SchemaError, match="--where, or a version"):
        load_labels(np.eye(2, dtype=int), icd9cm, classes=["486", "311"], where=["a=b"])


@pytest.mark.parametrize("value", ["9", "9.0", "ICD9", "ICD-9-CM", "icd_9 cm", "09"])
def test_writings_of_version_9(value: str) -> None:
    assert version_of(value) == "9"


@pytest.mark.parametrize("value", ["A", "19", "99", "ICD", "2019", "ICD-O-3"])
def test_other_values_are_no_version(value: str, icd9cm: Hierarchy) -> None:
    rows = ROWS.with_columns(Version=pl.lit(value))
    with pytest.raises(SchemaError, match=r"'Version' must say.*\nFound: '" + value):
        versioned(rows, icd9cm)


def versioned(rows: pl.DataFrame, hierarchy: Hierarchy) -> LabelDataset:
    columns = {"id": "id", "label": "code", "version_column": "Version"}
    return load_labels(rows, hierarchy, **columns)
