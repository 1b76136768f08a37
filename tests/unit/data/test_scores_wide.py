"""Wide tables of scores, and tables of answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import audit
from audit.base.errors import FormatError, SchemaError
from audit.data.formats import read_predictions
from audit.data.prediction_format import RawPredictions
from fixtures.prediction_files import cells_of
from fixtures.written import written

CELLS = {"7": {"dog": 0.25, "cow": 0.75}, "3": {"dog": 1.0}}


def read(tmp_path: Path, text: str) -> RawPredictions:
    path = written(tmp_path / "scores.csv", text)
    return read_predictions(path)


@pytest.mark.parametrize("name", ["id", "HADM_ID", "image"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_column_a_class_is_read(name: str, separator: str, tmp_path: Path) -> None:
    text = f"{name},dog,cow\n7,0.25,0.75\n3,1,0\n".replace(",", separator)
    raw = read(tmp_path, text)
    assert cells_of(raw) == CELLS
    assert not raw.set_valued


def test_ids_keep_their_zeros_and_may_be_words(tmp_path: Path) -> None:
    assert read(tmp_path, "id,dog\n007,0.5\n").instances == ("007",)
    assert read(tmp_path, "dog,clip,cow,hen\n0.5,x,0,0.5\n").instances == ("x",)


def test_without_ids_rows_are_numbered(tmp_path: Path) -> None:
    raw = read(tmp_path, "dog,cow\n0.25,0.75\n1.0,0.0\n")
    assert cells_of(raw) == {"0": CELLS["7"], "1": CELLS["3"]}
    assert read(tmp_path, "dog,cow\n0,1\n1,0\n").set_valued


def test_raw_outputs_are_no_ids(tmp_path: Path) -> None:
    assert read(tmp_path, "dog,cow\n-3,2\n4,1\n").classes == ("dog", "cow")


def test_a_number_that_is_none_is_told_with_its_column_and_row(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"'cow' must hold a number.*\nFound: 'high in row 2'"):
        read(tmp_path, "id,dog,cow\n7,0.25,0.75\n3,1,high\n5,0,1\n")


@pytest.mark.parametrize("kind", ["polars", "pandas", "index", "dictionary"])
def test_frames_of_scores_are_read(kind: str) -> None:
    frame = pl.DataFrame({"id": [7, 3], "dog": [0.25, 1.0], "cow": [0.75, 0.0]})
    data: object = frame
    if kind == "dictionary":
        data = frame.to_dict(as_series=False)
    elif kind != "polars":
        pytest.importorskip("pandas", reason="pandas is not installed")
        data = frame.to_pandas() if kind == "pandas" else frame.to_pandas().set_index("id")
    assert cells_of(read_predictions(data)) == CELLS


def test_classes_are_named_behind_what_most_columns_begin_with() -> None:
    frame = pl.DataFrame({"id": ["a"], "p_dog": [0.2], "p_cow": [0.3], "logit_dog": [0.9]})
    assert read_predictions(frame).classes == ("dog", "cow")


def test_a_frame_says_of_a_model_what_its_array_says() -> None:
    labels = {"id": ["0", "1"], "label": ["dog", "cow"]}
    dataset = audit.load_labels(labels, {"dog": "animal", "cow": "animal"})
    scores = np.array([[0.25, 0.75], [1.0, 0.0]])
    wide = audit.load_predictions(pl.DataFrame(scores, ["dog", "cow"]), dataset)
    array = audit.load_predictions(scores, dataset, classes=["dog", "cow"])
    assert (wide.scores != array.scores).nnz == 0
    assert (wide.single_label, wide.set_valued) == (array.single_label, array.set_valued)


@pytest.mark.parametrize("name", ["label", "prediction", "Predicted"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_one_answer_a_row_is_a_predicted_set(name: str, separator: str, tmp_path: Path) -> None:
    raw = read(tmp_path, f"image,{name}\n7,dog\n3,cow\n7,cow\n".replace(",", separator))
    assert cells_of(raw) == {"7": {"dog": 1.0, "cow": 1.0}, "3": {"cow": 1.0}}
    assert raw.set_valued


def test_joined_answers_are_split(tmp_path: Path) -> None:
    raw = read(tmp_path, "image,prediction\n7,401.9;250.00\n3,428.0\n")
    assert cells_of(raw) == {"7": {"401.9": 1.0, "250.00": 1.0}, "3": {"428.0": 1.0}}


def test_a_column_beside_answers_is_not_dropped_in_silence(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="none that matches; the columns 'id', 'label', 'weight'"):
        read(tmp_path, "id,label,weight\n7,dog,0.5\n")


def test_lists_of_answers_are_read_as_labels_are() -> None:
    assert cells_of(read_predictions([["dog"], ["dog", "cow"]])) == {
        "0": {"dog": 1.0},
        "1": {"dog": 1.0, "cow": 1.0},
    }


def test_a_model_shows_itself_in_a_line() -> None:
    dataset = audit.load_labels(["dog", "cow"], {"dog": "animal", "cow": "animal"})
    predictions = audit.load_predictions({"dog": [0.75, 0.0], "cow": [0.25, 1.0]}, dataset)
    model = audit.run_audit(dataset, predictions=predictions).model
    assert model is not None
    assert len(repr(model)) < 100


@pytest.mark.parametrize(
    ("text", "instances", "classes"),
    [
        ("clip,dog\n7,0.5\nx,0.25\n", ("7", "x"), ("dog",)),
        ("dog,clip,cow\n0.5,7,1\n0.25,x,0\n", ("7", "x"), ("dog", "cow")),
        ("clip,dog\n1,0.5\n2,0.25\n", ("1", "2"), ("dog",)),
        ("dog,cow\n0,0.5\n1,0.25\n", ("0", "1"), ("dog", "cow")),
        ("dog,cow\n0.5,2\n1.5,0.25\n", ("0", "1"), ("dog", "cow")),
        ("dog,cow\n2,0.5\n2.5,0.25\n", ("0", "1"), ("dog", "cow")),
        ("dog,cow\n2,0.5\n2,0.25\n", ("0", "1"), ("dog", "cow")),
    ],
    ids=["half words", "behind", "from one", "below two", "fractions", "some whole", "repeated"],
)
def test_ids_are_words_or_number_the_rows_in_the_first_column(
    text: str, instances: tuple[str, ...], classes: tuple[str, ...], tmp_path: Path
) -> None:
    raw = read(tmp_path, text)
    assert (raw.instances, raw.classes) == (instances, classes)


@pytest.mark.parametrize("rows", ["7,0.5,x\n", "7,0.5,x\n3,0.25,y\n"])
def test_a_table_half_of_whose_values_are_numbers_is_of_another_shape(
    rows: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match="none that matches"):
        read(tmp_path, f"id,dog,note\n{rows}")


def test_a_frame_half_of_whose_columns_are_numbers_is_of_another_shape() -> None:
    with pytest.raises(FormatError, match="none that matches"):
        read_predictions(pl.DataFrame({"dog": [0.5, 0.25], "note": ["x", "y"]}))


@pytest.mark.parametrize("rows", [2, 7])
def test_what_is_blank_is_told_with_its_row(rows: int, tmp_path: Path) -> None:
    """At most five of them are named."""
    lines = "".join(f"x{row},0.5,0.5\ny{row},0.5,\n" for row in range(rows))
    with pytest.raises(SchemaError, match="'cow' must hold a number") as caught:
        read(tmp_path, f"id,dog,cow\n{lines}")
    named = ", ".join(f"'nothing in row {2 * row + 2}'" for row in range(min(rows, 5)))
    assert caught.value.found == named + " and 2 more" * (rows > 5)


def test_a_row_without_an_id_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="every row must have an id") as caught:
        read(tmp_path, "id,dog\nx,0.5\n,0.25\n")
    assert caught.value.found == "none in 'row 2'"


def test_a_column_of_numbers_without_any_is_a_class() -> None:
    frame = pl.DataFrame({"clip": ["x"], "dog": [None], "cow": [0.5]})
    with pytest.raises(SchemaError, match="'dog' must hold a number in every row"):
        read_predictions(frame.with_columns(pl.col("dog").cast(pl.Float64)))


@pytest.mark.parametrize(("row", "named"), [("7,", "'7: ?'"), (",dog", "'?: dog'")])
def test_an_answer_without_an_id_or_a_node_is_told(row: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="must have an instance and a node") as caught:
        read(tmp_path, f"image,label\n3,cow\n{row}\n")
    assert caught.value.found == named


@pytest.mark.parametrize("text", ["a\t401.9\nb\t250.00\n", "7|a;1\n8|b;2\n"])
def test_lines_without_a_header_are_no_columns_of_scores(text: str, tmp_path: Path) -> None:
    raw = read(tmp_path, text)
    assert raw.set_valued
    assert len(raw.instances) == 2


@pytest.mark.parametrize("word", ["high", "0.5%", "-"])
def test_a_word_among_numbers_without_ids_is_told(word: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=f"'cow' must hold a number.*\nFound: '{word} in row 2'"):
        read(tmp_path, f"dog,cow\n0.5,0.25\n1,{word}\n0,1\n")
