"""Predictions: a model's scores on the instances of a dataset, with a ledger of what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from audit.base.dag import IntArray, Sparse
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.plugins import opening
from audit.base.plurals import counted
from audit.base.readings import Reading
from audit.base.settings import Transform
from audit.data.class_names import GivenClasses, classes_of, refuse_unused
from audit.data.dataset import LabelDataset
from audit.data.formats import read_predictions
from audit.data.joining import joined
from audit.data.known_nodes import KnownNodes
from audit.data.mapping import grown, place, read_texts
from audit.data.prediction_format import RawPredictions, are_numbers
from audit.data.scores import answered, as_scores, have_score, placed_scores
from audit.data.weighted_dag import WeightedDag
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class PredictionLedger:
    """Numbers of matched and unmatched columns and instances of a prediction file.

    Args:
        classes_read: Number of columns, or distinct nodes, of the file.
        classes_mapped: Number of those that are nodes of the hierarchy.
        unknown_classes: Names of the others, in file order; their scores are left out.
        hung_classes: Names of classes that were added to the hierarchy as nodes, in file order,
            each with its node.
        instances_read: Number of instances of the file.
        instances_matched: Number of those in the dataset; only these are in the predictions.
        instances_without_labels: Number of instances of the file that the dataset lacks.
        instances_without_predictions: Number of instances of the dataset that the file lacks.
        instances_without_scores: Number of matched instances without a score above 0 on any node.
    """

    classes_read: int
    classes_mapped: int
    unknown_classes: tuple[str, ...]
    instances_read: int
    instances_matched: int
    instances_without_labels: int
    instances_without_predictions: int
    instances_without_scores: int
    hung_classes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Scores of instances for nodes, with instances in the dataset's order.

    >>> import audit
    >>> labels = audit.load_labels({"id": ["a"], "label": ["cat"]}, {"pet": {"cat": {}, "dog": {}}})
    >>> scores = {"id": ["a", "a"], "label": ["cat", "dog"], "score": [0.5, 0.25]}
    >>> audit.load_predictions(scores, labels).scores.toarray()
    array([[0.5 , 0.25, 0.  ]])
    """

    hierarchy: Hierarchy
    """The dataset's hierarchy, with a node for every class that was added as labels are."""
    instances: tuple[str, ...]
    """Ids of the n instances that are in both dataset and file."""
    rows: IntArray
    """Index of each instance in the dataset, ascending, shape (n,)."""
    scores: Sparse
    """Scores, not aggregated: shape (n, n_nodes), float64 canonical CSR of all scores above 0; 1.0
    for a member of a predicted set."""
    set_valued: bool
    """Whether the file only says which nodes were predicted, without scores."""
    single_label: bool
    """Whether each instance has a single predicted node, that of its highest score, because scores
    sum to one or the user said so; always False for predicted sets."""
    left_out: IntArray
    """Indices in the dataset of the instances with a score above 0 for an unknown class."""
    ledger: PredictionLedger
    """Numbers of the file's classes and instances that have a place in the dataset, or none."""
    sources: tuple[Path, ...] = ()
    """The files that were read."""
    readings: tuple[Reading, ...] = ()
    """What scores and ids were taken to mean."""

    def weighted(self, instance: str) -> WeightedDag:
        """The weighted DAG of an instance's scores; SchemaError without such an instance."""
        if instance not in self.instances:
            raise SchemaError("an instance with predictions is required", found=repr(instance))
        return WeightedDag.of_row(self.hierarchy, self.scores, self.instances.index(instance))

    def __len__(self) -> int:
        return len(self.instances)

    def __repr__(self) -> str:
        return (
            f"Predictions({counted(len(self), 'instances')}, {self._kind}, "
            f"{self.ledger.classes_mapped:,} of {counted(self.ledger.classes_read, 'classes')} "
            f"mapped to {self.hierarchy.name})"
        )

    def _repr_markdown_(self) -> str:
        ledger = self.ledger
        counts = {
            "instances read": ledger.instances_read,
            "instances matched": ledger.instances_matched,
            "instances without labels": ledger.instances_without_labels,
            "instances without predictions": ledger.instances_without_predictions,
            "instances without scores": ledger.instances_without_scores,
            "unknown classes": len(ledger.unknown_classes),
        }
        rows = "".join(f"| {name} | {n:,} |\n" for name, n in counts.items())
        return f"**{self!r}**\n\n| ledger | n |\n|---|---:|\n{rows}"

    @property
    def _kind(self) -> str:
        if self.set_valued:
            return "predicted sets"
        return "one answer each" if self.single_label else "scores"


