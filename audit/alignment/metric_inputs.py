"""Labels and predictions as people hold them, as sparse matrices over the nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from audit.base.dag import IntArray, Sparse
from audit.base.errors import SchemaError, first_cases
from audit.data.placing import place
from audit.data.raw_predictions import sum_to_one
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import HierarchyName, load_hierarchy

HierarchyLike: TypeAlias = Hierarchy | HierarchyName
"""A hierarchy, or what `audit.load_hierarchy` takes."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a model says.

    Args:
        scores: Scores of the nodes, shape (n_instances, n_nodes), canonical CSR; 1 for a label.
        set_valued: Whether only labels are predicted, any number an instance.
        single_label: Whether each instance has one answer, the node with the highest score.
    """

    scores: Sparse
    set_valued: bool
    single_label: bool


def hierarchy_from(given: HierarchyLike) -> Hierarchy:
    """The hierarchy that is given, named, or spelled out as a dictionary of parents."""
    return given if isinstance(given, Hierarchy) else load_hierarchy(given)


def labels_from(given: Any, hierarchy: Hierarchy, classes: Sequence[str] | None = None) -> Sparse:
    """True labels as 0 and 1, shape (n_instances, n_nodes), int64 canonical CSR.

    Args:
        given: A label an instance, or a list or set of labels; class numbers, or an array or sparse
            matrix of 0 and 1 with a column a class; a frame with a column a class.
        hierarchy: The hierarchy; labels become nodes as in ``audit run``.
        classes: Names of the classes by number, or of the columns; None: the columns of a frame,
            else the nodes of the hierarchy in their order.

    Raises:
        SchemaError: If a label or a class is no node, or the shape or kind is another.
    """
    values = _read(given, hierarchy, classes).scores
    if (values.data != 1).any():
        raise SchemaError(
            "true labels must be names, class numbers, or 0 and 1", found="other numbers"
        )
    return csr_array(values.astype(np.int64))


def outputs_from(
    given: Any,
    hierarchy: Hierarchy,
    classes: Sequence[str] | None = None,
    single_label: bool | None = None,
) -> Outputs:
    """Predictions: labels as `labels_from` takes them, or scores.

    Args:
        given: As in `labels_from`; or scores as an array, a sparse matrix or a frame with a column
            a class, or a dictionary of scores an instance. Whole numbers and booleans are labels.
        single_label: Whether each instance has one answer; None: as scores that sum to one say.

    Raises:
        SchemaError: As `labels_from`; if a score is negative or not finite; or if labels are given
            and ``single_label`` asks for a highest score.
    """
    found = _read(given, hierarchy, classes)
    if single_label is None or single_label == found.single_label:
        return found
    if found.set_valued:
        raise SchemaError("one answer per instance needs scores, or one label each", found="sets")
    return Outputs(found.scores, False, single_label)


def _read(given: Any, hierarchy: Hierarchy, classes: Sequence[str] | None) -> Outputs:
    if hasattr(given, "detach"):
        tensor = given.detach().cpu()
        given = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        classes = list(given.columns) if classes is None else classes
        given = given.to_numpy()
    if issparse(given):
        sparse: Any = given
        return _of_matrix(csr_array(sparse), hierarchy, classes)
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "biuf":
        return _of_matrix(csr_array(given), hierarchy, classes)
    return _of_list(list(given), hierarchy, classes)


def _of_list(given: list[Any], hierarchy: Hierarchy, classes: Sequence[str] | None) -> Outputs:
    if given and all(isinstance(one, Mapping) for one in given):
        return _of_dictionaries(given, hierarchy)
    if given and all(isinstance(one, int | np.integer) for one in given):
        return _of_numbers(np.array(given, np.int64), hierarchy, classes)
    if all(one is None or isinstance(one, str) for one in given):
        return _of_labels([[] if one is None else [one] for one in given], hierarchy, single=True)
    sets = [list(one) for one in given if isinstance(one, Collection) and not isinstance(one, str)]
    if len(sets) == len(given) and all(isinstance(x, str) for own in sets for x in own):
        return _of_labels(sets, hierarchy, single=False)
    try:
        matrix = np.array(given)
    except ValueError:
        matrix = np.array(None)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise SchemaError(
            "labels, lists of labels, class numbers, scores by name, or a matrix are required",
            found=first_cases(sorted({type(one).__name__ for one in given})),
        )
    return _of_matrix(csr_array(matrix), hierarchy, classes)


def _of_labels(sets: list[list[str]], hierarchy: Hierarchy, *, single: bool) -> Outputs:
    flat = [label for own in sets for label in own]
    node_of = _nodes(flat, hierarchy)
    rows = np.repeat(np.arange(len(sets)), [len(own) for own in sets])
    columns = np.array([node_of[label] for label in flat], np.int64)
    return Outputs(_canonical(rows, columns, np.ones(len(flat)), len(sets), hierarchy, most=1.0),
                   not single, single)  # fmt: skip


def _of_dictionaries(given: list[Mapping[str, float]], hierarchy: Hierarchy) -> Outputs:
    node_of = _nodes([label for own in given for label in own], hierarchy)
    rows = np.repeat(np.arange(len(given)), [len(own) for own in given])
    columns = np.array([node_of[label] for own in given for label in own], np.int64)
    values = np.array([score for own in given for score in own.values()], np.float64)
    return _scored(_canonical(rows, columns, values, len(given), hierarchy))


def _of_numbers(numbers: IntArray, hierarchy: Hierarchy, classes: Sequence[str] | None) -> Outputs:
    if classes is None or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(classes)):
        raise SchemaError(
            "class numbers need the names of their classes, in order",
            found="none" if classes is None else f"{len(classes):,} names",
            hint="classes=[...]",
        )
    nodes = _columns(classes, hierarchy)
    rows = np.arange(len(numbers))
    ones = np.ones(len(numbers))
    return Outputs(_canonical(rows, nodes[numbers], ones, len(numbers), hierarchy), False, True)


def _of_matrix(matrix: Sparse, hierarchy: Hierarchy, classes: Sequence[str] | None) -> Outputs:
    names = hierarchy.nodes if classes is None else classes
    if len(names) != matrix.shape[1]:
        raise SchemaError(
            "a column per class is required",
            found=f"{matrix.shape[1]:,} columns, {len(names):,} classes",
            hint="classes=[...] names the columns",
        )
    coo = matrix.tocoo()
    nodes = np.arange(len(hierarchy)) if classes is None else _columns(classes, hierarchy)
    values = coo.data.astype(np.float64)
    placed = _canonical(coo.row, nodes[coo.col], values, matrix.shape[0], hierarchy)
    if matrix.dtype.kind in "biu" and bool((placed.data == 1).all()):
        return Outputs(placed, True, False)
    return _scored(placed)


def _scored(scores: Sparse) -> Outputs:
    bad = ~np.isfinite(scores.data) | (scores.data < 0)
    if bad.any():
        raise SchemaError(
            "scores must be finite and not negative", found=first_cases(map(str, scores.data[bad]))
        )
    return Outputs(scores, False, sum_to_one(scores))


def _canonical(
    rows: Any, columns: Any, values: Any, n: int, hierarchy: Hierarchy, most: float = np.inf
) -> Sparse:
    matrix = csr_array((values, (rows, columns)), shape=(n, len(hierarchy)))
    matrix.sum_duplicates()
    matrix.data = np.minimum(matrix.data, most)
    matrix.eliminate_zeros()
    return matrix


def _columns(classes: Sequence[str], hierarchy: Hierarchy) -> IntArray:
    """Node of each class; raises SchemaError if one is no node, or two are the same."""
    node_of = _nodes(classes, hierarchy)
    nodes = np.array([node_of[name] for name in classes], np.int64)
    if len(np.unique(nodes)) < len(nodes):
        raise SchemaError("every node may have one class", found=first_cases(classes))
    return nodes


def _nodes(labels: Collection[str], hierarchy: Hierarchy) -> dict[str, int]:
    """Node of each different label, as labels become nodes in an audit."""
    found = {label: place(label, None, hierarchy) for label in dict.fromkeys(labels)}
    unknown = [label for label, at in found.items() if at.node is None or at.parent]
    if unknown:
        raise SchemaError(
            f"every label must be a node of the hierarchy {hierarchy.name}",
            found=first_cases(unknown),
        )
    return {label: hierarchy.index(str(at.node)) for label, at in found.items()}


def refuse_other_length(gold: Sparse, outputs: Outputs) -> None:
    """Raise SchemaError unless labels and predictions are of as many instances."""
    if gold.shape[0] != outputs.scores.shape[0]:
        raise SchemaError(
            "labels and predictions must be of the same instances",
            found=f"{gold.shape[0]:,} and {outputs.scores.shape[0]:,} instances",
        )
