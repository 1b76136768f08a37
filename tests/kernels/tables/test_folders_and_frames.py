"""Which files are one table, and what data in memory are: a run shows the sums of both alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from audit.base.errors import InputError
from audit.base.tables import open_table, open_tables


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        place = tmp_path / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_name(f"{place.name}.csv").write_text(text)
    for name in ("README.md", "LICENSE.txt", "_SUCCESS", ".part.csv.crc", "picture.png"):
        (tmp_path / name).write_text("x")
    return tmp_path


def test_parts_with_equal_columns_are_one_table_in_order(tmp_path: Path) -> None:
    table = open_table(folder(tmp_path, part_1="a,b\n1,x\n", part_2="a,b\n2,y\n3,z\n"))

    assert table.frame().rows() == [("1", "x"), ("2", "y"), ("3", "z")]
    assert [one.height for one in table.frames(["b"], at_once=1)] == [1, 1, 1]
    assert [file.name for file in table.files] == ["part_1.csv", "part_2.csv"]
    assert not table.split_files


@pytest.mark.parametrize(
    "names", [("train", "dev"), ("train_full", "dev_full"), ("x-Train", "x-dev"),
              ("data__train-00000-of-00002", "data__dev-00000-of-00001"), ("train__0", "dev__0")]
)  # fmt: skip
def test_files_of_splits_are_one_table_with_a_column_split(
    names: tuple[str, str], tmp_path: Path
) -> None:
    train, dev = names
    table = open_table(folder(tmp_path, **{train: "a,b\n1,x\n", dev: "a,b\n2,y\n"}))

    assert sorted(table.frame().rows()) == [("1", "x", "train"), ("2", "y", "dev")]
    assert table.frame(["split", "a"]).columns == ["split", "a"]
    assert table.split_files


def test_a_column_split_stays_as_it_is_written(tmp_path: Path) -> None:
    table = open_table(folder(tmp_path, train="a,Split\n1,x\n", test="a,Split\n2,y\n"))
    assert table.frame().rows() == [("2", "y"), ("1", "x")]
    assert not table.split_files


def test_files_of_other_columns_or_sets_are_tables_of_their_own(tmp_path: Path) -> None:
    columns = "HADM_ID,ICD9_CODE\n1,4019\n"
    names = dict.fromkeys(("DIAGNOSES_ICD", "PROCEDURES_ICD"), columns)
    tables = open_tables(folder(tmp_path, **names, PATIENTS="ID,SEX\n1,f\n"))

    assert [Path(one.name).stem for one in tables] == [
        "DIAGNOSES_ICD",
        "PATIENTS",
        "PROCEDURES_ICD",
    ]
    full = dict.fromkeys(("train_50", "test_50", "train_full", "test_full"), "a,b\n1,2\n")
    (tmp_path / "other").mkdir()
    assert [one.frame().height for one in open_tables(folder(tmp_path / "other", **full))] == [2, 2]


def test_parts_of_other_types_are_read_as_the_first_or_told(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1], "b": ["x"]}).write_parquet(tmp_path / "0.parquet")
    pl.DataFrame({"a": [None], "b": ["y"]}).write_parquet(tmp_path / "1.parquet")
    assert open_table(tmp_path).frame().rows() == [(1, "x"), (None, "y")]
    pl.DataFrame({"a": ["?"], "b": ["y"]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet"):
        open_table(tmp_path).frame()


def test_a_folder_without_tables_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder of tables"):
        open_table(folder(tmp_path))


def test_a_dataset_saved_to_disk_is_read_with_its_splits_and_classes(tmp_path: Path) -> None:
    told = b'{"info": {"features": {"label": {"names": ["dog", "cat"], "_type": "ClassLabel"}}}}'
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "state.json").write_text("{}")
        (tmp_path / split / "dataset_info.json").write_text("{}")
        table = pa.table({"label": [0, 1]}).replace_schema_metadata({b"huggingface": told})
        with pa.ipc.new_stream(tmp_path / split / "data-00000-of-00001.arrow", table.schema) as out:
            out.write_table(table)

    table = open_table(tmp_path)

    assert table.frame().height == 4
    assert table.split_files
    assert table.class_names == {"label": ("dog", "cat")}


ROWS = [("7", "a"), ("8", None)]


@pytest.mark.parametrize(
    "data",
    [
        {"id": ["7", "8"], "label": ["a", None]},
        pl.DataFrame(ROWS, ["id", "label"], orient="row"),
        pl.LazyFrame(ROWS, ["id", "label"], orient="row"),
        pa.table({"id": ["7", "8"], "label": ["a", None]}),
    ],
)
def test_frames_of_any_library_are_one_table_with_one_digest(data: Any) -> None:
    table = open_table(data)
    assert table.frame().rows() == ROWS
    assert table.digest == open_table(pl.DataFrame(ROWS, ["id", "label"], orient="row")).digest
    assert table.digest != open_table({"id": ["7", "8"], "label": ["a", ""]}).digest
    parts = pl.concat([pl.DataFrame([row], ["id", "label"], orient="row") for row in ROWS])
    assert open_table(parts).digest == table.digest


def test_lists_series_and_arrays_are_instances_in_order() -> None:
    pandas = pytest.importorskip("pandas")
    assert open_table(["a", None]).frame().rows() == [("0", "a"), ("1", None)]
    assert open_table([["a", "b"], "c", None]).frame().rows() == [
        ("0", ["a", "b"]), ("1", ["c"]), ("2", None)
    ]  # fmt: skip
    assert open_table(np.array(["a", "b"])).frame().rows() == [("a",), ("b",)]
    assert open_table(pandas.Series(["a", "b"], index=[5, 6])).frame().rows() == [
        ("5", "a"), ("6", "b")
    ]  # fmt: skip
    frame = pandas.DataFrame({"label": ["a"]}, index=pandas.Index(["x"], name="visit"))
    assert open_table(frame).frame().to_dicts() == [{"visit": "x", "label": "a"}]
    with pytest.raises(InputError, match="one that repeats"):
        open_table(pandas.Series(["a", "b"], index=["x", "x"]))


@pytest.mark.parametrize(
    "data", [7, {"a": [1, 2], "b": [1]}, np.zeros((1, 1, 1)), {"a": [object()]}]
)
def test_what_is_no_table_is_told(data: Any) -> None:
    with pytest.raises(InputError):
        open_table(data)
