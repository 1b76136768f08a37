"""``audit export``: what a run shares as tables, which say what ``result.json`` says."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import audit
from fixtures.doors import made, refused
from fixtures.held import held, read_json, sha256


def read_csv(file: Path) -> list[dict[str, str]]:
    """The rows of a file, all as text."""
    with file.open(encoding="utf-8", newline="") as stream:
        return [*csv.DictReader(stream)]


def number(text: str) -> float | None:
    """A number of a table; None where the cell is blank."""
    return float(text) if text else None


def test_checks_findings_and_evidence_as_csv(small: Path, tmp_path: Path) -> None:
    made("export", small / "second", "--csv", tmp_path / "tables")
    shared = read_json(small / "second" / "result.json")
    findings = [(check["name"], one) for check in shared["checks"] for one in check["findings"]]
    named = ("name", "title", "status", "denominator", "denominator_unit", "total", "folded")

    checks = read_csv(tmp_path / "tables" / "checks.csv")
    assert [{name: row[name] for name in named} for row in checks] == [
        {name: str(check[name]) for name in named} for check in shared["checks"]
    ]
    told = read_csv(tmp_path / "tables" / "findings.csv")
    assert [(row["check"], row["id"], row["severity"]) for row in told] == [
        (check, one["id"], one["severity"]) for check, one in findings
    ]
    assert [row["nodes"] for row in told] == [
        "; ".join(node["id"] for node in one["nodes"]) for _, one in findings
    ]
    run = audit.read_run(small / "second")
    evidence = {
        (f.id, name): value
        for check in run.checks
        for f in check.findings
        for name, value in f.evidence.items()
    }
    rows = read_csv(tmp_path / "tables" / "evidence.csv")
    for row in rows:
        known = evidence.get((row["finding"], row["name"]))
        if isinstance(known, (int, float)) and row["part"] == "0":
            assert float(row["value"]) == known
    assert {(row["finding"], row["name"]) for row in rows} >= {
        ("unexpected_pair:bird:cow", "instances"),
        ("unknown_code:refused", "rows"),
    }


def test_metrics_as_csv(small: Path, tmp_path: Path) -> None:
    made("export", small / "second_modelled", "--csv", tmp_path / "tables")
    shared = read_json(small / "second_modelled" / "result.json")["metrics"]
    rows = read_csv(tmp_path / "tables" / "metrics.csv")

    assert [(row["name"], row["scope"], json.loads(row["parameters"])) for row in rows] == [
        (one["name"], one["scope"], one["parameters"]) for one in shared
    ]
    for row, one in zip(rows, shared, strict=True):
        for name in ("value", "low", "high", "n"):
            assert number(row[name]) == one[name]


def test_a_workbook_has_the_tables_of_the_folder(small: Path, tmp_path: Path) -> None:
    made("export", small / "first", "--csv", tmp_path / "tables", "--xlsx", tmp_path / "all.xlsx")
    tables = {file.stem: read_csv(file) for file in (tmp_path / "tables").iterdir()}
    sheets = pl.read_excel(
        tmp_path / "all.xlsx", sheet_id=0, infer_schema_length=0, raise_if_empty=False
    )

    assert len(sheets) == len(tables)
    for name, rows in tables.items():
        sheet = sheets[name[:31]].fill_null("")
        assert len(sheet) == len(rows)
        if rows:
            assert sheet.columns == [*rows[0]]
    for name in ("findings", "waivers"):
        text = [column for column in tables[name][0] if column in ("check", "id", "owner")]
        assert sheets[name].select(text).rows() == [
            tuple(row[column] for column in text) for row in tables[name]
        ]


def test_croissant_names_the_data_and_the_run(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "croissant.json"
    made("export", small / "first", "--croissant", file)
    said = read_json(file)

    assert said["@type"] == "sc:Dataset"
    assert said["name"] == "first.csv"
    assert "http://mlcommons.org/croissant/1.0" in said["conformsTo"]
    assert sha256((small / "first.csv").read_bytes()) not in file.read_text("utf-8")


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph:DeprecationWarning")
def test_croissant_is_valid_of_a_shared_copy_and_keeps_what_its_publisher_says(
    small: Path, tmp_path: Path
) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    run, file = tmp_path / "run", tmp_path / "croissant.json"
    shutil.copytree(small / "first", run, ignore=shutil.ignore_patterns("restricted"))
    made("export", run, "--croissant", file)
    described = mlcroissant.Dataset(file).metadata
    checks = read_json(run / "result.json")["checks"]
    found = [one for check in checks for one in check["findings"]]
    told = [one["statement"] for one in found if one["waiver"] is None]
    published = read_json(file) | {"license": "CC0", "rai:dataBiases": ["None known."]}
    file.write_text(json.dumps(published))
    made("export", run, "--croissant", file, "--overwrite")

    assert not described.ctx.issues.errors
    assert sorted(described.data_biases) == sorted(told) != []
    assert read_json(file)["license"] == "CC0"
    assert "None known." not in read_json(file)["rai:dataBiases"]
    assert not mlcroissant.Dataset(file).metadata.ctx.issues.errors


def test_the_same_bytes_twice_and_an_earlier_export_stays(small: Path, tmp_path: Path) -> None:
    places = ("--csv", tmp_path / "t", "--xlsx", tmp_path / "t.xlsx")
    made("export", small / "second", *places)
    before = held(tmp_path)

    refused("export", small / "first", *places)
    assert held(tmp_path) == before
    made("export", small / "second", *places, "--overwrite")
    assert held(tmp_path) == before
    made("export", small / "first", *places, "--overwrite")
    assert held(tmp_path)["t/findings.csv"] != before["t/findings.csv"]


def test_what_is_no_export_is_never_replaced(small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    before = held(tmp_path)

    refused("export", small / "first", "--csv", tmp_path / "mine", "--overwrite")
    refused("export", small / "first")
    refused("export", tmp_path / "mine", "--csv", tmp_path / "tables")
    refused("export", tmp_path / "absent", "--xlsx", tmp_path / "a.xlsx")
    assert held(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
