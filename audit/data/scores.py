"""The numbers of predictions as scores in [0, 1] of nodes, and the answers that they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from scipy.special import expit, softmax

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.errors import SchemaError, first_cases
from audit.base.plurals import counted
from audit.base.readings import AskedError, Reading
from audit.base.settings import Transform
from audit.data.raw_predictions import RawPredictions

SUM_TOLERANCE = 1e-4
"""Share of a total by which a row may miss it, however its numbers were written."""
MOST_TOLERANCE = 0.02
"""Largest such share, as rounding may cause it, at which a row still sums to the total."""
COARSE = 0.2
"""Largest such share that a coarse rounding may cause, so that it is asked."""
ROUNDING = 1e-6
"""How far outside [0, 1] a score may lie by rounding; it is then clipped."""

_Function: TypeAlias = Callable[[FloatArray], NDArray[Any]]


def sum_to_one(scores: FloatArray | Sparse) -> bool:
    """Whether the scores of each row do, as far as rounding may cause it to miss one."""
    return _apart(_sums(scores)) <= MOST_TOLERANCE


def _sums(scores: FloatArray | Sparse) -> FloatArray:
    return np.asarray(scores.sum(axis=1)).ravel()


def _apart(sums: FloatArray, total: float = 1) -> float:
    return float(np.abs(sums - total).max(initial=0)) / total


def as_scores(raw: RawPredictions, transform: Transform | None, several: int = 0) -> RawPredictions:
    """The same predictions with scores in [0, 1]; a node that is not listed keeps score 0.

    Without a transform, numbers of which each row sums to 100 are per cent, which is stated; others
    are scores. ``several`` is the number of instances that have several labels, beside which a
    softmax is stated too.
    """
    _refuse(raw, lambda numbers: ~np.isfinite(numbers), "every score must be a finite number")
    if transform:
        _refuse_transform(raw, transform)
    if transform == "softmax":
        said = "the scores of a row are shares of one answer, though instances have several labels"
        why = "--softmax says that classes exclude each other"
        stated = Reading(said, why, several, "--sigmoid", "instances")
        return _softmax(replace(raw, readings=(*raw.readings, *[stated] * bool(several))))
    if transform == "sigmoid":
        return _over(raw, expit)
    if raw.numbers.min(initial=0) >= 0 and _apart(_sums(raw.scores), 100) <= MOST_TOLERANCE:
        why, rows = "all rows sum to 100", len(raw.instances)
        stated = Reading("numbers are per cent", why, rows, "--softmax")
        raw = replace(_over(raw, lambda numbers: numbers / 100), readings=(*raw.readings, stated))
    labelled = f": {counted(several, 'instances')} have several labels"
    hint = f"--sigmoid turns a model's raw outputs into scores{labelled}" if several else _OUTPUTS
    in_hundred = raw.numbers.min(initial=0) >= 0 and raw.numbers.max(initial=0) <= 100
    hint += "; per cent must be divided by 100" * bool(in_hundred)
    outside = lambda numbers: (numbers < -ROUNDING) | (numbers > 1 + ROUNDING)  # noqa: E731
    _refuse(raw, outside, "every score must be from 0 to 1", hint)
    inside = raw.numbers.min(initial=0) >= 0 and raw.numbers.max(initial=1) <= 1
    return raw if inside else _over(raw, lambda numbers: np.clip(numbers, 0, 1))


_OUTPUTS = (
    "--softmax makes scores of a model's raw outputs where an instance has one answer, "
    "--sigmoid where it may have several"
)


def _refuse_transform(raw: RawPredictions, transform: Transform) -> None:
    found = "predicted sets" if raw.set_valued else "numbers from 0 to 1 alone, as scores are"
    if raw.set_valued or (raw.numbers.min(initial=1) >= 0 and raw.numbers.max(initial=0) <= 1):
        required, hint = "needs numbers that are no scores yet", f"leave out --{transform}"
        raise SchemaError(f"--{transform} {required}", found=found, where=raw.name, hint=hint)


def _over(raw: RawPredictions, function: _Function) -> RawPredictions:
    """The function of every number that the file holds."""
    if isinstance(raw.scores, np.ndarray):
        return replace(raw, scores=function(raw.scores))
    numbers, held = function(np.asarray(raw.scores.data)), raw.scores
    return replace(raw, scores=csr_array((numbers, held.indices, held.indptr), shape=held.shape))


def _softmax(raw: RawPredictions) -> RawPredictions:
    """Softmax over each row; refuses a list with gaps, whose share is not known."""
    if isinstance(raw.scores, np.ndarray):
        return replace(raw, scores=softmax(raw.scores, axis=1))
    listed = np.diff(raw.scores.indptr)
    if len(short := np.flatnonzero(listed != len(raw.classes))):
        raise SchemaError(
            f"--softmax needs all {len(raw.classes):,} classes of every instance",
            found=first_cases(f"{listed[i]} of {raw.instances[i]}" for i in short.tolist()),
            where=raw.name,
            hint="list them all, or write the softmax itself",
        )
    return replace(raw, scores=softmax(raw.scores.toarray(), axis=1))


def _refuse(raw: RawPredictions, wrong: _Function, required: str, hint: str = "") -> None:
    """Raise SchemaError with the first numbers that are wrong, where there are any."""
    found, held = np.flatnonzero(wrong(raw.numbers)), raw.scores
    if len(found):
        places: tuple[Any, ...]
        if isinstance(held, np.ndarray):
            places = np.unravel_index(found[:5], held.shape)
        else:
            places = tuple(own[found[:5]] for own in held.tocoo().coords)
        at = zip(found, *places, strict=False)
        cases = [f"{raw.numbers[n]:g} for {raw.classes[c]} of {raw.instances[r]}" for n, r, c in at]
        raise SchemaError(required, found=first_cases(cases, len(found)), where=raw.name, hint=hint)


ROWS_PER_BLOCK = 1_024
"""Number of rows of a matrix that are mapped to nodes at a time, so that memory stays bounded."""


def placed_scores(
    scores: FloatArray | Sparse, rows: IntArray, nodes: IntArray, n_nodes: int
) -> Sparse:
    """Some rows, with each column at its node; canonical, without zeros.

    Args:
        rows: Rows of it, in the order wanted, shape (n,).
        nodes: Node of each column, -1 for none, shape (n_classes,).
    """
    columns = np.argsort(nodes, kind="stable")[int((nodes < 0).sum()) :]
    blocks = [rows[start : start + ROWS_PER_BLOCK] for start in range(0, len(rows), ROWS_PER_BLOCK)]
    parts = [_stored(scores[block][:, columns]) for block in blocks or [rows]]
    held = csr_array(vstack(parts, "csr"))
    held.eliminate_zeros()
    held.sort_indices()
    at = nodes[columns].astype(held.indices.dtype)[held.indices]
    return csr_array((held.data, at, held.indptr), shape=(len(rows), n_nodes))


def _stored(scores: FloatArray | Sparse) -> Sparse:
    """The scores other than 0, row by row."""
    if not isinstance(scores, np.ndarray):
        return csr_array(scores)
    held = scores != 0
    starts = np.append(0, np.cumsum(held.sum(axis=1)))
    return csr_array((scores[held], np.nonzero(held)[1], starts), shape=scores.shape)


def have_score(scores: FloatArray | Sparse, rows: IntArray, columns: IntArray) -> BoolArray:
    """Whether some rows have a score above 0 in some columns, shape (n,)."""
    return _sums(scores[:, columns])[rows] > 0


FEW = 0.1
"""Share of instances whose scores do not sum to one, up to which they count as mistakes."""
_ONE, _SEVERAL = "--single-label", "--multi-label"
_ONE_ANSWER = "each row has one answer, its highest score"
_ANY_ANSWERS = "each score from the decision threshold up is an answer"


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of matched instances, and what they are.

    Args:
        scores: At nodes, shape (n_instances, n_nodes); none of an instance whose one answer is a
            class that is no node.
        single: Whether each instance has one answer.
        readings: What is not certain.
    """

    scores: Sparse
    single: bool = False
    readings: tuple[Reading, ...] = ()


