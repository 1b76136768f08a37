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
from audit.base.declared import schema
from audit.engine.pairs.pair_counts import binary_entropy
from audit.engine.scores.cuts import decide
from audit.engine.statistics.intervals import LEVEL
from audit.hierarchies.relations import aggregated_values
from audit.results.overview import most_confused
from audit.results.result import AuditResult
from audit.runs.compare.counts import CONFUSIONS_TESTED, LEAST_EXPECTED, q_values, within_rate
from audit.runs.compare.releases import SIDES, beside

CONFUSIONS = schema(
    ("a b", pl.String),
    ("old new difference low high p_value q_value", pl.Float64),
    ("changed", pl.Boolean),
    ("co_predicted_old co_predicted_new", pl.Int64),
)
"""``old, new``: concept confusion in each run; ``p_value, q_value`` and the bounds of the
difference are null where nothing could be tested; ``co_predicted``: instances for which both are
predicted."""
_RELATED = ("ancestor", "overlap")
"""Relations of pairs whose confusion tells nothing."""


@dataclass(frozen=True, eq=False)
class KeptModel:
    """One run's model and the instances that it predicted, as the run kept them.

    Args:
        run: The run, with predictions.
        ids: Ids of the instances with predictions, sorted; those without any label or score have
            no place, since the run keeps no row of them.
        units: What is independent of each: its group, else its id.
        scores: Scores, shape (n_instances, n_nodes).
    """

    run: AuditResult
    ids: pl.Series
    units: pl.Series
    scores: Sparse

    @classmethod
    def read(cls, run: AuditResult) -> KeptModel:
        """The model of a run that keeps its instances."""
        assert run.instances is not None, "of runs that keep them"
        rows = run.instances.filter(pl.col("score").is_not_null()).collect()
        unit = pl.coalesce(*(name for name in ("group", "instance") if name in rows.columns))
        own = rows.select("instance", unit=unit).unique("instance").sort("instance")
        scored = rows.filter(pl.col("score") > 0)
        place, node = (
            scored[name].cast(pl.Enum(of)).to_physical().to_numpy()
            for name, of in (("instance", own["instance"]), ("node", run.hierarchy.nodes))
        )
        values, shape = (
            scored["score"].to_numpy().astype(np.float64),
            (len(own), len(run.hierarchy)),
        )
        scores = csr_array((values, (place, node)), shape)
        scores.sort_indices()
        return cls(run, own["instance"], own["unit"], scores)

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
        index = self.run.hierarchy.index
        first, second = (self._columns[:, [index(node)]].toarray().ravel() for node in (a, b))
        both = np.flatnonzero((first >= least) & (second >= least))
        return both.astype(np.int64), binary_entropy(first[both], second[both])

    @cached_property
    def _columns(self) -> csc_array[Any]:
        way = self.run.made_with.aggregation
        return csc_array(aggregated_values(self.run.hierarchy, self.scores, way))


def confusion_changes(old: KeptModel, new: KeptModel) -> pl.DataFrame:
    """Test the changes of the most confused pairs of labels; columns `CONFUSIONS`.

    The family is fixed by what both runs have together: pairs whose scores meet in enough instances
    of one run, those with the largest sum of both confusions. The difference of two means is a sum
    over instances, so that its variance is that of the sums over units: an instance that both runs
    have is a pair, and a group is drawn as a whole.
    """
    labelled = _labelled(old.run, new.run).implode()
    met = pl.max_horizontal("joint_old", "joint_new") >= LEAST_EXPECTED
    of_labels = [pl.col(end).is_in(labelled) for end in ("a", "b")]
    pairs = (
        _side_by_side(old.run, new.run)
        .filter(met, *of_labels)
        .sort(-(pl.col("old") + pl.col("new")), "a", "b")
        .head(CONFUSIONS_TESTED)
    )
    unit = pl.concat([old.units, new.units]).rank("dense").cast(pl.Int64) - 1
    units = np.split(unit.to_numpy(), [len(old.units)])
    rows = pairs.select("a", "b").iter_rows()
    tested = [_tested(a, b, (old, new), units, unit.n_unique()) for a, b in rows]
    names = ("old", "new", "difference", "low", "high", "p_value")
    found = pl.DataFrame(tested, dict.fromkeys(names, pl.Float64), orient="row")
    p_value = found["p_value"].to_numpy()
    q_value = q_values(p_value, np.ones(len(p_value), np.bool_))
    table = pairs.drop("old", "new").hstack(found)
    return _in_order(table.with_columns(q_value=q_value, changed=within_rate(q_value)))


