"""The numbers of a prediction file as scores in [0, 1] of nodes, and the answers that they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, softmax

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.plurals import counted
from audit.base.readings import Reading, asked
from audit.base.settings import Transform
from audit.data.prediction_format import RawPredictions

SUM_TOLERANCE = 1e-4
"""Share of a total by which a row may miss it, however its numbers were written."""
MOST_TOLERANCE = 0.02
"""Largest such share that rounding is taken to explain without asking."""
_SOME = 4096


def rounding(numbers: FloatArray, columns: int, total: float = 1.0) -> float:
    """How far a row may be from its total because its numbers were rounded; 0 for whole numbers.

    Numbers of float16 and bfloat16 are rounded by a share of each, those with d decimals by half a
    unit of the last one, whatever type they have now.

    Args:
        numbers: All numbers, not negative, shape (n_numbers,).
        columns: Number of numbers of a row, zeros included.
        total: What a row adds up to.

    >>> rounding(np.array([0.25, 0.333, 0.417]), 3)
    0.0015
    """
    if (numbers == np.rint(numbers)).all():
        return 0.0
    decimals = (d for d in range(1, 8) if _are_whole(numbers[:_SOME] * 10.0**d))
    d = next((d for d in decimals if _are_whole(numbers * 10.0**d)), None)
    half = _are_halves(numbers[:_SOME]) and _are_halves(numbers)
    bits = numbers.astype(np.float32)
    brain = (bits == numbers).all() and not (bits.view(np.uint32) & 0xFFFF).any()
    explained = (
        0.0 if d is None else columns * 10.0**-d / 2,
        half * (total * 2.0**-11 + columns * 2.0**-25),
        brain * total * 2.0**-8,
    )
    return float(max(explained))


def sum_to_one(scores: Sparse) -> bool:
    """Whether the scores of each row do, as far as their rounding explains."""
    apart = np.abs(np.asarray(scores.sum(axis=1)) - 1).max(initial=0)
    rounded = apart > SUM_TOLERANCE and rounding(np.asarray(scores.data), scores.shape[1])
    return bool(apart <= max(SUM_TOLERANCE, min(rounded, MOST_TOLERANCE)))


def _are_whole(numbers: FloatArray) -> bool:
    """Whether all are whole, as far as float32 can tell."""
    return bool((np.abs(numbers - np.rint(numbers)) <= 2.0**-23 * numbers + 1e-9).all())


def _are_halves(numbers: FloatArray) -> bool:
    """Whether all are of float16, or what it is written as in the fewest digits."""
    halves = numbers.astype(np.float16)
    bits, written = halves.view(np.uint16), np.zeros(2**16)
    occurring = np.flatnonzero(np.bincount(bits)).astype(np.uint16)
    written[occurring] = [float(str(half)) for half in occurring.view(np.float16)]
    alike = np.minimum(np.abs(halves - numbers), np.abs(written[bits] - numbers))
    return bool((alike <= 1e-7 * numbers).all())


ROUNDING = 1e-6
"""How far outside [0, 1] a score may lie by rounding; it is then clipped."""

_Numbers: TypeAlias = NDArray[np.float64]
_Function: TypeAlias = Callable[[_Numbers], NDArray[Any]]


def as_scores(raw: RawPredictions, transform: Transform | None, several: int = 0) -> RawPredictions:
    """The same predictions with scores in [0, 1]; a node that is not listed keeps score 0.

    Without a transform, numbers of which each row sums to 100 are per cent, which is stated; others
    are scores. ``several`` is the number of instances that have several labels, beside which a
    softmax is stated too.
    """
    _refuse(raw, lambda numbers: ~np.isfinite(numbers), "every score must be a finite number")
    percent = not transform and _are_percentages(raw)
    if transform:
        _refuse_transform(raw, transform)
    elif percent:
        stated = Reading(
            "numbers are per cent", "all rows sum to 100", len(raw.instances), "--softmax"
        )
        raw = replace(raw, readings=(*raw.readings, stated))
    if transform == "softmax":
        said = "the scores of a row are shares of one answer, though instances have several labels"
        why = "--softmax says that classes exclude each other"
        stated = Reading(said, why, several, "--sigmoid", "instances")
        return _softmax(replace(raw, readings=(*raw.readings, *[stated] * bool(several))))
    if transform == "sigmoid":
        return _over(raw, expit)
    scores = _over(raw, lambda numbers: numbers / 100) if percent else raw
    in_hundred = raw.numbers.min(initial=0) >= 0 and raw.numbers.max(initial=0) <= 100
    labelled = f"{counted(several, 'instances')} have several labels"
    hint = f"--sigmoid turns a model's raw outputs into scores: {labelled}" if several else _OUTPUTS
    hint += "; per cent must be divided by 100" * bool(in_hundred)
    _refuse(scores, _no_score, "every score must be from 0 to 1", hint)
    return _over(scores, _clipped)


_OUTPUTS = "--softmax or --sigmoid turns a model's raw outputs into scores"


def _refuse_transform(raw: RawPredictions, transform: Transform) -> None:
    scores = raw.numbers.min(initial=1) >= 0 and raw.numbers.max(initial=0) <= 1
    if raw.set_valued or scores:
        raise SchemaError(
            f"--{transform} needs numbers that are no scores yet",
            found="predicted sets"
            if raw.set_valued
            else "numbers from 0 to 1 alone, as scores are",
            where=raw.name,
            hint=f"leave out --{transform}",
        )


def _are_percentages(raw: RawPredictions) -> bool:
    """Whether each row sums to 100, as far as rounding allows, and no number is negative."""
    apart = np.abs(np.asarray(raw.scores.sum(axis=1)) - 100).max(initial=0)
    if apart > 100 * MOST_TOLERANCE or raw.numbers.min() < 0:
        return False
    rounded = rounding(raw.numbers, len(raw.classes), 100)
    return bool(apart <= max(100 * SUM_TOLERANCE, rounded))


def _no_score(numbers: _Numbers) -> NDArray[np.bool_]:
    return (numbers < -ROUNDING) | (numbers > 1 + ROUNDING)


def _clipped(numbers: _Numbers) -> _Numbers:
    """Numbers within rounding of [0, 1], within it; the same array where all are."""
    within = numbers.min(initial=0) >= 0 and numbers.max(initial=1) <= 1
    return numbers if within else np.clip(numbers, 0, 1)


def _over(raw: RawPredictions, function: _Function) -> RawPredictions:
    """The function of every number that the file holds."""
    if isinstance(raw.scores, np.ndarray):
        return replace(raw, scores=function(raw.scores))
    held = raw.scores
    numbers = function(np.asarray(held.data))
    return replace(raw, scores=csr_array((numbers, held.indices, held.indptr), shape=held.shape))


def _softmax(raw: RawPredictions) -> RawPredictions:
    """Softmax over each row; refuses a list with gaps, whose share is not known."""
    if isinstance(raw.scores, np.ndarray):
        return replace(raw, scores=softmax(raw.scores, axis=1))
    listed = np.diff(raw.scores.indptr)
    short = np.flatnonzero(listed != len(raw.classes))
    if len(short):
        cases = [f"{listed[i]} of {raw.instances[i]}" for i in short[:5]]
        raise SchemaError(
            f"--softmax needs all {len(raw.classes):,} classes of every instance",
            found=first_cases(cases, len(short)),
            where=raw.name,
            hint="list them all, or write the softmax itself",
        )
    return replace(raw, scores=softmax(raw.scores.toarray(), axis=1))


def _refuse(raw: RawPredictions, wrong: _Function, required: str, hint: str = "") -> None:
    """Raise SchemaError with the first numbers that are wrong, where there are any."""
    found = np.flatnonzero(wrong(raw.numbers))
    if len(found):
        cases = [f"{raw.numbers[at]:g} for {_cell(raw, int(at))}" for at in found[:5]]
        raise SchemaError(required, found=first_cases(cases, len(found)), where=raw.name, hint=hint)


def _cell(raw: RawPredictions, at: int) -> str:
    """Class and instance of one of the numbers that the file holds, in row order."""
    if isinstance(raw.scores, np.ndarray):
        row, column = divmod(at, len(raw.classes))
    else:
        row = int(np.searchsorted(raw.scores.indptr, at, "right")) - 1
        column = int(raw.scores.indices[at])
    return f"{raw.classes[column]} of {raw.instances[row]}"


ROWS_PER_BLOCK = 1_024
"""Number of rows of a matrix that are mapped to nodes at a time, so that memory stays bounded."""

Stored: TypeAlias = tuple[FloatArray, NDArray[np.int32], NDArray[Any]]
"""Values, columns and row ends of the cells of a matrix that are not 0, in canonical order."""


def placed_scores(
    scores: FloatArray | Sparse, rows: IntArray, nodes: IntArray, n_nodes: int
) -> Sparse:
    """Some rows, with each column at its node; canonical, without zeros.

    Args:
        rows: Rows of it, in the order wanted, shape (n,).
        nodes: Node of each column, -1 for none, shape (n_classes,).
    """
    order = np.argsort(nodes, kind="stable")
    columns = order[nodes[order] >= 0]
    data, column, indptr = (
        _stored(scores, rows, columns)
        if isinstance(scores, np.ndarray)
        else _listed(csr_array(scores[rows][:, columns]))
    )
    own = nodes[columns].astype(np.int32)[column]
    return csr_array((data, own, indptr), shape=(len(rows), n_nodes))


def have_score(scores: FloatArray | Sparse, rows: IntArray, columns: IntArray) -> BoolArray:
    """Whether some rows have a score above 0 in some columns, shape (n,)."""
    sums = scores[:, columns].sum(axis=1)
    return np.asarray(sums).ravel()[rows] > 0


def _listed(scores: Sparse) -> Stored:
    scores.eliminate_zeros()
    scores.sort_indices()
    return scores.data, scores.indices.astype(np.int32), scores.indptr


def _stored(scores: FloatArray, rows: IntArray, columns: IntArray) -> Stored:
    """Some rows and columns, a block of rows at a time."""
    blocks = [rows[start : start + ROWS_PER_BLOCK] for start in range(0, len(rows), ROWS_PER_BLOCK)]
    counts = [np.count_nonzero(scores[np.ix_(block, columns)], axis=1) for block in blocks]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    data, column = np.empty(indptr[-1]), np.empty(indptr[-1], np.int32)
    for number, block in enumerate(blocks):
        part = scores[np.ix_(block, columns)]
        first = number * ROWS_PER_BLOCK
        own = slice(indptr[first], indptr[first + len(block)])
        held = np.nonzero(part)
        data[own], column[own] = part[held], held[1]
    return data, column, indptr


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

    They are if all rows sum to one within their precision, over all classes or those that are
    nodes; if all rows list the same number of scores, fewer than all, and none sums to more; or if
    ``single`` says so.

    Args:
        own: Rows of the matched instances, shape (n_instances,).
        placed: Their scores at nodes, shape (n_instances, n_nodes).
        single: What the user says; None: nothing.
        alone: Whether each instance has one label.
    """
    if raw.set_valued or single is False:
        return Scored(placed)
    whole, known = (np.asarray(s.sum(axis=1)).ravel() for s in (raw.scores, placed))
    whole = whole[own]
    sums = known if _apart(known) < _apart(whole) else whole
    said = () if single else _one_answer(raw, own, sums)
    if said is not None:
        if sums is known or _apart(1 + whole - known) <= SUM_TOLERANCE:
            return Scored(placed, True, said)
        beyond = _highest(raw.scores[:, unknown])[own] > _highest(placed)
        scores = csr_array(placed.multiply(~beyond[:, np.newaxis]))
        scores.eliminate_zeros()
        named = first_cases(raw.classes[column] for column in unknown.tolist())
        why = "its scores are part of the sum of a row, and here it has the highest"
        decision, rows = f"an answer may be {named}, none of the nodes", int(beyond.sum())
        return Scored(scores, True, (*said, Reading(decision, why, rows, _SEVERAL, "instances")))
    wrong = np.abs(sums - 1) > SUM_TOLERANCE
    several = Reading(_ANY_ANSWERS, "rows do not sum to one", int(wrong.sum()), _ONE)
    is_open = (placed.data != 1).any() and (alone or whole.max() <= 1 + SUM_TOLERANCE)
    return Scored(placed, False, (several,) if is_open else ())


