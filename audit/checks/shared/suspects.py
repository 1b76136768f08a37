"""Labels that scores contradict, what kind of error each may be, and whether they are too many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import gammainc

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.checks.check import first_unmet
from audit.data.raw_predictions import MOST_TOLERANCE
from audit.engine.pairs.rows import row_numbers, row_sums
from audit.engine.scores.label_quality import Suspects, first_of, of_one_answer, of_several_answers
from audit.engine.statistics.resampling import unit_keys
from audit.hierarchies.relations import relate
from audit.measure.measure import Measurements, once
from audit.results.findings import NO_PREDICTIONS

MISSING = "missing"
"""Kind of a label that lacks, and none above it is given."""
UNFIT = "instances without exactly one label and scores that sum to one"
"""What cannot be judged where each instance has one answer."""
TOO_GENERAL, TOO_SPECIFIC, NO_OTHER = "too general", "too specific", "no other"
KINDS = (TOO_GENERAL, "sibling", "overlap", "same branch", "other branch", TOO_SPECIFIC)
"""What a label is beside the node that scores are for: `RELATIONS`, and above or below it."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The suspects of a model.

    Args:
        table: ``instance`` (index in the dataset), ``node`` (the label, or the one that lacks),
            ``lacks`` (which of both), ``other`` (the node that scores are for; of a label that
            lacks, the nearest given one above it; null where there is none), ``kind`` (of `KINDS`,
            `MISSING` or `NO_OTHER`), ``margin`` and ``probability``, in the order of margins.
        tests: A row for each node that has suspects, and for each that lacks on instances:
            ``node, lacks, suspects, labelled, expected, p_value``.
        family: Number of nodes that could be suspect, and could lack.
        left_out: Number of instances without exactly one label, or scores that sum to one, where
            each has one answer.
        unscored: Whether some nodes are labels and have no score.
        why_not: What the predictions lack to be judged; empty if nothing.
    """

    table: pl.DataFrame
    tests: pl.DataFrame
    family: int
    left_out: int
    unscored: bool
    why_not: str = ""


_TABLE = {
    **dict.fromkeys(("instance", "node"), pl.Int64),
    "lacks": pl.Boolean,
    "other": pl.Int64,
    "kind": pl.String,
    **dict.fromkeys(("margin", "probability"), pl.Float64),
}


_ORDER = ("margin", "instance", "lacks", "node")


@once
def judged(measured: Measurements) -> Judged:
    """Find the suspects, name what kind of error each may be, and test how many there are."""
    model = measured.model
    if model is None:
        return _nothing(NO_PREDICTIONS)
    scores = model.predictions.scores
    doubtful = not model.predictions.set_valued and bool((scores.data < 1).any())
    why_not = first_unmet(
        (doubtful, "predictions have no scores between 0 and 1"),
        (len(np.unique(scores.indices)) > 1, "one node alone has scores"),
    )
    if why_not:
        return _nothing(why_not)
    return (_one_answer if model.predictions.single_label else _several_answers)(measured)


def _nothing(why_not: str = "", left_out: int = 0, *, unscored: bool = False) -> Judged:
    nothing = pl.DataFrame(schema=_TABLE), pl.DataFrame()
    return Judged(*nothing, 0, left_out, unscored, why_not)


def _one_answer(measured: Measurements) -> Judged:
    predictions, gold = measured.predicted.predictions, measured.predicted.gold
    scores, n_nodes = predictions.scores, len(measured.hierarchy)
    scored = np.bincount(scores.indices, minlength=n_nodes) > 0
    alone = np.diff(gold.indptr) == 1
    label = np.zeros(len(predictions), np.int64)
    label[alone] = gold.indices[gold.indptr[:-1][alone]]
    judged = alone & (np.abs(row_sums(scores) - 1) <= MOST_TOLERANCE)
    left_out, unscored = int((~judged).sum()), not scored[gold.indices].all()
    rows = np.flatnonzero(judged & scored[label])
    if not len(rows):
        return _nothing(left_out=left_out, unscored=unscored)
    keys = unit_keys([predictions.instances[row] for row in rows.tolist()], 0)
    label = label[rows]
    found = of_one_answer(label, scores[rows], keys)
    kinds = _kinds(measured, found.nodes, found.instead)
    table = _table(found, predictions.rows[rows], lacks=False).with_columns(
        other=pl.Series(found.instead), kind=pl.Series(kinds, dtype=pl.String)
    )
    labelled = np.bincount(label, minlength=n_nodes)
    tests = _tests(measured, table, labelled, found.expected)
    return Judged(table.sort(_ORDER), tests, int((labelled > 0).sum()), left_out, unscored)


def _several_answers(measured: Measurements) -> Judged:
    predictions, gold = measured.predicted.predictions, measured.predicted.gold
    n_nodes = len(measured.hierarchy)
    scored = np.bincount(predictions.scores.indices, minlength=n_nodes) > 0
    given, lacking = of_several_answers(gold, predictions.scores, measured.hierarchy.strict_closure)
    labelled = np.bincount(gold.indices, minlength=n_nodes)
    held = _table(given, predictions.rows, lacks=False)
    held = held.with_columns(_nearest_answer(measured, given))
    missing = _table(lacking, predictions.rows, lacks=True)
    missing = missing.with_columns(_nearest_above(measured, lacking))
    tests = (
        _tests(measured, held, labelled, given.expected),
        _tests(measured, missing, labelled, lacking.expected),
    )
    family = 2 * int(((labelled > 0) & scored).sum())
    table = pl.concat([held, missing]).sort(_ORDER)
    return Judged(table, pl.concat(tests), family, 0, not scored[gold.indices].all())


def _table(found: Suspects, rows: IntArray, *, lacks: bool) -> pl.DataFrame:
    columns = {
        "instance": rows[found.rows],
        "node": found.nodes,
        "lacks": np.full(len(found.rows), lacks),
        "other": np.full(len(found.rows), -1),
        "kind": [""] * len(found.rows),
        "margin": found.margin,
        "probability": found.probability,
    }
    return pl.DataFrame(columns, schema_overrides=_TABLE)


def _kinds(measured: Measurements, label: IntArray, other: IntArray) -> list[str]:
    relation, _ = relate(measured.hierarchy, label, other)
    above = (relation == 0) & ~_is_below(measured.hierarchy.closure, other, label)
    return [KINDS[kind] for kind in np.where(above, len(KINDS) - 1, relation).tolist()]


def _is_below(closure: Sparse, low: IntArray, high: IntArray) -> BoolArray:
    n = closure.shape[0]
    return np.isin(low * n + high, row_numbers(closure) * n + closure.indices)


def _beside(rows: IntArray, matrix: Sparse) -> tuple[IntArray, IntArray, NDArray[Any]]:
    """Each place in ``rows`` with each stored column of that row of a matrix, and its value."""
    chosen = matrix[rows]
    return row_numbers(chosen), chosen.indices.astype(np.int64), chosen.data


def _nearest_answer(measured: Measurements, given: Suspects) -> list[pl.Series]:
    """The answer beside each label that is not given: of the nearest relation, highest score."""
    model = measured.predicted
    answers = model.decided - model.decided.multiply(model.gold)
    further = model.predictions.scores.multiply(answers).tocsr()
    further.eliminate_zeros()
    place, other, score = _beside(given.rows, further)
    relation, _ = relate(measured.hierarchy, given.nodes[place], other)
    order = np.lexsort((other, -score, relation, place))
    nearest = first_of(place, other, order, len(given.rows))
    kinds = np.full(len(nearest), NO_OTHER, object)
    there = nearest >= 0
    kinds[there] = _kinds(measured, given.nodes[there], nearest[there])
    return _other(nearest, kinds.tolist())


def _nearest_above(measured: Measurements, lacking: Suspects) -> list[pl.Series]:
    """The deepest label that is given above each that lacks."""
    hierarchy = measured.hierarchy
    place, label, _ = _beside(lacking.rows, measured.predicted.gold)
    kept = _is_below(hierarchy.closure, lacking.nodes[place], label)
    place, label = place[kept], label[kept]
    order = np.lexsort((label, -hierarchy.depth[label], place))
    nearest = first_of(place, label, order, len(lacking.rows))
    return _other(nearest, [TOO_GENERAL if one >= 0 else MISSING for one in nearest.tolist()])


def _other(nodes: IntArray, kinds: list[str]) -> list[pl.Series]:
    named = pl.Series("other", nodes, dtype=pl.Int64)
    return [named.set(named < 0, None), pl.Series("kind", kinds, dtype=pl.String)]


def _tests(
    measured: Measurements, table: pl.DataFrame, labelled: IntArray, expected: FloatArray
) -> pl.DataFrame:
    """How probable so many suspects of each node are; of one group they count as one."""
    groups = measured.loaded.group_of
    group = table["instance"] if groups is None else pl.Series(groups).gather(table["instance"])
    found = (
        table.with_columns(group=group)
        .group_by("node", "lacks")
        .agg(suspects=pl.len().cast(pl.Int64), groups=pl.col("group").n_unique())
        .sort("node")
    )
    node, k = found["node"].to_numpy(), found["suspects"].to_numpy()
    alone = found["groups"].to_numpy().astype(np.int64)
    by_chance = np.array([float(f"{one:.6g}") for one in expected[node].tolist()])
    p_value = gammainc(alone, np.maximum(by_chance * alone / k, np.finfo(float).tiny))
    return found.with_columns(
        pl.Series("labelled", labelled[node], dtype=pl.Int64),
        pl.Series("expected", by_chance, dtype=pl.Float64),
        pl.Series("p_value", p_value, dtype=pl.Float64),
    ).drop("groups")
