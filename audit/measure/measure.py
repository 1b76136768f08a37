"""Measure a dataset or its counts: nodes, pairs, residual use, validity, and a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.alignment.measure import ModelMeasurements, measure_model
from audit.base.dag import IntArray
from audit.base.errors import InputError
from audit.base.machine import give_back_freed_memory
from audit.base.progress import Progress, silent
from audit.counting.counts import Counts
from audit.counting.dataset import Instances
from audit.counting.pair_table import PairTable
from audit.counting.residual_nodes import Residual, residual_nodes
from audit.data.dataset import LabelDataset
from audit.data.mapping import Ledger
from audit.data.predictions import Predictions
from audit.hierarchies.catch_alls import reviewed
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.pair_excess import Excess, judge_pairs
from audit.measure.residual_use import residual_use
from audit.measure.validity import VALIDITY, validity
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.sharing.told import Rounding


@dataclass(frozen=True, eq=False)
class LabelDepths:
    """Labels by depth.

    Args:
        labels: Labels at depth 0, 1, 2 and so on, shape (greatest depth + 1,).
        units: Number of groups, or of instances with labels where there are no groups.
    """

    labels: IntArray
    units: int


@dataclass(frozen=True, eq=False)
class Reference:
    """An earlier run."""

    residuals: pl.DataFrame
    depths: LabelDepths | None = None

    @classmethod
    def of(cls, result: AuditResult, hierarchy: Hierarchy) -> Self:
        """The residual shares of a run, and the depths of its labels if on this hierarchy."""
        same = result.identity["hierarchy"]["sha256"] == hierarchy.sha256
        return cls(result.residuals, _label_depths(result) if same else None)


def _label_depths(result: AuditResult) -> LabelDepths:
    """How many labels of a run are at each depth, and how many groups or labelled instances."""
    depth, direct = result.nodes.select("depth", "direct").to_numpy().T.astype(np.int64)
    ledger = result.ledger
    labelled = ledger["instances"] - ledger["instances_without_labels"]
    labels = np.bincount(depth, weights=direct).astype(np.int64)
    return LabelDepths(labels, int(ledger["groups"] or labelled))


class Found(NamedTuple):
    """What an analysis measured.

    Args:
        frames: Its tables by name. Those that it declares are shared, the others never.
        facts: Numbers, words and lists of these by name, some by name once more.
        behind: What its checks read beside, and no run keeps.
    """

    frames: Mapping[str, pl.DataFrame]
    facts: Mapping[str, Any]
    behind: Any = None


@dataclass(frozen=True, eq=False)
class Measurements:
    """Everything that checks may read: the counts, and the instances if they are in memory.

    What counts do not hold (groups, columns, positions, cases, a model) is read from `instances`,
    or from `loaded` by checks that declare that they need instances.
    """

    counts: Counts
    """The counts that all other measurements are derived from."""
    instances: Instances | None
    """The individual instances; None if the data were only counted."""
    policy: Policy
    residual: Mapping[int, Residual]
    """Residual nodes, by index."""
    pairs: PairTable
    """Every pair with a joint instance, its counts and its verdict."""
    excess: Excess
    """Which pairs were tested, and which of them occur together too often."""
    residuals: pl.DataFrame
    """The residual table: one row per parent and kind of residual node."""
    validity: pl.DataFrame
    """Validity of the rows' codes on their day, columns `audit.measure.validity.VALIDITY`; empty if
        the counts hold no days."""
    reference: Reference | None
    """An earlier run to compare with, if any."""
    model: ModelMeasurements | None
    """Measurements of a model; None without predictions."""
    analyses: Mapping[str, Found] = field(default_factory=dict)
    """What analyses measured, by their names."""
    rounding: Rounding = field(default_factory=Rounding)
    """How counts are told where they are shared, by which limits on shares decide."""

    @property
    def loaded(self) -> Instances:
        """The individual instances; a ValueError if the data were only counted."""
        return _required(
            self.instances, "the instances themselves are required, and only counts are there"
        )

    def of(self, analysis: str) -> Found:
        """What an analysis of that name measured; a ValueError if it was not made."""
        return _required(self.analyses.get(analysis), f"the analysis {analysis} was not made")

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, with a node for every label that was kept."""
        return self.counts.hierarchy

    @property
    def ledger(self) -> Ledger:
        """The ledger: how many rows were mapped, and how many refused for which reason."""
        return self.counts.ledger

    @property
    def support(self) -> IntArray:
        """Instances carrying each node, shape (n_nodes,)."""
        return self.counts.support

    @property
    def direct_support(self) -> IntArray:
        """Instances with each node as a direct label, shape (n_nodes,)."""
        return self.counts.direct_support

    @property
    def labelled_ancestors(self) -> Literal["fault", "allowed"]:
        """Whether a label beside its ancestor is a fault: by the policy, else the hierarchy."""
        return self.policy.labelled_ancestors or self.hierarchy.labelled_ancestors

    @property
    def n_instances(self) -> int:
        """Number of instances, those without labels included."""
        return self.ledger.instances

    @property
    def labelled(self) -> int:
        """Number of instances with a label."""
        return self.ledger.instances - self.ledger.instances_without_labels

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """The node table: the hierarchy's nodes with ``direct, support``, ``group_sum,
        group_squares`` (`Counts.node_sums`), ``residual`` and ``residual_rule``."""
        kinds = [self.residual.get(i) for i in range(len(self.hierarchy))]
        specific = {
            i: f"reviewed, specific: {review.reason}"
            for i, review in reviewed(self.hierarchy).items()
            if review.decision == "specific"
        }
        rules = [found.rule if found else specific.get(i) for i, found in enumerate(kinds)]
        sums, squares = self.counts.node_sums
        return self.hierarchy.node_frame().with_columns(
            pl.Series("direct", self.direct_support),
            pl.Series("support", self.support),
            pl.Series("group_sum", sums),
            pl.Series("group_squares", squares),
            pl.Series("residual", [r.kind if r else None for r in kinds], pl.String),
            pl.Series("residual_rule", rules, pl.String),
        )

    @property
    def predicted(self) -> ModelMeasurements:
        """Measurements of a model; a ValueError without predictions."""
        return _required(self.model, "predictions are required")

    def vanished_within(self, columns: tuple[str, ...]) -> pl.DataFrame:
        """Reported pairs (``a, b``) that vanish if the columns are used as strata too.

        These are the pairs without a related pair in the new report, the strongest first. The pairs
        are tested anew on the first call with these columns; later calls return the same table.
        """
        if columns not in self._vanished:
            records = self.loaded.parted_by((*self.policy.strata, *columns))
            _, then = judge_pairs(self.hierarchy, records, self.pairs.blocks(), self.policy)
            self._vanished[columns] = self._without(then.found)
        return self._vanished[columns]

    @cached_property
    def _vanished(self) -> dict[tuple[str, ...], pl.DataFrame]:
        """What `vanished_within` has returned, by its columns."""
        return {}

    @cached_property
    def kept(self) -> dict[object, Any]:
        """What each function that is `once` made of these measurements, by the function."""
        return {}

    def _without(self, others: pl.DataFrame) -> pl.DataFrame:
        """``a, b`` of the reported pairs that no other pair has both of its ends in line with."""
        lines = csr_array(self.hierarchy.closure + self.hierarchy.below)
        ends = others.select("a", "b").to_numpy().T

        def alone(a: int, b: int) -> bool:
            near_a, near_b = (lines[:, [end]].toarray().ravel()[ends] > 0 for end in (a, b))
            return not np.any((near_a[0] & near_b[1]) | (near_a[1] & near_b[0]))

        found = self.excess.found.select("a", "b")
        return found.filter(
            pl.Series([alone(a, b) for a, b in found.iter_rows()], dtype=pl.Boolean)
        )


