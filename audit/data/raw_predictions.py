"""Predictions as a file holds them: numbers of instances and classes, before they are mapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, Sparse
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import read_text
from audit.base.readings import Reading
from audit.base.stored_tables import arrays_in
from audit.base.streams import bare_suffix
from audit.data.class_lists import class_number, columns_named, distinct, named_numbers

AnyArray: TypeAlias = NDArray[Any]
GivenIds: TypeAlias = str | Path | Sequence[Any] | AnyArray
"""The ids of the rows of a matrix: a file with one a line or an array of NumPy, or the ids."""


@dataclass(frozen=True)
class RawPredictions:
    """Scores as read, before they are mapped to a hierarchy.

    Args:
        instances: Distinct ids in file order, shape (n_instances,); row numbers from 0 if there are
            no ids.
        classes: Distinct names of the columns as written, shape (n_classes,).
        scores: Shape (n_instances, n_classes); dense for matrices, CSR for listed scores.
        set_valued: Whether the file only says which classes were predicted, without scores.
        sources: The files that were read.
        name: Name of the source, for messages.
        readings: What numbers and columns were taken to mean.
        numbered: Whether ids are row numbers from 0, since the source has none.
        named: Whether names of a class list are those of its classes.
    """

    instances: tuple[str, ...]
    classes: tuple[str, ...]
    scores: FloatArray | Sparse
    set_valued: bool
    sources: tuple[Path, ...] = ()
    name: str = "predictions"
    readings: tuple[Reading, ...] = ()
    numbered: bool = False
    named: bool = False

    @property
    def numbers(self) -> FloatArray:
        """All numbers that the file holds, in row order, shape (n_numbers,)."""
        stored = self.scores
        return stored.reshape(-1) if isinstance(stored, np.ndarray) else np.asarray(stored.data)

    def with_ids(self, given: GivenIds) -> RawPredictions:
        """The same predictions with the ids of their rows, in order; SchemaError unless one is
        given for each row, and InputError where rows have ids."""
        if not self.numbered:
            required = "--instances names the rows of predictions that have no ids"
            found = first_cases(self.instances)
            raise InputError(required, found=found, where=self.name, hint="leave out --instances")
        own, file = _ids(given), (Path(given),) if isinstance(given, (str, Path)) else ()
        if len(own) != len(self.instances):
            required = f"an id is required for each of the {len(self.instances):,} rows"
            found = f"{len(own):,} ids: {first_cases(own)}"
            raise SchemaError(required, found=found, where=file[0] if file else self.name)
        own = distinct(own, "instance", file[0] if file else self.name)
        return replace(self, instances=own, numbered=False, sources=(*self.sources, *file))

    def with_names(self, names: Sequence[str]) -> RawPredictions:
        """The same predictions with the names of numbers of classes, where all are numbers and not
        all are names themselves."""
        numbers = all(class_number(text) is not None for text in self.classes)
        if not names or self.named or not numbers or {*self.classes} <= {*names}:
            return self
        named = named_numbers(self.classes, names, self.name)
        own = distinct([named[text] for text in self.classes], "class", self.name)
        return replace(self, classes=own, named=True)


_SCORES = ("scores", "logits", "probabilities", "probs", "predictions", "preds", "y_pred")
_IDS, _CLASSES = ("instances", "ids", "id"), ("classes",)


def in_arrays(path: Path, names: Sequence[str]) -> RawPredictions:
    """Predictions of a file of NumPy; ``.npz`` holds scores and, if any, classes and instances.

    The scores are the array of one of the usual names, else the only one of two dimensions; ids and
    names of columns of other names are the only text that is as long.
    """
    arrays = arrays_in(path, str(path))
    beside = [name for name in arrays if name not in (*_CLASSES, *_IDS)]
    two = [name for name in beside if arrays[name].ndim == 2]
    chosen = [name for name in _SCORES if name in arrays][:1] or two or beside
    if len(chosen) != 1:
        found = first_cases(f"{name} of shape {one.shape}" for name, one in arrays.items())
        required = "exactly one array of scores is required"
        raise SchemaError(required, found=found or "none", where=path, hint="call it scores")
    scores = arrays[chosen[0]]
    ids, told = _beside(arrays, _IDS, scores.shape, 0)
    classes, also = (None, ()) if names else _beside(arrays, _CLASSES, scores.shape, 1)
    raw = replace(matrix(scores, names, path, classes=classes), sources=(path,))
    raw = raw if ids is None else raw.with_ids(ids)
    return replace(raw, readings=(*told, *also))


def _beside(
    arrays: Mapping[str, AnyArray], names: Sequence[str], shape: tuple[int, ...], axis: int
) -> tuple[AnyArray | None, tuple[Reading, ...]]:
    """The array of one of some names; else, which is told, the only text as long as scores have
    rows, or columns, but not both."""
    for name in names:
        if name in arrays:
            return arrays[name], ()
    size = shape[axis] if len(shape) == 2 and shape[0] != shape[1] else -1
    found = [name for name, one in arrays.items() if one.shape == (size,) and one.dtype.kind == "U"]
    if len(found) != 1:
        return None, ()
    unit, option = ("instances", "columns")[axis], f"call the array that does {names[0]!r}"
    decision = f"{found[0]!r} names the {unit} of the scores"
    return arrays[found[0]], (
        Reading(decision, "it alone has a text for each", size, option, unit),
    )


def matrix(
    scores: AnyArray,
    names: Sequence[str],
    where: object,
    *,
    classes: AnyArray | None = None,
) -> RawPredictions:
    """Predictions of a matrix, shape (n_instances, n_classes); whole numbers 0 and 1 are sets.

    An array of one dimension holds the answer of each instance, by number or name. The source's
    own ``classes`` win over ``names``.
    """
    scores = np.asarray(scores.tolist()) if scores.dtype == object else scores
    rows = len(scores) if scores.ndim else 0
    instances = tuple(map(str, range(rows)))
    if scores.ndim == 1 and rows and scores.dtype.kind in "iuU":
        frame = pl.DataFrame({"instance": instances, "node": _texts(scores, where), "score": 1.0})
        raw = listed(frame, instances, where, set_valued=True)
        return replace(raw.with_names(names), numbered=True)
    if scores.ndim != 2 or scores.dtype.kind not in "biuf" or not scores.size:
        raise SchemaError(
            "scores must be a matrix of numbers, with a row per instance and a column per class",
            found=f"{scores.dtype} of shape {scores.shape}",
            where=where,
        )
    named = names if classes is None else distinct(_texts(classes, where), "class", where)
    return RawPredictions(
        instances=instances,
        classes=columns_named(named, scores.shape[1], where),
        scores=scores.astype(np.float64, copy=False),
        set_valued=scores.dtype.kind in "biu" and bool(((scores == 0) | (scores == 1)).all()),
        name=str(where),
        numbered=True,
        named=classes is None,
    )


def _ids(given: GivenIds) -> tuple[str, ...]:
    if not isinstance(given, (str, Path)):
        return _texts(np.asarray(given), "instances")
    path = Path(given)
    if bare_suffix(path) == ".npy":
        return _texts(arrays_in(path, str(path))[""], path)
    return tuple(line.strip() for line in read_text(path).rstrip().split("\n"))


def _texts(array: AnyArray, where: object) -> tuple[str, ...]:
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        required = "ids and classes must be texts or whole numbers, in an array of one dimension"
        raise SchemaError(required, found=f"{array.dtype} of shape {array.shape}", where=where)
    return tuple(text.strip() for text in array.astype(np.str_).tolist())


def listed(
    scores: pl.DataFrame, instances: Sequence[str], where: object, *, set_valued: bool = False
) -> RawPredictions:
    """Predictions of a list of scores; a node that is not listed has score 0.

    Args:
        scores: ``instance, node, score``, without nulls.
        instances: Every instance once, in file order, including those without scores.
        where: What they were read from.
        set_valued: Whether scores only say that a node was predicted.
    """
    nodes = scores["node"].unique(maintain_order=True).to_list()
    row, column = (
        scores[name].cast(pl.Enum(known)).to_physical().cast(pl.Int64).to_numpy()
        for name, known in (("instance", [*instances]), ("node", nodes))
    )
    shape = (len(instances), len(nodes))
    held = csr_array((scores["score"].to_numpy(), (row, column)), shape=shape)
    if held.nnz < scores.height:
        pairs = scores.select("instance", "node")
        repeated = pairs.filter(pairs.is_duplicated()).unique(maintain_order=True)
        cases = [f"{node} of {instance}" for instance, node in repeated.head(5).iter_rows()]
        raise SchemaError(
            "an instance may have one score for a node",
            found=f"several: {first_cases(cases, repeated.height)}",
            where=where,
        )
    return RawPredictions(
        instances=tuple(instances),
        classes=tuple(nodes),
        scores=held,
        set_valued=set_valued,
        name=str(where),
    )
