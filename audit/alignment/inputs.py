"""Labels and predictions as people hold them, as sparse matrices over the nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
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
Classes: TypeAlias = Sequence[str] | None
"""Names of the classes by number, or of the columns; None: the columns of a frame, else the nodes
of the hierarchy in their order."""


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


def labels_and_outputs(
    y_true: Any,
    y_pred: Any,
    hierarchy: Hierarchy,
    classes: Classes,
    single_label: bool | None = None,
) -> tuple[Sparse, Outputs]:
    """True labels as 0 and 1, shape (n_instances, n_nodes), int64, and predictions of the same.

    Args:
        y_true: A label an instance, or a list or set of labels; class numbers, or an array or
            sparse matrix of 0 and 1 with a column a class; a frame with a column a class.
        y_pred: As `outputs_from` takes it, with ``single_label``.
        hierarchy: The hierarchy; labels become nodes as in ``audit run``.

    Raises:
        SchemaError: As `outputs_from`; or if the true labels are scores, or of other instances.
    """
    gold = outputs_from(y_true, hierarchy, classes).scores
    if (gold.data != 1).any():
        raise SchemaError(
            "true labels must be names, class numbers, or 0 and 1", found="other numbers"
        )
    outputs = outputs_from(y_pred, hierarchy, classes, single_label)
    if gold.shape != outputs.scores.shape:
        raise SchemaError(
            "labels and predictions must be of the same instances",
            found=f"{gold.shape[0]:,} and {outputs.scores.shape[0]:,} instances",
        )
    return csr_array(gold.astype(np.int64)), outputs


def outputs_from(
    given: Any, hierarchy: Hierarchy, classes: Classes, single_label: bool | None = None
) -> Outputs:
    """The scores of nodes that labels or scores of any form stand for, and of what kind they are.

    Args:
        given: Labels as `labels_and_outputs` takes them; or scores as an array, a sparse matrix or
            a frame with a column a class, or a dictionary of scores an instance. Matrices of
            whole numbers 0 and 1, or of booleans, are labels.
        single_label: Whether each instance has one answer; None: as scores that sum to one say.

    Raises:
        SchemaError: If a label or a class is no node, or the shape or kind is another; if a score
            is negative or not finite; or if labels are given and ``single_label`` asks for a
            highest score.
    """
    found = _read(given, hierarchy, classes)
    if single_label is None or single_label == found.single_label:
        return found
    if found.set_valued:
        raise SchemaError("one answer per instance needs scores, or one label each", found="sets")
    return replace(found, set_valued=False, single_label=single_label)


def _read(given: Any, hierarchy: Hierarchy, classes: Classes) -> Outputs:
    """Labels or scores in any form; each instance has one answer where scores sum to one."""
    if hasattr(given, "detach"):
        tensor = given.detach().cpu()
        given = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        classes = list(given.columns) if classes is None else classes
        given = given.to_numpy()
    if issparse(given) or _is_number_array(given):
        return _of_matrix(csr_array(given), hierarchy, classes)
    lines = list(given)
    if lines and all(isinstance(one, Mapping) for one in lines):
        values = [value for line in lines for value in line.values()]
        return _outputs_of_scores(_of_names(lines, values, hierarchy))
    if lines and all(isinstance(one, int | np.integer) for one in lines):
        return _of_numbers(np.array(lines, np.int64), hierarchy, classes)
    if all(one is None or isinstance(one, str) for one in lines):
        return _of_labels([() if one is None else (one,) for one in lines], hierarchy, single=True)
    sets = [one for one in lines if isinstance(one, Collection) and not isinstance(one, str)]
    if len(sets) == len(lines) and all(isinstance(label, str) for own in sets for label in own):
        return _of_labels(sets, hierarchy, single=False)
    try:
        matrix = np.array(lines)
    except ValueError:
        matrix = np.array(None)
    if not _is_number_array(matrix):
        raise SchemaError(
            "labels, lists of labels, class numbers, scores by name, or a matrix are required",
            found=first_cases(sorted({type(one).__name__ for one in lines})),
        )
    return _of_matrix(csr_array(matrix), hierarchy, classes)


def _is_number_array(given: Any) -> bool:
    """Whether it is a NumPy array of two dimensions of numbers or booleans."""
    return isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "biuf"


def _of_labels(sets: Sequence[Collection[str]], hierarchy: Hierarchy, *, single: bool) -> Outputs:
    found = _of_names(sets, np.ones(sum(map(len, sets))), hierarchy)
    found.data = np.minimum(found.data, 1.0)
    return Outputs(found, not single, single)


def _of_names(lines: Sequence[Collection[str]], values: Any, hierarchy: Hierarchy) -> Sparse:
    """Numbers as a matrix: of each name of each line in turn, an instance a line."""
    names = [name for line in lines for name in line]
    node_of = _nodes(names, hierarchy)
    columns = np.array([node_of[name] for name in names], np.int64)
    rows = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
    numbers = np.array(values, np.float64)
    return _canonical(rows, columns, numbers, (len(lines), len(hierarchy)))


def _of_numbers(numbers: IntArray, hierarchy: Hierarchy, classes: Classes) -> Outputs:
    if classes is None or not 0 <= numbers.min() <= numbers.max() < len(classes):
        raise SchemaError(
            "class numbers need the names of their classes, in order",
            found="none" if classes is None else f"{len(classes):,} names",
            hint="classes=[...]",
        )
    rows = (np.ones(len(numbers)), (np.arange(len(numbers)), numbers))
    found = _of_matrix(csr_array(rows, shape=(len(numbers), len(classes))), hierarchy, classes)
    return Outputs(found.scores, False, True)


def _of_matrix(matrix: Sparse, hierarchy: Hierarchy, classes: Classes) -> Outputs:
    """Sets of labels of a matrix of integers or booleans that are all 0 or 1; scores of others."""
    names = hierarchy.nodes if classes is None else classes
    if len(names) != matrix.shape[1]:
        raise SchemaError(
            "a column per class is required",
            found=f"{matrix.shape[1]:,} columns, {len(names):,} classes",
            hint="classes=[...] names the columns",
        )
    coo = matrix.tocoo()
    nodes = np.arange(len(hierarchy)) if classes is None else _columns(classes, hierarchy)
    shape = (matrix.shape[0], len(hierarchy))
    placed = _canonical(coo.row, nodes[coo.col], coo.data.astype(np.float64), shape)
    if matrix.dtype.kind in "biu" and bool((placed.data == 1).all()):
        return Outputs(placed, True, False)
    return _outputs_of_scores(placed)


def _canonical(rows: Any, columns: IntArray, values: Any, shape: tuple[int, int]) -> Sparse:
    matrix = csr_array((values, (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _outputs_of_scores(scores: Sparse) -> Outputs:
    """Scores, single-label if they sum to one; SchemaError unless finite and not negative."""
    bad = ~np.isfinite(scores.data) | (scores.data < 0)
    if bad.any():
        raise SchemaError(
            "scores must be finite and not negative", found=first_cases(map(str, scores.data[bad]))
        )
    return Outputs(scores, False, sum_to_one(scores))


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
