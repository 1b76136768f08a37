"""Accuracy at a cut, and how much of errors and of uncertainty the hierarchy accounts for.

*Abstraction Alignment*, section 3.3 and equations 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.streaming import Computed, Measure, columns
from audit.base.dag import CommonAncestors, FloatArray, IntArray, Sparse
from audit.engine.pairs.rows import row_numbers, row_sums
from audit.engine.scores.cuts import Cut
from audit.engine.statistics.association import ratio
from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Accuracy(Measure):
    """Share of instances whose answer at a cut is correct.

    The answer is the cut node with the highest aggregated value, the first one at ties. It is
    correct when a direct label is at or below it. An instance without mass has no answer and
    counts as wrong; an instance without a direct label at or below the cut is left out.
    """

    cut: Cut
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("expected", "right", "tied")

    def update(self, batch: Batch) -> FloatArray:
        """Whether each instance has an expected answer, a correct answer and a tied answer."""
        expected = batch.expected_at(self.cut)
        right, tied = batch.right_at(self.cut), batch.answers_at(self.cut).tied
        return np.column_stack([expected, right, tied & expected]).astype(np.float64)

    def compute(self, sums: FloatArray) -> Computed:
        """``accuracy``, and ``ties``: the number of answers chosen among tied nodes."""
        expected, right, tied = columns(sums)
        return {"accuracy": (ratio(right, expected), expected), "ties": (tied, expected)}


@dataclass(frozen=True, eq=False)
class AccuracyAlignment(Measure):
    """Share of the errors at a fine cut that vanish at a coarse one (equation 1).

    Covers the instances with a direct label at or below both cuts.
    """

    fine: Cut
    coarse: Cut
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("wrong", "recovered", "lost")

    def update(self, batch: Batch) -> FloatArray:
        """Whether each instance is wrong at the fine cut, correct only above, only below."""
        expected = batch.expected_at(self.fine) & batch.expected_at(self.coarse)
        below, above = batch.right_at(self.fine), batch.right_at(self.coarse)
        wrong, lost = expected & ~below, expected & below & ~above
        return np.column_stack([wrong, wrong & above, lost]).astype(np.float64)

    def compute(self, sums: FloatArray) -> Computed:
        """``recovered`` and ``lost``, relative to the errors at the fine cut, and their difference.

        All three are undefined without errors; n is the number of errors. ``accuracy_alignment``
        is at most 1 and negative where more is lost than recovered.
        """
        wrong, recovered, lost = columns(sums)
        return {
            "accuracy_alignment": (ratio(recovered - lost, wrong), wrong),
            "recovered": (ratio(recovered, wrong), wrong),
            "lost": (ratio(lost, wrong), wrong),
        }


@dataclass(frozen=True, eq=False)
class UncertaintyAlignment(Measure):
    """Change of the entropy of an instance's mass from a fine cut to a coarse one, in bits.

    Mass is normalised to sum to one and summed over the atoms of each cut; where values are not
    aggregated over descendants, the aggregated values of the cut's nodes are normalised, as the
    released code does. An instance without mass has no entropy and is left out.
    """

    fine: Cut
    coarse: Cut
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = (
        "massive",
        "fine_entropy",
        "coarse_entropy",
        "fine_residual",
        "coarse_residual",
    )

    def update(self, batch: Batch) -> FloatArray:
        """Whether each instance has mass, its entropies at both cuts, its mass outside each."""
        entropies = [batch.entropy(cut) for cut in (self.fine, self.coarse)]
        residuals = [batch.residual_share(cut) for cut in (self.fine, self.coarse)]
        return np.column_stack([batch.massive, *entropies, *residuals])

    def compute(self, sums: FloatArray) -> Computed:
        """Both definitions of the drop in entropy, and the mean mass under no node of each cut.

        ``uncertainty_alignment`` is equation 2 as printed, coarse minus fine: negative if entropy
        falls at the coarse cut. ``abstraction_match`` is what the released code computes, the
        relative drop of the mean entropies; undefined if the entropy at the fine cut is 0.
        """
        n, fine, coarse, fine_residual, coarse_residual = columns(sums)
        return {
            "uncertainty_alignment": (ratio(coarse - fine, n), n),
            "abstraction_match": (ratio(fine - coarse, fine), n),
            "residual_from": (ratio(fine_residual, n), n),
            "residual_to": (ratio(coarse_residual, n), n),
        }


Average = Literal["micro", "macro"]


@dataclass(frozen=True, eq=False)
class HierarchicalScores(Measure):
    """Agreement of predicted and true labels, each extended by its ancestors.

    Kiritchenko et al., *Learning and Evaluation in the Presence of Class Hierarchies*: both sets
    are extended by all ancestors except the root, which all nodes share. In the scope of a
    subtree an instance counts with all its labels, not only with those in the subtree.
    """

    average: Average
    threshold: float | None
    """Smallest score of a predicted node; None predicts only the node with the highest score."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = (
        "both",
        "predicted",
        "given",
        "any_predicted",
        "any_given",
        "any",
        "precision",
        "recall",
        "f1",
    )

    def update(self, batch: Batch) -> FloatArray:
        """Sizes of both sets and their intersection, and precision, recall and F1 per instance."""
        sides = (_decided(batch, self.threshold), batch.labels)
        predicted, given = (_with_ancestors(batch.hierarchy, len(batch), *side) for side in sides)
        sizes = [row_sums(m) for m in (csr_array(predicted * given), predicted, given)]
        both, n_predicted, n_given = sizes
        wholes = (n_predicted, n_given, n_predicted + n_given)
        present = [whole > 0 for whole in wholes]
        shares = [np.nan_to_num(ratio(both, whole)) for whole in wholes]
        return np.column_stack([*sizes, *present, *shares[:2], 2 * shares[2]])

    def compute(self, sums: FloatArray) -> Computed:
        """``hierarchical_precision``, ``hierarchical_recall`` and ``hierarchical_f1``.

        Micro averages over all assertions, macro over instances. Precision is undefined where
        nothing is predicted, recall where there is no label, F1 where neither is there; such
        instances are left out, and n counts the remaining ones.
        """
        both, predicted, given, any_predicted, any_given, any_, *means = columns(sums)
        parts = {"precision": any_predicted, "recall": any_given, "f1": any_}
        if self.average == "micro":
            shares = [
                ratio(both, predicted),
                ratio(both, given),
                ratio(2 * both, predicted + given),
            ]
        else:
            shares = [ratio(mean, n) for mean, n in zip(means, parts.values(), strict=True)]
        return {
            f"hierarchical_{name}": (share, n)
            for (name, n), share in zip(parts.items(), shares, strict=True)
        }


