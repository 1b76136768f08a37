"""Each metric in two steps: statistics of instances, and numbers computed from their sums.

Batches and machines can then be summed, and a bootstrap replicate is the same sum with other
weights. Formulas: ``docs/methods/metrics.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array, diags_array

from audit.alignment.metrics.batch import Batch
from audit.base.dag import CommonAncestors, FloatArray, IntArray, Sparse
from audit.base.errors import SchemaError
from audit.engine.pairs.pair_counts import binary_entropy
from audit.engine.pairs.rows import row_numbers, row_sums
from audit.engine.scores.cuts import Cut, decide
from audit.engine.statistics.association import ratio
from audit.hierarchies.hierarchy import Hierarchy

Parameters: TypeAlias = Mapping[str, object]
NONE: Parameters = MappingProxyType({})
Computed: TypeAlias = Mapping[str, tuple[FloatArray, FloatArray]]
"""Value and n of each number, by name; an undefined value is NaN."""
Average: TypeAlias = Literal["micro", "macro"]
On: TypeAlias = Literal["values", "aggregated"]
"""Values compared: a node's own scores, or scores aggregated over its descendants."""


@dataclass(frozen=True, eq=False)
class Measure:
    """A metric as a function of sums over instances.

    Args:
        of_batch: Statistics of the instances of a batch, each of shape (n_instances,).
        of_sums: The numbers, of shape (...), from their sums, each of that shape.
        parameters: As spelled in ``result.json``.
        scoped: Whether it is measured of the instances below a node, too.
    """

    of_batch: Callable[[Batch], Sequence[Any]]
    of_sums: Callable[..., Computed]
    parameters: Parameters
    scoped: bool = True


def accuracy(cut: Cut, parameters: Parameters = NONE) -> Measure:
    """Share of instances whose answer at a cut is a label or above one.

    An instance without mass has no answer and counts as wrong; one without a direct label at or
    below the cut is left out. ``ties`` is the number of answers chosen among tied nodes.
    """

    def of_batch(batch: Batch) -> Sequence[Any]:
        at = batch.at(cut)
        return at.expected, at.right, at.answers.tied & at.expected

    def of_sums(expected: FloatArray, right: FloatArray, tied: FloatArray) -> Computed:
        return {"accuracy": (ratio(right, expected), expected), "ties": (tied, expected)}

    return Measure(of_batch, of_sums, parameters)


def accuracy_alignment(fine: Cut, coarse: Cut, parameters: Parameters = NONE) -> Measure:
    """Shares of the errors at a fine cut that vanish, or arise, at a coarse one (equation 1).

    Covers the instances with a direct label at or below both cuts; n is the number of errors.
    """

    def of_batch(batch: Batch) -> Sequence[Any]:
        below, above = batch.at(fine), batch.at(coarse)
        expected = below.expected & above.expected
        wrong = expected & ~below.right
        return wrong, wrong & above.right, expected & below.right & ~above.right

    def of_sums(wrong: FloatArray, recovered: FloatArray, lost: FloatArray) -> Computed:
        parts = {"accuracy_alignment": recovered - lost, "recovered": recovered, "lost": lost}
        return {name: (ratio(part, wrong), wrong) for name, part in parts.items()}

    return Measure(of_batch, of_sums, parameters)


def uncertainty_alignment(fine: Cut, coarse: Cut, parameters: Parameters = NONE) -> Measure:
    """Change of the entropy of an instance's mass from a fine cut to a coarse one, in bits.

    ``uncertainty_alignment`` is equation 2 as printed, ``abstraction_match`` the relative drop of
    the released code; ``residual_from, residual_to`` are the mean mass under no node of each cut.
    An instance without mass has no entropy and is left out.
    """

    def of_batch(batch: Batch) -> Sequence[Any]:
        both = [batch.at(cut) for cut in (fine, coarse)]
        massive = batch.answers.column >= 0
        return massive, *(at.entropy for at in both), *(at.residual_share for at in both)

    def of_sums(n: FloatArray, *sums: FloatArray) -> Computed:
        below, above, residual_from, residual_to = sums
        return {
            "uncertainty_alignment": (ratio(above - below, n), n),
            "abstraction_match": (ratio(below - above, below), n),
            "residual_from": (ratio(residual_from, n), n),
            "residual_to": (ratio(residual_to, n), n),
        }

    return Measure(of_batch, of_sums, parameters)


