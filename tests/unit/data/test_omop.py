"""OMOP: rows as plain Python has them, the hierarchy of a vocabulary, and what is asked."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import audit
from audit.base.errors import AuditError
from audit.base.readings import AskedError
from audit.cli.app import app
from audit.runs.verify import verify_run
from fixtures.coded import icd9cm
from fixtures.postgres import execute, ingest, server

Row = dict[str, Any]
CODES: list[tuple[int, str, str, str, str]] = [
    # id, code, vocabulary, class, invalid_reason
    (0, "No matching concept", "None", "Undefined", ""),
    (1, "404684003", "SNOMED", "Clinical finding", ""),
    (2, "56265001", "SNOMED", "Clinical finding", ""),
    (3, "84114007", "SNOMED", "Clinical finding", ""),
    (4, "38341003", "SNOMED", "Clinical finding", ""),
    (5, "11111111", "SNOMED", "Clinical finding", "U"),
    (6, "22222222", "SNOMED", "Clinical finding", "D"),
    (7, "428.0", "ICD9CM", "5-dig billing code", ""),
    (8, "401.9", "ICD9CM", "4-dig billing code", ""),
    (9, "428", "ICD9CM", "3-dig nonbill code", ""),
    (11, "428.0", "ICD9CM", "5-dig billing code", "D"),
    (10, "39.61", "ICD9Proc", "4-dig billing code", ""),
]
IS_A = [(2, 1), (3, 2), (4, 1), (7, 9)]
OTHERS = [(5, 4, "Concept replaced by"), (7, 3, "Maps to"), (7, 3, "Is a"), (6, 1, "Is a")]
DAYS = ("2010-05-01", "2020-05-01")


def occurrences(seed: int, kind: str) -> list[Row]:
    """Rows of one table; a third have no visit, some no concept."""
    draw, rows = Random(f"{seed}{kind}"), []
    for n in range(60):
        source = draw.choice([0, 7, 8, 8, 10 if kind == "procedure" else 9])
        standard = draw.choice([0, 3, 4, 5, 6])
        date = "condition_start_date" if kind == "condition" else "procedure_date"
        visit = str(draw.randrange(9)) if draw.random() < 0.7 else ""
        person = int(visit or n) % 4
        rows.append({
            f"{kind}_occurrence_id": n, "person_id": person, f"{kind}_concept_id": standard,
            date: draw.choice(DAYS), f"{kind}_type_concept_id": 32020, "visit_occurrence_id": visit,
            f"{kind}_source_value": f"own{n % 3}", f"{kind}_source_concept_id": source,
        })  # fmt: skip
    return rows


def write(path: Path, rows: list[Row], how: str) -> None:
    if how == "parquet":
        pl.DataFrame(rows).write_parquet(path.with_suffix(".parquet"))
        return
    path = path.with_name(path.name.upper()).with_suffix(".csv") if how == "athena" else path
    with path.with_suffix(".csv").open("w", newline="") as stream:
        sign = "\t" if how == "athena" else ","
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=sign, quoting=csv.QUOTE_MINIMAL)
        writer.writeheader()
        writer.writerows(rows)


def written(folder: Path, seed: int = 1, how: str = "csv") -> Path:
    for kind in ("condition", "procedure"):
        write(folder / f"{kind}_occurrence", occurrences(seed, kind), how)
    names = ("concept_id", "concept_code", "vocabulary_id", "concept_class_id", "invalid_reason")
    more = {"concept_name": "A name", "valid_start_date": "20000101"}
    codes = [
        dict(zip(names, one, strict=True)) | more
        | {"valid_end_date": "20150101" if one[4] else "20991231", "domain_id": "Condition"}
        for one in CODES
    ]  # fmt: skip
    write(folder / "concept", codes, how)
    links = [(*one, "Is a") for one in IS_A] + OTHERS + [(b, a, "Subsumes") for a, b in IS_A]
    ends = ("concept_id_1", "concept_id_2", "relationship_id")
    dated = {"valid_start_date": "20000101", "valid_end_date": "20991231", "invalid_reason": ""}
    write(
        folder / "concept_relationship",
        [dict(zip(ends, o, strict=True)) | dated for o in links],
        how,
    )
    return folder


def expected(vocabulary: str, side: str) -> Counter[Any]:
    """Instance, label, person, and whether the row counts, of every occurrence."""
    of = {one[0]: (one[1], one[2]) for one in CODES}
    found = Counter[Any]()
    for kind in ("condition", "procedure"):
        for row in occurrences(1, kind):
            code, held = of[
                row[f"{kind}_source_concept_id" if side == "source" else f"{kind}_concept_id"]
            ]
            day = row["condition_start_date" if kind == "condition" else "procedure_date"]
            instance = row["visit_occurrence_id"] or f"{row['person_id']} {day}"
            reason = (
                None if held == vocabulary else "unknown_code" if held == "None" else "left_out"
            )
            label = row[f"{kind}_source_value"] if held == "None" else code
            found[instance, label, str(row["person_id"]), reason] += 1
    return found


def read(dataset: audit.LabelDataset) -> set[Any]:
    lines = [(label, None) for label in dataset.mappings["label"]]
    lines += dataset.refusals.select("label", "reason").rows()
    of = dataset.instances.select("instance", "group").rows()
    return {(of[p][0], lines[n][0], of[p][1], lines[n][1]) for p, n in dataset.written.iter_rows()}


@pytest.mark.parametrize("how", ["csv", "athena", "parquet"])
@pytest.mark.parametrize(("vocabulary", "side"), [("SNOMED", "standard"), ("ICD9CM", "source")])
def test_rows_are_those_of_plain_python(
    tmp_path: Path, how: str, vocabulary: str, side: str
) -> None:
    folder = written(tmp_path, how=how)
    hierarchy = audit.load_hierarchy(folder, vocabulary=vocabulary)

    dataset = audit.load_labels(folder, hierarchy, vocabulary=vocabulary.lower())

    wanted, known = expected(vocabulary, side), {*dataset.mappings["label"]}
    gone = {one[1]: "retired_code" for one in CODES if one[0] == 6}
    listed = {one[1] for one in CODES} - {*hierarchy.nodes}
    assert listed & known == ({"11111111"} if vocabulary == "SNOMED" else set())
    unlisted = {"401.9": "unknown_code"} if "401.9" not in hierarchy.nodes else {}
    assert read(dataset) == {
        (*one[:3], one[3] or (gone | unlisted).get(one[1])) for one in wanted
    }  # fmt: skip
    assert dataset.ledger.rows_read == wanted.total() == 120
    unmapped = {one[1]: 0 for one in wanted if one[3] == "unknown_code"}
    for one, n in wanted.items():
        unmapped |= {one[1]: unmapped[one[1]] + n} if one[3] == "unknown_code" else {}
    refused = dataset.refusals.filter(pl.col("label").str.starts_with("own"))
    assert dict(refused.select("label", "rows").iter_rows()) == unmapped
    told = [one.decision for one in dataset.readings]
    assert any("on one day" in one for one in told)
    assert dataset.persons


def test_a_vocabulary_is_a_hierarchy_of_valid_codes(tmp_path: Path) -> None:
    folder = written(tmp_path)
    snomed = audit.load_hierarchy(folder, vocabulary="SNOMED")
    assert {n: snomed.parents(n) for n in snomed.nodes} == {
        "404684003": (), "56265001": ("404684003",), "84114007": ("56265001",),
        "38341003": ("404684003",),
    }  # fmt: skip
    assert snomed.place("11111111", None).node == "38341003"
    assert snomed.place("22222222", None).reason == "retired_code"
    ninth = audit.load_hierarchy(folder, vocabulary="ICD9CM")
    assert dict(zip(ninth.nodes, ninth.assignable.tolist(), strict=True))["428"] is False
    assert any("other vocabularies" in one.decision for one in ninth.readings)
    assert ninth.coding is None  # of two entries of 428.0 one is valid


def test_a_table_of_labels_goes_with_a_vocabulary(tmp_path: Path) -> None:
    labels = {"id": ["1", "2"], "label": ["84114007", "no"]}
    dataset = audit.load_labels(labels, written(tmp_path), vocabulary="SNOMED", unlisted="refuse")
    assert dataset.ledger.rows_mapped == 1
    with pytest.raises(AuditError, match="for OMOP alone"):
        audit.load_labels(labels, icd9cm(), vocabulary="SNOMED")
    with pytest.raises(AuditError, match="vocabulary can be stated only of omop"):
        audit.load_hierarchy("icd9cm", vocabulary="SNOMED")


def test_codes_of_a_classification_are_read_by_its_own_rules(tmp_path: Path) -> None:
    dataset = audit.load_labels(written(tmp_path), icd9cm(), vocabulary="ICD9Proc")
    assert [*dataset.mappings["node"]] == ["39.61"]
    assert {*dataset.mappings["table"]} == {"procedures"}


def test_what_is_not_certain_is_asked(tmp_path: Path) -> None:
    folder = written(tmp_path)
    with pytest.raises(AskedError, match="which vocabulary is meant"):
        audit.load_hierarchy(folder)
    with pytest.raises(AskedError) as found:
        audit.load_labels(folder, icd9cm())
    assert "--vocabulary ICD9CM" in str(found.value)
    assert "SNOMED" not in str(found.value)
    rows = occurrences(1, "condition")
    rows[0] |= {"condition_source_concept_id": 4, "condition_concept_id": 3}
    write(folder / "condition_occurrence", rows, "csv")
    with pytest.raises(AskedError, match="which concepts of SNOMED are labels"):
        both(folder, "SNOMED")
    of = audit.load_labels(folder, icd9cm(), vocabulary="SNOMED", label="source", unlisted="refuse")
    assert (
        of.ledger.rows_read - of.ledger.refused["left_out"] - 1 <= of.ledger.refused["unknown_code"]
    )


def both(folder: Path, vocabulary: str) -> audit.LabelDataset:
    return audit.load_labels(folder, folder, vocabulary=vocabulary)


@pytest.mark.parametrize(
    ("table", "change", "words"),
    [
        ("concept_relationship", lambda t: t.filter(pl.col("relationship_id") != "Is a"), '"Is a"'),
        ("concept_relationship", lambda t: t.drop("concept_id_2"), "no 'concept_id_2'"),
        ("concept", lambda t: t.drop("vocabulary_id"), "no 'vocabulary_id'"),
        ("condition_occurrence", lambda t: t.drop("person_id"), "named 'person_id'"),
        ("concept", None, "the table concept of OMOP is required"),
        ("concept_relationship", None, "the table concept_relationship of OMOP is required"),
        ("concept", lambda t: t.clear().select(), "a table with rows"),
        ("concept", lambda t: t.with_columns(vocabulary_id=pl.lit("LOINC")), "vocabulary|Is a"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, table: str, change: Any, words: str) -> None:
    folder = written(tmp_path)
    file = folder / f"{table}.csv"
    if change is None:
        file.unlink()
    else:
        change(pl.read_csv(file, infer_schema=False)).write_csv(file)
    with pytest.raises(AuditError, match=words):
        both(folder, "SNOMED")


def test_the_type_of_an_occurrence_need_not_be_there(tmp_path: Path) -> None:
    folder = written(tmp_path)
    wanted = both(folder, "SNOMED")
    file = folder / "condition_occurrence.csv"
    pl.read_csv(file, infer_schema=False).drop("condition_type_concept_id").write_csv(file)
    assert both(folder, "SNOMED").mappings.equals(wanted.mappings)


TABLES = ("condition_occurrence", "procedure_occurrence", "concept", "concept_relationship")
VISITS = [{"visit_occurrence_id": n, "visit_concept_id": 9201 + n % 2} for n in range(9)]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    pytest.importorskip("adbc_driver_postgresql")
    with server() as address:
        execute(address, "CREATE SCHEMA cdm")
        yield address


@pytest.fixture(params=["folder", "sqlite", "duckdb", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The same tables in a folder or a database."""
    folder = written(tmp_path)
    write(folder / "visit_occurrence", VISITS, "csv")
    tables = {one: pl.read_csv(folder / f"{one}.csv") for one in (*TABLES, "visit_occurrence")}
    path = tmp_path / "cdm.db"
    if request.param == "sqlite":
        pytest.importorskip("adbc_driver_sqlite")
        with sqlite3.connect(path) as base:
            for name, rows in tables.items():
                base.execute(f"CREATE TABLE {name} ({', '.join(rows.columns)})")
                marks = ", ".join("?" * rows.width)
                base.executemany(f"INSERT INTO {name} VALUES ({marks})", rows.iter_rows())
    elif request.param == "duckdb":
        with pytest.importorskip("duckdb").connect(str(path)) as base:
            for name in tables:
                base.execute(f"CREATE TABLE {name.upper()} AS FROM '{folder / name}.csv'")
    elif request.param == "postgresql":
        address = str(request.getfixturevalue("postgres"))
        for name, rows in tables.items():
            execute(address, f"SET lock_timeout = '5s';\nDROP TABLE IF EXISTS cdm.{name}")
            ingest(address, name, rows)
            execute(address, f"ALTER TABLE {name} SET SCHEMA cdm")
        return f"{address}?options=-csearch_path%3Dcdm"
    return str(folder) if request.param == "folder" else f"{request.param}:///{path}"


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", ["SNOMED", "ICD9CM"])
def test_a_database_gives_the_rows_of_a_folder(place: str, tmp_path: Path, vocabulary: str) -> None:
    named: dict[str, Any] = {"vocabulary": vocabulary, "strata": ["visit_concept_id"]}
    wanted = audit.load_labels(tmp_path, tmp_path, **named)

    found = audit.load_labels(place, place, **named)

    assert found.hierarchy.edge_frame().equals(wanted.hierarchy.edge_frame())
    for table in ("instances", "assertions", "mappings", "refusals", "written"):
        assert getattr(found, table).equals(getattr(wanted, table)), table
    assert (found.ledger, found.readings) == (wanted.ledger, wanted.readings)


@pytest.mark.slow
def test_one_command_audits_a_database_and_says_nothing_secret(place: str, tmp_path: Path) -> None:
    results, secret = [], place.partition("@")[2].partition("/")[0]
    for n, data in enumerate([str(tmp_path), place]):
        out = str(tmp_path / f"run{n}")
        asked = ["--vocabulary", "SNOMED", "--no-pdf", "--out", out]
        run = CliRunner().invoke(app, ["run", data, *asked])
        assert run.exit_code == 0, run.output
        results.append(json.loads((tmp_path / f"run{n}" / "result.json").read_text()))
        kept = b"".join(one.read_bytes() for one in Path(out).rglob("*") if one.is_file())
        assert not secret or secret.encode() not in kept
        verdicts = {v.name: v for v in verify_run(Path(out), recompute=True, data=data)}
        assert verdicts["recomputation"].outcome == "holds", verdicts["recomputation"]
    folder, loaded = results
    assert folder["ledger"] == loaded["ledger"]
    assert folder["checks"] == loaded["checks"]
