"""MIMIC-III: what its tables say is kept, whatever way they were exported."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import InputError, SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns

HEADER = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE"


def table(folder: Path, *lines: str, name: str = "DIAGNOSES_ICD.csv", end: str = "\n") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    content = end.join((*lines, "")).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["DIAGNOSES_ICD.csv", "diagnoses_icd.csv.gz", "Diagnoses_ICD.CSV"])
@pytest.mark.parametrize("header", [HEADER, HEADER.lower(), f"\ufeff{HEADER}"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_reads_a_table_however_it_was_exported(
    tmp_path: Path, name: str, header: str, end: str
) -> None:
    table(tmp_path, header, '1,10,100001,2,"0380"', "2,10,100001,1, V3000 ", name=name, end=end)
    raw = read_labels(tmp_path, Columns())
    assert raw.format == "mimic3"
    assert raw.rows.rows() == [
        ("100001", "0380", 2, "diagnoses", None),
        ("100001", "V3000", 1, "diagnoses", None),
    ]
    assert raw.instances.rows() == [("100001", "10", None)]


def test_both_tables_of_a_folder_are_read(tmp_path: Path) -> None:
    procedures = table(tmp_path, HEADER, "1,10,100001,1,3605", name="PROCEDURES_ICD.csv.gz")
    diagnoses = table(tmp_path, HEADER, "1,10,100001,1,0380")
    raw = read_labels(tmp_path, Columns())
    assert raw.rows["table"].to_list() == ["diagnoses", "procedures"]
    assert raw.sources == (diagnoses, procedures)
    assert raw.persons


def test_parquet_ids_lose_the_fraction_that_nulls_gave_them(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"SUBJECT_ID": [10, 11], "HADM_ID": [100001.0, None], "ICD9_CODE": ["0380", "4019"]}
    )
    frame.write_parquet(tmp_path / "DIAGNOSES_ICD.parquet")
    raw = read_labels(tmp_path, Columns())
    assert raw.rows["instance"].to_list() == ["100001", None]
    assert raw.rows["refused"].to_list() == [None, "bad_row"]
    assert raw.instances.rows() == [("100001", "10", None)]


@pytest.mark.parametrize("missing", ["", "NULL", '""', " "])
def test_a_row_without_a_code_keeps_its_instance(tmp_path: Path, missing: str) -> None:
    table(tmp_path, HEADER, f"1,10,100001,NULL,{missing}")
    raw = read_labels(tmp_path, Columns())
    assert raw.rows.rows() == [("100001", None, None, "diagnoses", None)]
    assert raw.instances["instance"].to_list() == ["100001"]


def test_a_row_without_an_admission_is_bad_and_a_broken_position_costs_the_order(
    tmp_path: Path,
) -> None:
    table(tmp_path, HEADER, "1,10,,1,0380", "2,10,100001,first,0380", "3,10,100001,2.0,0381")
    raw = read_labels(tmp_path, Columns())
    assert raw.rows["refused"].to_list() == ["bad_row", None, None]
    assert raw.rows["position"].to_list() == [1, None, 2]
    (reading,) = raw.readings
    assert (reading.rows, reading.evidence) == (1, "SEQ_NUM is no whole number: 'first'")
    table(tmp_path, HEADER, "2,10,100001,3,0380")
    assert not read_labels(tmp_path, Columns()).readings
    assert raw.rows["position"].to_list() == [1, None, 2]
    assert raw.instances["instance"].to_list() == ["100001"]


def test_blank_lines_at_the_end_are_no_rows(tmp_path: Path) -> None:
    table(tmp_path, HEADER, "1,10,100001,1,0380", "", "", end="\r\n")
    assert read_labels(tmp_path, Columns()).rows.height == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [("cohort.csv", None), ("my_diagnoses.csv", "diagnoses"), ("Procedures2.csv", "procedures")],
)
def test_a_lone_table_is_known_by_its_columns(tmp_path: Path, name: str, kind: str | None) -> None:
    raw = read_labels(table(tmp_path, HEADER, "1,10,100001,1,0380", name=name), Columns())
    assert raw.format == "mimic3"
    assert raw.rows["table"].to_list() == [kind]


def test_dictionaries_beside_the_data_are_titles(tmp_path: Path) -> None:
    path = table(tmp_path, HEADER, "1,10,100001,1,0380")
    titles = [
        table(tmp_path, "ROW_ID,ICD9_CODE,SHORT_TITLE,LONG_TITLE", "1,0380,a,b", name=name)
        for name in ("D_ICD_DIAGNOSES.csv", "D_ICD_PROCEDURES.csv.gz")
    ]
    assert read_labels(tmp_path, Columns()).titles == tuple(titles)
    assert read_labels(path, Columns()).titles == tuple(titles)


def test_named_columns_overrule(tmp_path: Path) -> None:
    table(tmp_path, HEADER + ",site,part,code", "1,10,100001,1,0380,A,test,999")
    columns = Columns(id="subject_id", label="CODE", group="site", split="part")
    raw = read_labels(tmp_path, columns)
    assert raw.rows.select("instance", "label").rows() == [("10", "999")]
    assert raw.instances.rows() == [("10", "A", "test")]


def test_the_same_table_twice_is_refused(tmp_path: Path) -> None:
    table(tmp_path, HEADER, "1,10,100001,1,0380")
    table(tmp_path, HEADER, "1,10,100001,1,0380", name="diagnoses_icd.csv.gz")
    with pytest.raises(InputError, match=r"'DIAGNOSES_ICD.csv', 'diagnoses_icd.csv.gz'"):
        read_labels(tmp_path, Columns())


def test_an_admission_of_two_patients_is_refused(tmp_path: Path) -> None:
    table(tmp_path, HEADER, "1,10,100001,1,0380", "2,11,100001,2,0381", "3,,100001,3,0382")
    with pytest.raises(SchemaError, match=r"one group\nFound: in several: '100001 in 10, 11'"):
        read_labels(tmp_path, Columns())


def test_a_header_without_the_code_is_told(tmp_path: Path) -> None:
    path = table(tmp_path, "SUBJECT_ID,HADM_ID,CODE", "10,100001,0380")
    with pytest.raises(SchemaError, match=r"'icd9_code' is required\nFound: .*'CODE'") as caught:
        read_labels(tmp_path, Columns(), "mimic3")
    assert caught.value.where == str(path)


def test_a_folder_without_tables_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("none")
    with pytest.raises(InputError, match=r"DIAGNOSES_ICD.*\nFound: 'notes.txt'"):
        read_labels(tmp_path, Columns(), "mimic3")
