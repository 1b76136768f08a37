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
from audit.base.settings import Transform, Unlisted
from audit.data.class_lists import GivenClasses, class_number, file_of, refuse_unused
from audit.data.dataset import LabelDataset
from audit.data.joining import Closed, closed_side, closed_upwards, joined, lowest
from audit.data.placing import Placed, place, placed
from audit.data.prediction_files import read_predictions
from audit.data.prediction_tables import Labelled, code_set
from audit.data.raw_predictions import GivenIds, RawPredictions, answered, as_scores, placed_scores
from audit.data.weighted_dag import WeightedDag
from audit.engine.scores.cuts import decide
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
    sum to one, each names one label, or the user said so."""
    left_out: IntArray
    """Indices in the dataset of the instances with a score above 0 for an unknown class."""
    ledger: PredictionLedger
    """Numbers of the file's classes and instances that have a place in the dataset, or none."""
    sources: tuple[Path, ...] = ()
    """The files that were read."""
    readings: tuple[Reading, ...] = ()
    """What scores and ids were taken to mean."""
    closed: Closed = ""
    """Which of answers and labels alone hold every ancestor, so that both are compared closed
    upwards; empty: none."""

    def gold(self, dataset: LabelDataset) -> Sparse:
        """The labels that scores are compared with, 0/1, shape (n, n_nodes).

        They are closed upwards where the answers alone were; where labels were and each instance
        has one answer, each has its lowest labels.
        """
        labels = dataset.direct[self.rows]
        if self.closed == "answers":
            return closed_upwards(self.hierarchy, labels)
        return lowest(self.hierarchy, labels) if self.closed and self.single_label else labels

    def weighted(self, instance: str) -> WeightedDag:
        """The weighted DAG of an instance's scores; SchemaError without such an instance."""
        if instance not in self.instances:
            raise SchemaError("an instance with predictions is required", found=repr(instance))
        return WeightedDag.of_row(self.hierarchy, self.scores, self.instances.index(instance))

    def __len__(self) -> int:
        return len(self.instances)

    def __repr__(self) -> str:
        kind = "one answer each" if self.single_label else "scores"
        return (
            f"Predictions({counted(len(self), 'instances')}, "
            f"{'predicted sets' if self.set_valued else kind}, "
            f"{self.ledger.classes_mapped:,} of {counted(self.ledger.classes_read, 'classes')} "
            f"mapped to {self.hierarchy.name})"
        )


