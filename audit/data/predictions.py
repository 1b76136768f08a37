"""Predictions: a model's scores on the instances of a dataset, with a ledger of what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from audit.base.choices import Transform
from audit.base.dag import IntArray, Sparse
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.plurals import counted
from audit.base.readings import Reading
from audit.data.class_names import classes_of
from audit.data.dataset import LabelDataset
from audit.data.formats import read_predictions
from audit.data.mapping import grown, place
from audit.data.prediction_format import RawPredictions
from audit.data.scores import as_scores, have_score, placed_scores
from audit.data.weighted_dag import WeightedDag
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy

SUM_TOLERANCE = 1e-4
"""Largest deviation from one of the sum of an instance's scores in single-label predictions."""
FEW = 0.1
"""Share of instances whose scores do not sum to one, up to which they count as mistakes."""


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
    """Scores of instances for nodes, with instances in the dataset's order."""

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
    sources: tuple[Path, ...] = ()
    """The files that were read."""
    readings: tuple[Reading, ...] = ()
    """What scores and ids were taken to mean."""

    def weighted(self, instance: str) -> WeightedDag:
        """The weighted DAG of an instance's scores.

        Raises:
            SchemaError: If there is no prediction of such an instance.
        """
        if instance not in self.instances:
            raise SchemaError("an instance with predictions is required", found=repr(instance))
        return WeightedDag.of_row(self.hierarchy, self.scores, self.instances.index(instance))

    def __len__(self) -> int:
        return len(self.instances)

    def __repr__(self) -> str:
        return (
            f"Predictions({counted(len(self), 'instances')}, {self._kind}, "
            f"{self.ledger.classes_mapped:,} of {counted(self.ledger.classes_read, 'classes')} "
            "mapped to "
            f"{self.hierarchy.name})"
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


def load_predictions(
    data: object,
    dataset: LabelDataset,
    *,
    classes: str | Path | Sequence[str] | None = None,
    format: str | None = None,
    transform: Transform | None = None,
    single_label: bool = False,
    policy: Policy | None = None,
) -> Predictions:
    """Read a model's predictions and join them to a dataset by the ids of its instances.

    Args:
        data: A file, or a folder of parts, in one of ``audit.data.formats.PREDICTION_FORMATS``, or
            a frame as in `audit.load_labels` with the columns of one of them, or an array of NumPy.
        dataset: The labels of the same instances.
        classes: Column names of a matrix that has none, or a file of them, one per line.
        format: Name of the format; None: detected from the file or the columns.
        transform: Function that turns the file's numbers into scores in [0, 1]; None: they are
            scores.
        single_label: Whether each instance has one predicted node even if scores do not sum to one.
        policy: Decides whether unmatched instances are refused or counted.

    Raises:
        FormatError: If not exactly one format matches.
        InputError: If the file cannot be read, or ``dataset`` is none.
        SchemaError: As in `map_predictions`.
    """
    if not isinstance(dataset, LabelDataset):
        raise InputError(
            "the dataset that is predicted is required beside the predictions",
            found=f"{type(dataset).__module__}.{type(dataset).__name__}",
            hint="audit.load_predictions(scores, audit.load_labels(labels, hierarchy))",
        )
    return map_predictions(
        read_predictions(data, classes_of(classes), format),
        dataset,
        transform=transform,
        single_label=single_label,
        policy=policy,
    )


def map_predictions(
    raw: RawPredictions,
    dataset: LabelDataset,
    *,
    transform: Transform | None = None,
    single_label: bool = False,
    policy: Policy | None = None,
) -> Predictions:
    """Map raw scores to the nodes of a hierarchy and the instances of a dataset.

    A transform is applied to all columns, before unknown classes are left out. Whether scores sum
    to one is tested on the remaining columns. With ``single_label`` scores need not sum to one, but
    every instance needs a score above 0.

    Raises:
        SchemaError: If a number is not finite, or not a score after the transform; if the transform
            cannot be applied; if no class is a node, or two classes are the same node; if no
            instance is in the dataset; if the scores of nearly all instances, but not of all, sum
            to one; if ``single_label`` is given for predicted sets or for an instance without
            scores; or if the policy refuses unmatched instances.
    """
    policy, where = policy or Policy(), raw.name
    raw = as_scores(raw, transform)
    hierarchy, hung = _with_classes(raw.classes, dataset.hierarchy)
    nodes = _nodes_of(raw.classes, hierarchy, hung, where)
    rows, own = _matched(raw.instances, dataset, policy, where)
    scores = placed_scores(raw.scores, own, nodes, len(hierarchy))
    without = np.flatnonzero(np.diff(scores.indptr) == 0)
    instances = tuple(raw.instances[i] for i in own)
    if single_label:
        _require_answers(raw.set_valued, [instances[i] for i in without], where)
    unknown = tuple(name for name, node in zip(raw.classes, nodes, strict=True) if node < 0)
    return Predictions(
        hierarchy=hierarchy,
        instances=instances,
        rows=rows,
        scores=scores,
        set_valued=raw.set_valued,
        single_label=single_label or (not raw.set_valued and _sum_to_one(scores, instances, where)),
        left_out=rows[have_score(raw.scores, own, np.flatnonzero(nodes < 0))],
        ledger=PredictionLedger(
            classes_read=len(raw.classes),
            classes_mapped=len(raw.classes) - len(unknown),
            unknown_classes=unknown,
            instances_read=len(raw.instances),
            instances_matched=len(rows),
            instances_without_labels=len(raw.instances) - len(rows),
            instances_without_predictions=len(dataset) - len(rows),
            instances_without_scores=len(without),
            hung_classes=hung,
        ),
        sources=raw.sources,
        readings=raw.readings,
    )


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
    """Node index of each class, -1 where it is not a node; a node has one class at most."""
    nodes = np.array([_node_of(name, hierarchy, hung) for name in classes], np.int64)
    if not (nodes >= 0).any():
        raise SchemaError(
            f"at least one class must be a node of the hierarchy {hierarchy.name}",
            found=f"none of {first_cases(classes)}" if classes else "no class",
            where=where,
        )
    _refuse_shared(classes, nodes, hierarchy, where)
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


def _matched(
    instances: tuple[str, ...], dataset: LabelDataset, policy: Policy, where: str
) -> tuple[IntArray, IntArray]:
    """Rows of the dataset, ascending, and of the file, of the instances that both have."""
    known = dataset.instances["instance"].to_list()
    own = {instance: row for row, instance in enumerate(instances)}
    both = [(row, own[instance]) for row, instance in enumerate(known) if instance in own]
    if not both:
        raise SchemaError(
            "predictions and labels must share instances",
            found=f"predictions of {first_cases(instances)}; labels of {first_cases(known)}",
            where=where,
            hint="both need the same ids; --id names the column of the labels' ids",
        )
    if policy.unmatched_instances == "refuse" and not len(both) == len(known) == len(instances):
        matched = {known[row] for row, _ in both}
        raise SchemaError(
            "predictions and labels must be of the same instances",
            found=f"without labels: {_unmatched(instances, matched)}; without predictions: "
            f"{_unmatched(known, matched)}",
            where=where,
            hint='unmatched_instances = "count" in the policy leaves them out and counts them',
        )
    rows, columns = np.array(both, np.int64).T
    return rows, columns


def _unmatched(instances: Sequence[str], matched: set[str]) -> str:
    return first_cases([instance for instance in instances if instance not in matched]) or "none"


def _sum_to_one(scores: Sparse, instances: Sequence[str], where: str) -> bool:
    """Whether each instance's scores do; a few that do not, among nearly all that do, are refused.

    Scores of 0 and 1 alone are answers already, and may be several.
    """
    sums = np.asarray(scores.sum(axis=1)).ravel()
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    graded = bool((scores.data != 1).any())
    if graded and 0 < len(wrong) <= FEW * len(sums):
        raise SchemaError(
            "the scores of each instance must sum to one, as nearly all here do",
            found=f"{len(wrong):,} of {len(sums):,} instances do not: "
            + first_cases(instances[i] for i in wrong.tolist()),
            where=where,
            hint="correct them, or use --single-label if the highest score is the answer anyway",
        )
    return len(wrong) == 0


def _require_answers(set_valued: bool, without: list[str], where: str) -> None:
    if set_valued:
        raise SchemaError(
            "--single-label needs scores, the highest of which is the answer",
            found="predicted sets",
            where=where,
        )
    if without:
        raise SchemaError(
            "--single-label needs a score above 0 of every instance",
            found=f"none: {first_cases(without)}",
            where=where,
        )