def _one_answer(raw: RawPredictions, own: IntArray, sums: FloatArray) -> tuple[Reading, ...] | None:
    """Why each row has one answer, nothing if that is certain; None if a row has any number."""
    apart, n, classes = _apart(sums), len(sums), len(raw.classes)
    if apart <= SUM_TOLERANCE:
        return ()
    rounded = rounding(raw.numbers, classes)
    limit = max(SUM_TOLERANCE, min(rounded, MOST_TOLERANCE))
    if apart <= limit:
        why = f"all rows sum to one within {apart:.1g}, which the rounding of scores explains"
        return (Reading(_ONE_ANSWER, why, n, _SEVERAL),)
    kept = _kept(raw, own)
    if kept and sums.max() <= 1 + limit:
        why = f"each row lists {kept} of {classes} classes, and none sums to over one"
        return (Reading(f"{_ONE_ANSWER}; lower ones were cut off", why, n, _SEVERAL),)
    wrong = np.flatnonzero(np.abs(sums - 1) > limit)
    if apart <= rounded and sums.max() - 1 <= rounding(raw.numbers, _most(raw, own)):
        raise _coarse(raw, rounded, n - len(wrong), len(wrong))
    if len(wrong) <= FEW * n and (raw.numbers % 1).any():
        raise _few(raw, own, wrong)
    return None


