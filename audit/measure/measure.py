"""From a dataset to its tables: propagate, count, and describe nodes, pairs and residual use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, cast

import numpy as np
import polars as pl
from scipy.sparse import csc_array, csr_array

from audit.alignment.measure import ModelMeasurements, measure_model
from audit.base.dag import IntArray, Sparse
from audit.base.progress import Progress, silent
from audit.counting.dataset import records_of
from audit.counting.pair_table import pair_table
from audit.counting.residual_nodes import Residual, residual_kinds, residual_nodes
from audit.data.dataset import LabelDataset, Ledger
from audit.data.predictions import Predictions
from audit.engine.pairs.below import LabelsBelow, labels_below
from audit.engine.pairs.entailed import count_entailed, in_line, joint_entailed
from audit.engine.pairs.margins import count_margins, counted_branches, strata_from
from audit.engine.pairs.pair_counts import count_pairs, support
from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.record_counts import RecordCounts
from audit.engine.pairs.specific import most_specific
from audit.engine.pairs.strata import length_cuts, length_histogram, strata_of
from audit.engine.pairs.sums import Sums
from audit.engine.statistics.grouped import Grouped
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.reviewed_residuals import reviewed
from audit.measure.pair_excess import Excess, PairRecords, judge_pairs
from audit.measure.residual_use import ResidualUse, below_of, residual_use
from audit.measure.validity import validity
from audit.policy.policy import Policy

PAIRS_AT_ONCE = 500_000
"""Lines of the pair table that are judged at a time."""
_COUNTS = ("support_a", "support_b", "joint", "joint_entailed")
"""Columns of the pair table that are held in half the space that they are read in."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What an audit knows from counts alone, however many instances there were."""

    hierarchy: Hierarchy
    """With a node for every label that was kept."""
    policy: Policy
    labelled_ancestors: Literal["fault", "allowed"]
    """As the policy decides, else the hierarchy."""
    ledger: Ledger
    """What became of every row."""
    mappings: pl.DataFrame
    """What was mapped, a row a label, as `LabelDataset.mappings` has it."""
    refusals: pl.DataFrame
    """What was refused, a row a label, as `LabelDataset.refusals` has it."""
    residual: Mapping[int, Residual]
    """Residual nodes by index."""
    support: IntArray
    """Instances carrying each node, shape (n_nodes,)."""
    direct_support: IntArray
    """Instances with each node as a label, shape (n_nodes,)."""
    records: RecordCounts
    """Instances by what their own rows and labels are like."""
    pairs: pl.LazyFrame
    """Every pair with a joint instance, as `pair_table` counts and `Excess` judges it."""
    excess: Excess
    """Which pairs were judged, and which of them meet too often."""
    residual_use: ResidualUse
    """How often only catch-alls are used below each parent."""
    validity: pl.DataFrame
    """What the code of each row was on its day: `audit.measure.validity.VALIDITY`; empty where days
    were not counted by."""
    held: object = field(default=None, kw_only=True)
    """What the table of pairs lies in while it is on the disk; None: it is in memory."""

    @property
    def instances(self) -> int:
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
            pl.Series(
                "residual_rule",
                rules,
                pl.String,
            ),
        )


def _records(measured: Measurements) -> RecordCounts:
    kinds = residual_kinds(measured.residual, len(measured.hierarchy))
    return records_of(measured.dataset, kinds)


@dataclass(frozen=True, eq=False)
class Measurements(Counted):
    """All that checks may look at: what was counted, and the instances themselves."""

    records: RecordCounts = field(init=False, default=cast(RecordCounts, cached_property(_records)))
    """Counted when first asked for: checks in memory look at the rows themselves."""
    dataset: LabelDataset
    aggregated: Sparse
    """Aggregated values of labels, shape (n_instances, n_nodes), int64."""
    reference: pl.DataFrame | None
    """The residual table of an earlier run to compare with; None without one."""
    model: ModelMeasurements | None
    """What was measured of a model; None without predictions."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that part the instances: the split, and further ones but for days and ages."""
        values = self.policy.columns_of_values
        return ("split", *(name for name in self.dataset.strata if name not in values))

    @cached_property
    def carriers(self) -> Sparse:
        """Aggregated values by node, shape (n_nodes, n_instances), canonical CSR."""
        return csr_array(self.aggregated.T)

    @cached_property
    def labelled_at(self) -> Sparse:
        """Direct labels by node, shape (n_nodes, n_instances), canonical CSR."""
        return csr_array(self.dataset.direct.T)

    @cached_property
    def predicted_below(self) -> LabelsBelow:
        """What `below` is of labels, of the model's predictions, by their place among them.

        Raises:
            ValueError: Without predictions.
        """
        if self.model is None:
            raise ValueError("predictions are required")
        residual = np.array(sorted(self.residual), np.int64)
        return labels_below(self.model.decided, self.hierarchy.strict_closure, residual)

    @cached_property
    def below(self) -> LabelsBelow:
        """Labels strictly below each node, residual ones apart."""
        return below_of(self.dataset, list(self.residual))

    def vanished_within(self, columns: tuple[str, ...]) -> pl.DataFrame:
        """``a, b`` of the reported pairs that vanish where further columns part the instances.

        Those with no pair in line with them among the pairs that are reported then, the strongest
        first. They are judged anew the first time that some columns are asked for.
        """
        if columns not in self._vanished:
            policy = self.policy.model_copy(update={"strata": (*self.policy.strata, *columns)})
            records = _pair_records(self.dataset, policy, self.aggregated)
            table = self.pairs.select("a", "b", "joint", "joint_entailed").collect()
            _, then = judge_pairs(self.hierarchy, records, [(0, table)], policy)
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

    @cached_property
    def group_of(self) -> IntArray | None:
        """Number of each instance's group, shape (n_instances,); None without groups of several."""
        return _group_numbers(self.dataset)


