"""Cuts through a hierarchy, how an instance's total is distributed over them, and decisions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, FloatArray, IntArray, Sparse
from audit.base.errors import SchemaError
from audit.engine.pairs.rows import chosen, highest, row_numbers, row_sums


def decide(scores: Sparse, threshold: float, *, single_label: bool) -> Sparse:
    """The predicted nodes: the highest score of each instance, or all scores from a threshold up.

    Args:
        scores: Shape (n_instances, n_nodes), canonical CSR.
        threshold: Least score of a predicted node; not used if ``single_label``.
        single_label: Whether to predict only the node of the highest score; ties go to the first.

    Returns:
        0/1, int64, same shape. With ``single_label`` an instance without a score above 0 has no
        prediction.
    """
    if single_label:
        best = highest(scores).column
        answered = np.flatnonzero(best >= 0)
        ones = np.ones(len(answered), np.int64)
        return csr_array((ones, (answered, best[answered])), shape=scores.shape)
    return chosen(scores, scores.data >= threshold)


@dataclass(frozen=True, eq=False)
class Cut:
    """A set of nodes by which the mass of instances is compared, and the atoms they divide it into.

    An atom consists of all nodes that have the same *set* of cut nodes at or above them. On a tree
    each cut node gives one atom; on a DAG a node below two cut nodes belongs to a third atom, so
    that nothing counts twice.
    """

    nodes: IntArray
    """Indices of the cut nodes, ascending, shape (n_cut,)."""
    atom_of: IntArray
    """The atom that each node's own value belongs to, shape (n_nodes,)."""
    atoms: Sparse
    """1 where a node is a cut node of the atom's set, shape (n_atoms, n_nodes)."""
    residual: int
    """The atom of the nodes under no cut node; -1 if there are none."""


def depth_cut(closure: Sparse, depth: IntArray, leaf: BoolArray, at: int) -> Cut:
    """The cut of the nodes at a depth and the leaves above it: an antichain over all leaves.

    Args:
        depth: Longest path from the root, shape (n_nodes,).
        at: The depth; 0 gives only the root, the largest depth or more gives all leaves.

    Raises:
        SchemaError: If the depth is negative.
    """
    return cut_at(closure, np.flatnonzero((depth == at) | (leaf & (depth < at))))


def level_cut(closure: Sparse, level: IntArray, at: int) -> Cut:
    """The cut of the nodes at one of the paper's levels; of nested ones only the topmost.

    Leaves that are not below these nodes fall into the residual atom.

    Args:
        level: Nodes on the shortest path to a leaf, shape (n_nodes,); a leaf has 1.
        at: The level.

    Raises:
        SchemaError: If no node has that level.
    """
    here = np.flatnonzero(level == at)
    within = csr_array(csr_array(closure[here])[:, here])
    return cut_at(closure, here[np.diff(within.indptr) == 1])


def cut_at(closure: Sparse, nodes: IntArray) -> Cut:
    """The cut at given nodes.

    Args:
        nodes: Distinct node indices, ascending, shape (n_cut,).

    Time and memory grow with the stored values of the closure.
    """
    if not len(nodes):
        raise SchemaError("a cut needs a node: a depth or level of the hierarchy is required")
    above = csr_array(closure[:, nodes])
    above.sort_indices()
    numbers: dict[bytes, int] = {}
    sets = (above.indices[i:j].tobytes() for i, j in pairwise(above.indptr.tolist()))
    atom_of = np.array([numbers.setdefault(own, len(numbers)) for own in sets], np.int64)
    _, first = np.unique(atom_of, return_index=True)
    of_atom = csr_array(above[first])
    atoms = csr_array(
        (np.ones(of_atom.nnz, np.int64), nodes[of_atom.indices], of_atom.indptr),
        shape=(len(first), closure.shape[0]),
    )
    return Cut(nodes, atom_of, atoms, numbers.get(b"", -1))


def atom_values(values: Sparse, cut: Cut) -> Sparse:
    """Sum of the values of each atom's nodes, shape (n_instances, n_atoms)."""
    n = len(cut.atom_of)
    parts = (np.ones(n), cut.atom_of, np.arange(n + 1))
    return csr_array(values @ csr_array(parts, shape=(n, cut.atoms.shape[0])))


def normalised(values: Sparse) -> Sparse:
    """Each row divided by its sum, same shape; a row that sums to zero gives zeros."""
    total = row_sums(values)[row_numbers(values)]
    shares = np.divide(values.data, total, out=np.zeros(values.nnz), where=total > 0)
    return csr_array((shares, values.indices, values.indptr), shape=values.shape)


def entropy(mass: Sparse) -> FloatArray:
    """Shannon entropy of each row in bits, shape (n_instances,); 0 for a row of zeros.

    Args:
        mass: Rows that sum to one or zero, shape (n_instances, n_atoms).

    >>> entropy(csr_array([[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]])).tolist()
    [1.0, 0.0, 0.0]
    """
    share = np.where(mass.data > 0, mass.data, 1.0)
    return row_sums(csr_array((-share * np.log2(share), mass.indices, mass.indptr), mass.shape))
