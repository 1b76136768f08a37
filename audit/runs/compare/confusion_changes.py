"""Pairs of labels that a model confuses more, or less, than another one, by the scores kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csc_array, csr_array
from scipy.special import stdtr, stdtrit

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.errors import InputError
from audit.base.schemas import schema
from audit.engine.pairs.pair_counts import binary_entropy
from audit.engine.scores.cuts import decide
from audit.engine.statistics.intervals import LEVEL
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values
from audit.results.model_overview import most_confused
from audit.results.result import AuditResult
from audit.runs.compare.counts import (
    CONFUSIONS_TESTED,
    FALSE_DISCOVERY_RATE,
    LEAST_EXPECTED,
    q_values,
)


@dataclass(frozen=True, eq=False)
class KeptModel:
    """One run's model and the instances that it predicted, as the run kept them.

    Args:
        run: The run, with predictions.
        hierarchy: Its hierarchy.
        ids: Ids of the instances with predictions, sorted; those without any label or score have
            no place, since the run keeps no row of them.
        units: What is independent of each: its group, else its id.
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
    def _columns(self) -> csc_array[Any]:
        way = self.run.made_with.aggregation
        return csc_array(aggregated_values(self.hierarchy, self.scores, way))


def kept_model(run: AuditResult) -> KeptModel | None:
    """The model of a run; None without predictions, or if the run keeps no instances."""
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
        units = _kept_units(rows, ids)
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


def _kept_units(rows: pl.DataFrame, ids: pl.Series) -> list[str]:
    """The group of each instance, else its id; a table without groups gives the ids."""
    if "group" not in rows.columns:
        return ids.to_list()
    of = rows.select("instance", unit=pl.coalesce("group", "instance")).unique("instance")
    joined = ids.to_frame("instance").join(of, on="instance", how="left", maintain_order="left")
    return joined["unit"].to_list()


CONFUSIONS = schema(
    ("a b", pl.String),
    ("old new difference low high p_value q_value", pl.Float64),
    ("changed", pl.Boolean),
    ("co_predicted_old co_predicted_new", pl.Int64),
)
"""``old, new``: concept confusion in each run; ``p_value, q_value`` and the bounds of the
difference are null where nothing could be tested; ``co_predicted``: instances for which both are
predicted."""


def confusion_changes(old: KeptModel, new: KeptModel) -> tuple[pl.DataFrame, int]:
    """Test the changes of the most confused pairs of labels, and return them with their number.

    The family is fixed by what both runs have together: pairs whose scores meet in enough instances
    of one run, those with the largest sum of both confusions. The difference of two means is a sum
    over instances, so that its variance is that of the sums over units: an instance that both runs
    have is a pair, and a group is drawn as a whole.

    Returns:
        Columns `CONFUSIONS`, the largest difference first; and the size of the family.
    """
    pairs = _family(old.run, new.run)
    units, n_units = _units(old, new)
    tested = [_tested(row, old, new, units, n_units) for row in pairs.iter_rows(named=True)]
    p_value = np.array([row["p_value"] for row in tested], np.float64)
    q_value = q_values(p_value, np.ones(len(tested), np.bool_))
    rate = FALSE_DISCOVERY_RATE.value
    table = pl.DataFrame(
        [
            {**row, "q_value": q, "changed": bool(q <= rate)}
            for row, q in zip(tested, q_value.tolist(), strict=True)
        ],
        schema=CONFUSIONS,
    )
    return table.sort(-pl.col("difference").abs(), "a", "b"), len(table)


def untested_confusions(
    runs: tuple[AuditResult, AuditResult] | None,
) -> tuple[pl.DataFrame, int]:
    """The most confused pairs of either run, of which nothing can be tested; without runs none.

    Returns:
        As `confusion_changes`, with a family of 0.
    """
    if runs is None:
        return pl.DataFrame(schema=CONFUSIONS), 0
    rows = _side_by_side(*runs).join(top_confused(*runs), on=["a", "b"], how="semi")
    none = pl.lit(None, pl.Float64)
    table = rows.with_columns(
        difference=pl.col("new") - pl.col("old"),
        low=none, high=none, p_value=none, q_value=none, changed=pl.lit(False),
    ).select(*CONFUSIONS)  # fmt: skip
    return table.sort(-pl.col("difference").abs(), "a", "b"), 0


def top_confused(old: AuditResult, new: AuditResult, width: int = 0) -> pl.DataFrame:
    """The most confused pairs of either run, ``a, b``, of labels that more than ``width`` have."""
    labelled = _labelled(old, new, width)
    models = [run.model for run in (old, new) if run.model is not None]
    tops = [most_confused(model.pairs, labelled).select("a", "b").collect() for model in models]
    return pl.concat(tops).unique()


