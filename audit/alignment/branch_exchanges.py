"""Exchanges of labels summed by branch: which branches a model confuses with each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse, row
from audit.engine.pairs.rows import row_numbers
from audit.engine.scores.exchanges import Exchanges
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import RELATIONS, relate

MOST_BRANCHES = 15
"""Number of branches compared with each other: those with the most missed and false labels."""


def branch_exchanges(hierarchy: Hierarchy, found: Exchanges) -> tuple[dict[str, Any], ...]:
    """Count exchanges by the relation of their two labels, and between each pair of branches.

    Returns:
        ``kind, a, b, observed, expected``. Three rows, with ``a``, ``b`` and ``expected`` null,
        cover all exchanges: ``related`` (one label is an ancestor of the other), ``within`` (they
            share a branch)
        and ``across`` (they share no branch). Each row of kind ``branches`` is a pair of branches,
        ``a`` before ``b`` in node order, with at least one exchange of labels that share no branch.
        An exchange whose label is in several branches counts in the row of each. Without
        exchanges there are no rows.
    """
    if not len(found.a):
        return ()
    below = csr_array(hierarchy.closure[:, hierarchy.branches])
    relation, _ = relate(hierarchy, found.a, found.b)
    related = relation == RELATIONS.index("ancestor")
    apart = ~related & (np.diff(_in_both(below, found.a, found.b).indptr) == 0)
    kinds = (("related", related), ("within", ~related & ~apart), ("across", apart))
    totals = (_row(kind, None, None, int(found.observed[at].sum()), None) for kind, at in kinds)
    return (*totals, *_between(hierarchy, found, below, apart))


def _in_both(below: Sparse, a: IntArray, b: IntArray) -> Sparse:
    both = csr_array(below[a].multiply(below[b]))
    both.eliminate_zeros()
    return both


def _row(
    kind: str, a: str | None, b: str | None, observed: int, expected: float | None
) -> dict[str, Any]:
    return {"kind": kind, "a": a, "b": b, "observed": observed, "expected": expected}


def _between(
    hierarchy: Hierarchy, found: Exchanges, below: Sparse, apart: BoolArray
) -> Iterator[dict[str, Any]]:
    mistaken = (found.missed + found.false) @ below
    largest = np.sort(np.argsort(-mistaken, kind="stable")[:MOST_BRANCHES])
    sets, place = _branch_sets(below, np.flatnonzero(found.missed + found.false), largest)
    observed = np.zeros((len(sets), len(sets)))
    kept = apart & (place[found.a] >= 0) & (place[found.b] >= 0)
    np.add.at(observed, (place[found.a[kept]], place[found.b[kept]]), found.observed[kept])
    expected = _summed(found.rows, place, len(sets)).T @ _summed(found.columns, place, len(sets))
    disjoint = np.array([[one.isdisjoint(other) for other in sets] for one in sets], np.bool_)
    for a, b in combinations(largest.tolist(), 2):
        here = np.ix_([a in one for one in sets], [b in one for one in sets])
        total = int((observed + observed.T)[here].sum())
        if total:
            first, second = (hierarchy.nodes[hierarchy.branches[branch]] for branch in (a, b))
            by_chance = float((expected + expected.T)[here][disjoint[here]].sum())
            yield _row("branches", first, second, total, by_chance)


def _branch_sets(
    below: Sparse, labels: IntArray, largest: IntArray
) -> tuple[list[frozenset[int]], IntArray]:
    """The different sets of branches of labels in one of the largest, and the place of each node's.

    Other nodes have -1.
    """
    places: dict[frozenset[int], int] = {}
    place = np.full(below.shape[0], -1, np.int64)
    for label in labels.tolist():
        branches = frozenset(row(below, label).tolist())
        if not branches.isdisjoint(largest.tolist()):
            place[label] = places.setdefault(branches, len(places))
    return list(places), place


def _summed(terms: Sparse, place: IntArray, n_sets: int) -> FloatArray:
    """Terms of labels summed over each set of branches, shape (n_terms, n_sets)."""
    summed = np.zeros((terms.shape[0], n_sets))
    kept = place[terms.indices] >= 0
    at = row_numbers(terms)[kept], place[terms.indices[kept]]
    np.add.at(summed, at, terms.data[kept])
    return summed
