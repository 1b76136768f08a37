"""Further columns of the instances, in every format that has columns."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import SchemaError
from audit.data.dataset import LabelDataset, load_labels
from audit.data.mapping import INSTANCES
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.written import written

STRATA = {"id": "id", "group": "who", "split": "part", "strata": ["site", "Period"]}
EXPECTED = [("1", "p", "train", "north", "2019"), ("2", None, "test", None, "2020")]

ROWS = [
    ("1", "cow", "p", "train", "north", "2019"),
    ("1", "dog", "p", "train", None, "2019"),
    ("2", "cow", None, "test", None, "2020"),
]
NAMES = ["id", "label", "who", "part", "site", "period"]


def long(path: Path) -> None:
    pl.DataFrame(ROWS, NAMES, orient="row").write_csv(path)


def long_parquet(path: Path) -> None:
    frame = pl.DataFrame(ROWS, NAMES, orient="row")
    frame.with_columns(pl.col("period").cast(pl.Int32)).write_parquet(path)


def lists(path: Path) -> None:
    frame = pl.DataFrame(ROWS, NAMES, orient="row").group_by("id", maintain_order=True)
    first = pl.col("who", "part", "site", "period").first()
    frame.agg(pl.col("label").alias("labels"), first).write_parquet(path)


def wide(path: Path) -> None:
    path.write_text(
        "id,who,part,site,period,cow,dog\n1,p,train,north,2019,1,1\n2,,test,,2020,1,0\n"
    )


def jsonl(path: Path) -> None:
    lines = [
        {"id": 1, "labels": ["cow", "dog"], "who": "p", "part": "train", "site": "north"},
        {"id": 2, "labels": ["cow"], "part": "test", "site": None, "period": 2020},
    ]
    lines[0]["period"] = 2019
    path.write_text("\n".join(json.dumps(line) for line in lines))


def caml(path: Path) -> None:
    path.write_text(
        "HADM_ID,LABELS,who,part,site,period,TEXT\n"
        "1,cow;dog,p,train,north,2019,a note\n2,cow,,test,,2020,a note\n"
    )


FORMATS = {
    "l.csv": long,
    "l.parquet": long_parquet,
    "lists.parquet": lists,
    "w.csv": wide,
    "l.jsonl": jsonl,
    "caml.csv": caml,
}


OTHERS = {"w.csv": {"flags": True, "label": ["cow", "dog"]}, "caml.csv": {"id": "hadm_id"}}
OTHERS["caml.csv"] |= {"sep": ";"}


@pytest.mark.parametrize("name", FORMATS)
def test_strata_follow_the_split_under_the_names_given(
    name: str, tmp_path: Path, toy_hierarchy: Hierarchy
) -> None:
    path = tmp_path / name
    FORMATS[name](path)
    found = load_labels(path, toy_hierarchy, **(STRATA | OTHERS.get(name, {})))

    assert found.instances.columns == [*INSTANCES, "site", "Period"]
    assert set(found.instances.dtypes) == {pl.String}
    assert found.instances.rows() == EXPECTED
    assert found.places.is_empty()


def test_a_stratum_that_does_not_exist_is_told_with_what_there_is(
    tmp_path: Path, toy_hierarchy: Hierarchy
) -> None:
    long(tmp_path / "l.csv")
    with pytest.raises(
        SchemaError,
        match=r"'ward' is required(.|\n)*site(.|\n)*drift, .*code_dates and person",
    ):
        load_labels(tmp_path / "l.csv", toy_hierarchy, strata=["ward"])


@pytest.mark.parametrize("strata", [("site", "site"), ("group",), ("instance",), ("a", "split")])
def test_a_stratum_has_a_name_of_its_own(strata: tuple[str, ...], toy_hierarchy: Hierarchy) -> None:
    with pytest.raises(SchemaError, match=strata[-1]):
        load_labels({"id": ["1"], "label": ["cow"]}, toy_hierarchy, strata=strata)


def test_a_stratum_may_bear_the_name_of_any_other_role(
    tmp_path: Path, toy_hierarchy: Hierarchy
) -> None:
    path = written(tmp_path / "l.csv", "id,label,position,table,refused\n1,cow,third,round,no\n")
    found = load_labels(path, toy_hierarchy, strata=("position", "table", "refused"))

    assert found.instances.row(0)[3:] == ("third", "round", "no")
    assert found.ledger.rows_mapped == 1


def test_records_of_one_instance_are_places_with_their_labels(
    tmp_path: Path, toy_hierarchy: Hierarchy
) -> None:
    path = tmp_path / "l.jsonl"
    lines = [("b", ["cow", "dog"]), ("a", ["cow"]), ("b", ["dog", "cow"]), ("b", None), ("c", [])]
    path.write_text("\n".join(json.dumps({"id": i, "labels": own}) for i, own in lines))
    found = load_labels(path, toy_hierarchy)

    twice = (1, None, ["cow", "dog"])
    assert found.places.rows() == [(1, None, []), twice, twice]


def mimic(folder: Path, admissions: str, patients: str = "") -> Path:
    folder.mkdir()
    (folder / "DIAGNOSES_ICD.csv").write_text(
        "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n1,7,70,1,4019\n2,7,70,2,4280\n3,8,80,1,4019\n"
    )
    (folder / "PROCEDURES_ICD.csv").write_text(
        "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n1,8,80,1,3615\n2,9,90,1,3615\n"
    )
    (folder / "ADMISSIONS.csv.gz").write_bytes(gzip.compress(admissions.encode()))
    if patients:
        (folder / "PATIENTS.csv").write_text(patients)
    return folder


ADMISSIONS = "SUBJECT_ID,HADM_ID,ADMISSION_TYPE\n7,70,NEWBORN\n8,80,URGENT\n5,50,ELECTIVE\n"
PATIENTS = "SUBJECT_ID,GENDER\n7,F\n8,M\n"


def test_mimic_has_strata_beside_its_codes(tmp_path: Path) -> None:
    folder = mimic(tmp_path / "iii", ADMISSIONS, PATIENTS)
    found = load_labels(folder, "icd9cm", strata=("admission_type", "gender"))

    assert found.instances.rows() == [
        ("70", "7", None, "NEWBORN", "F"),
        ("80", "8", None, "URGENT", "M"),
        ("90", "9", None, None, None),
    ]
    assert found.ledger.rows_read == 5
    assert {source.name for source in found.sources} == {
        "DIAGNOSES_ICD.csv", "PROCEDURES_ICD.csv", "ADMISSIONS.csv.gz", "PATIENTS.csv",
    }  # fmt: skip


def test_mimic_tells_where_it_looked_for_a_stratum(tmp_path: Path) -> None:
    folder = mimic(tmp_path / "iii", ADMISSIONS)

    with pytest.raises(SchemaError, match=r"'gender' is required(.|\n)*ADMISSIONS.csv.gz"):
        load_labels(folder, "icd9cm", strata=("gender",))


def test_an_admission_of_two_types_has_both(tmp_path: Path) -> None:
    folder = mimic(tmp_path / "iii", ADMISSIONS + "7,70,URGENT\n")
    found = load_labels(folder, "icd9cm", strata=("admission_type",))

    assert found.instances["admission_type"].to_list() == ["NEWBORN or URGENT", "URGENT", None]


def test_a_stratum_of_one_table_of_codes_holds_for_the_admission(tmp_path: Path) -> None:
    folder = mimic(tmp_path / "iii", ADMISSIONS)
    (folder / "PROCEDURES_ICD.csv").write_text("HADM_ID,ICD9_CODE,WARD\n80,3615,a\n90,3615,b\n")
    found = load_labels(folder, "icd9cm", strata=("ward",))

    assert found.instances["ward"].to_list() == [None, "a", "b"]


def test_load_labels_keeps_strata_in_the_dataset(tmp_path: Path, toy_hierarchy: Hierarchy) -> None:
    long(tmp_path / "l.csv")
    dataset = load_labels(
        tmp_path / "l.csv", toy_hierarchy, group="who", split="part", strata=["site", "period"]
    )

    assert dataset.strata == ("site", "period")
    assert dataset.instances.rows() == EXPECTED


def test_a_frame_may_have_strata(toy_hierarchy: Hierarchy) -> None:
    rows = pl.DataFrame(
        ROWS, ["instance", "label", "group", "split", "site", "period"], orient="row"
    )
    dataset = LabelDataset.from_rows(rows, toy_hierarchy, strata=["site"])

    assert dataset.instances.columns == ["instance", "group", "split", "site"]
    assert LabelDataset.from_rows(rows, toy_hierarchy).strata == ()


def test_splits_hold_every_split_of_each_instance(toy_hierarchy: Hierarchy) -> None:
    rows = pl.DataFrame(
        [("b", "cow", "train"), ("b", "cow", "test"), ("a", "dog", "train"), ("c", "dog", None)],
        ["instance", "label", "split"],
        orient="row",
    )
    dataset = LabelDataset.from_rows(rows, toy_hierarchy)

    assert dataset.splits.rows() == [(0, "train"), (1, "test"), (1, "train")]
    assert dataset.places.rows() == [(1, "test", ["cow"]), (1, "train", ["cow"])]
    assert dataset.instances["split"].to_list() == ["train", "test", None]