@dataclass(frozen=True, eq=False)
class SetF1(Measure):
    """F1 of what the labels of an instance and its predicted nodes stand for; micro.

    Args:
        stands_for: 1 where a node stands for another, shape (n_nodes, n_others).
        threshold: Smallest score of a predicted node.
    """

    stands_for: Sparse
    threshold: float
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("both", "stated", "any")
    scoped: ClassVar[bool] = False

    def update(self, batch: Batch) -> FloatArray:
        """Nodes of both sets, the sizes of the sets together, and whether either has a node."""
        sides = (_decided(batch, self.threshold), batch.labels)
        predicted, given = (_carried(self.stands_for, len(batch), *side) for side in sides)
        stated = row_sums(predicted) + row_sums(given)
        return np.column_stack([row_sums(csr_array(predicted * given)), stated, stated > 0])

    def compute(self, sums: FloatArray) -> Computed:
        """``f1``; n counts the instances with a node in either set, undefined where it is 0."""
        both, stated, any_ = columns(sums)
        return {"f1": (ratio(2 * both, stated), any_)}


def _decided(batch: Batch, threshold: float | None) -> tuple[IntArray, IntArray]:
    """Instance and node of each predicted label."""
    if threshold is None:
        instance = np.flatnonzero(batch.answers.column >= 0)
        return instance, batch.answers.column[instance]
    kept = (batch.scores.data >= threshold) & (batch.scores.data > 0)
    return row_numbers(batch.scores)[kept], batch.scores.indices[kept].astype(np.int64)


