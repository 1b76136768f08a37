"""All metrics of a model from batches: update, compute, reset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.alignment.inputs import HierarchyLike, hierarchy_from, labels_and_outputs
from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.model import Predicted, measures_of
from audit.alignment.metrics.streaming import Stream, value_of
from audit.base.errors import SchemaError
from audit.results.metric_list import METRICS


class HierarchicalMetrics:
    """The metrics of ``audit run`` over batches, with the habits of torchmetrics.

    Args:
        hierarchy: A hierarchy, its name or path, or a dictionary of parents.
        classes: Names of the classes by number, or of the columns; None: the hierarchy's nodes.
        threshold: Least score of a predicted node, unless there is one answer an instance.
        single_label: Whether each instance has one answer; None: as the first batch says, whose
            scores then sum to one or do not.

    Batches may come in any order. Predictions and labels may be lists, arrays, sparse matrices or
    tensors, as `audit.metrics.hierarchical_f1` takes them. Memory does not grow with the instances.

    >>> metrics = HierarchicalMetrics({"cat": "mammal", "dog": "mammal", "bird": "animal"})
    >>> metrics.update(["dog"], ["cat"])
    >>> metrics.compute()["hierarchical_f1/micro"]
    0.5
    """

    def __init__(
        self,
        hierarchy: HierarchyLike,
        *,
        classes: Sequence[str] | None = None,
        threshold: float = 0.5,
        single_label: bool | None = None,
    ) -> None:
        self.hierarchy = hierarchy_from(hierarchy)
        self.classes, self.threshold, self.single_label = classes, threshold, single_label
        self.reset()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._stream is not None and self._kind is not None:
            self._stream.measures = tuple(measures_of(self.hierarchy, self._kind))

    def reset(self) -> None:
        """Forget all batches."""
        self._stream: Stream | None = None
        self._kind: Predicted | None = None

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch: what is predicted, then what is true, as torchmetrics has them.

        Raises:
            SchemaError: If a label or class is no node, the two have other lengths, or the batch is
                of another kind than those before it: scores, one answer each, or sets.
        """
        single = self.single_label
        gold, outputs = labels_and_outputs(target, preds, self.hierarchy, self.classes, single)
        kind = Predicted(outputs.single_label, outputs.set_valued, self.threshold)
        self._of_kind(kind).update(Batch(self.hierarchy, gold, outputs.scores))

    def compute(self) -> dict[str, float]:
        """The value of each metric over all batches, NaN where it is undefined.

        A name is that of the metric; depths follow as ``accuracy/depth=2`` and
        ``lost/depth=3->1``, an average as ``hierarchical_f1/micro``. Without a batch there are
        none.
        """
        if self._stream is None:
            return {}
        names = {metric.name for metric in METRICS}
        return {
            _key(row["name"], row["parameters"]): value_of(row)
            for row in self._stream.compute()
            if row["name"] in names
        }

    def __call__(self, preds: Any, target: Any) -> dict[str, float]:
        """Add a batch and return the values of this batch alone."""
        alone = HierarchicalMetrics(
            self.hierarchy,
            classes=self.classes,
            threshold=self.threshold,
            single_label=self._kind.single_label if self._kind else self.single_label,
        )
        alone.update(preds, target)
        self.update(preds, target)
        return alone.compute()

    def merge(self, other: HierarchicalMetrics) -> None:
        """Add the batches of another one, as from another process.

        Raises:
            SchemaError: If it has other metrics: another hierarchy, threshold or kind.
        """
        if self.hierarchy.sha256 != other.hierarchy.sha256:
            raise SchemaError(
                "only metrics of the same hierarchy can be merged",
                found=f"{self.hierarchy!r} and {other.hierarchy!r}, which differ",
            )
        if other._stream is not None and other._kind is not None:
            self._of_kind(other._kind).merge(other._stream)

    def _of_kind(self, kind: Predicted) -> Stream:
        """The stream, of the kind of the first batch; a SchemaError for another kind."""
        if self._stream is None:
            self._kind = kind
            self._stream = Stream(self.hierarchy, measures_of(self.hierarchy, kind), replicates=0)
        if kind != self._kind:
            raise SchemaError(
                "all batches must be of one kind, scores, one answer per instance, or sets, and "
                "decided at one threshold",
                found="another kind or threshold than before",
                hint="single_label says whether each instance has one answer",
            )
        return self._stream


def _key(name: str, parameters: Mapping[str, Any]) -> str:
    start, end = parameters.get("depth_from"), parameters.get("depth_to")
    if start is not None:
        return f"{name}/depth={start}->{end}"
    if end is not None:
        return f"{name}/depth={end}"
    if "up" in parameters:
        return f"{name}/up={parameters['up']}"
    average = parameters.get("average")
    return f"{name}/{average}" if average else name
