"""All metrics of a model from batches: update, compute, reset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit.alignment.metric_functions import value_of
from audit.alignment.metric_inputs import (
    HierarchyLike,
    Outputs,
    hierarchy_from,
    labels_from,
    outputs_from,
    refuse_other_length,
)
from audit.alignment.metrics import METRICS
from audit.alignment.metrics.batch import Batch, moves_of
from audit.alignment.metrics.measure import measures_of
from audit.alignment.metrics.streaming import Stream
from audit.base.errors import SchemaError


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

    def reset(self) -> None:
        """Forget all batches."""
        self._stream: Stream | None = None
        self._kind: tuple[bool, bool] | None = None

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch: what is predicted, then what is true, as torchmetrics has them.

        Raises:
            SchemaError: If a label or class is no node, the two have other lengths, or the batch is
                of another kind than those before it: scores, one answer each, or sets.
        """
        outputs = outputs_from(preds, self.hierarchy, self.classes, self.single_label)
        gold = labels_from(target, self.hierarchy, self.classes)
        refuse_other_length(gold, outputs)
        self._of_kind(outputs).update(Batch(self.hierarchy, gold, outputs.scores))

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
            _key(estimate.name, estimate.parameters): value_of(estimate)
            for estimate in self._stream.compute()
            if estimate.name in names
        }

    def __call__(self, preds: Any, target: Any) -> dict[str, float]:
        """Add a batch and return the values of this batch alone."""
        alone = HierarchicalMetrics(
            self.hierarchy,
            classes=self.classes,
            threshold=self.threshold,
            single_label=self.single_label if self._kind is None else self._kind[1],
        )
        alone.update(preds, target)
        self.update(preds, target)
        return alone.compute()

    def merge(self, other: HierarchicalMetrics) -> None:
        """Add the batches of another one, as from another process.

        Raises:
            SchemaError: If it has other metrics: another hierarchy, threshold or kind.
        """
        if other._stream is None or other._kind is None:
            return
        self._stream = self._stream or self._started(other._kind)
        self._stream.merge(other._stream)

    def _of_kind(self, outputs: Outputs) -> Stream:
        kind = (outputs.set_valued, outputs.single_label)
        if self._stream is None:
            self._stream = self._started(kind)
        elif kind != self._kind:
            raise SchemaError(
                "all batches must be of one kind: scores, one answer per instance, or sets",
                found="another kind than before",
                hint="single_label says whether each instance has one answer",
            )
        return self._stream

    def _started(self, kind: tuple[bool, bool]) -> Stream:
        self._kind = kind
        set_valued, single_label = kind
        moves = moves_of(self.hierarchy, "depth", "descendants")
        measures = measures_of(self.hierarchy, moves, (), single_label, set_valued, self.threshold)
        return Stream(self.hierarchy, measures, replicates=0)


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
