"""From counts to tables: describe nodes, pairs and residual use, and a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.alignment.measure import ModelMeasurements, measure_model
from audit.base.dag import IntArray
from audit.base.progress import Progress, silent
from audit.counting.counts import Counts
from audit.counting.dataset import Instances
from audit.counting.residual_nodes import Residual, residual_nodes
from audit.data.dataset import LabelDataset
from audit.data.mapping import Ledger
from audit.data.predictions import Predictions
from audit.engine.pairs.below import LabelsBelow, labels_below
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.reviewed_residuals import reviewed
from audit.measure.pair_excess import Excess, judge_pairs
from audit.measure.residual_use import ResidualUse, residual_use
from audit.measure.validity import VALIDITY, validity
from audit.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that checks may look at: what was counted, and the instances if they are in memory.

    What instances alone can tell (groups, columns, positions, cases, a model) is behind
    `instances`, or `loaded` where a check declares that it needs them.
    """

    counts: Counts
    """What everything else is measured by."""
    instances: Instances | None
    """The instances one by one; None where they were only counted."""
    policy: Policy
    residual: Mapping[int, Residual]
    """Residual nodes by index."""
    pairs: pl.LazyFrame
    """Every pair with a joint instance, as `pair_table` counts and `Excess` judges it."""
    held: object
    """What the table of pairs lies in while it is on the disk; None: it is in memory."""
    excess: Excess
    """Which pairs were judged, and which of them meet too often."""
    residual_use: ResidualUse
    """How often only catch-alls are used below each parent."""
    validity: pl.DataFrame
    """What the code of each row was on its day: `audit.measure.validity.VALIDITY`; empty where days
    were not counted by."""
    reference: pl.DataFrame | None
    """The residual table of an earlier run to compare with; None without one."""
    model: ModelMeasurements | None
    """What was measured of a model; None without predictions."""

    @property
    def loaded(self) -> Instances:
        """The instances one by one.

        Raises:
            ValueError: If they were only counted.
        """
        if self.instances is None:
            raise ValueError("the instances themselves are required, and only counts are there")
        return self.instances

    @property
    def hierarchy(self) -> Hierarchy:
        """With a node for every label that was kept."""
        return self.counts.hierarchy

    @property
    def ledger(self) -> Ledger:
        """What became of every row."""
        return self.counts.ledger

    @property
    def support(self) -> IntArray:
        """Instances carrying each node, shape (n_nodes,)."""
        return self.counts.support

    @property
    def direct_support(self) -> IntArray:
        """Instances with each node as a label, shape (n_nodes,)."""
        return self.counts.direct_support

    @property
    def labelled_ancestors(self) -> Literal["fault", "allowed"]:
        """As the policy decides, else the hierarchy."""
        return self.policy.labelled_ancestors or self.hierarchy.labelled_ancestors

    @property
    def n_instances(self) -> int:
        """How many there are, those without labels included."""
        return self.ledger.instances

    @property
    def labelled(self) -> int:
        """How many instances have a label."""
        return self.ledger.instances - self.ledger.instances_without_labels

    @property
    def residuals(self) -> pl.DataFrame:
        """The residual table: a row a parent and kind."""
        return self.residual_use.table

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """The hierarchy's nodes with ``direct, support, residual, residual_rule``."""
        kinds = [self.residual.get(i) for i in range(len(self.hierarchy))]
        specific = {
            i: f"reviewed, specific: {review.reason}"
            for i, review in reviewed(self.hierarchy).items()
            if review.decision == "specific"
        }
        rules = [found.rule if found else specific.get(i) for i, found in enumerate(kinds)]
        return self.hierarchy.node_frame().with_columns(
            pl.Series("direct", self.direct_support),
            pl.Series("support", self.support),
            pl.Series("residual", [r.kind if r else None for r in kinds], pl.String),
            pl.Series("residual_rule", rules, pl.String),
        )

    @cached_property
    def predicted_below(self) -> LabelsBelow:
        """What `Instances.below` is of labels, of the predictions, by their place among them.

        Raises:
            ValueError: Without predictions.
        """
        if self.model is None:
            raise ValueError("predictions are required")
        residual = np.array(sorted(self.residual), np.int64)
        return labels_below(self.model.decided, self.hierarchy.strict_closure, residual)

    def vanished_within(self, columns: tuple[str, ...]) -> pl.DataFrame:
        """``a, b`` of the reported pairs that vanish where further columns part the instances.

        Those with no pair in line with them among the pairs that are reported then, the strongest
        first. They are judged anew the first time that some columns are asked for.
        """
        if columns not in self._vanished:
            records = self.loaded.parted_by((*self.policy.strata, *columns))
            table = self.pairs.select("a", "b", "joint", "joint_entailed").collect()
            _, then = judge_pairs(self.hierarchy, records, [(0, table)], self.policy)
            self._vanished[columns] = self._without(then.found)
        return self._vanished[columns]

    @cached_property
    def _vanished(self) -> dict[tuple[str, ...], pl.DataFrame]:
        return {}

    def _without(self, others: pl.DataFrame) -> pl.DataFrame:
        """``a, b`` of the reported pairs that none of some others is in line with."""
        lines = csr_array(self.hierarchy.closure + self.hierarchy.below)
        ends = others.select("a", "b").to_numpy().T

        def alone(a: int, b: int) -> bool:
            near_a, near_b = (lines[:, [end]].toarray().ravel()[ends] > 0 for end in (a, b))
            return not np.any((near_a[0] & near_b[1]) | (near_a[1] & near_b[0]))

        found = self.excess.found.select("a", "b")
        return found.filter(
            pl.Series([alone(a, b) for a, b in found.iter_rows()], dtype=pl.Boolean)
        )


def measure(
    data: LabelDataset | Counts,
    policy: Policy,
    predictions: Predictions | None = None,
    *,
    reference: pl.DataFrame | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress = silent,
) -> Measurements:
    """Judge pairs and measure residual use by counts; and by instances what counts cannot tell.

    Args:
        data: A dataset, whose instances are counted here, or counts, of which each stands alone.
        policy: What is measured by.
        predictions: What a model predicts of the dataset's instances.
        reference: The residual table of an earlier run.
        seed: Of the resampling behind the intervals of the model's metrics.
        device: Where PyTorch counts pairs of scores; None: NumPy counts.
        progress: What is told how far the measurement is.

    Raises:
        OutputError: If the disk takes no more of the table of pairs, which of counts lies there.
    """
    if isinstance(data, LabelDataset) and predictions is not None:
        data = data.within(predictions.hierarchy)
    residual = residual_nodes(data.hierarchy, policy)
    if isinstance(data, LabelDataset):
        progress("propagating labels")
        counts: Counts = (instances := Instances(data, policy, residual))
    else:
        counts, instances = data, None
    records = counts.pair_records()
    pairs = counts.pairs_of(records, progress)
    verdicts, excess = judge_pairs(
        counts.hierarchy, records, pairs.blocks(), policy, progress=progress
    )
    table, held = pairs.table(verdicts.marked, progress)
    model = None
    if instances is not None and predictions is not None:
        model = measure_model(
            instances.dataset, predictions, policy, seed=seed, device=device, progress=progress
        )
    return Measurements(
        counts=counts,
        instances=instances,
        policy=policy,
        residual=residual,
        pairs=verdicts.judged(table),
        held=held,
        excess=excess,
        residual_use=residual_use(counts, residual, policy.residual_instances.value, instances),
        validity=pl.DataFrame(schema=VALIDITY)
        if instances is None
        else validity(instances.dataset, policy.code_dates),
        reference=reference,
        model=model,
    )
