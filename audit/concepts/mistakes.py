"""How often a model's answers take a node and its hardest sibling for each other."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.sparse import csc_array

from audit.base.dag import BoolArray
from audit.concepts.nodes_below import instances_below
from audit.concepts.representations import Representations
from audit.hierarchies.hierarchy import Hierarchy

MISTAKES = ("taken_for_sibling", "sibling_taken_for_it")
"""Columns of `with_mistakes`: instances of the node that are answered as the sibling, and the
reverse; null without predictions or without a sibling."""


def with_mistakes(
    nodes: pl.DataFrame, representations: Representations, hierarchy: Hierarchy
) -> pl.DataFrame:
    """Add `MISTAKES` to nodes.

    An instance with a label below the node and none below the sibling is taken for the sibling if
    its prediction lies below the sibling and not below the node.

    Args:
        nodes: Columns `audit.concepts.measurements.NODES`.
        representations: The labels, and predictions if they were given.
        hierarchy: The hierarchy of the nodes.
    """
    instances = representations.instances.filter(
        pl.col("labels").list.eval(pl.element().is_in(hierarchy.nodes)).list.any()
        & pl.col("prediction").is_in(hierarchy.nodes)
    )
    if instances.is_empty() or nodes.is_empty():
        return nodes.with_columns(pl.lit(None, pl.Int64).alias(name) for name in MISTAKES)
    below = instances_below(
        hierarchy, instances["labels"].to_list(), instances["prediction"].to_list(), 1
    )
    assert below.predicted is not None
    labelled, answered = csc_array(below.member), csc_array(below.predicted)

    def only(member: csc_array, node: str, other: str) -> BoolArray:
        own, theirs = (
            np.asarray(member[:, [hierarchy.index(one)]].toarray()[:, 0] > 0)
            for one in (node, other)
        )
        return own & ~theirs

    counts = [
        (None, None)
        if sibling is None
        else tuple(
            int((only(labelled, one, other) & only(answered, other, one)).sum())
            for one, other in ((node, sibling), (sibling, node))
        )
        for node, sibling in nodes.select("node", "sibling").iter_rows()
    ]
    return nodes.with_columns(
        pl.Series(name, [pair[place] for pair in counts], pl.Int64)
        for place, name in enumerate(MISTAKES)
    )