@opening
def load_predictions(
    data: object,
    dataset: LabelDataset,
    *,
    classes: GivenClasses = None,
    format: str | None = None,
    id: str | None = None,
    transform: Transform | None = None,
    single_label: bool | None = None,
    by_order: bool = False,
    policy: Policy | None = None,
    plugins: Iterable[str] = (),
    allow_network: bool = False,
) -> Predictions:
    """Read a model's predictions and join them to a dataset by the ids of its instances.

    Args:
        data: A file, or a folder of parts, in one of ``audit.data.formats.PREDICTION_FORMATS``, or
            a frame as in `audit.load_labels` with the columns of one of them, or an array of NumPy.
        dataset: The labels of the same instances.
        classes: Names of the columns of a matrix, or of class numbers, in their order, or a file of
            them, one per line; None: those that the labels' data say, where there are such.
        format: Name of the format; None: detected from the file or the columns.
        id: Column of the ids, where one is called so; None: what that of the labels is called.
        transform: Function that turns the file's numbers into scores in [0, 1]; None: they are
            scores, or per cent if each row sums to 100.
        single_label: Whether each instance has one answer, the highest score, or any number; None:
            as the sums of scores say.
        by_order: Whether rows are joined by order, whatever ids there are.
        policy: Decides whether unmatched instances are refused or counted.
        plugins: Installed packages whose formats are used besides.
        allow_network: Whether ``data`` may be at an address.

    Raises:
        FormatError: If not exactly one format matches.
        InputError: If the file cannot be read, ``dataset`` is none, ``classes`` are given and
            predictions have names, or it is not clear how rows belong together or whether they sum
            to one.
        SchemaError: If ``classes`` names nothing; a number is not finite, or not a score after the
            transform; the transform cannot be applied; no class is a node, or two classes are the
            same node; no instance is in the dataset; the scores of nearly all instances, but not of
            all, sum to one; ``single_label`` is given for predicted sets or for an instance without
            scores; or the policy refuses unmatched instances.

    >>> import audit
    >>> labels = audit.load_labels({"id": ["a"], "label": ["cat"]}, {"pet": {"cat": {}, "dog": {}}})
    >>> scores = {"id": ["a", "a"], "label": ["cat", "dog"], "score": [0.9, 0.2]}
    >>> audit.load_predictions(scores, labels)
    Predictions(1 instance, scores, 2 of 2 classes mapped to given)
    """
    if not isinstance(dataset, LabelDataset):
        raise InputError(
            "the dataset that is predicted is required beside the predictions",
            found=f"{type(dataset).__module__}.{type(dataset).__name__}",
            hint="audit.load_predictions(scores, audit.load_labels(labels, hierarchy))",
        )
    given = classes_of(classes)
    names, nodes = given or dataset.classes or None, KnownNodes(dataset.hierarchy)
    ids = () if dataset.numbered else dataset.instances["instance"].to_list()
    raw = read_predictions(data, names, format, nodes=nodes, id=id or dataset.id, instances=ids)
    refuse_unused(classes, None if raw.named else raw.classes, raw.name)
    return map_predictions(
        raw if given or not raw.named else _named_by_labels(raw, dataset.classes),
        dataset,
        transform=transform,
        single_label=single_label,
        by_order=by_order,
        policy=policy,
    )


def _named_by_labels(raw: RawPredictions, names: Sequence[str]) -> RawPredictions:
    decision = f"the numbers of classes are those of the labels' data, from 0, {names[0]!r}, on"
    why = "these have names for them, and predictions have none"
    told = Reading(decision, why, len(raw.instances), "--classes FILE")
    return replace(raw, readings=(told, *raw.readings))


def map_predictions(
    raw: RawPredictions,
    dataset: LabelDataset,
    *,
    transform: Transform | None = None,
    single_label: bool | None = None,
    by_order: bool = False,
    policy: Policy | None = None,
) -> Predictions:
    """Map raw scores to the nodes of a hierarchy and the instances of a dataset.

    A transform is applied to all columns, before unknown classes are left out. Where each instance
    has one answer, and it is of a class that is no node, the instance keeps no score. With
    ``single_label`` scores need not sum to one, but every instance needs a score above 0.

    Raises as `load_predictions` does.
    """
    policy, where = policy or Policy(), raw.name
    given, several = raw.classes, int((np.diff(dataset.direct.indptr) > 1).sum())
    raw = _with_nodes(as_scores(raw, transform, several), dataset.hierarchy)
    hierarchy, hung = _with_classes(raw.classes, dataset.hierarchy)
    nodes = _nodes_of(raw.classes, hierarchy, hung, where)
    _refuse_shared(given, nodes, hierarchy, where)
    rows, own, readings = joined(raw, dataset, by_order)
    instances = tuple(dataset.instances["instance"].gather(rows))
    if policy.unmatched_instances == "refuse":
        _refuse_unmatched(raw, dataset, instances)
    if single_label:
        _require_answers(raw, own, instances)
    unknown = np.flatnonzero(nodes < 0)
    placed = placed_scores(raw.scores, own, nodes, len(hierarchy))
    alone = bool((np.diff(dataset.direct.indptr)[rows] == 1).all())
    scored = answered(raw, own, placed, unknown, single=single_label, alone=alone)
    return Predictions(
        hierarchy=hierarchy,
        instances=instances,
        rows=rows,
        scores=scored.scores,
        set_valued=raw.set_valued,
        single_label=scored.single,
        left_out=rows[have_score(raw.scores, own, unknown)],
        ledger=PredictionLedger(
            classes_read=len(raw.classes),
            classes_mapped=len(raw.classes) - len(unknown),
            unknown_classes=tuple(raw.classes[column] for column in unknown.tolist()),
            instances_read=len(raw.instances),
            instances_matched=len(rows),
            instances_without_labels=len(raw.instances) - len(rows),
            instances_without_predictions=len(dataset) - len(rows),
            instances_without_scores=int((np.diff(scored.scores.indptr) == 0).sum()),
            hung_classes=hung,
        ),
        sources=raw.sources,
        readings=(*raw.readings, *readings, *scored.readings),
    )


