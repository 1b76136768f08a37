"""Wide tables: a column of 0 and 1 a node."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import FormatError, SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w.csv", "stay,0380,4019,V30\n007,1,0,1\n008,,0,\n009,0,1,0\n"),
        ("w.csv", "\ufeffID,0380,4019,V30\r\n007,true,FALSE,True\r\n008,,,\r\n009,0, 1 ,0\r\n"),
        ("w.tsv", "stay\t0380\t4019\tV30\n007\t1\t0\t1\n008\t\t0\t\n009\t0\t1\t0\n"),
    ],
)
def test_flags(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    raw = read_labels(path, Columns())
    assert raw.format == "wide"
    assert raw.rows.select("instance", "label").rows() == [
        ("007", "0380"),
        ("007", "V30"),
        ("009", "4019"),
    ]
    assert raw.instances["instance"].to_list() == ["007", "008", "009"]


def test_one_node_behind_a_tab(tmp_path: Path) -> None:
    path = tmp_path / "w.tsv"
    path.write_text("stay\ta\n1\t1\n2\t0\n")
    assert read_labels(path, Columns()).rows["label"].to_list() == ["a"]


def test_a_quote_in_the_name_of_a_node(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text('id,"5"" scale, wet",b\n1,1,0\n')
    assert read_labels(path, Columns()).rows["label"].to_list() == ['5" scale, wet']


@pytest.mark.parametrize("dtype", [pl.Boolean, pl.Int8, pl.Float64])
def test_parquet_flags(tmp_path: Path, dtype: type[pl.DataType]) -> None:
    path = tmp_path / "w.parquet"
    frame = pl.DataFrame({"stay": [3, 4], "a": [1, 0], "b": [None, 1]})
    frame.with_columns(pl.col("a", "b").cast(dtype)).write_parquet(path)
    raw = read_labels(path, Columns())
    assert raw.format == "wide"
    assert raw.rows.select("instance", "label").rows() == [("3", "a"), ("4", "b")]


def test_group_and_split_are_no_nodes(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("a,site,id,b,fold\n1,0,x,1,1\n0,1,y,0,0\n")
    raw = read_labels(path, Columns(group="site", split="fold"))
    assert raw.rows["label"].to_list() == ["a", "b"]
    assert raw.instances.rows() == [("x", "0", "1"), ("y", "1", "0")]


def test_an_instance_on_two_rows_carries_both(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("id,a,b\n1,1,0\n1,1,1\n,1,0\n")
    raw = read_labels(path, Columns())
    assert raw.rows.select("instance", "label", "refused").rows() == [
        ("1", "a", None),
        ("1", "a", None),
        ("1", "b", None),
        (None, "a", "bad_row"),
    ]
    assert raw.instances.height == 1


@pytest.mark.parametrize("value", ["2", "yes", "0.5", "-1"])
def test_another_value_is_told_with_line_and_column(tmp_path: Path, value: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(f'id,a,b\n"x\ny",0,1\nz,0,{value}\n')
    with pytest.raises(SchemaError, match=f"column 'b' must hold 0, 1.*\nFound: '{value}'") as told:
        read_labels(path, Columns())
    assert told.value.where == f"{path}:4"


@pytest.mark.parametrize("text", ["w" * 200_000, "one\rtwo"])
def test_another_text_is_told_with_its_line_whatever_it_holds(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(f"id,a,b,note\n1,0,1,\n2,1,0,{text}\n", newline="")
    with pytest.raises(SchemaError, match="column 'note' must hold 0, 1") as told:
        read_labels(path, Columns(), format="wide")
    assert told.value.where == f"{path}:3"


def test_another_value_in_parquet_is_told_with_its_column(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    pl.DataFrame({"id": ["x"], "a": [1], "b": [2]}).write_parquet(path)
    with pytest.raises(SchemaError, match=r"w.parquet: the column 'b' must hold 0, 1"):
        read_labels(path, Columns())


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id,a,a", "repeated: 'a'"),
        ("id,hadm_id,a", "candidates 'id', 'hadm_id'"),
    ],
)
def test_columns_must_be_told_apart(tmp_path: Path, header: str, message: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(f"{header}\n1,1,0\n")
    with pytest.raises(SchemaError, match=message):
        read_labels(path, Columns())


def test_a_table_without_nodes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("id,site\n1,A\n")
    with pytest.raises(SchemaError, match="a column of 0 and 1 for each node is required"):
        read_labels(path, Columns(group="site"), "wide")


def test_columns_of_lists_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    pl.DataFrame({"id": ["x"], "a": [[1]]}).write_parquet(path)
    with pytest.raises(SchemaError, match="'a' must hold plain values"):
        read_labels(path, Columns(), "wide")


def test_other_values_are_told_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    values = ["no", "2", "maybe", "2", "yes", "5", "no", "7"]
    path.write_text("id,a\n" + "".join(f"{row},{value}\n" for row, value in enumerate(values)))
    with pytest.raises(SchemaError, match="column 'a' must hold 0, 1") as caught:
        read_labels(path, Columns(), "wide")
    assert caught.value.found == "'no', '2', 'maybe', 'yes', '5' and 1 more"


def test_a_table_half_of_whose_values_are_flags_is_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("id,a,b\n1,1,x\n2,0,y\n")
    with pytest.raises(FormatError, match="none that matches"):
        read_labels(path, Columns())


def test_ids_that_are_fractions_are_refused() -> None:
    with pytest.raises(SchemaError, match="the ids in 'id' must be text or whole numbers"):
        read_labels(pl.DataFrame({"id": [1.0, 2.5], "a": [1, 0]}), Columns())


def test_a_column_without_a_name_is_named_as_messages_call_it(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text('"",pid,401.9,428.0\n5,a,0,0\n6,b,1,0\n')
    with pytest.raises(SchemaError, match="the column '' must hold 0, 1"):
        read_labels(path, Columns(id="pid"))
    for columns in (Columns(id="pid", group=""), Columns(id="", group="pid")):
        assert read_labels(path, columns).rows["label"].to_list() == ["401.9"]