def _kept(raw: RawPredictions, own: IntArray) -> int:
    """Number of scores of each row, where all rows list as many, fewer than all; else 0."""
    if isinstance(raw.scores, np.ndarray):
        return 0
    listed = np.unique(np.diff(raw.scores.indptr)[own])
    return int(listed[0]) if len(listed) == 1 and listed[0] < len(raw.classes) else 0


def _most(raw: RawPredictions, own: IntArray) -> int:
    """Greatest number of scores above 0 in a row: zeros explain no sum above one."""
    return int(np.diff(csr_array(raw.scores[own]).indptr).max(initial=0))


def _apart(sums: FloatArray) -> float:
    return float(np.abs(sums - 1).max(initial=0))


def _highest(scores: FloatArray | Sparse) -> FloatArray:
    best = scores.max(axis=1)
    return np.asarray(best if isinstance(scores, np.ndarray) else best.toarray()).ravel()


def _coarse(raw: RawPredictions, rounded: float, near: int, far: int) -> InputError:
    required = "it must be stated whether each row has one answer: scores are rounded so that rows "
    one, several = Reading(_ONE_ANSWER, "", near, _ONE), Reading(_ANY_ANSWERS, "", far, _SEVERAL)
    return asked(f"{required}may sum to one within {rounded:.2g}", (one, several), raw.name)


def _few(raw: RawPredictions, own: IntArray, wrong: IntArray) -> SchemaError:
    return SchemaError(
        "the scores of each instance must sum to one, as nearly all here do",
        found=f"{len(wrong):,} of {len(own):,} instances do not: "
        + first_cases(raw.instances[own[i]] for i in wrong.tolist()),
        where=raw.name,
        hint=f"correct them; {_ONE} if the highest score is the answer anyway; {_SEVERAL} if "
        + _ANY_ANSWERS,
    )
