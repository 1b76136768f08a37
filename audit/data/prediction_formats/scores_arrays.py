"""Matrices of scores in files of arrays: NumPy, safetensors and PyTorch; no object is unpickled."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

from audit.base.errors import InputError, SchemaError
from audit.base.machine import require_package
from audit.data.arrays import NPY_MAGIC, ZIP_MAGIC, AnyArray, read_npy, read_npz, read_tensors
from audit.data.class_names import Classes
from audit.data.prediction_format import PredictionFormat, RawPredictions, matrix, matrix_among
from audit.data.sources import Source


def read_matrix(source: Source, classes: Classes | None) -> RawPredictions:
    """Read a NumPy matrix whose column names are in ``classes``; ids are row numbers from 0."""
    return matrix(read_npy(source), classes, source)


def read_archive(source: Source, classes: Classes | None) -> RawPredictions:
    """Read the array ``scores``, or the only matrix, with ``classes`` and ``instances``, if any.

    Names in the archive take precedence over those of the file ``classes``.
    """
    return matrix_among(read_npz(source), classes, source)


def read_safetensors(source: Source, classes: Classes | None) -> RawPredictions:
    """Read the tensor ``scores``, else ``logits``, else the only one with two dimensions.

    An optional tensor ``instances`` of whole numbers holds the ids.
    """
    return matrix_among(read_tensors(source).arrays, classes, source)


def read_torch(source: Source, classes: Classes | None) -> RawPredictions:
    """Read a tensor of PyTorch, or a dictionary with ``scores`` or ``logits``.

    ``classes`` and ``instances`` of the dictionary, lists or tensors, name columns and rows.
    """
    content = _loaded(source)
    if isinstance(content, dict):
        return matrix_among(content, classes, source)
    if isinstance(content, np.ndarray):
        return matrix(content, classes, source)
    raise SchemaError(
        "a tensor, or a dictionary with the key scores or logits, is required",
        found=type(content).__name__,
        where=source,
    )


def _loaded(source: Source) -> object:
    """A tensor as an array, or a dictionary of arrays by key; anything else as it is."""
    if not source.head:
        raise InputError("a PyTorch file is required", found="an empty file", where=source)
    require_package("torch", f"to read {source}")
    try:
        return _arrays(_content(source))
    except Exception as error:  # the reader of a broken file may raise anything
        raise InputError(
            "a whole PyTorch file of tensors, without pickled objects, is required",
            found=_message_of(error),
            where=source,
            hint="save the tensor alone: torch.save(scores.cpu(), source)",
        ) from None


def _content(source: Source) -> Any:
    """Load the file with PyTorch without executing code; its warnings are suppressed."""
    torch = importlib.import_module("torch")
    with source.open() as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.load(stream, map_location="cpu", weights_only=True)


def _arrays(content: Any) -> object:
    if isinstance(content, dict):
        return {str(key): _array(value) for key, value in content.items()}
    return _array(content) if _is_tensor(content) else content


def _message_of(error: Exception) -> str:
    """PyTorch's error message, without its advice on how to execute the file's content."""
    if type(error).__name__ == "UnpicklingError":
        return "no tensors, or objects beside them, which could run code when read"
    return str(error).strip().split("\n")[0] or type(error).__name__


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "detach")


def _array(value: Any) -> AnyArray:
    """A tensor, a list or a plain value as an array; precisions that NumPy lacks are widened."""
    if not _is_tensor(value):
        return _plain(value)
    dense = value.detach().to_dense()
    return np.asarray(dense.double() if dense.is_floating_point() else dense)


def _plain(value: Any) -> AnyArray:
    """A list as an array; a ragged one, which is none, as an empty array."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.empty(0, object)


NUMPY = (
    PredictionFormat(
        name="npy",
        title="a NumPy matrix with a row per instance and a column per class; --classes names the "
        "columns",
        matches=lambda source: source.head.startswith(NPY_MAGIC),
        read=read_matrix,
    ),
    PredictionFormat(
        name="npz",
        title="an archive of NumPy arrays: scores and, if any, classes and instances",
        matches=lambda source: source.suffix == ".npz" and source.head.startswith(ZIP_MAGIC),
        read=read_archive,
    ),
)
TENSORS = (
    PredictionFormat(
        name="pt",
        title="a PyTorch tensor, or a dictionary with scores or logits, and classes, if any",
        matches=lambda source: source.suffix in (".pt", ".pth"),
        read=read_torch,
    ),
    PredictionFormat(
        name="safetensors",
        title="safetensors with the tensor scores or logits; --classes names the columns",
        matches=lambda source: source.suffix == ".safetensors",
        read=read_safetensors,
    ),
)
