"""How many rows files are taken to have before they are read."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from audit.data.sources.file import estimated_rows

ROWS = pl.DataFrame({"id": [f"{n:06}" for n in range(20_000)], "label": ["dog"] * 20_000})


def test_text_has_as_many_rows_as_its_length_allows(tmp_path: Path) -> None:
    ROWS.write_csv(tmp_path / "rows.csv")
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(ROWS.write_csv().encode()))

    assert estimated_rows(tmp_path / "rows.csv") == pytest.approx(len(ROWS), rel=0.01)
    assert len(ROWS) / 3 < estimated_rows(tmp_path / "rows.csv.gz") < 3 * len(ROWS)


def test_parquet_has_as_many_as_it_says_those_in_lists_included(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "rows.parquet", row_group_size=7_000)
    ROWS.with_columns(pl.concat_list("label", "label")).write_parquet(tmp_path / "lists.parquet")

    assert estimated_rows(tmp_path / "rows.parquet") == len(ROWS)
    assert estimated_rows(tmp_path / "lists.parquet") == 2 * len(ROWS)


def test_parts_add_up_and_other_tables_do_not(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,label\nx,dog\n", "utf-8")
    assert estimated_rows(tmp_path) == 4

    (tmp_path / "c.csv").write_text("id,age\nx,9\n", "utf-8")
    assert estimated_rows(tmp_path) == 0


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", b"\x00\n" * 99])
def test_what_cannot_be_said_is_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rows.parquet").write_bytes(content)
    (tmp_path / "rows.bin").write_bytes(content.replace(b"PAR1 ", b""))

    assert estimated_rows(tmp_path / "rows.parquet") == 0
    assert estimated_rows(tmp_path / "rows.bin") == 0
    assert estimated_rows("duckdb:///nowhere.db") == 0
