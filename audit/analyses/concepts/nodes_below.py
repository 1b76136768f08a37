"""Which instances are below which nodes of a hierarchy, and which nodes can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csc_array, csr_array

from audit.analyses.concepts.representations import Representations, model_answers
from audit.base.dag import BoolArray, IntArray, Sparse, row
from audit.engine.statistics.resampling import unit_keys
from audit.hierarchies.hierarchy import Hierarchy

MOST_INSTANCES = 50_000
"""Instances that nodes are measured on."""


@dataclass(frozen=True, eq=False)
class Below:
    """Which instances are below which nodes.

    Args:
        member: 1 where an instance has a label at or below a node, shape (instances, nodes).
        predicted: The same of the model's answers; None where nothing was answered.
        answered: Whether the model's answer to each instance is known, shape (instances,).
        tested: Nodes with enough instances below them and elsewhere, ascending.
        families: The tested children of each parent that has at least two.
    """

    hierarchy: Hierarchy
    member: Sparse
    predicted: Sparse | None
    answered: BoolArray
    tested: IntArray
    families: Mapping[int, IntArray]

    def rows_below(self, node: int) -> IntArray:
        """The instances below a node, ascending."""
        return np.flatnonzero(dense(self.member, slice(None), [node])[:, 0])


def dense(member: Sparse, rows: IntArray | slice, nodes: IntArray | list[int]) -> BoolArray:
    """Membership of some rows in some nodes, shape (rows, nodes)."""
    return np.asarray(member[rows][:, nodes].toarray() > 0)


def instances_below(
    hierarchy: Hierarchy,
    labels: Sequence[Sequence[str]],
    answers: Sequence[Sequence[str] | None] | None,
    least: int,
    groups: Sequence[str | None] | None = None,
) -> Below:
    """Find the nodes that can be tested.

    Args:
        labels: The labels of each instance, of which at least one is a node.
        answers: The labels that a model gives each instance, None where its answer is not known;
            None without a model.
        least: Instances below a node, and elsewhere, from which it is tested; where there are
            groups, as many of these too.
        groups: The group of each instance, None for one without; None without any.
    """
    member = _member(hierarchy, labels)
    support = np.asarray(member.sum(axis=0)).reshape(-1)
    enough = np.minimum(support, len(labels) - support) >= least
    if groups is not None:
        enough &= _groups_on_both_sides(member, groups) >= least
    tested = np.flatnonzero(enough)
    families = {
        parent: children
        for parent in range(len(hierarchy))
        if len(children := np.intersect1d(row(hierarchy.child_matrix, parent), tested)) > 1
    }
    given = [None] * len(labels) if answers is None else answers
    answered = np.array([one is not None for one in given], np.bool_)
    predicted = _member(hierarchy, [one or () for one in given]) if answered.any() else None
    return Below(hierarchy, member, predicted, answered, tested, families)


def _groups_on_both_sides(member: Sparse, groups: Sequence[str | None]) -> IntArray:
    """The fewer of the groups below each node, and of those elsewhere; no group counts as one."""
    named = [str(row) if one is None else f"\0{one}" for row, one in enumerate(groups)]
    _, group = np.unique(named, return_inverse=True)
    size = np.bincount(group)
    there = csr_array((np.ones(len(group), np.int64), (group, np.arange(len(group)))))
    own = csr_array(there @ member)
    below = np.bincount(own.indices, minlength=member.shape[1])
    whole = own.data == np.repeat(size, np.diff(own.indptr))
    elsewhere = len(size) - np.bincount(own.indices[whole], minlength=member.shape[1])
    return np.minimum(below, elsewhere)


def _member(hierarchy: Hierarchy, labels: Sequence[Sequence[str]]) -> Sparse:
    place = {node: index for index, node in enumerate(hierarchy.nodes)}
    pairs = [
        (number, place[label])
        for number, several in enumerate(labels)
        for label in several
        if label in place
    ]
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    shape = (len(labels), len(hierarchy))
    direct = csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)
    member = csr_array(direct @ hierarchy.closure)
    member.data = np.minimum(member.data, 1)
    return member


def chosen_instances(ids: Sequence[str], placed: BoolArray, seed: int) -> IntArray:
    """The instances that nodes are measured on: those with a place, at most `MOST_INSTANCES`."""
    rows = np.flatnonzero(placed)
    if len(rows) <= MOST_INSTANCES:
        return rows
    keys = unit_keys([ids[row] for row in rows.tolist()], seed)
    return np.sort(rows[np.argsort(keys, kind="stable")[:MOST_INSTANCES]])


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
