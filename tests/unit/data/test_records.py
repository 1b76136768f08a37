"""Rows by role: from tables and JSON lines alike, and what is left out of them by reason."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import InputError, SchemaError
from audit.data.json_lines import frames, keys_of, objects
from audit.data.records import is_json, records, sound_records, table_of, tidy
from audit.data.sources import File

ROLES = {"id": ("id", "key"), "said": ("answer", "text"), "by": ("model",)}


def written(folder: Path, name: str, text: str) -> File:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return File(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "Text,KEY\n yes ,007\n,8\n"),
        ("rows.tsv", "Text\tKEY\n yes \t007\n\t8\n"),
        ("rows.jsonl", '{"Text": " yes ", "KEY": "007"}\n{"KEY": 8}\n'),
    ],
)
def test_columns_have_the_names_of_their_roles(name: str, text: str, tmp_path: Path) -> None:
    found = records(written(tmp_path, name, text), ROLES, required=("id",))
    assert found.frame.columns == ["id", "said"]
    assert found.frame.rows() == [("007", "yes"), ("8", None)]
    assert (found.rows_read, found.ledger) == (2, {})


def test_the_first_accepted_name_counts_unless_another_is_named(tmp_path: Path) -> None:
    source = written(tmp_path, "rows.csv", "key,id,text,answer\n1,2,3,4\n")
    assert records(source, ROLES).frame.row(0) == ("2", "4")
    assert records(source, ROLES, {"said": "TEXT"}).frame.row(0) == ("2", "3")


def test_what_is_missing_or_unknown_is_refused(tmp_path: Path) -> None:
    source = written(tmp_path, "rows.csv", "text\nyes\n")
    with pytest.raises(SchemaError, match="'id' is required") as caught:
        records(source, ROLES, required=("id",))
    assert caught.value.hint == "call the column that is meant 'id'"
    with pytest.raises(SchemaError, match="'x' is required"):
        records(source, ROLES, {"by": "x"})
    with pytest.raises(InputError, match="columns are named for id, said, by"):
        records(source, ROLES, {"other": "text"})
    with pytest.raises(InputError, match="a file with rows is required"):
        records(written(tmp_path, "empty.csv", "id,text\n"), ROLES)


def test_json_is_text_and_lists_are_no_column_of_text(tmp_path: Path) -> None:
    text = '{"a": 1.50, "b": true}\n\n{"a": null, "c": [1]}\n{"b": "x", "c": {"d": 1}}\n'
    source = written(tmp_path, "rows.jsonl", text)
    table = table_of(source)
    assert table["a"].to_list() == ["1.50", None, None]
    assert table["b"].to_list() == ["true", None, "x"]
    assert table["c"].to_list() == [[None], ['["1"]'], ['{"d": "1"}']]
    with pytest.raises(SchemaError, match="'c' must hold plain values"):
        records(source, {"c": ("c",)})


def test_lines_are_read_some_at_a_time(tmp_path: Path) -> None:
    source = written(tmp_path, "rows.jsonl", '{"a": 1}\n{"a": 2}\n{"b": 3}\n')
    lines = objects(source, streamed=True)
    read = list(frames(lines, lambda some: pl.DataFrame({"keys": [keys_of(some)]}), source, 2))
    assert [frame["keys"].to_list() for frame in read] == [[["a"]], [["b"]]]


def test_rows_are_left_out_and_counted_by_reason() -> None:
    rows = pl.DataFrame({"x": [1, 2, 3, 4], "refused": ["late", None, "early", "late"]})
    found = sound_records(rows, ("early", "never", "late"), [Path("a")])
    assert found.frame.to_dict(as_series=False) == {"x": [2]}
    assert list(found.ledger.items()) == [("early", 1), ("late", 2)]
    assert (found.rows_read, found.sources) == (4, (Path("a"),))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("rows.txt", '{"a": 1}\n', True),
        ("rows.json", "[1, 2]\n", True),
        ("rows.csv", "[1, 2]\n", False),
        ("rows.json", "a,b\n1,2\n", False),
    ],
)
def test_an_array_is_json_only_where_the_name_says_so(
    name: str, text: str, expected: bool, tmp_path: Path
) -> None:
    assert is_json(written(tmp_path, name, text)) is expected


def test_whole_floats_are_written_as_integers_where_they_are_ones() -> None:
    frame = pl.DataFrame({"id": [1.0, 2.5, 1e300, float("inf"), float("nan"), -3.0]})
    texts = tidy(frame, File(Path("none.csv")))["id"].to_list()
    assert texts == ["1", "2.5", "1e+300", "inf", None, "-3"]