def hierarchical_scores(
    threshold: float | None, parameters: Parameters = NONE
) -> Mapping[Average, Measure]:
    """Agreement of predicted and true labels, each with its ancestors but the root, by average.

    In the scope of a subtree an instance counts with all its labels, not only with those in the
    subtree. Instances for which a number is undefined are left out of it, and of its n.

    Args:
        threshold: Smallest score of a predicted node; None predicts only the highest one.
    """

    @lru_cache(maxsize=1)
    def of_batch(batch: Batch) -> Sequence[Any]:
        tree = batch.hierarchy
        above = csr_array(tree.closure[:, np.delete(np.arange(len(tree)), tree.root)])
        both, predicted, given = _sizes(batch, above, threshold)
        wholes = predicted, given, predicted + given
        shares = [np.nan_to_num(ratio(both, whole)) for whole in wholes]
        means = shares[0], shares[1], 2 * shares[2]
        return both, predicted, given, *(whole > 0 for whole in wholes), *means

    def macro(*sums: FloatArray) -> Computed:
        return _named(sums[6:], sums[3:6], sums[3:6])

    def micro(both: FloatArray, predicted: FloatArray, given: FloatArray, *rest: Any) -> Computed:
        wholes = predicted, given, predicted + given
        return _named((both, both, 2 * both), wholes, rest[:3])

    return {
        "micro": Measure(of_batch, micro, {"average": "micro", **parameters}),
        "macro": Measure(of_batch, macro, {"average": "macro", **parameters}),
    }


def _named(
    parts: Sequence[FloatArray], wholes: Sequence[FloatArray], n: Sequence[FloatArray]
) -> Computed:
    """Precision, recall and F1: each part over its whole, with its n."""
    names = (f"hierarchical_{name}" for name in ("precision", "recall", "f1"))
    return dict(zip(names, zip(map(ratio, parts, wholes), n, strict=True), strict=True))


def set_f1(stands_for: Sparse, threshold: float, parameters: Parameters) -> Measure:
    """F1 of what the labels of an instance and its predicted nodes stand for; micro.

    Args:
        stands_for: 1 where a node stands for another, shape (n_nodes, n_others).
        threshold: Smallest score of a predicted node.
    """

    def of_batch(batch: Batch) -> Sequence[Any]:
        both, predicted, given = _sizes(batch, stands_for, threshold)
        return both, predicted + given, predicted + given > 0

    def of_sums(both: FloatArray, stated: FloatArray, any_: FloatArray) -> Computed:
        return {"f1": (ratio(2 * both, stated), any_)}

    return Measure(of_batch, of_sums, parameters, scoped=False)


def generalised(hierarchy: Hierarchy) -> Iterator[tuple[Parameters, Sparse]]:
    """What a node stands for as given and, where depth exceeds 1, one level up and as branches.

    The root stands for nothing. One level up a node stands for its parents but the root, and for
    itself where it has no others.
    """
    others = np.arange(len(hierarchy)) != hierarchy.root
    given = csr_array(diags_array(others.astype(np.float64)))
    yield {"up": 0}, given
    if hierarchy.depth.max() > 1:
        parents = csr_array(hierarchy.edges @ given)
        itself = diags_array((others & (row_sums(parents) == 0)).astype(np.float64))
        yield {"up": 1}, csr_array(parents + itself)
        yield {"depth_to": 1}, csr_array(hierarchy.closure[:, hierarchy.branches])


