"""Joint counts of all pairs of nodes."""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, triu

from audit.base.dag import Sparse
from audit.base.progress import Progress, blocks, silent

Block: TypeAlias = tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]
"""Of some first nodes: how many second nodes each has, those nodes, and the sums of the pairs."""

NODES_PER_BLOCK = 512
"""Number of first nodes whose pairs one sparse product counts."""
VALUES_PER_CHUNK = 1 << 19
"""Number of values in each chunk of a growing array."""


def joint_counts(carried: Sparse, progress: Progress = silent) -> Sparse:
    """Joint counts of all pairs of nodes.

    Args:
        carried: A stored value where an instance carries a node, shape (n_instances, n_nodes),
            canonical CSR.
        progress: Progress callback, in first nodes counted.

    Returns:
        Strict upper triangle of shape (n_nodes, n_nodes), int32, canonical CSR: a stored value for
        each pair with a joint instance.

    Time grows with the pairs of nodes summed over instances, memory beyond the result with the
    stored values of ``carried``.
    """
    return pair_matrix(_by_products(carried, progress), carried.shape[1], np.int32)


def pair_matrix(
    counted: Iterable[Block], n_nodes: int, kind: type[np.int32] | type[np.float64]
) -> Sparse:
    """The sums of all blocks, shape (n_nodes, n_nodes), each row as its block has it."""
    growing = _Growing(np.int64), _Growing(np.int32), _Growing(kind)
    for block in counted:
        for whole, part in zip(growing, block, strict=True):
            whole.add(part)
    widths, seconds, sums = (whole.all() for whole in growing)
    starts = np.zeros(n_nodes + 1, np.int32 if len(sums) < 2**31 else np.int64)
    np.cumsum(widths, out=starts[1:])
    return csr_array((sums, seconds, starts), shape=(n_nodes, n_nodes))


class _Growing:
    """An array of parts that come one by one; memory holds each value once, also at the end.

    Parts are in anonymous maps, because what ``malloc`` frees it may keep.
    """

    def __init__(self, kind: type[np.number[Any]]) -> None:
        self.kind = np.dtype(kind)
        self.size = 0
        self.chunks: deque[NDArray[Any]] = deque()

    def add(self, part: NDArray[Any]) -> None:
        while len(part):
            used = self.size % VALUES_PER_CHUNK
            if not used:
                room = mmap.mmap(-1, VALUES_PER_CHUNK * self.kind.itemsize)
                self.chunks.append(np.frombuffer(room, self.kind))
            fits = part[: VALUES_PER_CHUNK - used]
            self.chunks[-1][used : used + len(fits)] = fits
            self.size += len(fits)
            part = part[len(fits) :]

    def all(self) -> NDArray[Any]:
        whole = np.empty(self.size, self.kind)
        for start in range(0, self.size, VALUES_PER_CHUNK):
            into = whole[start : start + VALUES_PER_CHUNK]
            into[:] = self.chunks.popleft()[: len(into)]
        return whole


def _by_products(carried: Sparse, progress: Progress) -> Iterator[Block]:
    """One sparse product a block of first nodes."""
    ones = csc_array(_with_data(carried, np.ones(carried.nnz, np.int32)))
    starts = range(0, max(carried.shape[1], 1), NODES_PER_BLOCK)
    for start in blocks(progress, "counting pairs", starts, "nodes"):
        first = csr_array(ones[:, start : start + NODES_PER_BLOCK].T)
        block = csr_array(triu(first @ csr_array(ones[:, start:]), k=1, format="csr"))
        block.sort_indices()
        yield np.diff(block.indptr), block.indices + np.int32(start), block.data


def _with_data(pattern: Sparse, data: NDArray[Any]) -> Sparse:
    return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
