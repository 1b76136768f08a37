"""Labels and scores of a model's instances, read back from a run that keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csc_array, csr_array

from audit.alignment.metrics.measure import add_all, measures_of
from audit.alignment.metrics.moves import moves_of
from audit.alignment.metrics.streaming import ALL, Replicated, Stream
from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.errors import InputError
from audit.engine.pairs.pair_counts import binary_entropy
from audit.engine.scores.decisions import decide
from audit.hierarchies.aggregation import aggregated_values
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results.result import AuditResult


@dataclass(frozen=True, eq=False)
class KeptModel:
    """One run's model and the instances that it predicted, as the run kept them.

    Args:
        run: The run, with predictions.
        hierarchy: Its hierarchy.
        ids: Ids of the instances with predictions, sorted; those without any label or score have
            no place, since the run keeps no row of them.
        units: What is resampled of each: its group, else its id.
        gold: Labels, 0/1, shape (n_instances, n_nodes).
        scores: Scores, same shape.
    """

    run: AuditResult
    hierarchy: Hierarchy
    ids: pl.Series
    units: Sequence[str]
    gold: Sparse
    scores: Sparse

    @property
    def predicted(self) -> int:
        """Number of instances with predictions, those without a place included."""
        return int(self.run.ledger["predictions"]["instances_matched"])

    @cached_property
    def decided(self) -> Sparse:
        """Predicted labels, 0/1, shape (n_instances, n_nodes)."""
        ledger = self.run.ledger["predictions"]
        threshold = ledger["decision_threshold"]
        return decide(self.scores, threshold, single_label=ledger["single_label"])

    def replicated(self, scopes: Sequence[str]) -> list[Replicated]:
        """Every metric of all instances and of the scopes, with bootstrap replicates.

        A unit is drawn as often as in any other run, by its name.
        """
        ledger = self.run.ledger["predictions"]
        policy = self._policy
        kind = (ledger[name] for name in ("single_label", "set_valued", "decision_threshold"))
        moves = moves_of(self.hierarchy, policy.levels, policy.aggregation)
        measures = measures_of(self.hierarchy, moves, policy.subgraphs, *kind)
        stream = Stream(self.hierarchy, measures, (ALL, *(one for one in scopes if one != ALL)))
        add_all(stream, self.gold, self.scores, self.units, policy.aggregation)
        return stream.replicated()

    def entropies(self, a: str, b: str) -> tuple[IntArray, FloatArray]:
        """Instances whose scores reach both nodes, and how evenly these are split, in bits.

        The terms of concept confusion (*Abstraction Alignment*, equation 4) that are not 0.
        """
        least = self.run.ledger["predictions"]["confusion_threshold"]
        first, second = (
            self._columns[:, [self.hierarchy.index(node)]].toarray().ravel() for node in (a, b)
        )
        both = np.flatnonzero((first >= least) & (second >= least))
        return both.astype(np.int64), binary_entropy(first[both], second[both])

    @cached_property
    def _policy(self) -> Policy:
        """What the run was counted with."""
        return Policy.model_validate_json(json.dumps(self.run.counted_with))

    @cached_property
    def _columns(self) -> csc_array[Any]:
        return csc_array(aggregated_values(self.hierarchy, self.scores, self._policy.aggregation))


def kept_model(run: AuditResult) -> KeptModel | None:
    """The model of a run; None without predictions, or if the run keeps no instances.

    Raises:
        InputError: If the table of instances cannot be read.
    """
    if run.model is None or run.instances is None:
        return None
    hierarchy = Hierarchy.build(
        run.edges, run.nodes.select("node", "title", "assignable"), name="kept"
    )
    try:
        rows = run.instances.filter(pl.col("score").is_not_null()).collect()
        ids = rows["instance"].unique().sort()
        place, node = _places(rows["instance"], ids), _places(rows["node"], hierarchy.nodes)
        shape = (len(ids), len(hierarchy))
        gold, scores = (_matrix(rows[of], place, node, shape) for of in ("label", "score"))
        units = _units(rows, ids)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(
            "a table of instances that can be read is required", found=f"{type(error).__name__}"
        ) from None
    return KeptModel(run, hierarchy, ids, units, gold.astype(np.int64), scores)


def _places(values: pl.Series, among: Sequence[str] | pl.Series) -> IntArray:
    return values.cast(pl.Enum(among)).to_physical().to_numpy().astype(np.int64)


def _matrix(values: pl.Series, place: IntArray, node: IntArray, shape: tuple[int, int]) -> Sparse:
    kept = (values > 0).to_numpy()
    stored = values.to_numpy().astype(np.float64)[kept]
    matrix = csr_array((stored, (place[kept], node[kept])), shape=shape)
    matrix.sort_indices()
    return matrix


def _units(rows: pl.DataFrame, ids: pl.Series) -> list[str]:
    """The group of each instance, else its id; a table without groups gives the ids."""
    if "group" not in rows.columns:
        return ids.to_list()
    of = rows.select("instance", unit=pl.coalesce("group", "instance")).unique("instance")
    joined = ids.to_frame("instance").join(of, on="instance", how="left", maintain_order="left")
    return joined["unit"].to_list()
