"""Labels that a model's scores contradict, and what kind of error each may be: a table."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.checks.rules.model_confuses import named
from audit.data.raw_predictions import MOST_TOLERANCE
from audit.engine.pairs.rows import row_numbers, row_sums, stored
from audit.engine.scores.label_quality import (
    Suspects,
    balanced,
    balanced_apart,
    of_one_answer,
    of_several_answers,
)
from audit.hierarchies.relations import relate
from audit.measure.measure import Measurements, once

MOST_SUSPECTS = 50
"""Number of labels in the table."""
MISSING, TOO_GENERAL, NO_OTHER = "missing", "too general", "no other"
KINDS = (TOO_GENERAL, "sibling", "overlap", "same branch", "other branch", "too specific")
"""What a label is beside the node that scores are for: `RELATIONS`, and above or below it."""

_SUSPECTS = schema(("instance node other", pl.Int64), ("kind", pl.String), ("margin", pl.Float64))


def first_suspects(measured: Measurements) -> pl.DataFrame:
    """The labels that scores contradict most, with ids and titles: see `ModelPart.frames`."""
    instances = measured.loaded.dataset.instances["instance"]
    first = suspects(measured).head(MOST_SUSPECTS)
    return first.with_columns(
        *named(measured, "node", "title"),
        *named(measured, "other", "title_other"),
        instance=instances.gather(first["instance"]),
    )


@once
def suspects(measured: Measurements) -> pl.DataFrame:
    """All labels that scores contradict, in the order of margins.

    Returns:
        Columns ``instance, node`` (indices), ``other`` (the node that scores are for; of a label
        that lacks, the deepest given one above it; null where there is none), ``kind`` (of `KINDS`,
        `MISSING` or `NO_OTHER`) and ``margin``. Empty where scores are only 0 and 1, or of one
        node; without instances whose scores do not sum to one, or that have another number of
        labels than one, where each has one answer.
    """
    predictions, gold = measured.predicted.predictions, measured.predicted.gold
    scores, rows = predictions.scores, predictions.rows
    doubtful = not predictions.set_valued and bool((scores.data < 1).any())
    if not doubtful or len(np.unique(scores.indices)) < 2:
        return pl.DataFrame(schema=_SUSPECTS)
    if not predictions.single_label:
        above = measured.hierarchy.strict_closure
        found = of_several_answers(gold, balanced_apart(scores, gold), above)
        other = np.where(
            found.lacks,
            _label_above(measured, found.rows, found.nodes),
            _answer_beside(measured, found.rows, found.nodes),
        )
        return _suspect_table(measured, found, rows[found.rows], other)
    alone = (np.diff(gold.indptr) == 1) & (np.abs(row_sums(scores) - 1) <= MOST_TOLERANCE)
    label = np.zeros(len(predictions), np.int64)
    label[alone] = gold.indices[gold.indptr[:-1][alone]]
    some = np.flatnonzero(alone & (np.bincount(scores.indices, minlength=gold.shape[1]) > 0)[label])
    if not len(some):
        return pl.DataFrame(schema=_SUSPECTS)
    found = of_one_answer(label[some], balanced(scores[some], label[some]))
    return _suspect_table(measured, found, rows[some[found.rows]], found.instead)


def _suspect_table(
    measured: Measurements, found: Suspects, instance: IntArray, other: IntArray
) -> pl.DataFrame:
    """The columns of `suspects`, sorted, with the kind of ``other`` beside each label found."""
    node, lacks = found.nodes, found.lacks
    relation, _ = relate(measured.hierarchy, node, np.maximum(other, 0))
    above = stored(measured.hierarchy.closure, node, np.maximum(other, 0))
    kinds = np.array(KINDS, object)[np.where((relation == 0) & above, len(KINDS) - 1, relation)]
    kinds[lacks] = TOO_GENERAL
    kinds[other < 0] = np.where(lacks, MISSING, NO_OTHER)[other < 0]
    columns = dict(zip(_SUSPECTS, (instance, node, other, kinds, found.margin), strict=True))
    table = pl.DataFrame(columns, _SUSPECTS)
    known = table.with_columns(other=pl.when(pl.col("other") >= 0).then("other"))
    return known.sort("margin", "instance", "kind", "node")


def _answer_beside(measured: Measurements, rows: IntArray, nodes: IntArray) -> IntArray:
    """The wrong answer beside each, of the nearest relation, then of highest score; -1: none."""
    model = measured.predicted
    beside = model.predictions.scores.multiply(model.decided - model.decided.multiply(model.gold))
    chosen = beside.tocsr()[rows]
    chosen.eliminate_zeros()
    place, other = row_numbers(chosen), chosen.indices.astype(np.int64)
    relation, _ = relate(measured.hierarchy, nodes[place], other)
    return _first(place, other, np.lexsort((other, -chosen.data, relation, place)), len(rows))


def _label_above(measured: Measurements, rows: IntArray, nodes: IntArray) -> IntArray:
    """The deepest label given above each; -1 without one."""
    hierarchy, chosen = measured.hierarchy, measured.predicted.gold[rows]
    place, label = row_numbers(chosen), chosen.indices.astype(np.int64)
    kept = stored(hierarchy.closure, nodes[place], label)
    place, label = place[kept], label[kept]
    return _first(place, label, np.lexsort((label, -hierarchy.depth[label], place)), len(rows))


def _first(place: IntArray, node: IntArray, order: IntArray, n: int) -> IntArray:
    """The first node of each of n places in an order; -1 without one."""
    found = np.full(n, -1, np.int64)
    places, first = np.unique(place[order], return_index=True)
    found[places] = node[order][first]
    return found