def _family(old: AuditResult, new: AuditResult) -> pl.DataFrame:
    labelled = _labelled(old, new).implode()
    met = pl.max_horizontal("joint_old", "joint_new") >= LEAST_EXPECTED.value
    rows = _side_by_side(old, new).filter(
        met & pl.col("a").is_in(labelled) & pl.col("b").is_in(labelled)
    )
    ranked = rows.sort(-(pl.col("old") + pl.col("new")), "a", "b")
    return ranked.head(int(CONFUSIONS_TESTED.value))


def _labelled(old: AuditResult, new: AuditResult, width: int = 0) -> pl.Series:
    """Nodes of both hierarchies that are a label of more than some in one run."""
    nodes = [run.nodes.select("node", "direct") for run in (old, new)]
    both = nodes[0].join(nodes[1], on="node")
    return both.filter(pl.max_horizontal("direct", "direct_right") > width)["node"]


def _side_by_side(old: AuditResult, new: AuditResult) -> pl.DataFrame:
    """Unrelated pairs of common nodes, with their confusion in both runs, 0 where none meets."""
    sides = [_unrelated(run) for run in (old, new)]
    known = [run.nodes["node"].implode() for run in (old, new)]
    joined = sides[0].join(sides[1], on=["a", "b"], how="full", coalesce=True, suffix="_new")
    in_both = [pl.col(end).is_in(nodes) for end in ("a", "b") for nodes in known]
    related = pl.concat([_related(run) for run in (old, new)])
    return (
        joined.filter(pl.all_horizontal(in_both))
        .join(related, on=["a", "b"], how="anti")
        .select(
            "a", "b",
            old=pl.col("confusion").fill_null(0.0),
            new=pl.col("confusion_new").fill_null(0.0),
            joint_old=pl.col("joint").fill_null(0),
            joint_new=pl.col("joint_new").fill_null(0),
            co_predicted_old=pl.col("co_predicted").fill_null(0),
            co_predicted_new=pl.col("co_predicted_new").fill_null(0),
        )
    )  # fmt: skip


RELATED = ("ancestor", "overlap")
"""Relations of pairs whose confusion tells nothing."""


def _unrelated(run: AuditResult) -> pl.DataFrame:
    assert run.model is not None
    columns = ("a", "b", "confusion", "joint", "co_predicted")
    pairs = run.model.pairs.filter(~pl.col("relation").is_in(RELATED)).select(*columns)
    return pairs.collect()


def _related(run: AuditResult) -> pl.DataFrame:
    assert run.model is not None
    pairs = run.model.pairs.filter(pl.col("relation").is_in(RELATED))
    return pairs.select("a", "b").collect()


def _units(old: KeptModel, new: KeptModel) -> tuple[tuple[IntArray, IntArray], int]:
    """Number of the unit of each instance of either run, and how many units there are."""
    every = pl.Series([*old.units, *new.units], dtype=pl.String)
    number = every.rank("dense").to_numpy().astype(np.int64) - 1
    split = len(old.units)
    return (number[:split], number[split:]), int(number.max(initial=-1)) + 1


def _tested(
    row: dict[str, Any],
    old: KeptModel,
    new: KeptModel,
    units: tuple[IntArray, IntArray],
    n_units: int,
) -> dict[str, Any]:
    terms = [model.entropies(row["a"], row["b"]) for model in (old, new)]
    sizes = old.predicted, new.predicted
    means = [float(entropy.sum()) / n for (_, entropy), n in zip(terms, sizes, strict=True)]
    pooled = (means[0] * sizes[0] + means[1] * sizes[1]) / (sizes[0] + sizes[1])
    difference = means[1] - means[0]
    spread, under_none = (
        _standard_error(terms, units, sizes, around, n_units)
        for around in (means, (pooled, pooled))
    )
    freedom = max(n_units - 1, 1)
    reach = stdtrit(freedom, (1 + LEVEL) / 2) * spread
    return {
        **{name: row[name] for name in ("a", "b", "co_predicted_old", "co_predicted_new")},
        "old": means[0],
        "new": means[1],
        "difference": difference,
        "low": difference - reach,
        "high": difference + reach,
        "p_value": 2 * stdtr(freedom, -abs(difference) / under_none) if under_none else 1.0,
    }


def _standard_error(
    terms: list[tuple[IntArray, FloatArray]],
    units: tuple[IntArray, IntArray],
    sizes: tuple[int, int],
    around: Any,
    n_units: int,
) -> float:
    """Standard error of the difference of two means, from its sums over units."""
    sums = np.zeros(n_units)
    for sign, (place, entropy), unit, n, mean in zip(
        (-1, 1), terms, units, sizes, around, strict=True
    ):
        apart = np.full(len(unit), -mean)
        apart[place] += entropy
        sums += sign * np.bincount(unit, apart, minlength=n_units) / n
    return float(np.sqrt((sums**2).sum() * n_units / max(n_units - 1, 1)))
