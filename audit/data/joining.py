"""Which row of a file of predictions belongs to which instance of a dataset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.base.dag import IntArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.readings import AskedError, Reading
from audit.data.dataset import LabelDataset
from audit.data.prediction_format import RawPredictions
from audit.data.sources.source import bare_id

Joined = tuple[IntArray, IntArray, tuple[Reading, ...]]
"""Indices in the dataset, ascending; the row of predictions of each; what is not certain."""
_SAME_IDS = "both need the same ids; --id names the column of the labels' ids"


def joined(raw: RawPredictions, dataset: LabelDataset, by_order: bool) -> Joined:
    """Join predictions to labels by their ids, or by order where no side has any.

    Where one side lacks ids, and those of the other are the row numbers from 0 in order, both are
    joined by order, which is stated. Other ids beside none, and row numbers from 0 beside others
    from 1, are asked for.
    """
    labels = dataset.instances["instance"].gather(dataset.order).to_list()
    ids, alike = [*raw.instances], len(labels) == len(raw.instances)
    in_order = np.arange(len(labels)), np.argsort(dataset.order)
    lacking = ["predictions"] * raw.numbered + ["labels"] * dataset.numbered
    if by_order or len(lacking) == 2:
        if not alike:
            raise _nothing_shared(raw, labels, "as many predictions as instances are required")
        return (*in_order, ())
    if len(lacking) == 1 and labels == ids and _first(ids) == 0:
        why = f"the {lacking[0]} have no ids, and the others are the row numbers from 0"
        stated = Reading("labels and predictions are in the same order", why, len(ids), "--id")
        return (*in_order, (stated,))
    ids, labels, told = _bared(ids, labels)
    row_of = {instance: row for row, instance in enumerate(ids)}
    own = np.full(len(labels), -1, np.int64)
    own[dataset.order] = [row_of.get(instance, -1) for instance in labels]
    rows = np.flatnonzero(own >= 0)
    shifted = alike and {_first(labels), _first(ids)} == {0, 1}
    if alike and (len(lacking) == 1 or shifted):
        raise _unclear(raw, labels, lacking)
    if len(lacking) == 1 or not len(rows):
        raise _nothing_shared(raw, labels, "predictions and labels must share instances")
    return rows, own[rows], (*told, *_partly(alike, len(rows), max(len(ids), len(labels))))


def _bared(
    ids: Sequence[str], labels: Sequence[str]
) -> tuple[list[str], list[str], tuple[Reading, ...]]:
    """Ids without folders and endings of files, which is told, where some are the same only so."""
    bare, others = [*map(bare_id, ids)], [*map(bare_id, labels)]
    same, distinct = {*bare} & {*others}, (len({*bare}), len({*others}))
    if not {*ids}.isdisjoint(labels) or distinct != (len(ids), len(labels)) or not same:
        return [*ids], [*labels], ()
    decision = "ids are compared without folders and endings of files"
    why = f"no ids are equal as written, such as {ids[0]!r} and {labels[0]!r}"
    return bare, others, (Reading(decision, why, len(same), "--by-order", "instances"),)


def _first(ids: Sequence[str]) -> int | None:
    """The first of ids that count up by one from it; None of others."""
    first = int(ids[0]) if ids[0].isdecimal() else -1
    counted = map(str, range(first, first + len(ids)))
    return first if first >= 0 and all(map(str.__eq__, ids, counted)) else None


def _partly(alike: bool, n: int, of: int) -> tuple[Reading, ...]:
    decision = "only instances with the same id in labels and predictions are joined"
    option = "--by-order" if alike else "--id"
    stated = Reading(decision, "other ids are in only one of the two", n, option, "instances")
    return (stated,) if n < of else ()


def _unclear(raw: RawPredictions, labels: Sequence[str], lacking: Sequence[str]) -> InputError:
    """What to ask where as many ids are not alike on both sides."""
    sides = {"predictions": raw.instances, "labels": labels}
    told = [
        f"the {side} have " + ("no ids" if side in lacking else f"the ids {first_cases(ids)}")
        for side, ids in sides.items()
    ]
    return AskedError(
        "it must be stated which prediction belongs to which label",
        found=" and ".join(told),
        where=raw.name,
        hint=f"--by-order if both are in the same order; else {_SAME_IDS}",
    )


def _nothing_shared(raw: RawPredictions, labels: Sequence[str], required: str) -> SchemaError:
    alike = len(labels) == len(raw.instances)
    counts = "" if alike else f", {len(raw.instances):,} and {len(labels):,}"
    return SchemaError(
        required,
        found=f"predictions of {first_cases(raw.instances)}; labels of {first_cases(labels)}"
        + counts,
        where=raw.name,
        hint=_SAME_IDS + "; --by-order if both are in the same order" * alike,
    )