def _with_nodes(raw: RawPredictions, hierarchy: Hierarchy) -> RawPredictions:
    """The predictions with classes that are titles, or have something around them, as nodes."""
    classes = [name for name in raw.classes if not hierarchy.place(name, None).node]
    columns = {"label": classes, "table": [None] * len(classes), "rows": [1] * len(classes)}
    schema = {"label": pl.String, "table": pl.String, "rows": pl.Int64}
    read, told = read_texts(pl.DataFrame(columns, schema=schema), hierarchy)
    texts = dict(read.drop_nulls("text").select("label", "text").iter_rows())
    said = tuple(replace(one, unit="classes") for one in told)
    names = tuple(texts.get(name, name) for name in raw.classes)
    return replace(raw, classes=names, readings=(*raw.readings, *said))


def _with_classes(
    classes: tuple[str, ...], hierarchy: Hierarchy
) -> tuple[Hierarchy, dict[str, str]]:
    """The hierarchy with classes added as labels are, and the node of each added class.

    If several classes would be added as the same node, none of them is.
    """
    placed = {name: place(name, None, hierarchy) for name in classes}
    times = Counter(at.node for at in placed.values() if at.parent)
    hung = {name: at for name, at in placed.items() if at.parent and times[at.node] == 1}
    frame = pl.DataFrame(
        {
            "node": [at.node for at in hung.values()],
            "parent": [at.parent for at in hung.values()],
        },
        schema={"node": pl.String, "parent": pl.String},
    )
    return grown(hierarchy, frame), {name: str(at.node) for name, at in hung.items()}


def _nodes_of(
    classes: tuple[str, ...], hierarchy: Hierarchy, hung: Mapping[str, str], where: str
) -> IntArray:
    """Node index of each class, -1 where it is not a node."""
    nodes = np.array([_node_of(name, hierarchy, hung) for name in classes], np.int64)
    if not (nodes >= 0).any():
        raise SchemaError(
            f"at least one class must be a node of the hierarchy {hierarchy.name}",
            found=f"none of {first_cases(classes)}" if classes else "no class",
            where=where,
            hint="--classes FILE names the numbers, a name a line" if are_numbers(classes) else "",
        )
    return nodes


def _node_of(name: str, hierarchy: Hierarchy, hung: Mapping[str, str]) -> int:
    at = place(name, None, hierarchy)
    node = hung.get(name, "" if at.parent else at.node)
    return hierarchy.index(node) if node and node in hierarchy else -1


def _refuse_shared(
    classes: tuple[str, ...], nodes: IntArray, hierarchy: Hierarchy, where: str
) -> None:
    found, times = np.unique(nodes[nodes >= 0], return_counts=True)
    shared = found[times > 1]
    if len(shared):
        names = [[classes[i] for i in np.flatnonzero(nodes == node)] for node in shared[:5]]
        cases = [
            f"{hierarchy.nodes[node]} has {', '.join(own)}"
            for node, own in zip(shared, names, strict=False)
        ]
        raise SchemaError(
            "every node may have one class",
            found=f"several: {first_cases(cases, len(shared))}",
            where=where,
        )


def _refuse_unmatched(raw: RawPredictions, dataset: LabelDataset, matched: Sequence[str]) -> None:
    known = dataset.instances["instance"].to_list()
    if not len(matched) == len(known) == len(raw.instances):
        both = set(matched)
        raise SchemaError(
            "predictions and labels must be of the same instances",
            found=f"without labels: {_unmatched(raw.instances, both)}; without predictions: "
            f"{_unmatched(known, both)}",
            where=raw.name,
            hint='unmatched_instances = "count" in the policy leaves them out and counts them',
        )


def _unmatched(instances: Sequence[str], matched: set[str]) -> str:
    return first_cases([instance for instance in instances if instance not in matched]) or "none"


def _require_answers(raw: RawPredictions, own: IntArray, instances: Sequence[str]) -> None:
    without = np.flatnonzero(np.asarray(raw.scores.sum(axis=1)).ravel()[own] == 0).tolist()
    if raw.set_valued or without:
        raise SchemaError(
            "--single-label needs a score above 0 of every instance, the highest of which is the "
            "answer",
            found="predicted sets"
            if raw.set_valued
            else f"none: {first_cases(instances[i] for i in without)}",
            where=raw.name,
        )
