"""The top branches of a hierarchy, which distinguish its nodes at a glance."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import IntArray, row
from audit.hierarchies.hierarchy import Hierarchy


def top_branches(hierarchy: Hierarchy) -> IntArray:
    """Number of the top branch of each node, shape (n,); -1 for one in none or in several.

    Top branches are the nodes right below the root. Where one of them alone has more than half of
    all leaves below it, on two levels or more, the nodes right below it take its place, and so on;
    a node below a top branch is none. They are numbered from 0 in node order.
    """
    tops = _tops(hierarchy)
    above = csr_array(hierarchy.closure[:, tops])
    numbers = np.full(len(hierarchy), -1, np.int64)
    single = np.diff(above.indptr) == 1
    numbers[single] = above.indices[above.indptr[:-1][single]]
    return numbers


def _tops(hierarchy: Hierarchy) -> IntArray:
    leaves = np.asarray(hierarchy.below @ hierarchy.leaf.astype(np.int64))
    wide = 2 * leaves > hierarchy.leaf.sum()
    found, below = set[int](), row(hierarchy.child_matrix, hierarchy.root)
    while True:
        found |= set(below.tolist())
        largest = below[wide[below]]
        if len(largest) != 1 or hierarchy.height[largest[0]] < 2:
            break
        found -= set(largest.tolist())
        below = row(hierarchy.child_matrix, int(largest[0]))
    tops = np.array(sorted(found), np.int64)
    within = csr_array(hierarchy.closure[tops][:, tops])
    topmost: IntArray = tops[np.diff(within.indptr) == 1]
    return topmost
