"""Tensors of safetensors and of PyTorch."""

from __future__ import annotations

import importlib.util
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from audit.base.errors import InputError, SchemaError
from audit.data.formats import read_predictions
from fixtures.broken import Trap
from fixtures.prediction_files import safetensors_bytes, with_length
from fixtures.written import written

SCORES = np.array([[0.25, 0.75], [1, 0]])
WITHOUT_TORCH = importlib.util.find_spec("torch") is None


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    return written(tmp_path / "classes.txt", "dog\ncow\n")


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_any_precision_becomes_float64(tmp_path: Path, classes: Path, dtype: str) -> None:
    path = written(tmp_path / "scores.safetensors", safetensors_bytes({"scores": SCORES}, dtype))

    raw = read_predictions(path, classes)

    assert isinstance(raw.scores, np.ndarray)
    assert raw.scores.dtype == np.float64
    assert raw.scores.tolist() == SCORES.tolist()


def test_no_instance_at_all_is_told_as_such(tmp_path: Path, classes: Path) -> None:
    path = tmp_path / "scores.safetensors"
    path.write_bytes(safetensors_bytes({"scores": SCORES[:0]}, "F32"))

    with pytest.raises(SchemaError, match=r"at least one row(.|\n)*Found: shape \(0, 2\)"):
        read_predictions(path, classes)


def test_bfloat16_is_the_upper_half_of_float32(tmp_path: Path, classes: Path) -> None:
    path = tmp_path / "scores.safetensors"
    path.write_bytes(safetensors_bytes({"scores": np.full((1, 2), 0.1)}, "BF16"))
    assert np.array_equal(read_predictions(path, classes).scores, np.full((1, 2), 0.099609375))


def test_logits_are_taken_before_other_matrices(tmp_path: Path, classes: Path) -> None:
    path = tmp_path / "scores.safetensors"
    path.write_bytes(safetensors_bytes({"hidden": np.ones((2, 8)), "logits": SCORES}, "F32"))
    assert np.array_equal(read_predictions(path, classes).scores, SCORES)


def test_ids_may_stand_beside_the_scores(tmp_path: Path, classes: Path) -> None:
    path = tmp_path / "scores.safetensors"
    header = {
        "instances": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "scores": {"dtype": "F64", "shape": [2, 2], "data_offsets": [16, 48]},
    }
    numbers = np.array([17, 3]).tobytes() + SCORES.tobytes()
    path.write_bytes(with_length(json.dumps(header).encode()) + numbers)
    assert read_predictions(path, classes).instances == ("17", "3")


def test_a_header_of_128_bytes_is_no_pickle(tmp_path: Path, classes: Path) -> None:
    path = tmp_path / "scores.safetensors"
    header = json.dumps({"scores": {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]}})
    path.write_bytes(with_length(header.ljust(128).encode()) + SCORES.tobytes())
    assert path.read_bytes()[:1] == b"\x80"
    assert np.array_equal(read_predictions(path, classes).scores, SCORES)


def test_a_length_beyond_the_file_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.safetensors", b"\xff" * 8 + b"{}")
    with pytest.raises(InputError, match=r"scores\.safetensors(.|\n)*of 1.*,615 bytes in 10"):
        read_predictions(path)


@pytest.mark.parametrize("place", [(0, 24), (0, 40), (8, 40), (-8, 24)])
def test_numbers_of_another_length_or_place_are_told(
    tmp_path: Path, classes: Path, place: tuple[int, int]
) -> None:
    path = tmp_path / "scores.safetensors"
    entry = {"dtype": "F64", "shape": [2, 2], "data_offsets": place}
    path.write_bytes(with_length(json.dumps({"scores": entry}).encode()) + SCORES.tobytes())
    with pytest.raises(InputError, match=f"at bytes {place[0]} to {place[1]} of 32"):
        read_predictions(path, classes)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    path, ran = tmp_path / "scores.pt", tmp_path / "ran"
    path.write_bytes(pickle.dumps(Trap(ran)))
    with pytest.raises(InputError, match=r"could run code|not installed"):
        read_predictions(path)
    assert not ran.exists()


@pytest.mark.skipif(not WITHOUT_TORCH, reason="torch is installed")
def test_without_pytorch_the_extra_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "scores.pt", b"anything")
    with pytest.raises(InputError, match=r"hierarchy-audit\[model\]"):
        read_predictions(path)


@pytest.mark.skipif(WITHOUT_TORCH, reason="torch is not installed")
class TestPyTorch:
    def test_a_dictionary_names_rows_and_columns(self, tmp_path: Path) -> None:
        import torch

        path = tmp_path / "scores.pt"
        scores = torch.tensor(SCORES, dtype=torch.bfloat16, requires_grad=True)
        content = {"logits": scores, "classes": ["a", "b"], "instances": torch.tensor([17, 3])}
        torch.save(content, path)
        raw = read_predictions(path)
        assert raw.classes == ("a", "b")
        assert raw.instances == ("17", "3")
        assert np.array_equal(raw.scores, SCORES)

    def test_a_sparse_tensor_is_read(self, tmp_path: Path, classes: Path) -> None:
        import torch

        path = tmp_path / "scores.pth"
        torch.save(torch.tensor(SCORES).to_sparse(), path)
        assert np.array_equal(read_predictions(path, classes).scores, SCORES)

    def test_objects_beside_tensors_are_refused_and_not_run(self, tmp_path: Path) -> None:
        import torch

        path, ran = tmp_path / "scores.pt", tmp_path / "ran"
        torch.save({"scores": torch.tensor(SCORES), "model": Trap(ran)}, path)
        with pytest.raises(InputError, match="could run code"):
            read_predictions(path)
        assert not ran.exists()

    def test_a_cut_file_is_told(self, tmp_path: Path) -> None:
        import torch

        path = tmp_path / "scores.pt"
        torch.save(torch.ones(50, 50), path)
        path.write_bytes(path.read_bytes()[:-300])
        with pytest.raises(InputError, match="a whole PyTorch file"):
            read_predictions(path)

    def test_another_object_is_told(self, tmp_path: Path) -> None:
        import torch

        path = tmp_path / "scores.pt"
        torch.save([torch.tensor(SCORES)], path)
        with pytest.raises(SchemaError, match="Found: list"):
            read_predictions(path)
