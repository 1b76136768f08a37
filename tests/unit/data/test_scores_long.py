"""Long tables of scores."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from audit.base.errors import SchemaError
from audit.data.formats import read_predictions
from audit.data.prediction_format import RawPredictions
from fixtures.prediction_files import cells_of
from fixtures.written import written


def read(tmp_path: Path, text: str) -> RawPredictions:
    path = written(tmp_path / "scores.csv", text)
    return read_predictions(path)


def test_what_is_not_listed_is_zero(tmp_path: Path) -> None:
    raw = read(tmp_path, "instance,node,score\nb,dog,0.5\na,cow,0.25\nb,cow,0\n")

    assert raw.instances == ("b", "a")
    assert raw.classes == ("dog", "cow")
    assert cells_of(raw) == {"b": {"dog": 0.5}, "a": {"cow": 0.25}}


def test_ids_and_nodes_keep_their_zeros(tmp_path: Path) -> None:
    raw = read(tmp_path, "HADM_ID\tNODE\tScore\n007\t0380\t1e-3\n")
    assert cells_of(raw) == {"007": {"0380": 0.001}}


def test_the_only_other_column_is_the_id(tmp_path: Path) -> None:
    assert read(tmp_path, "clip,node,score\n7,dog,1\n").instances == ("7",)


def test_several_candidates_for_the_id_are_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'clip', 'site'"):
        read(tmp_path, "clip,site,node,score\n7,a,dog,1\n")


def test_parquet_may_hold_any_numbers(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    frame = pl.DataFrame({"id": [7, 8], "node": ["dog", "cow"], "score": [1, 0]})
    frame.with_columns(pl.col("score").cast(pl.Float32)).write_parquet(path)
    assert cells_of(read_predictions(path)) == {"7": {"dog": 1.0}, "8": {}}


def test_what_is_no_number_is_told_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'high in row 2', 'low in row 3'"):
        read(tmp_path, "id,node,score\na,dog,1\na,cow,high\nb,cow,low\n")


def test_a_blank_is_told_with_its_row(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="column of the score\nFound: none in 'row 2'"):
        read(tmp_path, "id,node,score\na,dog,1\na,cow, \n")


def test_two_scores_for_a_node_are_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="several: 'dog of a'"):
        read(tmp_path, "id,node,score\na,dog,1\na,dog,1\n")


def test_a_column_of_flags_is_no_column_of_scores(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    pl.DataFrame({"id": ["a"], "node": ["dog"], "score": [True]}).write_parquet(path)
    with pytest.raises(SchemaError, match="must hold numbers\nFound: Boolean"):
        read_predictions(path)


def test_a_table_without_an_id_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="id of the instance\nFound: no candidate"):
        read(tmp_path, "node,score\ndog,1\n")
