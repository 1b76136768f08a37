"""Predictions as a file holds them, before they are mapped: their numbers, scores and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, softmax

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, read_text
from audit.base.plurals import counted
from audit.base.readings import AskedError, Reading
from audit.base.settings import Transform
from audit.base.stored_tables import arrays_in
from audit.data.class_lists import class_number, distinct, named_numbers
from audit.data.columns import AS_WRITTEN
from audit.data.labels import labels_in

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
        """The predictions of some rows, in the order of these."""
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
        """The predictions with each class number replaced by its name; unchanged unless all classes
        are numbers, and where all are among the names."""
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


LOOKED_AT = 1_000
"""Number of first rows by which columns are known."""
_FLAGS = {"0": 0, "1": 1, "false": 0, "true": 1}


def texts_of(cells: pl.Series) -> pl.Series:
    """Values as tidy text, whole numbers without a point; null where they are blank."""
    if cells.dtype.is_float():
        whole = cells.cast(pl.Int64, strict=False)
        texts = cells.cast(pl.String)
        return whole.cast(pl.String).zip_with((whole == cells).fill_null(True), texts)
    return cells.cast(pl.String).str.strip_chars().replace("", None)


def numbers_of(cells: pl.Series) -> pl.Series:
    """Values as float64, true and false as 1 and 0; null where they are none. A comma may stand for
    the decimal point.

    >>> numbers_of(pl.Series(["0,25", "1e-3", "high", "5%", "true"])).to_list()
    [0.25, 0.001, None, None, 1.0]
    """
    plain = cells.cast(pl.Float64, strict=False)
    if plain.null_count() == cells.null_count():
        return plain
    text = texts_of(cells).str.to_lowercase()
    pointed = text.str.replace(r"^([-+]?\d*),(\d+(?:e[-+]?\d+)?)$", "${1}.${2}")
    flags = text.replace_strict(_FLAGS, default=None, return_dtype=pl.Float64)
    return pointed.cast(pl.Float64, strict=False).fill_null(flags)


def numbers_alone(cells: pl.Series) -> pl.Series | None:
    """The numbers of a column that has some, and nothing else but blanks; None of others."""
    if cells.dtype.is_nested():
        return None
    for some in (cells.head(LOOKED_AT), cells):
        numbers = numbers_of(some)
        if not numbers.null_count() == texts_of(some).null_count() < len(some):
            return None
    return numbers


def are_flags(cells: pl.Series) -> bool:
    """Whether all are 0 and 1 without a point, or true and false."""
    if cells.dtype.is_float():
        return False
    return bool(texts_of(cells).str.to_lowercase().is_in([*_FLAGS]).fill_null(False).all())


def are_within(numbers: pl.Series | FloatArray) -> bool:
    """Whether all are from 0 to 1."""
    return bool(((numbers >= 0) & (numbers <= 1)).all())


def vectors_in(cells: pl.Series) -> FloatArray | None:
    """The numbers of lists of one length, shape (n_rows, length): flags, or scores.

    None of other cells, and of whole numbers beyond 0 and 1, which are numbers of classes.
    """
    if isinstance(cells.dtype, pl.List | pl.Array):
        lists = cells.cast(pl.List(cells.dtype.inner))
    elif cells.dtype == pl.String and cells.head(LOOKED_AT).str.starts_with("[").all():
        lists = labels_in(cells, AS_WRITTEN)
    else:
        return None
    lengths = lists.list.len().unique().to_list()
    if len(lengths) != 1 or not lengths[0]:
        return None
    numbers = numbers_of(lists.explode())
    if numbers.has_nulls() or ((numbers == numbers.round()).all() and not are_within(numbers)):
        return None
    return np.reshape(numbers.to_numpy(), (len(cells), lengths[0]))


def with_names(cells: pl.Series, names: Sequence[str]) -> pl.Series:
    """Numbers of classes, alone or in lists, as their names; a number without one as text."""
    known = {str(number): name for number, name in enumerate(names)}
    if isinstance(cells.dtype, pl.List | pl.Array):
        return cells.cast(pl.List(pl.String)).list.eval(pl.element().replace(known))
    return texts_of(cells).replace(known)


def filled(cells: pl.Series, what: str, where: object) -> pl.Series:
    """The values as tidy text; SchemaError, that each row must have ``what``, if one is blank."""
    texts = texts_of(cells)
    blank = texts.is_null().arg_true()
    if len(blank):
        cases = [f"row {row + 1}" for row in blank.head(5)]
        found = f"none in {first_cases(cases, len(blank))} of the column {cells.name!r}"
        raise SchemaError(f"every row must have {what}", found=found, where=where)
    return texts


SUM_TOLERANCE = 1e-4
"""By how much a row may miss one, however its numbers were written."""
MOST_TOLERANCE = 0.02
"""By how much it may do so by rounding, and still sums to one."""
COARSE = 0.2
"""By how much it may do so by a coarse rounding, so that it is asked."""
ROUNDING = 1e-6
"""How far outside [0, 1] a score may lie by rounding; it is then clipped."""
FEW = 0.1
"""Share of instances whose scores do not sum to one, up to which they count as mistakes."""
_OUTPUTS = (
    "--softmax makes scores of a model's raw outputs where an instance has one answer, "
    "--sigmoid where it may have several"
)
_ONE, _SEVERAL = "--single-label", "--multi-label"
_ONE_ANSWER = "each row has one answer, its highest score"
_ANY_ANSWERS = "each score from the decision threshold up is an answer"


def sum_to_one(scores: Sparse) -> bool:
    """Whether the scores of each row sum to one within `MOST_TOLERANCE`, as rounding may do."""
    return _largest_distance_from_one(_sums(scores)) <= MOST_TOLERANCE


def _sums(scores: Sparse) -> FloatArray:
    return np.asarray(scores.sum(axis=1), np.float64).ravel()


def _largest_distance_from_one(sums: FloatArray) -> float:
    return float(np.abs(sums - 1).max(initial=0))


def as_scores(raw: RawPredictions, transform: Transform | None, several: int = 0) -> RawPredictions:
    """The predictions with scores in [0, 1], by ``transform`` if one is named; a node that is not
    listed keeps 0. SchemaError for numbers outside without one, or a transform of scores.

    ``several`` is the number of instances that have several labels, beside which a softmax is
    stated.
    """
    numbers, told = raw.scores.data, list[Reading]()
    _refuse(raw, ~np.isfinite(numbers), "every score must be a finite number")
    low, high = numbers.min(initial=0), numbers.max(initial=0)
    if transform and (raw.set_valued or (low >= 0 and high <= 1)):
        found = "predicted sets" if raw.set_valued else "numbers from 0 to 1 alone, as scores are"
        required, hint = "needs numbers that are no scores yet", f"leave out --{transform}"
        raise SchemaError(f"--{transform} {required}", found=found, where=raw.name, hint=hint)
    if transform == "softmax":
        said = "the scores of a row are shares of one answer, though instances have several labels"
        why, option = "--softmax says that classes exclude each other", "--sigmoid"
        told += [Reading(said, why, several, option, "instances")] * bool(several)
        numbers = _softmax(raw)
    elif transform == "sigmoid":
        numbers = expit(numbers)
    labelled = f"{counted(several, 'instances')} have several labels"
    of_several = f"--sigmoid turns a model's raw outputs into scores: {labelled}"
    hint = of_several if several else _OUTPUTS
    hint += "; per cent must be divided by 100" * bool(low >= 0 and high <= 100)
    outside = (numbers < -ROUNDING) | (numbers > 1 + ROUNDING)
    _refuse(raw, outside, "every score must be from 0 to 1", hint)
    if numbers is raw.scores.data and low >= 0 and high <= 1:
        return raw
    held = raw.scores
    scores = csr_array((np.clip(numbers, 0, 1), held.indices, held.indptr), shape=held.shape)
    return replace(raw, scores=scores, readings=(*raw.readings, *told))


def _softmax(raw: RawPredictions) -> FloatArray:
    """Softmax over each row; refuses a list with gaps, whose share is not known."""
    listed, classes = np.diff(raw.scores.indptr), len(raw.classes)
    if len(short := np.flatnonzero(listed != classes)):
        raise SchemaError(
            f"--softmax needs all {classes:,} classes of every instance",
            found=first_cases(f"{listed[i]} of {raw.instances[i]}" for i in short.tolist()),
            where=raw.name,
            hint="list them all, or write the softmax itself",
        )
    return np.ravel(softmax(raw.scores.data.reshape(-1, classes), axis=1))


def _refuse(raw: RawPredictions, wrong: BoolArray, required: str, hint: str = "") -> None:
    """Raise SchemaError with the first numbers that are wrong, where there are any."""
    if len(found := np.flatnonzero(wrong)):
        rows = np.searchsorted(raw.scores.indptr, found[:5], side="right") - 1
        at = zip(raw.scores.data[found], raw.scores.indices[found], rows, strict=False)
        cases = [f"{n:g} for {raw.classes[c]} of {raw.instances[r]}" for n, c, r in at]
        raise SchemaError(required, found=first_cases(cases, len(found)), where=raw.name, hint=hint)


def placed_scores(scores: Sparse, nodes: IntArray, n_nodes: int) -> Sparse:
    """Scores with each column at its node, -1 for none; canonical CSR without zeros."""
    at = nodes.astype(scores.indices.dtype)[scores.indices]
    values = np.where(at < 0, 0, scores.data)
    held = (values, np.maximum(at, 0), scores.indptr.copy())
    placed = csr_array(held, shape=(scores.shape[0], n_nodes))
    placed.eliminate_zeros()
    placed.sort_indices()
    return placed


def answered(
    raw: RawPredictions, placed: Sparse, unknown: IntArray, single: bool | None, alone: bool
) -> tuple[Sparse, bool, tuple[Reading, ...]]:
    """Scores at nodes, whether they are one answer of each instance, and what is not certain.

    They are if all rows sum to one within `MOST_TOLERANCE`, over all classes or those that are
    nodes; if each instance lists one class of several; if each names one label alone, and has one;
    or if ``single``, what the user says, is true. An instance whose one answer is a class that is
    no node keeps no score.

    Args:
        raw: The matched instances, with scores in [0, 1].
        placed: Their scores at nodes, shape (n_instances, n_nodes).
        unknown: Columns of the classes that are no nodes.
        alone: Whether each instance has one label.

    Raises:
        AskedError: If the scores of nearly all rows sum to one; or if instances have one label each
            and rows may be the highest of scores that do, or such scores that were rounded.
    """
    if raw.set_valued or single is False:
        one = single is None and alone and bool((np.diff(raw.scores.indptr) == 1).all())
        return placed, bool(single or one), ()
    whole, known = _sums(raw.scores), _sums(placed)
    sums = known if _largest_distance_from_one(known) < _largest_distance_from_one(whole) else whole
    said = () if single else _one_answer(raw, sums, alone)
    if said is None:
        wrong = int((np.abs(sums - 1) > SUM_TOLERANCE).sum())
        several = Reading(_ANY_ANSWERS, "rows do not sum to one", wrong, _ONE)
        is_open = (placed.data != 1).any() and (alone or whole.max() <= 1 + SUM_TOLERANCE)
        return placed, False, (several,) if is_open else ()
    if sums is known or _largest_distance_from_one(1 + whole - known) <= SUM_TOLERANCE:
        return placed, True, said
    beyond = raw.scores[:, unknown].max(axis=1).toarray() > placed.max(axis=1).toarray()
    scores = csr_array(placed.multiply(~beyond[:, np.newaxis]))
    scores.eliminate_zeros()
    named = first_cases(raw.classes[column] for column in unknown.tolist())
    why = "its scores are part of the sum of a row, and here it has the highest"
    decision, rows = f"an answer may be {named}, none of the nodes", int(beyond.sum())
    return scores, True, (*said, Reading(decision, why, rows, _SEVERAL, "instances"))


def _one_answer(raw: RawPredictions, sums: FloatArray, alone: bool) -> tuple[Reading, ...] | None:
    """Why each row has one answer, nothing if that is certain; None if a row has any number."""
    apart, n = _largest_distance_from_one(sums), len(sums)
    if apart <= SUM_TOLERANCE:
        return ()
    if apart <= MOST_TOLERANCE:
        return (Reading(_ONE_ANSWER, f"all rows sum to one within {apart:.1g}", n, _SEVERAL),)
    every, each = len(raw.classes), np.diff(raw.scores.indptr)
    if every > 1 and (each == 1).all() and sums.max() <= 1:
        return (Reading(_ONE_ANSWER, "each row lists one class of several", n, _SEVERAL),)
    wrong = np.flatnonzero(np.abs(sums - 1) > MOST_TOLERANCE)
    few = len(wrong) <= FEW * n and bool((raw.scores.data % 1).any())
    cut = (each < every).all() and sums.max() <= 1 + MOST_TOLERANCE
    if not few and not (alone and (cut or apart <= COARSE)):
        return None
    raise AskedError(
        "whether each row has one answer is not certain",
        found=f"rows sum to {sums.min():.2g} to {sums.max():.2g}, {len(wrong)} of {n} not to one"
        f": {first_cases(raw.instances[i] for i in wrong.tolist())}",
        where=raw.name,
        hint=f"{_ONE} if {_ONE_ANSWER}; {_SEVERAL} if {_ANY_ANSWERS}",
        options={"single_label": True},
    )
