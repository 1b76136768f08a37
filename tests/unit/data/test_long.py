"""Long tables: one row an assertion, or a list an instance."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns
from fixtures.written import written


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("l.csv", b"instance,label\n007,0380\n007, 4019 \n"),
        ("l.csv", b"\xef\xbb\xbfLabel,Instance\r\n0380,007\r\n4019,007\r\n"),
        ("l.tsv", b"instance\tlabel\n007\t0380\n007\t4019\n"),
        ("l.csv.gz", gzip.compress(b"id,label\n007,0380\n007,4019\n", mtime=0)),
        ("l.csv", b"stay,label\n007,0380\n007,4019\n"),
    ],
)
def test_values_are_text_whatever_the_file(tmp_path: Path, name: str, content: bytes) -> None:
    path = written(tmp_path / name, content)
    raw = read_labels(path, Columns())
    assert raw.format == "long"
    assert raw.rows.select("instance", "label").rows() == [("007", "0380"), ("007", "4019")]
    assert raw.instances.rows() == [("007", None, None)]


def test_parquet_numbers_are_written_as_integers(tmp_path: Path) -> None:
    path = tmp_path / "l.parquet"
    pl.DataFrame({"id": [100001.0, float("nan")], "label": [3, 4]}).write_parquet(path)
    raw = read_labels(path, Columns())
    assert raw.rows.select("instance", "label", "refused").rows() == [
        ("100001", "3", None),
        (None, "4", "bad_row"),
    ]
    assert raw.instances["instance"].to_list() == ["100001"]


@pytest.mark.parametrize("dtype", [pl.List(pl.Float64), pl.List(pl.Int8), pl.List(pl.String)])
def test_lists_of_labels(tmp_path: Path, dtype: pl.DataType) -> None:
    path = tmp_path / "l.parquet"
    labels = pl.Series("labels", [[1, 2, None], [], None], strict=False).cast(dtype)
    pl.DataFrame([pl.Series("instance", ["a", "b", "c"]), labels]).write_parquet(path)
    raw = read_labels(path, Columns())
    assert raw.format == "long"
    assert raw.rows["label"].to_list() == ["1", "2", None]
    assert raw.instances["instance"].to_list() == ["a", "b", "c"]


def test_named_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "l.csv", "stay,site,code,fold\n1,A,x,train\n1,A,y,train\n2,,z,test\n")
    raw = read_labels(path, Columns("Stay", "code", "site", "fold"), "long")
    assert raw.rows["label"].to_list() == ["x", "y", "z"]
    assert raw.instances.rows() == [("1", "A", "train"), ("2", None, "test")]


@pytest.mark.parametrize(
    ("header", "columns", "message"),
    [
        ("id,instance,label", Columns(), r"candidates 'id', 'instance'\nHint: .*--id"),
        ("stay,site,label", Columns(), r"candidates 'stay', 'site'\nHint: .*--id"),
        ("stay,code,label", Columns(id="nope"), r"'nope' is required\nFound: .*'stay', 'code'"),
        ("stay,code,label", Columns(label="nope"), r"'nope' is required\nFound: .*'stay', 'code'"),
        ("stay,code,label", Columns(group="nope"), r"'nope' is required"),
        ("label,LABEL,id", Columns(), r"candidates 'label', 'LABEL'\nHint: .*--label"),
    ],
)
def test_the_columns_must_be_told_apart(
    tmp_path: Path, header: str, columns: Columns, message: str
) -> None:
    path = written(tmp_path / "l.csv", f"{header}\n1,2,3\n")
    with pytest.raises(SchemaError, match=message):
        read_labels(path, columns)


def test_the_exact_name_goes_before_another_case(tmp_path: Path) -> None:
    path = written(tmp_path / "l.csv", "stay,STAY,label\n1,2,x\n")
    assert read_labels(path, Columns(id="STAY")).rows["instance"].to_list() == ["2"]


@pytest.mark.parametrize(
    ("role", "columns", "hint"),
    [
        ("group", Columns(group="place"), "with --group"),
        ("place", Columns(strata=("place",)), "leave 'place' out of the policy"),
    ],
)
def test_an_instance_in_two_places_is_refused(
    tmp_path: Path, role: str, columns: Columns, hint: str
) -> None:
    path = written(tmp_path / "l.csv", "id,label,place\n1,x,a\n1,y,b\n2,x,a\n2,y,a\n")
    with pytest.raises(
        SchemaError, match=f"in one {role}\nFound: in several: '1 in a, b'\n"
    ) as told:
        read_labels(path, columns)
    assert hint in told.value.hint


def test_an_instance_in_two_splits_is_kept_with_both(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("id,label,part\n1,y,test\n1,x,train\n1,,test\n2,x,test\n2,y,\n1,y,train\n")
    raw = read_labels(path, Columns(split="part"))
    assert raw.instances.rows() == [("1", None, "test"), ("2", None, "test")]
    assert raw.places.rows() == [("1", "test", ["y"]), ("1", "train", ["x", "y"])]


@pytest.mark.parametrize("value", [{"a": 1}, [["x"]], [b"x"]])
def test_values_that_are_not_plain_are_refused(tmp_path: Path, value: object) -> None:
    path = tmp_path / "l.parquet"
    pl.DataFrame({"id": ["1"], "label": [value]}).write_parquet(path)
    with pytest.raises(SchemaError, match="'label' must hold plain values"):
        read_labels(path, Columns())


def test_places_of_an_instance_are_told_in_their_order(tmp_path: Path) -> None:
    path, places = tmp_path / "l.csv", "hcafbgde"
    path.write_text("id,label,place\n" + "".join(f"1,x,{place}\n" for place in places * 2))
    with pytest.raises(SchemaError, match="in one group") as told:
        read_labels(path, Columns(group="place"))
    assert told.value.found == f"in several: '1 in {', '.join(places)}'"