_Part = TypeVar("_Part")


def once(make: Callable[[Measurements], _Part]) -> Callable[[Measurements], _Part]:
    """The function, computed once for each `Measurements`, whose ``kept`` holds what it made."""

    @wraps(make)
    def made(measured: Measurements) -> _Part:
        if make not in measured.kept:
            measured.kept[make] = make(measured)
        part: _Part = measured.kept[make]
        return part

    return made


def _required(part: _Part | None, required: str) -> _Part:
    if part is None:
        raise ValueError(required)
    return part


def measure(
    data: LabelDataset | Counts,
    policy: Policy,
    predictions: Predictions | None = None,
    *,
    reference: Reference | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress = silent,
) -> Measurements:
    """Measure nodes, pairs, residual use, validity and a model of a dataset, or of its counts.

    Args:
        data: A dataset, whose instances are counted here; or counts, whose instances are treated
            as independent.
        predictions: What a model predicts of the dataset's instances.
        seed: Seed of the bootstrap behind the intervals of the model's metrics.
        device: PyTorch device that counts pairs of scores; None to count with NumPy.

    Raises:
        InputError: If counts are to be aggregated other than over descendants.
        OutputError: If the disk is full: for counts, the pair table is written to it.
    """
    if isinstance(data, LabelDataset) and predictions is not None:
        data = data.within(predictions.hierarchy)
    residual = residual_nodes(data.hierarchy, policy, progress)
    if isinstance(data, LabelDataset):
        progress("propagating labels")
        counts: Counts = (instances := Instances(data, policy, residual))
    else:
        counts, instances = data, None
        if policy.aggregation != "descendants":
            raise InputError(
                "data that are only counted are always aggregated over descendants",
                found=f"aggregation = {policy.aggregation!r}",
            )
    records = counts.pair_records()
    pairs = counts.pairs_of(records, progress)
    verdicts, excess = judge_pairs(
        counts.hierarchy, records, pairs.blocks(), policy, progress=progress
    )
    give_back_freed_memory()
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
        pairs=replace(pairs, verdicts=verdicts),
        excess=excess,
        residuals=residual_use(counts, residual),
        validity=pl.DataFrame(schema=VALIDITY)
        if instances is None
        else validity(instances.dataset, policy.code_dates),
        reference=reference,
        model=model,
    )
