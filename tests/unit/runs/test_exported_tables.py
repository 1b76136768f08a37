"""Tables of the shared view: all of it, nothing else, and no formula."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.stored_tables import defused, write_workbook
from audit.results.result import AuditResult
from audit.runs.table_export import exported_tables
from fixtures import results

SHARED = results.rich_result().shared()
TABLES = exported_tables(SHARED)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one)
    else:
        yield value


def test_every_finding_and_every_number_of_it_is_there() -> None:
    findings = {one["id"]: one for check in SHARED["checks"] for one in check["findings"]}
    assert sorted(TABLES["findings"]["id"]) == sorted(findings)
    told = {
        (row["finding"], row["part"], row["name"]): row["value"]
        for row in TABLES["evidence"].to_dicts()
    }
    for id_, finding in findings.items():
        for part, one in enumerate((finding, *finding["parts"])):
            for name, value in one["evidence"].items():
                shown = told.pop((id_, part, name))
                assert shown in (value, str(value))
    assert not told


def test_nothing_is_there_that_is_not_shared() -> None:
    shared = [*leaves(SHARED)]
    texts = {one if isinstance(one, str) else json.dumps(one) for one in shared}
    numbers = {one for one in shared if isinstance(one, int | float)}
    for name, table in TABLES.items():
        for column in table:
            if name == "summary" and column.name == "place":
                continue
            for value in column.drop_nulls():
                known = value in numbers or str(value) in texts
                joined = column.name in ("nodes", "titles", "part", "check", "finding", "name")
                nested = isinstance(value, str) and value[:1] in "[{"
                assert known or joined or nested, (name, column.name, value)


def test_metrics_are_numbers() -> None:
    assert TABLES["metrics"].schema["value"] == pl.Float64
    assert TABLES["metrics"].height == len(SHARED["metrics"])


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=5), min_size=1))
def test_no_text_of_a_csv_file_is_a_formula(texts: list[str]) -> None:
    stream = io.BytesIO()
    defused(pl.DataFrame({"a": texts})).write_csv(stream)
    lines = list(csv.reader(io.StringIO(stream.getvalue().decode(), newline="")))[1:]
    for text, (shown,) in zip(texts, lines, strict=True):
        assert not shown.startswith(("=", "+", "-", "@", "\t", "\r"))
        assert shown in (text, f"'{text}")


def test_a_workbook_holds_text_as_text_and_numbers_as_numbers(tmp_path: Path) -> None:
    fastexcel = pytest.importorskip("fastexcel")
    table = pl.DataFrame({"code": ["0380", "=1+1", "http://x", None], "n": [1, 2, 3, 4]})
    files = [tmp_path / "a.xlsx", tmp_path / "b.xlsx"]
    for file in files:
        write_workbook({"codes": table}, file)
    read = pl.DataFrame(fastexcel.read_excel(files[0]).load_sheet("codes"))
    assert read["code"].to_list() == table["code"].to_list()
    assert read["n"].to_list() == table["n"].to_list()
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("result", [results.rich_result(), results.empty_result()])
def test_metrics_for_trackers_are_numbers_of_the_shared_view(result: AuditResult) -> None:
    shared, metrics = result.shared(), result.as_metrics()
    measured = [one["value"] for one in shared["metrics"] if one["value"] is not None]
    totals = [
        one["total"] for one in shared["checks"] if one["status"] not in ("not_applicable", "error")
    ]
    instances = shared["ledger"]["instances"]

    assert [*metrics.values()] == [
        one for one in (instances, *totals, *measured) if one is not None
    ]
    assert all(re.fullmatch(r"[\w\-. :/]+", name, re.ASCII) for name in metrics)