def measure(
    dataset: LabelDataset,
    policy: Policy,
    predictions: Predictions | None = None,
    *,
    reference: pl.DataFrame | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress = silent,
) -> Measurements:
    """Propagate labels, count and judge pairs, measure residual use; and the model, if any."""
    progress("propagating labels")
    if predictions is not None:
        dataset = dataset.within(predictions.hierarchy)
    hierarchy = dataset.hierarchy
    aggregated = aggregate(dataset.direct, hierarchy.closure)
    residual = residual_nodes(hierarchy, policy)
    supports = support(aggregated)
    pairs, excess = _judged_pairs(dataset, policy, aggregated, supports, progress)
    return Measurements(
        hierarchy=hierarchy,
        policy=policy,
        labelled_ancestors=policy.labelled_ancestors or hierarchy.labelled_ancestors,
        ledger=dataset.ledger,
        mappings=dataset.mappings,
        refusals=dataset.refusals,
        residual=residual,
        support=supports,
        direct_support=support(dataset.direct),
        pairs=pairs,
        excess=excess,
        residual_use=residual_use(
            dataset, residual, _group_numbers(dataset), policy.residual_instances.value
        ),
        validity=validity(dataset, policy.code_dates),
        dataset=dataset,
        aggregated=aggregated,
        reference=reference,
        model=None
        if predictions is None
        else measure_model(
            dataset, predictions, policy, seed=seed, device=device, progress=progress
        ),
    )


def _judged_pairs(
    dataset: LabelDataset,
    policy: Policy,
    aggregated: Sparse,
    supports: IntArray,
    progress: Progress,
) -> tuple[pl.LazyFrame, Excess]:
    """The judged pair table, and what stands out in it."""
    hierarchy, records = dataset.hierarchy, _pair_records(dataset, policy, aggregated)
    counted = _counted_pairs(hierarchy, records.entailed, aggregated, supports, progress)
    lines = range(0, max(len(counted), 1), PAIRS_AT_ONCE)
    blocks = [(line, counted.slice(line, PAIRS_AT_ONCE)) for line in lines]
    verdicts, excess = judge_pairs(hierarchy, records, blocks, policy, progress=progress)
    marked = pl.concat([verdicts.marked(pairs, line) for line, pairs in blocks], rechunk=False)
    return verdicts.judged(marked.lazy().with_columns(pl.col(_COUNTS).cast(pl.Int64))), excess


def _counted_pairs(
    hierarchy: Hierarchy,
    entailed: Sums,
    aggregated: Sparse,
    supports: IntArray,
    progress: Progress,
) -> pl.DataFrame:
    counts = count_pairs(aggregated, progress)
    own = joint_entailed(counts, entailed, in_line(hierarchy.closure), len(hierarchy))
    table = pair_table(hierarchy, counts, supports).with_columns(joint_entailed=pl.Series(own))
    return table.with_columns(pl.col(_COUNTS).cast(pl.Int32))


def _pair_records(dataset: LabelDataset, policy: Policy, aggregated: Sparse) -> PairRecords:
    """The dataset as its pairs are judged; of the policy's strata those that it has."""
    hierarchy = dataset.hierarchy
    specific = most_specific(dataset.direct, csr_array(dataset.direct @ hierarchy.strict_closure))
    lengths = np.diff(specific.indptr).astype(np.int64)
    categories = [
        found[name].cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(np.int64)
        for name in policy.strata
        for found in (dataset.instances, dataset.unnamed)
        if name in found.columns
    ]
    cuts = length_cuts(length_histogram(lengths))
    stratum = strata_of(lengths, cuts, categories)
    branches = counted_branches(hierarchy.first_branch, hierarchy.leaf)
    margins = count_margins(specific, aggregated, stratum, branches)
    size = np.bincount(stratum[stratum >= 0]).astype(np.int64)
    return PairRecords(
        strata=strata_from(cuts, size, margins, len(hierarchy)),
        entailed=count_entailed(specific, hierarchy.closure),
        alone=support(specific[np.flatnonzero(lengths == 1)]),
        grouped=_grouped(dataset, aggregated, stratum),
    )


def _grouped(dataset: LabelDataset, aggregated: Sparse, stratum: IntArray) -> Grouped | None:
    """The records that take part with their groups; None without groups."""
    groups = _group_numbers(dataset)
    if groups is None:
        return None
    part = np.flatnonzero(stratum >= 0)
    number = np.unique(groups[part], return_inverse=True)[1]
    carriers = csc_array(aggregated[part])
    return Grouped(carriers, stratum[part], number, dataset.hierarchy.below)


def _group_numbers(dataset: LabelDataset) -> IntArray | None:
    groups = dataset.instances["group"]
    if not groups.drop_nulls().is_duplicated().any():
        return None
    alone = pl.concat_str(pl.lit("alone:"), "instance")
    named = pl.coalesce(pl.concat_str(pl.lit("group:"), "group"), alone)
    numbers = dataset.instances.select(named.rank("dense")).to_series()
    return numbers.to_numpy().astype(np.int64) - 1