def answered(
    raw: RawPredictions,
    own: IntArray,
    placed: Sparse,
    unknown: IntArray,
    *,
    single: bool | None,
    alone: bool,
) -> Scored:
    """Decide whether scores are one answer of each instance.

    They are if all rows sum to one within `MOST_TOLERANCE`, over all classes or those that are
    nodes; if each instance lists one class of several; or if ``single`` says so.

    Args:
        own: Rows of the matched instances, shape (n_instances,).
        placed: Their scores at nodes, shape (n_instances, n_nodes).
        single: What the user says; None: nothing.
        alone: Whether each instance has one label.

    Raises:
        AskedError: If the scores of nearly all rows sum to one; or if instances have one label each
            and rows may be the highest of scores that do, or such scores that were rounded.
    """
    if raw.set_valued or single is False:
        return Scored(placed)
    whole, known = _sums(raw.scores)[own], _sums(placed)
    sums = known if _apart(known) < _apart(whole) else whole
    said = () if single else _one_answer(raw, own, sums, alone)
    if said is None:
        wrong = int((np.abs(sums - 1) > SUM_TOLERANCE).sum())
        several = Reading(_ANY_ANSWERS, "rows do not sum to one", wrong, _ONE)
        is_open = (placed.data != 1).any() and (alone or whole.max() <= 1 + SUM_TOLERANCE)
        return Scored(placed, False, (several,) if is_open else ())
    if sums is known or _apart(1 + whole - known) <= SUM_TOLERANCE:
        return Scored(placed, True, said)
    beyond = _highest(raw.scores[:, unknown])[own] > _highest(placed)
    scores = csr_array(placed.multiply(~beyond[:, np.newaxis]))
    scores.eliminate_zeros()
    named = first_cases(raw.classes[column] for column in unknown.tolist())
    why = "its scores are part of the sum of a row, and here it has the highest"
    decision, rows = f"an answer may be {named}, none of the nodes", int(beyond.sum())
    return Scored(scores, True, (*said, Reading(decision, why, rows, _SEVERAL, "instances")))


