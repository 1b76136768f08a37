"""How often a model's answers take a node and its hardest sibling for each other."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.sparse import csc_array

from audit.base.dag import BoolArray
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