def untested(old: AuditResult, new: AuditResult) -> pl.DataFrame:
    """The most confused pairs of either run, of which nothing can be tested."""
    rows = _side_by_side(old, new).join(top_confused(old, new), on=["a", "b"], how="semi")
    none = dict.fromkeys(("low", "high", "p_value", "q_value"), pl.lit(None))
    difference = pl.col("new") - pl.col("old")
    return _in_order(rows.with_columns(difference=difference, **none, changed=pl.lit(False)))


def _in_order(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.select(pl.col(name).cast(kind) for name, kind in CONFUSIONS.items()).sort(
        -pl.col("difference").abs(), "a", "b"
    )


def top_confused(old: AuditResult, new: AuditResult, width: int = 0) -> pl.DataFrame:
    """The most confused pairs of either run, ``a, b``, of labels that more than ``width`` have."""
    labelled = _labelled(old, new, width)
    models = [run.model for run in (old, new) if run.model is not None]
    tops = [most_confused(model.pairs, labelled).select("a", "b").collect() for model in models]
    return pl.concat(tops).unique()


def _labelled(old: AuditResult, new: AuditResult, width: int = 0) -> pl.Series:
    """Nodes of both hierarchies that are a label of more than some in one run."""
    both = beside((run.nodes.select("node", "direct") for run in (old, new)), ["node"], "inner")
    return both.filter(pl.max_horizontal("direct_old", "direct_new") > width)["node"]


def _side_by_side(old: AuditResult, new: AuditResult) -> pl.DataFrame:
    """Unrelated pairs of common nodes, with their confusion in both runs, 0 where none meets."""
    columns = ("a", "b", "relation", "confusion", "joint", "co_predicted")
    models = [run.model for run in (old, new) if run.model is not None]
    sides = (model.pairs.select(columns).collect() for model in models)
    known = [run.nodes["node"].implode() for run in (old, new)]
    common = [pl.col(end).is_in(nodes) for end in ("a", "b") for nodes in known]
    related = pl.col("^relation_.*$").is_in(_RELATED).fill_null(value=False)
    table = beside(sides, ["a", "b"], "full").filter(*common).filter(~pl.any_horizontal(related))
    return table.with_columns(pl.selectors.numeric().fill_null(0)).rename(
        {"confusion_old": "old", "confusion_new": "new"}
    )


def _tested(
    a: str,
    b: str,
    models: Sequence[KeptModel],
    units: Sequence[IntArray],
    n_units: int,
) -> tuple[float, ...]:
    """Both confusions of a pair, their difference with its interval, and its p value."""
    terms = [model.entropies(a, b) for model in models]
    sizes = [model.predicted for model in models]
    old, new = (float(entropy.sum()) / n for (_, entropy), n in zip(terms, sizes, strict=True))
    pooled = (old * sizes[0] + new * sizes[1]) / sum(sizes)

    def standard_error(*around: float) -> float:
        """Of the difference of two means, from its sums over units."""
        sums = np.zeros(n_units)
        for sign, (place, entropy), unit, n, mean in zip(
            (-1, 1), terms, units, sizes, around, strict=True
        ):
            apart = np.full(len(unit), -mean)
            apart[place] += entropy
            sums += sign * np.bincount(unit, apart, minlength=n_units) / n
        return float(np.sqrt((sums**2).sum() * n_units / max(n_units - 1, 1)))

    spread, under_none = standard_error(old, new), standard_error(pooled, pooled)
    difference, freedom = new - old, max(n_units - 1, 1)
    reach = stdtrit(freedom, (1 + LEVEL) / 2) * spread
    p_value = 2 * stdtr(freedom, -abs(difference) / under_none) if under_none else 1.0
    told = (old, new, difference, difference - reach, difference + reach, p_value)
    return tuple(map(float, told))


def told_confusions(
    pairs: pl.DataFrame, runs: Sequence[AuditResult], *, changed: bool
) -> pl.DataFrame:
    """Concept confusions of pairs as both runs tell them, where they differ."""
    ends = pl.concat([pairs["a"], pairs["b"]]).unique()
    for side, run in zip(SIDES, runs, strict=True):
        assert run.model is not None, "pairs are compared where both have a model"
        unrelated = run.model.pair_table.within(ends).filter(~pl.col("relation").is_in(_RELATED))
        told = unrelated.select("a", "b", pl.col("confusion").alias(side)).collect()
        pairs = pairs.join(told, on=["a", "b"], how="left")
    rows = pairs.with_columns(difference=pl.col("new") - pl.col("old"), changed=pl.lit(changed))
    nothing = pl.DataFrame(schema=CONFUSIONS)
    apart = pl.concat([nothing, rows.filter(pl.col("difference") != 0)], how="diagonal")
    return _in_order(apart)
