"""``audit sample``: records of findings among as many others, drawn by a seed."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import audit
from fixtures.doors import made, refused
from fixtures.held import held, sha256
from fixtures.plain_statistics import wilson
from fixtures.small_release import write_table

COLUMNS = ["row", "instance", "labels", "others", "verdict", "note", "drawn", "run"]


def drawn(run: Path, file: Path, *further: object) -> list[dict[str, str]]:
    """The rows of a sheet."""
    made("sample", run, "--csv", file, *further)
    with file.open(encoding="utf-8", newline="") as stream:
        return [*csv.DictReader(stream)]


def test_as_many_others_as_records_of_findings(small: Path, tmp_path: Path) -> None:
    rows = drawn(small / "first", tmp_path / "sheet.csv", "--per-finding", "3")
    cases = audit.read_run(small / "first").cases
    assert cases is not None
    table = cases.with_columns(pl.col("finding").cast(pl.String)).collect()
    behind = {*table["instance"]}
    per_finding = Counter(table["finding"])
    found = [row for row in rows if row["instance"] in behind]

    assert [*rows[0]] == COLUMNS
    assert len(found) == sum(min(3, n) for n in per_finding.values())
    assert len(rows) == 2 * len(found)
    assert [row["row"] for row in rows] == sorted({row["row"] for row in rows})
    digest = sha256((small / "first" / "result.json").read_bytes())[:16]
    assert {(row["verdict"], row["note"], row["run"]) for row in rows} == {("", "", digest)}
    assert not any(one in row["row"] for row in rows for one in ("unknown", "control"))


def test_a_sheet_is_drawn_by_its_seed(small: Path, tmp_path: Path) -> None:
    first = drawn(small / "first", tmp_path / "a.csv", "--per-finding", "5")
    again = drawn(small / "first", tmp_path / "b.csv", "--per-finding", "5", "--seed", "0")
    other = drawn(small / "first", tmp_path / "c.csv", "--per-finding", "5", "--seed", "1")

    assert first == again
    assert {row["instance"] for row in first} != {row["instance"] for row in other}
    assert len(first) == len(other)


def test_every_record_is_drawn_where_there_are_few(small: Path, tmp_path: Path) -> None:
    rows = drawn(small / "first", tmp_path / "sheet.csv", "--per-finding", "4")

    assert {"i007", "i019", "i020", "i021"} <= {row["instance"] for row in rows}


def test_verdicts_are_counted_by_finding(small: Path, tmp_path: Path) -> None:
    rows = drawn(small / "first", tmp_path / "sheet.csv", "--per-finding", "10")
    for number, row in enumerate(rows):
        row["verdict"] = ("wrong", "right", "right", "unsure", "")[number % 5]
    sheet = write_table(tmp_path / "judged.csv", COLUMNS, [[*row.values()] for row in rows])
    said = json.loads(made("sample", small / "first", "--judged", sheet, "--json"))["findings"]
    cases = audit.read_run(small / "first").cases
    assert cases is not None
    behind: dict[str, set[str]] = {}
    for finding, one in cases.with_columns(pl.col("finding").cast(pl.String)).collect().rows():
        behind.setdefault(finding, set()).add(one)
    told = {one["finding"]: one for one in said}

    assert [*told][:-1] == [*behind]
    for finding, records in [*behind.items(), ("", {row["instance"] for row in rows})]:
        own = told[finding]
        wrong, n = own["wrong"], own["judged"]
        assert own["cases"] == (len(records) if finding else n)
        if finding:
            assert n + own["unsure"] <= min(10, len(records))
        if n:
            assert own["share"] == pytest.approx([wrong / n, *wilson(wrong, n)])
        if finding and n:
            assert own["concerned"][0] == pytest.approx(len(records) * wrong / n)
            assert own["concerned"][1:] == concerned(wrong, n, len(records))
    few = told["unknown_code:refused"]
    verdicts = [row["verdict"] for row in rows if row["instance"] in behind["unknown_code:refused"]]
    assert few["wrong"] <= verdicts.count("wrong")
    every = [own["judged"] + own["unsure"] for own in said]
    assert sum(every) == sum(row["verdict"] != "" for row in rows)
    assert sum(own["wrong"] for own in said) == sum(row["verdict"] == "wrong" for row in rows)


def concerned(k: int, n: int, cases: int) -> list[int]:
    """How many of some cases may be wrong where ``k`` of ``n`` drawn ones are, in 95 %."""

    def tail(wrong: int, ks: range) -> float:
        ways = (math.comb(wrong, x) * math.comb(cases - wrong, n - x) for x in ks)
        return sum(ways) / math.comb(cases, n)

    fitting = [
        wrong
        for wrong in range(k, cases - (n - k) + 1)
        if tail(wrong, range(k, n + 1)) > 0.025 and tail(wrong, range(k + 1)) > 0.025
    ]
    return [min(fitting), max(fitting)]


def test_verdicts_that_are_none_are_refused(small: Path, tmp_path: Path) -> None:
    rows = drawn(small / "first", tmp_path / "sheet.csv", "--per-finding", "2")
    wrong = {
        "a word": [row | {"verdict": "perhaps"} for row in rows],
        "another run": [row | {"run": "0" * 16} for row in rows],
        "another seed": [row | {"drawn": "2 a finding, seed 9"} for row in rows],
        "another record": [row | {"row": "0" * 12} for row in rows],
        "twice": [*rows, rows[0]],
        "nothing": [],
    }
    for sheet in wrong.values():
        file = write_table(tmp_path / "judged.csv", COLUMNS, [[*row.values()] for row in sheet])
        refused("sample", small / "first", "--judged", file)


@pytest.mark.slow
def test_refusals_leave_nothing_and_an_earlier_sheet_stays(small: Path, tmp_path: Path) -> None:
    made("run", small / "first.csv", "--hierarchy", small / "tree.csv", "--no-pdf", "--quiet",
         "--out", tmp_path / "bare")  # fmt: skip
    file = tmp_path / "sheet.csv"
    refused("sample", small / "first")
    refused("sample", tmp_path / "absent", "--csv", file)
    refused("sample", tmp_path / "bare", "--csv", file)
    assert not file.exists()
    drawn(small / "first", file)
    before = held(tmp_path)
    refused("sample", small / "first", "--csv", file, "--seed", "1")
    assert held(tmp_path) == before
    made("sample", small / "first", "--csv", file, "--seed", "1", "--overwrite")
    assert held(tmp_path) != before


def test_what_coders_confirmed_is_told_of_each_finding(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "sheet.csv"
    rows = drawn(small / "first", file, "--per-finding", "4")
    wrong = {"i020", "i021"}
    told = [row | {"verdict": "wrong" if row["instance"] in wrong else "right"} for row in rows]
    write_table(file, COLUMNS, [[*row.values()] for row in told])
    said = json.loads(made("sample", small / "first", "--judged", file, "--json"))
    found = {one["finding"]: one for one in said["findings"]}

    assert found["unknown_code:refused"]["wrong"] == 2
    assert found["unknown_code:refused"]["judged"] == found["unknown_code:refused"]["cases"] == 4
    assert found["unknown_code:refused"]["concerned"] == [2.0, 2, 2]
    assert found[""]["wrong"] == 0
    assert "unknown_code:refused" in made("sample", small / "first", "--judged", file)
    refused("sample", small / "first", "--judged", file, "--csv", tmp_path / "other.csv")
    refused("sample", small / "first", "--json", "--csv", tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()
