"""NumPy arrays of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from audit.base.errors import FormatError, InputError, SchemaError
from audit.data.formats import read_labels
from audit.data.label_format import Columns, RawLabels
from audit.data.label_formats.npy import FORMAT
from audit.data.sources import source_of
from fixtures.broken import Trap
from fixtures.prediction_files import npy_bytes, pickled_array
from fixtures.written import written


def labels_of(raw: RawLabels) -> list[tuple[str, str]]:
    return list(raw.rows.select("instance", "label").iter_rows())


def read(tmp_path: Path, array: NDArray[Any], names: str = "dog\ncow\nbird\n") -> RawLabels:
    path, classes = tmp_path / "labels.npy", tmp_path / "classes.txt"
    path.write_bytes(npy_bytes(array))
    classes.write_text(names)
    return read_labels(path, Columns(classes=classes), "npy")


@pytest.mark.parametrize("dtype", ["int64", "uint8", ">i4"])
def test_a_class_number_is_a_label(tmp_path: Path, dtype: str) -> None:
    raw = read(tmp_path, np.array([2, 0, 0], dtype))

    assert labels_of(raw) == [("0", "bird"), ("1", "dog"), ("2", "dog")]
    assert raw.instances["instance"].to_list() == ["0", "1", "2"]
    assert raw.format == "npy"
    assert raw.sources == (tmp_path / "labels.npy", tmp_path / "classes.txt")


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_a_row_of_zeros_is_an_instance_without_labels(tmp_path: Path, dtype: str) -> None:
    raw = read(tmp_path, np.array([[1, 0, 1], [0, 0, 0]], dtype))

    assert labels_of(raw) == [("0", "dog"), ("0", "bird")]
    assert raw.instances["instance"].to_list() == ["0", "1"]


def test_numbers_without_a_name_are_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="from 0 to 2") as caught:
        read(tmp_path, np.array([0, 3, 1, -1]))
    assert caught.value.found == "'3 in row 1', '-1 in row 3'"


def test_other_numbers_in_a_matrix_are_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'2 in row 0'"):
        read(tmp_path, np.array([[0, 1, 2]]))


def test_another_number_of_names_than_columns_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"the 2 columns\nFound: 3 names"):
        read(tmp_path, np.array([[0, 1]]))


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.array([0.5, 0.5]), r"float64 of shape \(2,\)"),
        (np.array([[0.5, 0.5]]), r"float64 of shape \(1, 2\)"),
        (np.array([["a"]]), r"<U1 of shape \(1, 1\)"),
        (np.array([True]), r"bool of shape \(1,\)"),
        (np.zeros((1, 1, 1), int), r"int64 of shape \(1, 1, 1\)"),
    ],
)
def test_another_array_is_refused(tmp_path: Path, array: NDArray[Any], found: str) -> None:
    with pytest.raises(SchemaError, match=found) as caught:
        read(tmp_path, array)
    assert ("astype(int)" in str(caught.value)) is (array.ndim == 1 and array.dtype.kind == "f")


def test_scores_are_told_from_labels(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="--predictions"):
        read(tmp_path, np.array([[0.5, 0.5]]))


def test_scores_are_not_taken_for_labels(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.npy", npy_bytes(np.array([[0.5, 0.5]])))
    with pytest.raises(FormatError, match=r"none that matches\n.*--predictions"):
        read_labels(path, Columns())


@pytest.mark.parametrize("dtype", ["float32", "float64", ">f8", "float16"])
def test_a_matrix_of_nought_and_one_holds_labels_whatever_its_type(
    tmp_path: Path, dtype: str
) -> None:
    array = np.array([[1, 0, 1], [0, 0, 0]], dtype)
    assert labels_of(read(tmp_path, array)) == [("0", "dog"), ("0", "bird")]
    assert FORMAT.matches(source_of(array))
    for other in (0.5, np.nan, 1 + 2**-10):
        array[1, 2] = other
        with pytest.raises(SchemaError, match="0 and 1, shape"):
            read(tmp_path, array)


def test_an_archive_of_one_array_is_that_array(tmp_path: Path) -> None:
    path, classes = tmp_path / "labels.npz", tmp_path / "classes.txt"
    classes.write_text("dog\ncow\n")
    np.savez(path, y=[1, 0])
    assert labels_of(read_labels(path, Columns(classes=classes), "npy")) == [
        ("0", "cow"),
        ("1", "dog"),
    ]
    np.savez(path, y=[1, 0], x=[1, 0])
    with pytest.raises(SchemaError, match=r"Found: 'y', 'x'(.|\n)*np.save"):
        read_labels(path, Columns(classes=classes), "npy")
    with pytest.raises(FormatError, match="--format npy reads the only array"):
        read_labels(path, Columns())
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError):
        read_labels(path, Columns(classes=classes), "npy")


@pytest.mark.parametrize("name", ["labels.bin", "labels.csv"])
@pytest.mark.parametrize("magic", [b"PK\x03\x04", b"\x89HDF", b"SQLite format 3"])
def test_no_bytes_of_a_file_are_shown(tmp_path: Path, name: str, magic: bytes) -> None:
    (path := tmp_path / name).write_bytes(magic + b",\x00\x01,\xff\n" * 9)
    with pytest.raises(InputError) as caught:
        read_labels(path, Columns())
    assert "\\x" not in str(caught.value)


@pytest.mark.parametrize("dtype", ["int64", "uint8", ">i4", "bool"])
def test_whole_numbers_are_taken_for_labels(tmp_path: Path, dtype: str) -> None:
    path, classes = tmp_path / "labels.npy", tmp_path / "classes.txt"
    path.write_bytes(npy_bytes(np.array([[1]], dtype)))
    classes.write_text("dog\n")
    assert read_labels(path, Columns(classes=classes)).format == "npy"


def test_no_instance_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="with rows"):
        read(tmp_path, np.array([], int))


@pytest.mark.parametrize(
    ("array", "columns"),
    [(np.array([0, 4]), 5), (np.array([[0, 1, 0, 0, 0]]), 5), (np.array([], int), 0)],
)
def test_names_are_required(tmp_path: Path, array: NDArray[Any], columns: int) -> None:
    path = written(tmp_path / "labels.npy", npy_bytes(array))
    with pytest.raises(SchemaError, match=rf"names of the {columns} columns(.|\n)*--classes"):
        read_labels(path, Columns())


def test_pickled_objects_are_refused_and_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with pytest.raises(InputError, match="could run code") as pickled:
        read(tmp_path, pickled_array(Trap(ran)))
    assert not ran.exists()
    (path := tmp_path / "cut.npy").write_bytes(npy_bytes(np.arange(9))[:-1])
    with pytest.raises(InputError, match="a whole NumPy file") as cut:
        read_labels(path, Columns(), "npy")
    assert ["dtype=str" in one.value.hint for one in (pickled, cut)] == [True, False]


def test_columns_cannot_be_named(tmp_path: Path) -> None:
    path = written(tmp_path / "labels.npy", npy_bytes(np.array([0])))
    with pytest.raises(SchemaError, match="--group"):
        read_labels(path, Columns(group="site"))


def test_five_of_many_numbers_without_a_name_are_told(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="from 0 to 2") as caught:
        read(tmp_path, np.arange(3, 10))
    named = ", ".join(f"'{number} in row {number - 3}'" for number in range(3, 8))
    assert caught.value.found == f"{named} and 2 more"


def test_a_name_is_a_label_and_a_blank_one_is_none(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.array(["dog", "", "bird", "dog"]))
    raw = read_labels(tmp_path / "y.npy", Columns())
    assert labels_of(raw) == [("0", "dog"), ("2", "bird"), ("3", "dog")]
    assert raw.instances["instance"].to_list() == ["0", "1", "2", "3"]
