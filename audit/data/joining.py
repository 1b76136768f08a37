"""Predictions beside labels: which row is of which instance, and which side holds all ancestors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse
from audit.base.errors import SchemaError, first_cases
from audit.base.readings import AskedError, Reading
from audit.data.dataset import LabelDataset
from audit.data.prediction_tables import UNNAMED
from audit.data.raw_predictions import RawPredictions
from audit.hierarchies.hierarchy import Hierarchy

Joined = tuple[IntArray, IntArray, tuple[Reading, ...]]
"""Indices in the dataset, ascending; the row of predictions of each; what is not certain."""
_SAME_IDS = (
    "both need the same ids: --id names the column of labels, --instances the rows of a matrix"
)


def joined(raw: RawPredictions, dataset: LabelDataset, by_order: bool) -> Joined:
    """Join predictions to labels by their ids, or by order where no side has any.

    The index of a frame that was saved is no id. Where both sides lack ids, or those of the other
    are the row numbers from 0 in order, they are joined by order, which is stated; other ids beside
    none, and row numbers from 0 beside others from 1, are asked for.

    Raises:
        AskedError: If it is not certain which row belongs to which instance.
        SchemaError: If nothing is shared, or there are not as many rows to be joined by order.
    """
    labels = dataset.instances["instance"].gather(dataset.order).to_list()
    ids, alike = [*raw.instances], len(labels) == len(raw.instances)
    indexed = dataset.id in UNNAMED and _counts_from(labels) == 0
    lacking = ["predictions"] * raw.numbered + ["labels"] * (dataset.numbered or indexed)
    counted = len(lacking) == 1 and labels == ids and _counts_from(ids) == 0
    if by_order or len(lacking) == 2 or counted:
        if not alike:
            raise _join_error(raw, labels, "as many predictions as instances are required")
        others = ", and the others are the row numbers from 0" if counted else ""
        why = f"the {' and '.join(lacking)} have no ids{others}"
        stated = Reading("labels and predictions are in the same order", why, len(ids), "--id")
        return np.arange(len(labels)), np.argsort(dataset.order), () if by_order else (stated,)
    if alike and (len(lacking) == 1 or {_counts_from(labels), _counts_from(ids)} == {0, 1}):
        sides = {"predictions": raw.instances, "labels": labels}
        each = (
            f"the {side} have {'no ids' if side in lacking else f'the ids {first_cases(own)}'}"
            for side, own in sides.items()
        )
        raise AskedError(
            "which prediction belongs to which label is not certain",
            found=" and ".join(each),
            where=raw.name,
            hint=f"--by-order if both are in the same order; else {_SAME_IDS}",
            options={"by_order": True},
        )
    row_of = {instance: row for row, instance in enumerate(ids)}
    own = np.full(len(labels), -1, np.int64)
    own[dataset.order] = [row_of.get(instance, -1) for instance in labels]
    rows = np.flatnonzero(own >= 0)
    if len(lacking) == 1 or not len(rows):
        raise _join_error(raw, labels, "predictions and labels must share instances")
    n, of = len(rows), max(len(ids), len(labels))
    decision = "only instances with the same id in labels and predictions are joined"
    option = "--by-order" if alike else "--id"
    partly = Reading(decision, "other ids are in only one of the two", n, option, "instances")
    return rows, own[rows], (partly,) * (n < of)


def _counts_from(ids: Sequence[str]) -> int:
    """The first of ids that count up by one from it; -1 of others."""
    first = int(ids[0]) if ids[0].isdecimal() else -1
    counted = map(str, range(first, first + len(ids)))
    return first if all(map(str.__eq__, ids, counted)) else -1


def _join_error(raw: RawPredictions, labels: Sequence[str], required: str) -> SchemaError:
    alike, sides = len(labels) == len(raw.instances), (raw.instances, labels)
    found = "predictions of {}; labels of {}".format(*map(first_cases, sides))
    found += "" if alike else f", {len(raw.instances):,} and {len(labels):,}"
    hint = _SAME_IDS + "; --by-order if both are in the same order" * alike
    return SchemaError(required, found=found, where=raw.name, hint=hint)


NEARLY = 0.9
"""Share of instances that are nearly all."""
Closed: TypeAlias = Literal["answers", "labels", ""]


def closed_side(hierarchy: Hierarchy, labels: Sparse, answers: Sparse) -> Closed:
    """The side of which nearly all instances hold every ancestor of their nodes but the root, if
    nearly none of the other do; empty where none is so.

    Instances without a node below the root's children say nothing; labels and answers are 0/1,
    shape (n_instances, n_nodes).
    """
    of_labels = _share_closed(hierarchy, labels)
    if of_labels is None or 1 - NEARLY < of_labels < NEARLY:
        return ""
    of_answers = _share_closed(hierarchy, answers)
    if of_answers is None:
        return ""
    if of_answers >= NEARLY and of_labels <= 1 - NEARLY:
        return "answers"
    return "labels" if of_labels >= NEARLY and of_answers <= 1 - NEARLY else ""


def _share_closed(hierarchy: Hierarchy, nodes: Sparse) -> float | None:
    """Share of instances that hold every ancestor, of those that have some; None of none."""
    above = _ancestors(hierarchy, nodes)
    needed, held = np.diff(above.indptr), np.diff(csr_array(above.multiply(nodes > 0)).indptr)
    some = needed > 0
    return float((held[some] == needed[some]).mean()) if some.any() else None


def _ancestors(hierarchy: Hierarchy, nodes: Sparse) -> Sparse:
    """The ancestors of each instance's nodes, the root left out; 0/1, canonical."""
    above = hierarchy.strict_closure.multiply(np.arange(len(hierarchy)) != hierarchy.root)
    found = csr_array((nodes > 0).astype(np.int64) @ csr_array(above))
    found.eliminate_zeros()
    found.data[:] = 1
    return found


def closed_upwards(hierarchy: Hierarchy, values: Sparse) -> Sparse:
    """Each node and its ancestors with the highest value below; the root with its own alone."""
    held = csr_array(values).tocoo()
    row, column = held.coords
    above = hierarchy.closure[column].tocoo()
    cells = {"row": row[above.row], "node": above.col, "value": held.data[above.row]}
    kept = (above.col != hierarchy.root) | (column[above.row] == hierarchy.root)
    best = pl.DataFrame(cells).filter(kept).group_by("row", "node").agg(pl.max("value"))
    places = (best["row"].to_numpy(), best["node"].to_numpy())
    closed = csr_array((best["value"].to_numpy(), places), shape=values.shape)
    closed.sort_indices()
    return closed


def lowest(hierarchy: Hierarchy, labels: Sparse) -> Sparse:
    """Labels without those that another label is below; 0/1, canonical."""
    above = csr_array(labels @ hierarchy.strict_closure)
    kept = csr_array(labels - labels.multiply(above > 0))
    kept.eliminate_zeros()
    return kept
