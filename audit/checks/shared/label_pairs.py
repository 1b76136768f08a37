"""The pairs of labels behind a pair of nodes: labels at or below its two nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse, row
from audit.checks.check import TOP_PARTS
from audit.measure.measure import Measurements


@dataclass(frozen=True, eq=False)
class LabelPairs:
    """Joint instances of pairs of labels.

    Args:
        below: Row i holds node i and its descendants, shape (n_nodes, n_nodes).
        label: Position of each node among the selected labels, -1 for others, shape (n_nodes,).
        nodes: The selected labels, ascending, shape (n_labels,).
        joint: Instances that carry both without a label below both, shape (n_labels, n_labels).
    """

    below: Sparse
    label: IntArray
    nodes: IntArray
    joint: Sparse

    def of(self, a: int, b: int) -> list[tuple[int, int, int]]:
        """Pairs of labels at or below two nodes and their joint instances, most frequent first.

        A pair above another one with as many instances is left out. At most `TOP_PARTS` pairs.
        """
        sides = [self._labels(node) for node in (a, b)]
        met = csr_array(self.joint[sides[0]][:, sides[1]]).tocoo()
        first, second = self.nodes[sides[0][met.row]], self.nodes[sides[1][met.col]]
        order = np.lexsort((second, first, -met.data))
        pairs = list(zip(first[order].tolist(), second[order].tolist(), strict=True))
        counts = met.data[order].tolist()
        kept: list[tuple[int, int, int]] = []
        for place, (x, y) in enumerate(pairs):
            if len(kept) == TOP_PARTS:
                break
            equal = (pairs[i] for i in range(len(pairs)) if counts[i] == counts[place])
            if not any(self._above((x, y), other) for other in equal):
                kept.append((x, y, int(counts[place])))
        return kept

    def _labels(self, node: int) -> IntArray:
        places = self.label[row(self.below, node)]
        return places[places >= 0]

    def _above(self, pair: tuple[int, int], other: tuple[int, int]) -> bool:
        below = (o in row(self.below, x) for x, o in zip(pair, other, strict=True))
        return pair != other and all(below)


def label_pairs_below(measured: Measurements, pairs: Sequence[tuple[int, int]]) -> LabelPairs:
    """Joint instances of the labels at or below the nodes of the given pairs.

    The pair table is read once; only its lines below these nodes are kept in memory.
    """
    hierarchy, wanted = measured.hierarchy, np.zeros(len(measured.hierarchy), np.bool_)
    for node in {node for pair in pairs for node in pair}:
        wanted[row(hierarchy.below, node)] = True
    nodes = np.flatnonzero(wanted & (measured.direct_support > 0))
    label = np.full(len(hierarchy), -1, np.int64)
    label[nodes] = np.arange(len(nodes))
    ends = pl.col("a", "b").cast(pl.Int64)
    chosen = nodes.tolist()
    met = (
        measured.pairs.counted.select(ends, joint=pl.col("joint") - pl.col("joint_entailed"))
        .filter(pl.col("a").is_in(chosen) & pl.col("b").is_in(chosen) & (pl.col("joint") > 0))
        .collect(engine="streaming")
    )
    a, b = (label[met[end].to_numpy()] for end in ("a", "b"))
    shape = (len(nodes), len(nodes))
    upper = csr_array((met["joint"].to_numpy(), (a, b)), shape=shape)
    return LabelPairs(hierarchy.below, label, nodes, csr_array(upper + upper.T))