def _one_answer(
    raw: RawPredictions, own: IntArray, sums: FloatArray, alone: bool
) -> tuple[Reading, ...] | None:
    """Why each row has one answer, nothing if that is certain; None if a row has any number."""
    apart, n = _apart(sums), len(sums)
    if apart <= SUM_TOLERANCE:
        return ()
    if apart <= MOST_TOLERANCE:
        return (Reading(_ONE_ANSWER, f"all rows sum to one within {apart:.1g}", n, _SEVERAL),)
    every, held = len(raw.classes), raw.scores
    each = np.full(n, every) if isinstance(held, np.ndarray) else np.diff(held.indptr)[own]
    if every > 1 and (each == 1).all() and sums.max() <= 1:
        return (Reading(_ONE_ANSWER, "each row lists one class of several", n, _SEVERAL),)
    wrong = np.flatnonzero(np.abs(sums - 1) > MOST_TOLERANCE)
    few = len(wrong) <= FEW * n and bool((raw.numbers % 1).any())
    cut = (each < every).all() and sums.max() <= 1 + MOST_TOLERANCE
    if not few and not (alone and (cut or apart <= COARSE)):
        return None
    raise AskedError(
        "whether each row has one answer is not certain",
        found=f"rows sum to {sums.min():.2g} to {sums.max():.2g}, {len(wrong)} of {n} not to one"
        f": {first_cases(raw.instances[own[i]] for i in wrong.tolist())}",
        where=raw.name,
        hint=f"{_ONE} if {_ONE_ANSWER}; {_SEVERAL} if {_ANY_ANSWERS}",
        options={"single_label": True},
    )


def _highest(scores: FloatArray | Sparse) -> FloatArray:
    best = scores.max(axis=1)
    return np.asarray(best if isinstance(scores, np.ndarray) else best.toarray()).ravel()