@opening
def load_predictions(
    data: object,
    dataset: LabelDataset,
    *,
    classes: GivenClasses = None,
    instances: GivenIds | None = None,
    transform: Transform | None = None,
    single_label: bool | None = None,
    by_order: bool = False,
    unlisted: Unlisted | None = None,
    policy: Policy | None = None,
    plugins: Iterable[str] = (),
    allow_network: bool = False,
) -> Predictions:
    """Read a model's predictions and join them to a dataset by the ids of its instances.

    Args:
        data: A file, a folder of parts of one table, a frame, an array or lists: a matrix of
            scores, a table with a column a class or a row a score, JSON lines, or sets of labels.
        dataset: The labels of the same instances.
        classes: Names of the columns of a matrix, or of numbers of classes, in their order, or a
            file of them, as `audit.data.class_lists.class_names` reads it; None: those that the
            labels' data say, where there are such.
        instances: Ids of the rows of a matrix, in their order, or a file of them: one a line, or
            an array of NumPy.
        transform: Function that turns the file's numbers into scores in [0, 1]; None: they are
            scores.
        single_label: Whether each instance has one answer, the highest score, or any number; None:
            as the sums of scores say.
        by_order: Whether rows are joined by order, whatever ids there are.
        unlisted: ``refuse`` where classes that are no nodes are left out, however many.
        policy: Decides whether unmatched instances are refused or counted, and from which score a
            node is predicted.
        plugins: Installed packages whose formats are used besides.
        allow_network: Whether ``data`` may be at an address.

    Raises:
        AskedError: If it is not certain what columns or numbers mean, which row belongs to which
            instance, whether each instance has one answer, or how classes are nodes.
        InputError: If the file cannot be read, ``dataset`` is none, or ``classes`` or ``instances``
            are given and predictions have names, or ids.
        SchemaError: If a number is no score, or the transform cannot be applied; two classes are
            the same node; no instance is shared, or not all are and the policy refuses others; or
            ``single_label`` is given for sets of several or an instance without scores.

    >>> import audit
    >>> labels = audit.load_labels({"id": ["a"], "label": ["cat"]}, {"pet": {"cat": {}, "dog": {}}})
    >>> scores = {"id": ["a", "a"], "label": ["cat", "dog"], "score": [0.9, 0.6]}
    >>> audit.load_predictions(scores, labels)
    Predictions(1 instance, scores, 2 of 2 classes mapped to given)
    """
    if not isinstance(dataset, LabelDataset):
        raise InputError(
            "the dataset that is predicted is required beside the predictions",
            found=f"{type(dataset).__module__}.{type(dataset).__name__}",
            hint="audit.load_predictions(scores, audit.load_labels(labels, hierarchy))",
        )
    known = Labelled(dataset, classes, raw=transform is not None)
    raw = read_predictions(data, known)
    raw = raw if instances is None else raw.with_ids(instances)
    if classes is not None and not raw.named:
        refuse_unused(classes, raw.classes, raw.name)
    elif classes is not None:
        raw = replace(raw, sources=(*raw.sources, *file_of(classes)))
    elif raw.named:
        first = next(filter(None, known.names))
        decision = f"the numbers of classes are those of the labels' data, from {first!r} on"
        why = "these have names for them, and predictions have none"
        told = Reading(decision, why, len(raw.instances), "--classes FILE")
        raw = replace(raw, readings=(told, *raw.readings))
    return map_predictions(
        raw, dataset, transform=transform, single_label=single_label, by_order=by_order,
        unlisted=unlisted, policy=policy,
    )  # fmt: skip


def map_predictions(
    raw: RawPredictions,
    dataset: LabelDataset,
    *,
    transform: Transform | None = None,
    single_label: bool | None = None,
    by_order: bool = False,
    unlisted: Unlisted | None = None,
    policy: Policy | None = None,
) -> Predictions:
    """Map raw scores to the nodes of a hierarchy and the instances of a dataset, as
    `load_predictions` does.

    A transform is applied to all columns, before unknown classes are left out. Where each instance
    has one answer, and it is of a class that is no node, the instance keeps no score.
    """
    policy = policy or Policy()
    several = int((np.diff(dataset.direct.indptr) > 1).sum())
    raw = as_scores(raw, transform, several)
    at, nodes, hung = _placed(raw, dataset, unlisted)
    rows, own, told = joined(raw, dataset, by_order)
    instances = tuple(dataset.instances["instance"].gather(rows).to_list())
    if policy.unmatched_instances == "refuse":
        _refuse_unmatched(raw, dataset, instances)
    matched, unknown = raw.matched(own), np.flatnonzero(nodes < 0)
    if single_label:
        _require_answers(matched)
    placed_at = placed_scores(matched.scores, nodes, len(at.hierarchy))
    alone = bool((np.diff(dataset.direct.indptr)[rows] == 1).all())
    scores, single, told_too = answered(matched, placed_at, unknown, single_label, alone)
    made = Predictions(
        hierarchy=at.hierarchy,
        instances=instances,
        rows=rows,
        scores=scores,
        set_valued=raw.set_valued,
        single_label=single,
        left_out=rows[matched.scores[:, unknown].sum(axis=1) > 0],
        ledger=PredictionLedger(
            classes_read=len(raw.classes),
            classes_mapped=len(raw.classes) - len(unknown),
            unknown_classes=tuple(raw.classes[column] for column in unknown.tolist()),
            instances_read=len(raw.instances),
            instances_matched=len(rows),
            instances_without_labels=len(raw.instances) - len(rows),
            instances_without_predictions=len(dataset) - len(rows),
            instances_without_scores=int((np.diff(scores.indptr) == 0).sum()),
            hung_classes=hung,
        ),
        sources=raw.sources,
        readings=(*raw.readings, *at.readings, *told, *told_too),
    )
    return _alike(made, dataset, policy)