def generalised(hierarchy: Hierarchy) -> Iterator[tuple[Mapping[str, object], Sparse]]:
    """What a node stands for as given, one level up and as branches; the root stands for nothing.

    One level up it stands for its parents but the root, and for itself where it has no others.
    """
    others = np.arange(len(hierarchy)) != hierarchy.root
    given = csr_array(diags_array(others.astype(np.float64)))
    parents = csr_array(hierarchy.edges @ given)
    itself = diags_array((others & (row_sums(parents) == 0)).astype(np.float64))
    yield {"up": 0}, given
    if hierarchy.depth.max() > 1:
        yield {"up": 1}, csr_array(parents + itself)
        yield {"depth_to": 1}, csr_array(hierarchy.closure[:, hierarchy.branches])


def _with_ancestors(hierarchy: Hierarchy, n: int, instance: IntArray, node: IntArray) -> Sparse:
    """1 where a node is at or above one of the instance's, the root left out."""
    wanted = np.delete(np.arange(len(hierarchy)), hierarchy.root)
    return _carried(csr_array(hierarchy.closure[:, wanted]), n, instance, node)


def _carried(stands_for: Sparse, n: int, instance: IntArray, node: IntArray) -> Sparse:
    """1 where one of an instance's nodes stands for another."""
    direct = csr_array((np.ones(len(node)), (instance, node)), shape=(n, stands_for.shape[0]))
    carried = csr_array(direct @ stands_for)
    carried.data = np.ones(len(carried.data))
    return carried


@dataclass(frozen=True, eq=False)
class MistakeSeverity(Measure):
    """Mean height of the lowest common ancestor of answer and label, over wrong answers.

    Bertinetto et al., *Making Better Mistakes*, who define it on trees. On a DAG the lowest common
    ancestor is the deepest common one, ties by smaller height, then node
    order, as for all pairs of nodes. The answer is the node with the highest score, before
    aggregation. Of several labels, the one with the smallest height counts. Instances without a
    label or an answer are left out.
    """

    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("mistaken", "height")

    def update(self, batch: Batch) -> FloatArray:
        """Whether each answer is wrong, and the height of its mistake."""
        instance, label = batch.labels
        answer = batch.answers.column[instance]
        known = answer >= 0
        instance, label, answer = instance[known], label[known], answer[known]
        smallest = np.full(len(batch), np.inf)
        np.minimum.at(smallest, instance, _meeting_height(batch.hierarchy, answer, label))
        right = np.bincount(instance[answer == label], minlength=len(batch)) > 0
        mistaken = np.isfinite(smallest) & ~right
        return np.column_stack([mistaken, np.where(mistaken, smallest, 0.0)])

    def compute(self, sums: FloatArray) -> Computed:
        """``mistake_severity``, in edges; n is the number of mistakes, undefined where it is 0."""
        mistaken, height = columns(sums)
        return {"mistake_severity": (ratio(height, mistaken), mistaken)}


def _meeting_height(hierarchy: Hierarchy, a: IntArray, b: IntArray) -> FloatArray:
    """Height of the lowest common ancestor of each pair; each different pair is looked up once."""
    pairs, pair_of = np.unique(a * np.int64(len(hierarchy)) + b, return_inverse=True)
    first, second = np.divmod(pairs, len(hierarchy))
    ancestors = CommonAncestors(hierarchy.closure, hierarchy.depth, hierarchy.height)
    meeting = ancestors.lowest(first, second)
    return hierarchy.height[meeting][pair_of].astype(np.float64)
