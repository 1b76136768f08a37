"""Where a model's answers stand in the hierarchy: on a label, near one, or elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, identity

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.base.declared import NONE
from audit.engine.pairs.rows import row_numbers
from audit.hierarchies.hierarchy import Hierarchy
from audit.sharing.told import Rounding

MOST_HELD = 0.6
"""Largest share of the label rows that a branch may hold here, so that none holds nearly all."""
MOST_NAMED = 6
"""Largest number of such branches that are named."""


def branches_of(hierarchy: Hierarchy, gold: Sparse, rounding: Rounding) -> IntArray:
    """The highest nodes below the root with at most `MOST_HELD` of the label rows, as told.

    Args:
        gold: Direct labels, 0/1, shape (n_instances, n_nodes).

    Returns:
        Indices of nodes, ascending; none where each node below the root holds more.
    """
    held = np.asarray(gold.sum(axis=0), np.int64) @ hierarchy.closure
    told = rounding.bins(NONE).all_told(np.append(held, gold.sum()).astype(np.int64))
    small = told[:-1] <= MOST_HELD * told[-1]
    small[hierarchy.root] = False
    return np.flatnonzero(small & (hierarchy.closure @ small.astype(np.int64) == 1))


def answered(
    hierarchy: Hierarchy, gold: Sparse, decided: Sparse, rounding: Rounding
) -> dict[str, Any]:
    """Count a model's answers by where they stand, a wrong one in the first place that fits.

    Args:
        gold: Direct labels, 0/1, shape (n_instances, n_nodes), canonical CSR.
        decided: Predicted labels of the same instances, 0/1, same shape.

    Returns:
        ``answers, labels, right, wrong`` and ``missed`` (labels without such an answer);
        ``related`` (above or below a label of the instance), ``beside`` (it shares with one a
        parent at or below a branch of `branches_of`), ``within`` (it shares such a branch) and
        ``elsewhere``, which sum to ``wrong``; ``precision`` and ``recall``, null without answers
        or labels; ``branches, branch_titles`` of these where they are `MOST_NAMED` or fewer.
    """
    branches = branches_of(hierarchy, gold, rounding)
    right = csr_array(decided.multiply(gold))
    wrong = csr_array(decided - right)
    wrong.eliminate_zeros()
    instance, node = row_numbers(wrong), wrong.indices

    def meets(of_answer: Sparse, of_label: Sparse) -> BoolArray:
        """Whether each wrong answer and a label of its instance stand for one thing."""
        labels = csr_array(gold @ of_label)[instance]
        return np.asarray(csr_array(of_answer)[node].multiply(labels).sum(axis=1)) > 0

    itself = csr_array(identity(len(hierarchy), np.int64))
    in_branch = csr_array(hierarchy.closure[:, branches])
    inside = np.asarray(in_branch.sum(axis=1) > 0, np.int64)
    parents = csr_array(hierarchy.edges.multiply(inside))
    related = meets(hierarchy.closure, itself) | meets(itself, hierarchy.closure)
    beside = meets(parents, parents) & ~related
    within = meets(in_branch, in_branch) & ~related & ~beside
    named = branches if len(branches) <= MOST_NAMED else branches[:0]
    answers, labels, hits = (int(one.sum()) for one in (decided, gold, right))
    counts = {"related": related, "beside": beside, "within": within}
    near = {name: int(found.sum()) for name, found in counts.items()}
    return {
        "answers": answers,
        "labels": labels,
        "right": hits,
        "wrong": answers - hits,
        **near,
        "elsewhere": answers - hits - sum(near.values()),
        "missed": labels - hits,
        "precision": hits / answers if answers else None,
        "recall": hits / labels if labels else None,
        "branches": [hierarchy.nodes[i] for i in named],
        "branch_titles": [hierarchy.titles[i] for i in named],
    }