def _alike(made: Predictions, dataset: LabelDataset, policy: Policy) -> Predictions:
    """The predictions, told which side alone holds ancestors; closed upwards if the labels do."""
    labels = dataset.within(made.hierarchy).direct[made.rows]
    threshold, one = policy.decision_threshold.value, made.single_label
    side = closed_side(made.hierarchy, labels, decide(made.scores, threshold, single_label=one))
    if not side:
        return made
    close = side == "labels" and not one
    scores = closed_upwards(made.hierarchy, made.scores) if close else made.scores
    other = "labels" if side == "answers" else "answers"
    decision = "labels and answers are compared with all their ancestors"
    decision = "answers are compared with the lowest labels" if one else decision
    why = f"nearly all {side} hold every ancestor, and nearly no {other} do"
    told = Reading(decision, why, len(made), f"write {side} without ancestors", "instances")
    return replace(made, closed=side, scores=scores, readings=(*made.readings, told))


def _placed(
    raw: RawPredictions, dataset: LabelDataset, unlisted: Unlisted | None
) -> tuple[Placed, IntArray, Mapping[str, str]]:
    """Classes placed as labels are; nodes' indices, -1 for none; classes added, with nodes."""
    hierarchy, words, table = dataset.hierarchy, dataset.words, code_set(dataset)
    known = {one: place(one, table, hierarchy, words).node for one in raw.classes}
    if not any(known.values()) and all(class_number(one) is not None for one in known):
        raise SchemaError(
            f"at least one class must be a node of the hierarchy {hierarchy.name}",
            found=f"none of {first_cases(known)}" if known else "no class",
            where=raw.name,
            hint="--classes FILE names the numbers, a name a line" if known else "",
        )
    sets = [None if one in hierarchy and not node else table for one, node in known.items()]
    columns = {"label": [*known], "table": sets, "rows": 1}
    counts = pl.DataFrame(columns, schema_overrides={"table": pl.String, "rows": pl.Int64})
    found = placed(counts, hierarchy, replace(words, unlisted=unlisted), raw.name, "classes")
    own = dict(found.frame.select("label", "node").rows())
    times = Counter(filter(None, own.values()))
    if shared := [name for name in raw.classes if times[own[name]] > 1]:
        cases = (f"{name} is {own[name]}" for name in shared)
        raise SchemaError("every node may have one class", found=first_cases(cases), where=raw.name)
    nodes = [-1 if (node := own[one]) is None else found.hierarchy.index(node) for one in known]
    added = {*found.frame.filter("added")["label"]}
    return found, np.array(nodes, np.int64), {one: own[one] for one in known if one in added}


def _refuse_unmatched(raw: RawPredictions, dataset: LabelDataset, matched: Sequence[str]) -> None:
    """Raise SchemaError unless predictions and labels are of the very same instances."""
    known, both = dataset.instances["instance"].to_list(), {*matched}
    if len(both) == len(known) == len(raw.instances):
        return
    beyond, lacking = (
        first_cases([one for one in side if one not in both]) or "none"
        for side in (raw.instances, known)
    )
    raise SchemaError(
        "predictions and labels must be of the same instances",
        found=f"without labels: {beyond}; without predictions: {lacking}",
        where=raw.name,
        hint='unmatched_instances = "count" in the policy leaves them out and counts them',
    )


def _require_answers(raw: RawPredictions) -> None:
    """Raise SchemaError if an instance has no score above 0, or a predicted set of several."""
    without = np.flatnonzero(raw.scores.sum(axis=1) == 0).tolist()
    several = raw.set_valued and bool((np.diff(raw.scores.indptr) > 1).any())
    if several or without:
        none = f"none: {first_cases(raw.instances[i] for i in without)}"
        found = "predicted sets" if several else none
        required = "--single-label needs a score above 0 of every instance, the highest of which is"
        raise SchemaError(f"{required} the answer", found=found, where=raw.name)
