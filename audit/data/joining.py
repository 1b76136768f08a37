"""Which row of predictions belongs to which instance of a dataset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.base.dag import IntArray
from audit.base.errors import SchemaError, first_cases
from audit.base.readings import AskedError, Reading
from audit.data.dataset import LabelDataset
from audit.data.prediction_tables import UNNAMED
from audit.data.raw_predictions import RawPredictions

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
    indexed = dataset.id in UNNAMED and _first(labels) == 0
    lacking = ["predictions"] * raw.numbered + ["labels"] * (dataset.numbered or indexed)
    counted = len(lacking) == 1 and labels == ids and _first(ids) == 0
    if by_order or len(lacking) == 2 or counted:
        if not alike:
            raise _nothing_shared(raw, labels, "as many predictions as instances are required")
        others = ", and the others are the row numbers from 0" if counted else ""
        why = f"the {' and '.join(lacking)} have no ids{others}"
        stated = Reading("labels and predictions are in the same order", why, len(ids), "--id")
        return np.arange(len(labels)), np.argsort(dataset.order), () if by_order else (stated,)
    if alike and (len(lacking) == 1 or {_first(labels), _first(ids)} == {0, 1}):
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
        raise _nothing_shared(raw, labels, "predictions and labels must share instances")
    n, of = len(rows), max(len(ids), len(labels))
    decision = "only instances with the same id in labels and predictions are joined"
    option = "--by-order" if alike else "--id"
    partly = Reading(decision, "other ids are in only one of the two", n, option, "instances")
    return rows, own[rows], (partly,) * (n < of)


def _first(ids: Sequence[str]) -> int:
    """The first of ids that count up by one from it; -1 of others."""
    first = int(ids[0]) if ids[0].isdecimal() else -1
    counted = map(str, range(first, first + len(ids)))
    return first if all(map(str.__eq__, ids, counted)) else -1


def _nothing_shared(raw: RawPredictions, labels: Sequence[str], required: str) -> SchemaError:
    alike, sides = len(labels) == len(raw.instances), (raw.instances, labels)
    found = "predictions of {}; labels of {}".format(*map(first_cases, sides))
    found += "" if alike else f", {len(raw.instances):,} and {len(labels):,}"
    hint = _SAME_IDS + "; --by-order if both are in the same order" * alike
    return SchemaError(required, found=found, where=raw.name, hint=hint)
