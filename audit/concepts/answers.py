"""What probes and predictions answer, counted by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csc_array

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.concepts.nodes_below import instances_below
from audit.concepts.representations import Representations, model_answers
from audit.hierarchies.hierarchy import Hierarchy

MISTAKES = ("taken_for_sibling", "sibling_taken_for_it")
"""Columns of `with_mistakes`: instances of the node that are answered as the sibling, and the
reverse; null without answers of a model or without a sibling."""


def with_mistakes(
    nodes: pl.DataFrame,
    representations: Representations,
    hierarchy: Hierarchy,
    answers: pl.Series | None = None,
) -> pl.DataFrame:
    """Add `MISTAKES` to nodes.

    An instance with a label below the node and none below the sibling counts as answered
    with the sibling if the model answers a label below the sibling and none below the node.

    Args:
        nodes: Columns `audit.concepts.measurements.NODES`.
        representations: The labels, and predictions if they were given.
        hierarchy: The hierarchy of the nodes.
        answers: As `audit.concepts.measure.measure_concepts` takes them.
    """
    known = model_answers(representations, answers)
    labels = representations.instances["labels"].to_list()
    below = instances_below(hierarchy, labels, None if known is None else known[0].to_list(), 1)
    if nodes.is_empty() or below.predicted is None or not below.predicted.nnz:
        return nodes.with_columns(pl.lit(None, pl.Int64).alias(name) for name in MISTAKES)
    member, predicted = csc_array(below.member), csc_array(below.predicted)

    def only(of: csc_array, node: str, other: str) -> BoolArray:
        own, theirs = (
            np.asarray(of[:, [hierarchy.index(one)]].toarray()[:, 0] > 0) for one in (node, other)
        )
        return own & ~theirs

    counts = [
        (None, None)
        if sibling is None
        else tuple(
            int((only(member, one, other) & only(predicted, other, one)).sum())
            for one, other in ((node, sibling), (sibling, node))
        )
        for node, sibling in nodes.select("node", "sibling").iter_rows()
    ]
    return nodes.with_columns(
        pl.Series(name, [pair[place] for pair in counts], pl.Int64)
        for place, name in enumerate(MISTAKES)
    )


ONE, REST = "1 slice", "N-1 slices"
"""The classes that probes and ablation see: those of one slice, or of all but one."""
INLP, LEACE = "inlp", "leace"
TRANSFER, RETRAINED, PREDICT = "transfer", "retrained", "predict"
GROUNDED, TOKEN, MODULAR, CAUSAL = "is_grounded", "is_token_of_type", "is_modular", "is_causal"


class Part(NamedTuple):
    """What an accuracy is of; dimensions by their place."""

    test: str
    dimension: int | None = None
    seen: str | None = None
    ablation: str | None = None
    probe: str | None = None
    read: int | None = None


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one probe, of one seed, counted by class.

    Args:
        part: What they are of.
        seed: The seed.
        right: Right answers per class, shape (classes,).
        judged: All answers per class.
        auc: Area under the curve, NaN where it is not measured.
    """

    part: Part
    seed: int
    right: IntArray
    judged: IntArray
    auc: float = float("nan")


def count_answers(
    part: Part,
    seed: int,
    classes: int,
    class_of: IntArray,
    right: np.ndarray[tuple[int], np.dtype[np.bool_]],
    auc: float = float("nan"),
) -> Answers:
    """Count right answers by class, both of shape (n,)."""
    return Answers(
        part,
        seed,
        np.bincount(class_of[right], minlength=classes).astype(np.int64),
        np.bincount(class_of, minlength=classes).astype(np.int64),
        auc,
    )


@dataclass(frozen=True, eq=False)
class Pooled:
    """The answers of a part over slices and seeds.

    Args:
        seeds: Seeds, ascending.
        right: Right answers, shape (seeds, classes).
        judged: All answers, shape (seeds, classes).
        auc: Mean area under the curve over all probes; NaN where it is not measured.
    """

    seeds: IntArray
    right: FloatArray
    judged: FloatArray
    auc: float


def pool_answers(answers: list[Answers]) -> dict[Part, Pooled]:
    """Add the answers of each part up, in the order in which parts first occur."""
    of_part: dict[Part, list[Answers]] = {}
    for one in answers:
        of_part.setdefault(one.part, []).append(one)
    return {part: _pool(several) for part, several in of_part.items()}


def _pool(answers: list[Answers]) -> Pooled:
    seeds, place = np.unique([one.seed for one in answers], return_inverse=True)
    shape = (len(seeds), len(answers[0].right))
    right, judged = np.zeros(shape), np.zeros(shape)
    for row, one in zip(place.tolist(), answers, strict=True):
        right[row] += one.right
        judged[row] += one.judged
    areas = np.array([one.auc for one in answers])
    areas = areas[~np.isnan(areas)]
    return Pooled(seeds, right, judged, float(areas.mean()) if len(areas) else float("nan"))
