"""Predictions as a file holds them: numbers of instances and classes, before they are mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import read_text
from audit.base.readings import Reading
from audit.base.stored_tables import arrays_in
from audit.base.streams import bare_suffix
from audit.data.class_lists import class_number, distinct, named_numbers

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
        scores: Shape (n_instances, n_classes); every number that the file holds is stored, 0 too.
        set_valued: Whether the file only says which classes were predicted, without scores.
        sources: The files that were read.
        name: Name of the source, for messages.
        readings: What numbers and columns were taken to mean.
        numbered: Whether ids are row numbers from 0, since the source has none.
        named: Whether names of a class list are those of its classes.
    """

    instances: tuple[str, ...]
    classes: tuple[str, ...]
    scores: Sparse
    set_valued: bool
    sources: tuple[Path, ...] = ()
    name: str = "predictions"
    readings: tuple[Reading, ...] = ()
    numbered: bool = False
    named: bool = False

    def matched(self, rows: IntArray) -> RawPredictions:
        """Some rows, in the order wanted."""
        if np.array_equal(rows, np.arange(len(self.instances))):
            return self
        own = tuple(self.instances[row] for row in rows.tolist())
        return replace(self, instances=own, scores=csr_array(self.scores[rows]))

    def with_ids(self, given: GivenIds) -> RawPredictions:
        """The same predictions with the ids of their rows, in order; SchemaError unless one is
        given for each row, and InputError where rows have ids."""
        if not self.numbered:
            required = "--instances names the rows of predictions that have no ids"
            found = first_cases(self.instances)
            raise InputError(required, found=found, where=self.name, hint="leave out --instances")
        own, file = _ids(given), (Path(given),) if isinstance(given, (str, Path)) else ()
        where = file[0] if file else self.name
        if len(own) != len(self.instances):
            required = f"an id is required for each of the {len(self.instances):,} rows"
            raise SchemaError(required, found=f"{len(own):,} ids: {first_cases(own)}", where=where)
        own, sources = distinct(own, "instance", where), (*self.sources, *file)
        return replace(self, instances=own, numbered=False, sources=sources)

    def with_names(self, names: Sequence[str]) -> RawPredictions:
        """The same predictions with the names of numbers of classes, where all are numbers and not
        all are names themselves."""
        numbers = all(class_number(text) is not None for text in self.classes)
        if not names or self.named or not numbers or {*self.classes} <= {*names}:
            return self
        named = named_numbers(self.classes, names, self.name)
        own = distinct([named[text] for text in self.classes], "class", self.name)
        return replace(self, classes=own, named=True)


def _ids(given: GivenIds) -> tuple[str, ...]:
    if not isinstance(given, (str, Path)):
        return texts_in(np.asarray(given), "instances")
    path = Path(given)
    if bare_suffix(path) == ".npy":
        return texts_in(arrays_in(path, str(path))[""], path)
    return tuple(line.strip() for line in read_text(path).rstrip().split("\n"))


def texts_in(array: AnyArray, where: object) -> tuple[str, ...]:
    """The texts or whole numbers of an array of one dimension; SchemaError of others."""
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        required = "ids and classes must be texts or whole numbers, in an array of one dimension"
        raise SchemaError(required, found=f"{array.dtype} of shape {array.shape}", where=where)
    return tuple(text.strip() for text in array.astype(np.str_).tolist())


def stored(numbers: AnyArray) -> Sparse:
    """A matrix as float64, every number of which is stored, 0 too."""
    rows, columns = numbers.shape
    kind = np.int32 if numbers.size < np.iinfo(np.int32).max else np.int64
    places, starts = np.arange(columns, dtype=kind), np.arange(rows + 1, dtype=kind) * columns
    held = np.ravel(numbers).astype(np.float64, copy=False)
    return csr_array((held, np.tile(places, rows), starts), shape=numbers.shape)


def listed(
    scores: pl.DataFrame, instances: Sequence[str], where: object, *, set_valued: bool
) -> RawPredictions:
    """Predictions of a list of scores, ``instance, node, score`` without nulls, of some instances,
    some of which may have none; a node that is not listed has score 0.

    Raises SchemaError where an instance has several scores for a node.
    """
    nodes = scores["node"].unique(maintain_order=True).to_list()
    places = [
        scores[name].cast(pl.Enum(known)).to_physical().cast(pl.Int64).to_numpy()
        for name, known in (("instance", [*instances]), ("node", nodes))
    ]
    held = csr_array((scores["score"].to_numpy(), places), shape=(len(instances), len(nodes)))
    if held.nnz < scores.height:
        pairs = scores.select("instance", "node")
        repeated = pairs.filter(pairs.is_duplicated()).unique(maintain_order=True)
        cases = [f"{node} of {instance}" for instance, node in repeated.head(5).iter_rows()]
        raise SchemaError(
            "an instance may have one score for a node",
            found=f"several: {first_cases(cases, repeated.height)}",
            where=where,
        )
    return RawPredictions(tuple(instances), tuple(nodes), held, set_valued, name=str(where))
