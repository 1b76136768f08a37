"""Which columns that nobody named every label format hands on: those that part the instances."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.data.formats import FORMATS, read_labels
from audit.data.label_format import Columns

Values = Mapping[str, list[str | None]]
"""A value of each instance, by column."""

N = 60
IDS = [str(1000 + n) for n in range(N)]
DAYS = ["2019-03-01", "2019-03-02 10:00:00"]


def every(*values: str | None) -> list[str | None]:
    """A value of each instance, one after another."""
    return list(islice(cycle(values), N))


PARTING: Values = {
    "Site": every("north", "south", None),
    "grade": every(*(str(n) for n in range(20))),
    "male": every("0", "1"),
}
OTHERS: Values = {
    "row_id": [f"r{n}" for n in range(N)],
    "day": every(*DAYS),
    "born": every("01/02/1990", "3/4/1990"),
    "coded": every("20190301", "20190302"),
    "one": every("same"),
    "none": every(None),
    "text": [f"a note on {n}" for n in range(N)],
    "many": every(*(str(n) for n in range(21))),
}


OF_GROUPS: Values = {"stay": [str(n // 2) for n in range(N)]}
"""A column that may be one of groups, which tables hand on where no group is named."""


def frame(values: Values) -> pl.DataFrame:
    return pl.DataFrame(values, schema=dict.fromkeys(values, pl.String))


def rows(values: Values, instance: str, label: str) -> pl.DataFrame:
    """Two labels an instance; a column ``place`` has another value on each row of an instance."""
    once = pl.concat([pl.DataFrame({instance: IDS}), frame(values)], how="horizontal")
    labels = pl.DataFrame({label: ["4019", "4280"], "place": ["a", "b"]})
    return once.join(labels, how="cross")


def long(path: Path, values: Values) -> Path:
    rows(values, "id", "label").write_csv(path / "long.csv")
    return path / "long.csv"


def long_parquet(path: Path, values: Values) -> Path:
    table = rows(values, "id", "label").with_columns(
        blob=pl.lit(b"x"), on=pl.date(2019, 3, 1 + pl.int_range(pl.len()) % 2)
    )
    table.write_parquet(path / "long.parquet")
    return path / "long.parquet"


def lists(path: Path, values: Values) -> Path:
    table = rows(values, "id", "label").group_by("id", *values, maintain_order=True)
    table.agg(pl.col("label").alias("labels")).write_parquet(path / "lists.parquet")
    return path / "lists.parquet"


def jsonl(path: Path, values: Values) -> Path:
    lines = [
        {"id": int(instance), "labels": ["4019"], "flag": n % 2 == 0, "deep": {"a": 1}, "\ud800": n}
        | {name: given[n] for name, given in values.items() if given[n] is not None}
        | {"half": ["\ud800", "x"][n % 2]}
        for n, instance in enumerate(IDS)
    ]
    (path / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return path / "lines.jsonl"


def mimic3_table(path: Path, values: Values) -> Path:
    table = rows(values, "HADM_ID", "ICD9_CODE")
    subjects = table.with_columns(SUBJECT_ID=pl.col("HADM_ID"), SEQ_NUM=pl.lit("1"))
    subjects.write_csv(path / "DIAGNOSES_ICD.csv")
    return path / "DIAGNOSES_ICD.csv"


def codes(path: Path) -> None:
    table = rows({}, "HADM_ID", "ICD9_CODE").drop("place")
    table.with_columns(SUBJECT_ID=pl.col("HADM_ID") + "9").write_csv(path / "DIAGNOSES_ICD.csv")


def mimic3_admissions(path: Path, values: Values) -> Path:
    codes(path)
    rows(values, "HADM_ID", "TYPE").write_csv(path / "ADMISSIONS.csv")
    return path


def mimic3_patients(path: Path, values: Values) -> Path:
    codes(path)
    patients = rows(values, "SUBJECT_ID", "TYPE")
    patients.with_columns(pl.col("SUBJECT_ID") + "9").write_parquet(path / "patients.parquet")
    return path


def mimic4(path: Path, values: Values) -> Path:
    table = rows({}, "hadm_id", "icd_code").with_columns(icd_version=pl.lit("9"))
    table.drop("place").write_csv(path / "diagnoses_icd.csv")
    rows(values, "hadm_id", "TYPE").write_csv(path / "admissions.csv.gz", compression="gzip")
    return path


def caml(path: Path, values: Values) -> Path:
    table = pl.DataFrame({"HADM_ID": IDS, "LABELS": "4019;4280"}).hstack(frame(values))
    table.write_csv(path / "caml.csv")
    return path / "caml.csv"


def joined(path: Path, values: Values) -> Path:
    table = pl.DataFrame({"id": IDS, "codes": "4019;4280"}).hstack(frame(values))
    table.write_csv(path / "joined.csv")
    return path / "joined.csv"


def several(path: Path, values: Values) -> Path:
    table = pl.DataFrame({"id": IDS, "DX1": "4019", "DX2": "4280"}).hstack(frame(values))
    table.write_csv(path / "several.csv")
    return path / "several.csv"


def wide(path: Path, _: Values) -> Path:
    flags = pl.DataFrame({"id": IDS, "4019": every("0", "1"), "male": every("1", "0")})
    flags.write_csv(path / "wide.csv")
    return path / "wide.csv"


def grouped(path: Path, _: Values) -> Path:
    (path / "association").write_text("".join(f"{i}\t4019;4280\n" for i in IDS))
    return path / "association"


def psv(path: Path, _: Values) -> Path:
    (path / "a.psv").write_text("".join(f"{i}|4019|4280\n" for i in IDS))
    return path / "a.psv"


def npy(path: Path, _: Values) -> Path:
    import numpy as np

    np.save(path / "a.npy", np.array([[0, 1], [1, 0]]))
    (path / "classes.txt").write_text("4019\n4280\n")
    return path / "a.npy"


Writer = Callable[[Path, Values], Path]
HANDED_ON: tuple[Writer, ...] = (
    long, long_parquet, lists, joined, several, jsonl, mimic3_table, mimic3_admissions,
    mimic3_patients, mimic4,
)  # fmt: skip
TABLES = (long, long_parquet, lists, joined, several)
WITHOUT: tuple[Writer, ...] = (caml, wide, grouped, psv, npy)
"""Formats whose other columns are nodes, or text, or that have none."""


OF_A_STANDARD = {
    *("gaf", "gpad", "gpad2", "hpoa", "openimages", "fsd50k", "fhir", "meds", "omop"),
}
"""Formats whose columns a standard states; what they hand on is looked at with their readers."""


def read(path: Path, columns: Columns = Columns()) -> pl.DataFrame:  # noqa: B008
    beside = path.parent / "classes.txt"
    if beside.exists():
        columns = Columns(classes=beside)
    return read_labels(path, columns).unnamed


def test_every_format_stands_here() -> None:
    written = {writer.__name__.split("_")[0] for writer in (*HANDED_ON, *WITHOUT)}

    assert written - {"lists"} == {known.name for known in FORMATS} - OF_A_STANDARD, (
        "write a file of each format here; it stands in WITHOUT where it has no further columns"
    )


@pytest.mark.parametrize("writer", HANDED_ON, ids=lambda writer: writer.__name__)
def test_columns_that_part_the_instances_are_handed_on(writer: Writer, tmp_path: Path) -> None:
    found = read(writer(tmp_path, {**OTHERS, **PARTING}))

    assert sorted(found.columns[1:]) == sorted(PARTING)
    assert found.sort("instance").select("instance", *PARTING).rows() == list(
        zip(IDS, *PARTING.values(), strict=True)
    )


@pytest.mark.parametrize("writer", HANDED_ON, ids=lambda writer: writer.__name__)
@pytest.mark.parametrize("name", OTHERS)
def test_ids_days_and_text_never_are(writer: Writer, name: str, tmp_path: Path) -> None:
    assert read(writer(tmp_path, {name: OTHERS[name]})).columns == ["instance"]


@pytest.mark.parametrize("writer", HANDED_ON, ids=lambda writer: writer.__name__)
def test_what_may_be_a_group_is_handed_on_where_none_is_named(
    writer: Writer, tmp_path: Path
) -> None:
    path = writer(tmp_path, {**OF_GROUPS, **PARTING})

    assert ("stay" in read(path).columns) is (writer in (*TABLES, jsonl))
    if writer in (*TABLES, jsonl):
        assert "stay" not in read(path, Columns(group="Site")).columns


@pytest.mark.parametrize("writer", HANDED_ON, ids=lambda writer: writer.__name__)
def test_a_stratum_that_is_named_is_not(writer: Writer, tmp_path: Path) -> None:
    found = read(writer(tmp_path, PARTING), Columns(strata=("site",)))

    assert sorted(found.columns[1:]) == ["grade", "male"]


@pytest.mark.parametrize("writer", [long, long_parquet, lists, jsonl, mimic3_table])
@pytest.mark.parametrize("named", [Columns(split="Site"), Columns(group="Site")])
def test_the_group_and_the_split_are_not(writer: Writer, named: Columns, tmp_path: Path) -> None:
    assert sorted(read(writer(tmp_path, PARTING), named).columns[1:]) == ["grade", "male"]


@pytest.mark.parametrize("writer", WITHOUT, ids=lambda writer: writer.__name__)
def test_other_formats_hand_on_none(writer: Writer, tmp_path: Path) -> None:
    assert read(writer(tmp_path, PARTING)).columns == ["instance"]


_VALUE = st.sampled_from(["a", "b", "c", "2019-03-01", "1.2.2019", "  ", None])
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d+\.\d+\.\d{4}")


def is_parting(by_instance: list[list[str | None]]) -> bool:
    """The rule in plain Python, from the values on the rows of each instance."""
    own = [{value for value in values if value and value.strip()} for values in by_instance]
    values = set().union(*own)
    shared = sum(map(len, own)) >= 2 * len(values)
    days = all(_DAY.fullmatch(value) for value in values)
    return all(len(one) < 2 for one in own) and 1 < len(values) <= 20 and shared and not days


@given(st.lists(st.lists(_VALUE, min_size=1, max_size=2), min_size=1, max_size=7))
def test_the_rule_is_the_one_written(
    tmp_path_factory: pytest.TempPathFactory, by_instance: list[list[str | None]]
) -> None:
    path = tmp_path_factory.mktemp("law") / "long.parquet"
    lines = [(f"i{n}", "x", value) for n, values in enumerate(by_instance) for value in values]
    pl.DataFrame(lines, ["id", "label", "site"], orient="row").with_columns(
        pl.col("site").cast(pl.String)
    ).write_parquet(path)

    assert ("site" in read(path).columns) is is_parting(by_instance)


def test_files_beside_the_codes_that_were_looked_at_are_sources(tmp_path: Path) -> None:
    mimic3_admissions(tmp_path, PARTING)
    (tmp_path / "PATIENTS.csv").write_text("row_id,gender\n1,F\n")
    raw = read_labels(tmp_path, Columns())

    assert [source.name for source in raw.sources] == ["DIAGNOSES_ICD.csv", "ADMISSIONS.csv"]


def test_of_columns_of_one_name_the_first_table_s_is_taken(tmp_path: Path) -> None:
    mimic3_admissions(tmp_path, {"site": every("a", "b")})
    mimic3_patients(tmp_path, {"SITE": every("c", "d"), "Gender": every("F", "M")})
    found = read_labels(tmp_path, Columns()).unnamed

    assert sorted(found.columns) == ["Gender", "instance", "site"]
    assert set(found["site"]) == {"a", "b"}
