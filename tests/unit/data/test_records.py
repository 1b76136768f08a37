"""Rows by role: from tables and JSON lines alike, and what is left out of them by reason."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import InputError, SchemaError
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.records import records, sound_records, tidy

ROLES = {"id": ("id", "key"), "said": ("answer", "text"), "by": ("model",)}


def written(folder: Path, name: str, text: str) -> Table:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return open_table(path)


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


def test_lists_are_no_column_of_text(tmp_path: Path) -> None:
    source = written(tmp_path, "rows.jsonl", '{"a": 1.50, "c": [1]}\n{"a": null, "c": []}\n')
    assert records(source, {"a": ("a",)}).frame["a"].to_list() == ["1.50", None]
    with pytest.raises(SchemaError, match="'c' must hold plain values"):
        records(source, {"c": ("c",)})


def test_rows_are_left_out_and_counted_by_reason() -> None:
    rows = pl.DataFrame({"x": [1, 2, 3, 4], "refused": ["late", None, "early", "late"]})
    found = sound_records(rows, ("early", "never", "late"), [Path("a")])
    assert found.frame.to_dict(as_series=False) == {"x": [2]}
    assert list(found.ledger.items()) == [("early", 1), ("late", 2)]
    assert (found.rows_read, found.sources) == (4, (Path("a"),))


def test_whole_floats_are_written_as_integers_where_they_are_ones() -> None:
    frame = pl.DataFrame({"id": [1.0, 2.5, 1e300, float("inf"), float("nan"), -3.0]})
    texts = tidy(frame, "none.csv")["id"].to_list()
    assert texts == ["1", "2.5", "1e+300", "inf", None, "-3"]
