"""Each metric as a function of what is true and what a model says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from audit.alignment.metric_inputs import (
    HierarchyLike,
    hierarchy_from,
    labels_from,
    outputs_from,
    refuse_other_length,
)
from audit.alignment.metrics import confusion
from audit.alignment.metrics.accuracy import (
    Accuracy,
    AccuracyAlignment,
    Average,
    HierarchicalScores,
    MistakeSeverity,
    UncertaintyAlignment,
)
from audit.alignment.metrics.measure import nodes_of
from audit.alignment.metrics.preference import On, SubgraphPreference
from audit.alignment.metrics.streaming import Estimate, Measure, whole
from audit.base.dag import Sparse
from audit.base.errors import SchemaError
from audit.engine.scores.cuts import Cut, depth_cut
from audit.hierarchies.hierarchy import Hierarchy


def hierarchical_precision(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    average: Average = "micro",
    threshold: float = 0.5,
) -> float:
    """Share of predicted nodes and their ancestors, without the root, that the labels carry.

    Kiritchenko et al., *Learning and Evaluation in the Presence of Class Hierarchies*.

    Args:
        y_true: Labels: one an instance, a list or set of them, class numbers, or an array or sparse
            matrix of 0 and 1 with a column a class.
        y_pred: The same; or scores, as such a matrix or a dictionary an instance. Of scores that
            sum to one the highest is predicted, of others all from ``threshold``.
        hierarchy: A hierarchy, its name or path, or a dictionary of parents.
        classes: Names of the classes by number, or of the columns; None: the hierarchy's nodes.
        average: ``micro`` over all nodes, ``macro`` over instances.
        threshold: Least score of a predicted node.

    Returns:
        Between 0 and 1; NaN where nothing is predicted.

    Raises:
        SchemaError: If a label or class is no node, or the two have other shapes.

    >>> hierarchical_precision(["a1"], ["a2"], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    0.5
    """
    return _World(y_true, y_pred, hierarchy, classes).of_sets("precision", average, threshold)


def hierarchical_recall(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    average: Average = "micro",
    threshold: float = 0.5,
) -> float:
    """Share of the nodes that the labels carry, without the root, that are predicted or above one.

    Arguments and errors are those of `hierarchical_precision`; NaN where there is no label.

    >>> hierarchical_recall(["a1", "b1"], ["a", "b1"], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    0.75
    """
    return _World(y_true, y_pred, hierarchy, classes).of_sets("recall", average, threshold)


def hierarchical_f1(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    average: Average = "micro",
    threshold: float = 0.5,
) -> float:
    """Harmonic mean of hierarchical precision and recall; macro: its mean over instances.

    Arguments and errors are those of `hierarchical_precision`; NaN without labels and predictions.

    >>> hierarchical_f1(["a1", "b1"], ["a", "b1"], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    0.8571428571428571
    """
    return _World(y_true, y_pred, hierarchy, classes).of_sets("f1", average, threshold)


def accuracy(
    y_true: Any,
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    depth: int | None = None,
) -> float:
    """Share of instances whose one answer at a depth is right.

    The answer is the node with the highest aggregated score among those at the depth and the leaves
    above it; it is right at or above a label. Instances without a label there are left out.

    Args:
        y_true: Labels, as in `hierarchical_precision`.
        y_score: Scores, or one label an instance.
        hierarchy, classes: As in `hierarchical_precision`.
        depth: The depth, the root having 0; None: the leaves.

    Raises:
        SchemaError: As `hierarchical_precision`; or if sets of labels are predicted.

    >>> accuracy(["a1", "b1"], ["a2", "b1"], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    0.5
    """
    world = _World(y_true, y_score, hierarchy, classes)
    return world.of_answers(Accuracy(_cut(world.hierarchy, depth)), "accuracy")


def accuracy_alignment(
    y_true: Any,
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    fine: int | None = None,
    coarse: int = 1,
) -> float:
    """Net share of the errors at a fine depth that vanish at a coarse one.

    *Abstraction Alignment*, equation 1: `recovered` less `lost`, below zero where more is lost.

    Args:
        y_true, y_score, hierarchy, classes: As in `accuracy`.
        fine: Depth at which errors are counted; None: the leaves.
        coarse: Depth that they are judged at.

    Returns:
        At most 1; NaN without errors.

    Raises:
        SchemaError: As `accuracy`.

    >>> accuracy_alignment(["a1", "b1"], ["a2", "a2"], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    0.5
    """
    return _World(y_true, y_score, hierarchy, classes).moved("accuracy_alignment", fine, coarse)


def recovered(
    y_true: Any,
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    fine: int | None = None,
    coarse: int = 1,
) -> float:
    """Share of the errors at a fine depth that are right at a coarse one.

    Arguments and errors are those of `accuracy_alignment`.

    >>> recovered(["a1", "b1"], ["a2", "a2"], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    0.5
    """
    return _World(y_true, y_score, hierarchy, classes).moved("recovered", fine, coarse)


def lost(
    y_true: Any,
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    fine: int | None = None,
    coarse: int = 1,
) -> float:
    """Right answers at a fine depth that are wrong at a coarse one, over errors at the fine one.

    Arguments and errors are those of `accuracy_alignment`.

    >>> lost(["a1", "b1"], ["a2", "a2"], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    0.0
    """
    return _World(y_true, y_score, hierarchy, classes).moved("lost", fine, coarse)


def uncertainty_alignment(
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    fine: int | None = None,
    coarse: int = 1,
) -> float:
    """Mean entropy at a coarse depth less that at a fine one, in bits.

    *Abstraction Alignment*, equation 2 as printed: below zero where uncertainty lies within nodes.

    Args:
        y_score: Scores, shape (n_instances, n_classes), or a dictionary an instance.
        hierarchy, classes: As in `accuracy`.
        fine: The finer depth; None: the leaves.
        coarse: The coarser one.

    Returns:
        NaN without scores above 0.

    Raises:
        SchemaError: If a class is no node, or labels without scores are given.

    >>> uncertainty_alignment([{"a1": 0.5, "a2": 0.5}], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    -1.0
    """
    return _uncertain("uncertainty_alignment", y_score, hierarchy, classes, fine, coarse)


def abstraction_match(
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    fine: int | None = None,
    coarse: int = 1,
) -> float:
    """Share by which the mean entropy drops from a fine depth to a coarse one.

    The code released with *Abstraction Alignment*. Arguments and errors are those of
    `uncertainty_alignment`; NaN where the entropy at the fine depth is 0.

    >>> abstraction_match([{"a1": 0.5, "a2": 0.5}], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    1.0
    """
    return _uncertain("abstraction_match", y_score, hierarchy, classes, fine, coarse)


def mistake_severity(
    y_true: Any,
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
) -> float:
    """Mean height, over wrong answers, at which answer and label meet, in edges.

    Bertinetto et al., *Making Better Mistakes*. Arguments and errors are those of `accuracy`; NaN
    without mistakes.

    >>> mistake_severity(["a1", "b1"], ["a2", "a2"], hierarchy={"a1": "a", "a2": "a", "b1": "b"})
    1.5
    """
    world = _World(y_true, y_score, hierarchy, classes)
    return world.of_answers(MistakeSeverity(), "mistake_severity")


def subgraph_preference(
    y_score: Any,
    first: Sequence[str],
    second: Sequence[str],
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    below: bool = True,
    on: On = "values",
) -> float:
    """Share of instances whose highest score in one part of the hierarchy exceeds that in another.

    *Abstraction Alignment*, equation 3: strict; the second part without the first; instances
    without a score above 0 in one of them are left out.

    Args:
        y_score: As in `uncertainty_alignment`.
        first: Nodes of the first part.
        second: Nodes of the second part.
        hierarchy, classes: As in `accuracy`.
        below: Whether all nodes below the named ones belong to a part.
        on: ``values`` of nodes, or ``aggregated`` ones.

    Returns:
        NaN where no instance is compared.

    Raises:
        SchemaError: As `uncertainty_alignment`; if a node is not in the hierarchy; or, aggregated,
            if a node of one part is above one of the other.

    >>> subgraph_preference([{"b": 0.7, "d": 0.3}], ["b"], ["d"], hierarchy={"b": "a", "d": "a"})
    1.0
    """
    graph = hierarchy_from(hierarchy)
    left, right = (nodes_of(nodes, below, graph) for nodes in (first, second))
    scores = _scores(y_score, graph, classes)
    found = whole(SubgraphPreference(left, right, on), graph, None, scores)
    return value_of(found["subgraph_preference"])


def concept_confusion(
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None = None,
    threshold: float = confusion.THRESHOLD,
) -> pl.DataFrame:
    """How evenly scores are split between two nodes, in bits, on average over instances.

    *Abstraction Alignment*, equation 4. Errors and other arguments: as in `uncertainty_alignment`.

    Args:
        y_score: Scores; of labels alone the share of instances that carry both.
        threshold: Least aggregated score of a node that takes part; below it the entropy is 0.

    Returns:
        Every pair that an instance carries, ancestors included: ``a, b`` (nodes), ``support_a,
        support_b`` and ``joint`` (instances on which one, or both, reach the threshold), ``rate``
        (joint over all), ``confusion`` in [0, 1], ``relation``, ``lca`` (lowest common ancestor).

    >>> concept_confusion([{"a": 0.5, "b": 0.5}], hierarchy={"c": {"a": {}, "b": {}}})["rate"].max()
    1.0
    """
    graph = hierarchy_from(hierarchy)
    outputs = outputs_from(y_score, graph, classes)
    return confusion.concept_confusion(graph, outputs.scores, threshold=threshold)


class _World:
    """Labels and predictions of the same instances, and their hierarchy."""

    def __init__(
        self, y_true: Any, y_pred: Any, hierarchy: HierarchyLike, classes: Sequence[str] | None
    ) -> None:
        self.hierarchy = hierarchy_from(hierarchy)
        self.gold = labels_from(y_true, self.hierarchy, classes)
        self.outputs = outputs_from(y_pred, self.hierarchy, classes)

    def of_sets(self, name: str, average: Average, threshold: float) -> float:
        refuse_other_length(self.gold, self.outputs)
        least = None if self.outputs.single_label else threshold
        return self._value(HierarchicalScores(average, least), f"hierarchical_{name}")

    def of_answers(self, measure: Measure, name: str) -> float:
        if self.outputs.set_valued:
            raise SchemaError(
                "one answer per instance is required: scores, or one label each",
                found="sets of labels",
            )
        refuse_other_length(self.gold, self.outputs)
        return self._value(measure, name)

    def moved(self, name: str, fine: int | None, coarse: int) -> float:
        moved = AccuracyAlignment(_cut(self.hierarchy, fine), _cut(self.hierarchy, coarse))
        return self.of_answers(moved, name)

    def _value(self, measure: Measure, name: str) -> float:
        return value_of(whole(measure, self.hierarchy, self.gold, self.outputs.scores)[name])


def _cut(hierarchy: Hierarchy, depth: int | None) -> Cut:
    at = int(hierarchy.depth.max()) if depth is None else depth
    return depth_cut(hierarchy.closure, hierarchy.depth, hierarchy.leaf, at)


def _uncertain(
    name: str,
    y_score: Any,
    hierarchy: HierarchyLike,
    classes: Sequence[str] | None,
    fine: int | None,
    coarse: int,
) -> float:
    graph = hierarchy_from(hierarchy)
    moved = UncertaintyAlignment(_cut(graph, fine), _cut(graph, coarse))
    return value_of(whole(moved, graph, None, _scores(y_score, graph, classes))[name])


def _scores(y_score: Any, hierarchy: Hierarchy, classes: Sequence[str] | None) -> Sparse:
    outputs = outputs_from(y_score, hierarchy, classes)
    if outputs.set_valued:
        raise SchemaError("scores are required", found="labels without scores")
    return outputs.scores


def value_of(estimate: Estimate) -> float:
    """The value of an estimate, NaN where it is undefined."""
    return float("nan") if estimate.value is None else estimate.value
