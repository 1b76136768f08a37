"""The metrics as functions of what is true and what a model says, made of their declarations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec

import polars as pl

from audit.alignment.inputs import (
    Classes,
    HierarchyLike,
    hierarchy_from,
    labels_and_outputs,
    outputs_from,
)
from audit.alignment.metrics import measures
from audit.alignment.metrics.measures import Average, Measure, On
from audit.alignment.metrics.model import nodes_of
from audit.alignment.metrics.streaming import whole
from audit.base.errors import SchemaError
from audit.counting.counts import counted_pairs
from audit.counting.pair_table import PairTable
from audit.engine.scores.cuts import Cut, depth_cut
from audit.engine.scores.score_pairs import count_score_pairs, support_at
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values
from audit.results.metric_list import METRICS

Arguments = ParamSpec("Arguments")


def _of_sets(
    name: str,
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Classes = None,
    average: Average = "micro",
    threshold: float = 0.5,
) -> float:
    """Labels and predictions count with all their ancestors but the root.

    NaN where nothing is predicted (precision), there is no label (recall), or neither (F1).
    """
    graph = hierarchy_from(hierarchy)
    gold, outputs = labels_and_outputs(y_true, y_pred, graph, classes)
    least = None if outputs.single_label else threshold
    measure = measures.hierarchical_scores(least)[average]
    return whole(measure, graph, gold, outputs.scores)[name]


def _at_depth(
    name: str,
    y_true: Any,
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Classes = None,
    depth: int | None = None,
) -> float:
    """The share of instances whose one answer there is right.

    The answer is the node with the highest aggregated score among those at the depth and the leaves
    above it; it is right at or above a label. Instances without a label there are left out; NaN
    without any.
    """
    graph = hierarchy_from(hierarchy)
    measure = measures.accuracy(_cut(graph, depth))
    return _value_of_answers(name, measure, y_true, y_score, graph, classes)


def _moved(
    name: str,
    y_true: Any,
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Classes = None,
    fine: int | None = None,
    coarse: int = 1,
) -> float:
    """Moving up is from a fine depth to a coarse one; all is over the errors at the fine one.

    `accuracy_alignment` is `recovered` less `lost`, at most 1, and below zero where more is lost;
    NaN without errors.
    """
    graph = hierarchy_from(hierarchy)
    measure = measures.accuracy_alignment(_cut(graph, fine), _cut(graph, coarse))
    return _value_of_answers(name, measure, y_true, y_score, graph, classes)


def _uncertain(
    name: str,
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Classes = None,
    fine: int | None = None,
    coarse: int = 1,
) -> float:
    """Moving up is from a fine depth to a coarse one; entropies are means over instances.

    As printed, the change is below zero where uncertainty lies within nodes; the relative drop is
    that of the code released with the paper. NaN without scores above 0; the relative drop also
    where the entropy at the fine depth is 0.
    """
    graph = hierarchy_from(hierarchy)
    measure = measures.uncertainty_alignment(_cut(graph, fine), _cut(graph, coarse))
    return _value_of_scores(name, measure, y_score, graph, classes)


def _severity(
    name: str, y_true: Any, y_score: Any, *, hierarchy: HierarchyLike, classes: Classes = None
) -> float:
    """Mean, over wrong answers, of the edges from the leaves up to where answer and label meet.

    Of several labels the nearest counts. NaN without mistakes.
    """
    graph = hierarchy_from(hierarchy)
    return _value_of_answers(name, measures.mistake_severity(), y_true, y_score, graph, classes)


def _preferred(
    name: str,
    y_score: Any,
    first: Sequence[str],
    second: Sequence[str],
    *,
    hierarchy: HierarchyLike,
    classes: Classes = None,
    below: bool = True,
    on: On = "values",
) -> float:
    """Share of instances whose highest score in the first part exceeds that in the second.

    Strict; the second part without the first; instances without a score above 0 in one of them are
    left out, NaN without any. Aggregated values of nested nodes are refused.
    """
    graph = hierarchy_from(hierarchy)
    left, right = (nodes_of(nodes, below, graph) for nodes in (first, second))
    measure = measures.subgraph_preference(left, right, on=on)
    return _value_of_scores(name, measure, y_score, graph, classes)


def _value_of_answers(
    name: str, measure: Measure, y_true: Any, y_score: Any, graph: Hierarchy, classes: Classes
) -> float:
    gold, outputs = labels_and_outputs(y_true, y_score, graph, classes)
    if outputs.set_valued:
        required = "one answer per instance is required: scores, or one label each"
        raise SchemaError(required, found="sets of labels")
    return whole(measure, graph, gold, outputs.scores)[name]


def _value_of_scores(
    name: str, measure: Measure, y_score: Any, graph: Hierarchy, classes: Classes
) -> float:
    outputs = outputs_from(y_score, graph, classes)
    if outputs.set_valued:
        raise SchemaError("scores are required", found="labels without scores")
    return whole(measure, graph, None, outputs.scores)[name]


def _cut(hierarchy: Hierarchy, depth: int | None) -> Cut:
    """The cut at a depth; None: at the leaves."""
    at = int(hierarchy.depth.max()) if depth is None else depth
    return depth_cut(hierarchy.closure, hierarchy.depth, hierarchy.leaf, at)


_ARGUMENTS = {
    "y_true": "Labels: one an instance, a list or set of them, class numbers, or an array or "
    "sparse matrix of 0 and 1 with a column a class.",
    "y_pred": "The same; or scores, as such a matrix or a dictionary an instance. Of scores that "
    "sum to one the highest is predicted, of others all from ``threshold``.",
    "y_score": "Scores, shape (n_instances, n_classes), or a dictionary an instance; or, beside "
    "labels, one label each.",
    "first": "Nodes of the first part.",
    "second": "Nodes of the second part.",
    "hierarchy": "A hierarchy, its name or path, or a dictionary of parents.",
    "classes": "Names of the classes by number, or of the columns; None: the hierarchy's nodes.",
    "average": "``micro`` over all nodes, ``macro`` over instances.",
    "threshold": "Least score of a predicted node.",
    "depth": "The depth, the root having 0; None: the leaves.",
    "fine": "The finer depth; None: the leaves.",
    "coarse": "The coarser one.",
    "below": "Whether all nodes below the named ones belong to a part.",
    "on": "``values`` of nodes, or ``aggregated`` ones.",
}
_RAISES = (
    "If a label, class or node is not in the hierarchy, labels and predictions are of other "
    "shapes, or sets are given where scores or one answer each are needed."
)


def _declared(
    name: str,
    function: Callable[Concatenate[str, Arguments], float],
    example: str,
    value: float,
) -> Callable[Arguments, float]:
    """The public function of a metric, with a docstring and an example; ``value`` is its result."""

    def measured(*args: Arguments.args, **kwargs: Arguments.kwargs) -> float:
        return function(name, *args, **kwargs)

    (metric,) = (one for one in METRICS if one.name == name)
    of = f" ({metric.source})" if metric.source else ""
    _, *parameters = inspect.signature(function).parameters.values()
    said = "\n".join(f"    {one.name}: {_ARGUMENTS[one.name]}" for one in parameters)
    measured.__doc__ = (
        f"{metric.title}{of}; {metric.better} is better.\n\n{inspect.getdoc(function)}\n\n"
        f"Args:\n{said}\n\nRaises:\n    SchemaError: {_RAISES}\n\n"
        f">>> tree = {TREE}\n>>> {name}({example}, hierarchy=tree)\n{value}\n"
    )
    measured.__name__ = measured.__qualname__ = name
    measured.__signature__ = inspect.Signature(parameters, return_annotation="float")  # type: ignore[attr-defined]
    return measured


TREE = {"a1": "a", "a2": "a", "b1": "b"}
_WRONG, _UNSURE = '["a1", "b1"], ["a2", "a2"]', '[{"a1": 0.5, "a2": 0.5}]'
accuracy = _declared("accuracy", _at_depth, '["a1", "b1"], ["a2", "b1"]', 0.5)
accuracy_alignment = _declared("accuracy_alignment", _moved, _WRONG, 0.5)
recovered = _declared("recovered", _moved, _WRONG, 0.5)
lost = _declared("lost", _moved, _WRONG, 0.0)
uncertainty_alignment = _declared("uncertainty_alignment", _uncertain, _UNSURE, -1.0)
abstraction_match = _declared("abstraction_match", _uncertain, _UNSURE, 1.0)
subgraph_preference = _declared(
    "subgraph_preference", _preferred, '[{"a1": 0.7, "b1": 0.3}], ["a"], ["b"]', 1.0
)
hierarchical_precision = _declared("hierarchical_precision", _of_sets, '["a1"], ["a2"]', 0.5)
hierarchical_recall = _declared("hierarchical_recall", _of_sets, '["a1", "b1"], ["a", "b1"]', 0.75)
hierarchical_f1 = _declared("hierarchical_f1", _of_sets, '["a1", "b1"], ["a", "b1"]', 6 / 7)
mistake_severity = _declared("mistake_severity", _severity, _WRONG, 1.5)


def concept_confusion(
    y_score: Any,
    *,
    hierarchy: HierarchyLike,
    classes: Classes = None,
    threshold: float = 1e-5,
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
    aggregated = aggregated_values(graph, outputs_from(y_score, graph, classes).scores)
    n = aggregated.shape[0]
    counted = counted_pairs(count_score_pairs(aggregated, threshold), n).lazy()
    table = PairTable(counted, lambda: graph, support_at(aggregated, threshold), n).frame
    shown = ("a", "b", "support_a", "support_b", "joint", "rate", "confusion", "relation", "lca")
    return table.select(shown).collect()
