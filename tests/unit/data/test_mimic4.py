"""MIMIC-IV: the version of a code is told apart, not judged."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import InputError, SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns
from audit.data.label_formats.mimic import MIMIC_IV
from audit.data.sources import source_of

DIAGNOSES = "subject_id,hadm_id,seq_num,icd_code,icd_version\n"
PROCEDURES = "subject_id,hadm_id,seq_num,chartdate,icd_code,icd_version\n"


def test_versions_become_tables(tmp_path: Path) -> None:
    (tmp_path / "diagnoses_icd.csv").write_text(DIAGNOSES + "1,20,1,0380 ,9\n1,20,2,A419,10\n")
    (tmp_path / "procedures_icd.csv").write_text(
        PROCEDURES + "1,20,1,2180-01-01,3605,9\n1,21,1,2180-01-01,02703ZZ,10\n"
    )
    raw = read_labels(tmp_path, Columns())
    assert raw.format == "mimic4"
    assert raw.rows.rows() == [
        ("20", "0380", 1, "diagnoses", None),
        ("20", "A419", 2, "diagnoses-10", None),
        ("20", "3605", 1, "procedures", None),
        ("21", "02703ZZ", 1, "procedures-10", None),
    ]
    assert raw.instances.rows() == [("20", "1", None), ("21", "1", None)]


@pytest.mark.parametrize("version", ["", "NULL"])
def test_a_row_without_a_version_is_bad(tmp_path: Path, version: str) -> None:
    path = tmp_path / "diagnoses_icd.csv"
    path.write_text(DIAGNOSES + f"1,20,1,0380,{version}\n1,20,2,0381,9.0\n")
    raw = read_labels(path, Columns())
    assert raw.rows["refused"].to_list() == ["bad_row", None]
    assert raw.rows["table"].to_list() == ["diagnoses", "diagnoses"]


@pytest.mark.parametrize("versions", [("11", "9"), ("nine", "10"), ("A", "B")])
def test_another_version_is_refused(tmp_path: Path, versions: tuple[str, str]) -> None:
    path = tmp_path / "diagnoses_icd.csv"
    path.write_text(DIAGNOSES + "".join(f"1,20,1,0380,{version}\n" for version in versions))
    with pytest.raises(SchemaError, match=r"'icd_version' must say.*\nFound: .*\nHint: write 9"):
        read_labels(path, Columns())


@pytest.mark.parametrize("written", ["ICD9", "ICD-9-CM", " 9.0", "icd 9"])
def test_versions_as_people_write_them(tmp_path: Path, written: str) -> None:
    path = tmp_path / "diagnoses_icd.csv"
    path.write_text(DIAGNOSES + f"1,20,1,0380,{written}\n")
    assert read_labels(path, Columns()).rows.select("table", "refused").row(0) == (
        "diagnoses",
        None,
    )


def test_tables_and_dictionaries_lie_in_hosp(tmp_path: Path) -> None:
    hosp = tmp_path / "hosp"
    hosp.mkdir()
    (hosp / "diagnoses_icd.csv").write_text(DIAGNOSES + "1,20,1,0380,9\n")
    (hosp / "d_icd_diagnoses.csv").write_text("icd_code,icd_version,long_title\n0380,9,x\n")
    raw = read_labels(tmp_path, Columns())
    assert raw.sources == (hosp / "diagnoses_icd.csv",)
    assert raw.titles == (hosp / "d_icd_diagnoses.csv",)
    assert raw.persons


def test_a_lone_table_is_told_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "cohort.csv"
    path.write_text(PROCEDURES + "1,20,1,2180-01-01,3605,9\n")
    assert read_labels(path, Columns()).rows["table"].to_list() == ["procedures"]


def test_the_same_table_in_hosp_and_beside_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hosp").mkdir()
    for folder in (tmp_path, tmp_path / "hosp"):
        (folder / "diagnoses_icd.csv").write_text(DIAGNOSES + "1,20,1,0380,9\n")
    with pytest.raises(InputError, match=r"diagnoses once\n.*: 'diagnoses_icd.csv', 'hosp/diag"):
        read_labels(tmp_path, Columns())


def test_tables_in_other_folders_are_not_read(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "old"):
        folder.mkdir(exist_ok=True)
        (folder / "diagnoses_icd.csv").write_text(DIAGNOSES + f"1,2{len(folder.name)},1,0380,9\n")
    raw = read_labels(tmp_path, Columns(), "mimic4")
    assert raw.sources == (tmp_path / "diagnoses_icd.csv",)


def test_parts_are_of_the_table_where_all_have_its_columns(tmp_path: Path) -> None:
    for part in "ab":
        (tmp_path / f"{part}.csv").write_text(DIAGNOSES + f"1,2{part},1,0380,9\n")
    assert MIMIC_IV.matches(source_of(tmp_path))

    (tmp_path / "b.csv").write_text("subject_id,hadm_id,icd_code\n1,2b,0380\n")
    assert not MIMIC_IV.matches(source_of(tmp_path))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (Columns(), "the labels in 'icd_code' must be text"),
        (Columns(label="subject_id"), "the labels in 'subject_id' must be text"),
        (Columns(label="note"), None),
    ],
)
def test_codes_and_ids_that_were_read_as_numbers_are_refused(
    columns: Columns, told: str | None
) -> None:
    frame = pl.DataFrame(
        {"subject_id": 1, "hadm_id": 20.0, "seq_num": 1, "icd_code": 380, "icd_version": 9}
    ).with_columns(note=pl.lit("0380"))
    if told is None:
        assert MIMIC_IV.read(source_of(frame), columns).rows["label"].to_list() == ["0380"]
        return
    with pytest.raises(SchemaError, match=told):
        MIMIC_IV.read(source_of(frame), columns)


def test_the_required_columns_are_enough(tmp_path: Path) -> None:
    rows = "hadm_id,icd_code,icd_version\n20,0380,9\n"
    parts = tmp_path / "parts"
    parts.mkdir()
    for name in ("a.csv", "parts/a.csv", "parts/b.csv"):
        (tmp_path / name).write_text(rows)

    one, several = (read_labels(path, Columns()) for path in (tmp_path / "a.csv", parts))
    assert one.format == several.format == "mimic4"
    assert 2 * one.rows["label"].to_list() == several.rows["label"].to_list()
