"""Score matrices of NumPy: one array, or an archive of several."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from audit.base.errors import InputError, SchemaError
from audit.base.limits import EXPANSION, UNPACKED
from audit.data.formats import read_predictions
from fixtures.broken import Trap
from fixtures.prediction_files import npy_bytes, npz_bytes, pickled_array
from fixtures.written import written

SCORES = np.array([[0.25, 0.75], [1, 0]])


def archive(tmp_path: Path, **arrays: NDArray[Any]) -> Path:
    return written(tmp_path / "scores.npz", npz_bytes(**arrays))


def names(tmp_path: Path) -> Path:
    return written(tmp_path / "classes.txt", "dog\ncow\n")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", ">f8"])
def test_any_precision_becomes_float64(tmp_path: Path, dtype: str) -> None:
    path = written(tmp_path / "scores.npy", npy_bytes(SCORES.astype(dtype)))

    raw = read_predictions(path, names(tmp_path))

    assert isinstance(raw.scores, np.ndarray)
    assert raw.scores.dtype == np.float64
    assert raw.scores.tolist() == SCORES.tolist()
    assert raw.instances == ("0", "1")
    assert not raw.set_valued


def test_column_order_in_memory_does_not_matter(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.npy", npy_bytes(np.asfortranarray(SCORES)))
    assert np.array_equal(read_predictions(path, names(tmp_path)).scores, SCORES)


@pytest.mark.parametrize(("last", "set_valued"), [(1, True), (2, False)])
def test_whole_zeros_and_ones_are_sets(tmp_path: Path, last: int, set_valued: bool) -> None:
    path = written(tmp_path / "scores.npy", npy_bytes(np.array([[0, 1], [1, last]])))
    assert read_predictions(path, names(tmp_path)).set_valued is set_valued


def test_a_packed_array_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.npy.gz", gzip.compress(npy_bytes(SCORES)))
    assert np.array_equal(read_predictions(path, names(tmp_path)).scores, SCORES)


def test_names_of_the_archive_go_before_those_of_the_file(tmp_path: Path) -> None:
    path = archive(tmp_path, scores=SCORES, classes=np.array(["bird", "tool"]))
    raw = read_predictions(path, names(tmp_path))
    assert raw.classes == ("bird", "tool")
    assert raw.sources == (path,)


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    path = archive(tmp_path, scores=SCORES, instances=np.array([17, 3]))
    assert read_predictions(path, names(tmp_path)).instances == ("17", "3")


def test_scores_are_taken_before_other_matrices(tmp_path: Path) -> None:
    path = archive(tmp_path, embedding=np.ones((2, 8)), logits=-SCORES, scores=SCORES)
    assert np.array_equal(read_predictions(path, names(tmp_path)).scores, SCORES)


def test_two_nameless_matrices_are_told(tmp_path: Path) -> None:
    path = archive(tmp_path, a=SCORES, b=SCORES)
    with pytest.raises(SchemaError, match=r"'a of shape \(2, 2\)', 'b of shape \(2, 2\)'"):
        read_predictions(path, names(tmp_path))


@pytest.mark.parametrize("where", ["scores", "classes", "other"])
def test_pickled_objects_in_an_archive_are_refused_and_not_run(tmp_path: Path, where: str) -> None:
    ran = tmp_path / "ran"
    arrays: dict[str, NDArray[Any]] = {"scores": SCORES, where: pickled_array(Trap(ran))}
    with pytest.raises(InputError, match="could run code") as caught:
        read_predictions(archive(tmp_path, **arrays), names(tmp_path))
    assert "allow_pickle" not in str(caught.value)
    assert not ran.exists()


def test_pickled_objects_in_an_array_are_refused_and_not_run(tmp_path: Path) -> None:
    path, ran = tmp_path / "scores.npy", tmp_path / "ran"
    path.write_bytes(npy_bytes(pickled_array(Trap(ran))))
    with pytest.raises(InputError, match="could run code"):
        read_predictions(path, names(tmp_path))
    assert not ran.exists()


def test_a_shape_that_no_memory_holds_is_told(tmp_path: Path) -> None:
    path = tmp_path / "scores.npy"
    whole = npy_bytes(np.zeros((10, 10)))
    path.write_bytes(whole.replace(b"(10, 10), ", b"(10**15,1)"))
    with pytest.raises(InputError, match=r"scores\.npy"):
        read_predictions(path, names(tmp_path))
    path.write_bytes(whole.replace(b"(10, 10),       ", b"(1000000000, 99)"))
    with pytest.raises(InputError, match=r"scores\.npy"):
        read_predictions(path, names(tmp_path))


def test_the_only_matrix_is_taken(tmp_path: Path) -> None:
    path = archive(tmp_path, weights=np.ones(2), mine=SCORES, cube=np.ones((1, 1, 1)))
    assert np.array_equal(read_predictions(path, names(tmp_path)).scores, SCORES)


def test_fractions_that_are_nought_and_one_are_scores(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.npy", npy_bytes(np.array([[0.0, 1.0]])))
    assert not read_predictions(path, names(tmp_path)).set_valued


def test_an_archive_may_hold_a_hundred_times_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.data.arrays.UNPACKED", replace(UNPACKED, most=1000))
    path, most = tmp_path / "scores.npz", 0
    for rows in (500, 5_000, 50_000):
        np.savez_compressed(path, scores=np.zeros((rows, 2)))
        packed, whole = path.stat().st_size, 16 * rows + 128
        if whole <= EXPANSION * packed:
            assert read_predictions(path, names(tmp_path)).scores.shape == (rows, 2)
            most = rows
        else:
            with pytest.raises(InputError, match="unpacked="):
                read_predictions(path, names(tmp_path))
    assert 0 < most < 50_000


@pytest.mark.parametrize(
    ("format", "required"), [("npy", r"array file \(.npy\)"), ("npz", r"NumPy arrays \(.npz\)")]
)
@pytest.mark.parametrize(
    ("content", "found"),
    [(b"instance,node", f"begins with {b'instance'!r}"), (b"", "an empty file")],
)
def test_another_file_is_told_by_its_beginning(
    format: str, required: str, content: bytes, found: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "scores", content)
    with pytest.raises(InputError, match=f"{required} is required\nFound: .*{found}$"):
        read_predictions(path, names(tmp_path), format)


def test_a_header_of_python_2_is_read_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "scores.npy"
    content = npy_bytes(SCORES)
    assert b"(2, 2), }  " in content
    path.write_bytes(content.replace(b"(2, 2), }  ", b"(2L, 2L), }"))
    assert np.array_equal(read_predictions(path, names(tmp_path)).scores, SCORES)
