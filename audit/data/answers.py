"""What scores are: whether each row has one answer, its highest score, or several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.readings import Reading, asked
from audit.data.prediction_format import RawPredictions
from audit.data.scores import MOST_TOLERANCE, SUM_TOLERANCE, rounding

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
        raw: Predictions with scores from 0 to 1.
        own: Rows of the matched instances, shape (n_instances,).
        placed: Their scores at nodes, shape (n_instances, n_nodes).
        unknown: Columns of the classes that are no nodes.
        single: What the user says; None: nothing.
        alone: Whether each instance has one label.

    Raises:
        InputError: If only a coarse rounding explains how far rows are from one.
        SchemaError: If the rows of a few instances alone do not sum to one.
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
    if apart <= rounded:
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


def _apart(sums: FloatArray) -> float:
    return float(np.abs(sums - 1).max(initial=0))


def _highest(scores: FloatArray | Sparse) -> FloatArray:
    best = scores.max(axis=1)
    return np.asarray(best if isinstance(scores, np.ndarray) else best.toarray()).ravel()


def _coarse(raw: RawPredictions, rounded: float, near: int, far: int) -> InputError:
    required = "it must be clear whether each row has one answer: scores are rounded so that rows "
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