def _sizes(
    batch: Batch, stands_for: Sparse, threshold: float | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Numbers of nodes that an instance's answers and labels both stand for, and each of them."""
    decided = decide(batch.scores, threshold or 0.0, single_label=threshold is None)
    predicted, given = (csr_array(side @ stands_for) for side in (decided, batch.gold))
    predicted.data, given.data = np.ones(predicted.nnz), np.ones(given.nnz)
    return row_sums(csr_array(predicted * given)), row_sums(predicted), row_sums(given)


def mistake_severity() -> Measure:
    """Mean height of the lowest common ancestor of answer and label, over wrong answers.

    The answer is the node with the highest score, before aggregation. Of several labels, the one
    with the smallest height counts. Instances without a label or an answer are left out.
    """

    def of_batch(batch: Batch) -> Sequence[Any]:
        instance, label = batch.labels
        answer = batch.answers.column[instance]
        known = answer >= 0
        instance, label, answer = instance[known], label[known], answer[known]
        smallest = np.full(len(batch), np.inf)
        np.minimum.at(smallest, instance, _meeting_height(batch.hierarchy, answer, label))
        right = np.bincount(instance[answer == label], minlength=len(batch)) > 0
        mistaken = np.isfinite(smallest) & ~right
        return mistaken, np.where(mistaken, smallest, 0.0)

    def of_sums(mistaken: FloatArray, height: FloatArray) -> Computed:
        return {"mistake_severity": (ratio(height, mistaken), mistaken)}

    return Measure(of_batch, of_sums, NONE)


def _meeting_height(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> FloatArray:
    """Height of the lowest common ancestor of each pair; each different pair is looked up once."""
    pairs, pair_of = np.unique(a * np.int64(len(hierarchy)) + b, return_inverse=True)
    ancestors = CommonAncestors(hierarchy.closure, hierarchy.depth, hierarchy.height)
    meeting = ancestors.lowest(*np.divmod(pairs, len(hierarchy)))
    return hierarchy.height[meeting][pair_of].astype(np.float64)


def subgraph_preference(
    first: IntArray, second: IntArray, parameters: Parameters = NONE, *, on: On = "values"
) -> Measure:
    """Share of instances whose largest value in one subgraph exceeds that in another (equation 3).

    The comparison is strict; ``ties`` is their number. Nodes of the first subgraph are removed from
    the second. An instance without a score above 0 on one side is left out.

    Raises:
        SchemaError: On aggregated values, if a node of one side is above one of the other, since
            its value could then never be the smaller one.
    """
    second = np.setdiff1d(second, first)

    def of_batch(batch: Batch) -> Sequence[Any]:
        if on == "aggregated":
            _refuse_nested(batch.hierarchy, first, second)
        values = csr_array(batch.aggregated) if on == "aggregated" else batch.scores
        left, right = (_largest(values, nodes) for nodes in (first, second))
        compared = (left > 0) & (right > 0)
        return compared, compared & (left > right), compared & (left == right)

    def of_sums(compared: FloatArray, preferred: FloatArray, tied: FloatArray) -> Computed:
        share = ratio(preferred, compared), compared
        return {"subgraph_preference": share, "ties": (tied, compared)}

    return Measure(of_batch, of_sums, parameters)


def _refuse_nested(hierarchy: Hierarchy, first: IntArray, second: IntArray) -> None:
    """Raise SchemaError if a node of one side is above one of the other."""
    for low, high in ((first, second), (second, first)):
        above = hierarchy.strict_closure[low][:, high].indices
        if len(above):
            raise SchemaError(
                "aggregated values can be compared only between nodes of which neither is above "
                "the other",
                found=f"{hierarchy.nodes[high[above[0]]]!r} of one side is an ancestor of a node "
                "of the other",
                hint="compare the values of the nodes themselves",
            )


def _largest(values: Sparse, nodes: IntArray) -> FloatArray:
    """The largest value of some nodes, shape (n_instances,); 0 where there is none."""
    chosen = np.isin(values.indices, nodes)
    largest = np.zeros(values.shape[0])
    np.maximum.at(largest, row_numbers(values)[chosen], values.data[chosen])
    return largest


def pair_confusions(pairs: Sequence[tuple[str, str]], threshold: float) -> Measure:
    """Concept confusion of each pair of nodes (equation 4), by its place; n is of all instances."""

    def of_batch(batch: Batch) -> Sequence[Any]:
        columns = [batch.hierarchy.index(node) for pair in pairs for node in pair]
        values = batch.aggregated[:, columns].toarray()
        entropies = np.zeros((len(pairs), len(batch)))
        for entropy, first, second in zip(entropies, values.T[::2], values.T[1::2], strict=True):
            both = (first >= threshold) & (second >= threshold)
            entropy[both] = binary_entropy(first[both], second[both])
        return np.ones(len(batch)), *entropies

    def of_sums(n: FloatArray, *entropies: FloatArray) -> Computed:
        return {str(place): (ratio(own, n), n) for place, own in enumerate(entropies)}

    return Measure(of_batch, of_sums, NONE)
