"""Changes between the models of two runs: their predictions, metrics and confused pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from scipy.sparse import csc_array, csr_array
from scipy.special import stdtr, stdtrit

from audit.base.dag import FloatArray, IntArray, Sparse
from audit.base.declared import schema
from audit.engine.pairs.pair_counts import binary_entropy
from audit.engine.scores.cuts import decide
from audit.engine.statistics.intervals import LEVEL, difference_interval
from audit.hierarchies.relations import aggregated_values
from audit.results.metric_list import METRICS
from audit.results.model_overview import most_confused
from audit.results.result import AuditResult
from audit.results.told_metrics import ALL
from audit.runs.compare.counts import CONFUSIONS_TESTED, LEAST_EXPECTED, q_values, within_rate
from audit.runs.compare.releases import SIDES, beside
from audit.runs.compare.told import ToldRuns

State: TypeAlias = Literal["same", "differ", "only_old", "only_new"]
"""Of the predictions: the same; not known to be the same; or in one run only."""
_METRICS = schema(
    ("name scope parameters", pl.String),
    ("old new difference low high", pl.Float64),
    ("n_old n_new", pl.Int64),
    ("beyond_old beyond_new", pl.String),
)
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
_ORDER = [metric.name for metric in METRICS]
_Metric: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ModelChanges:
    """What differs between the models of two runs.

    Args:
        predictions: Whether the predictions are the same.
        common: Instances with predictions in both runs; None if they do not both keep some.
        scores_differ: Those of them with another score; None if that is unknown.
        answers_differ: Those of them with other predicted labels; None if that is unknown.
        metrics: As `metric_changes`, a row per metric of either run.
        confusions: See `CONFUSIONS`.
    """

    predictions: State
    metrics: pl.DataFrame
    confusions: pl.DataFrame
    common: int | None = None
    scores_differ: int | None = None
    answers_differ: int | None = None

    @property
    def confusions_changed(self) -> pl.DataFrame:
        """Pairs that changed at the false-discovery rate."""
        return self.confusions.filter("changed")


def changed_metrics(metrics: pl.DataFrame) -> int:
    """Number of metrics whose interval of the difference does not hold 0."""
    return len(metrics.filter((pl.col("low") > 0) | (pl.col("high") < 0)))


def metric_rows(metrics: pl.DataFrame) -> list[dict[str, Any]]:
    """Metrics as ``comparison.json`` lists them: without their scope, parameters as they are."""
    rows = metrics.drop("scope").iter_rows(named=True)
    return [{**row, "parameters": json.loads(row["parameters"])} for row in rows]


def model_changes(old: AuditResult, new: AuditResult, *, same_data: bool) -> ModelChanges | None:
    """Compare the models of two runs; None if neither has predictions.

    Intervals of differences are those of `difference_interval`, which takes the runs as
    independent. Confused pairs are tested if both runs keep their instances, and have some in
    common.
    """
    if old.model is None or new.model is None:
        if old.model is new.model:
            return None
        state: State = "only_new" if old.model is None else "only_old"
        return ModelChanges(state, metric_changes((), ()), pl.DataFrame(schema=CONFUSIONS))
    if old.instances is None or new.instances is None:
        return _by_counts(old, new, same_data=same_data)
    before, after = KeptModel.read(old), KeptModel.read(new)
    common = before.ids.filter(before.ids.is_in(after.ids.implode()))
    if not len(common):
        return _by_counts(old, new, same_data=same_data)
    scores, answers = (_differing(before, after, of, common) for of in ("scores", "decided"))
    whole = len(common) == len(before.ids) == len(after.ids)
    same = whole and before.predicted == after.predicted and not (scores or answers)
    metrics = metric_changes(old.metric_rows, new.metric_rows, exact=same)
    pairs = confusion_changes(before, after)
    state = "same" if same else "differ"
    return ModelChanges(state, metrics, pairs, len(common), scores, answers)


def _by_counts(old: AuditResult, new: AuditResult, *, same_data: bool) -> ModelChanges:
    """Models of runs that do not both keep instances that the other has."""
    state: State = "same" if _as_read(old) == _as_read(new) else "differ"
    exact = same_data and state == "same"
    metrics = metric_changes(old.metric_rows, new.metric_rows, exact=exact)
    return ModelChanges(state, metrics, _untested(old, new))


def _as_read(run: AuditResult) -> list[Any]:
    """The predictions of a run by their files, and by what was counted of them."""
    files = {source["sha256"] for source in run.inputs if source["role"] == "predictions"}
    return [files, run.ledger["predictions"], [*map(dict, run.metric_rows)]]


def _differing(old: KeptModel, new: KeptModel, of: str, common: pl.Series) -> int:
    """Number of common instances whose scores, or predicted labels, are not the same."""
    sides = []
    for model in (old, new):
        coo = getattr(model, of).tocoo()
        nodes = pl.Series(model.run.hierarchy.nodes, dtype=pl.String).gather(coo.col)
        stored = {"instance": model.ids.gather(coo.row), "node": nodes}
        table = pl.DataFrame({**stored, "value": coo.data.astype(np.float64)})
        sides.append(table.filter(pl.col("instance").is_in(common.implode())))
    joined = beside(sides, ["instance", "node"], "full")
    other = joined.filter(pl.col("value_old").ne_missing(pl.col("value_new")))
    return other["instance"].n_unique()


def metric_changes(
    old: Iterable[_Metric], new: Iterable[_Metric], *, exact: bool = False
) -> pl.DataFrame:
    """The metrics of either run by name, scope and parameters, in report order.

    Args:
        exact: Whether nothing is left to chance, so that a difference is its own interval.

    Returns:
        ``name, scope, parameters`` (JSON), ``old, new, difference, low, high`` (null where
        undefined, or in one run only), ``n_old, n_new``, and which side of a told value a metric is
        on, where it is near the end of its range (``beyond_old, beyond_new``).
    """
    before, after = ({_key(metric): metric for metric in side} for side in (old, new))
    rows = [
        {
            **dict(zip(("scope", "name", "parameters"), key, strict=True)),
            **_compared(before.get(key, {}), after.get(key, {}), exact=exact),
        }
        for key in sorted({**before, **after}, key=_place)
    ]
    return pl.DataFrame(rows, schema=_METRICS)


def _key(metric: _Metric) -> tuple[str, str, str]:
    return metric["scope"], metric["name"], json.dumps(dict(metric["parameters"]), sort_keys=True)


def _place(key: tuple[str, str, str]) -> tuple[Any, ...]:
    scope, name, parameters = key
    place = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    return scope != ALL, scope, place, name, parameters


def _compared(old: _Metric, new: _Metric, *, exact: bool) -> dict[str, Any]:
    """Both values and their difference with its interval; none where one is told to be beyond."""
    row: dict[str, Any] = {}
    for side, metric in zip(SIDES, (old, new), strict=True):
        row[side], row[f"n_{side}"] = metric.get("value"), metric.get("n")
        row[f"beyond_{side}"] = metric.get("beyond")
    now, was = ((one.get("value"), one.get("low"), one.get("high")) for one in (new, old))
    if None not in (row["old"], row["new"]) and not (row["beyond_old"] or row["beyond_new"]):
        row["difference"] = row["new"] - row["old"]
    if None not in (*now, *was):
        apart = row["new"] - row["old"]
        low, high = (apart, apart) if exact else difference_interval(now, was)
        row |= {"low": float(low), "high": float(high)}
    return row


def measure_changes(runs: ToldRuns) -> pl.DataFrame:
    """What analyses measured over all instances of either run, as `metric_changes`.

    Values and intervals are those that either run tells. Intervals of differences take the runs as
    independent.
    """
    sides = (
        [
            metric
            for part in run.analyses
            for metric in part.metrics(part.shared(run.rounding))
            if metric["scope"] == ALL
        ]
        for run in runs.sides.values()
    )
    return metric_changes(*sides)


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


def _untested(old: AuditResult, new: AuditResult) -> pl.DataFrame:
    """The most confused pairs of either run, of which nothing can be tested."""
    rows = _side_by_side(old, new).join(_top_confused(old, new), on=["a", "b"], how="semi")
    none = dict.fromkeys(("low", "high", "p_value", "q_value"), pl.lit(None))
    difference = pl.col("new") - pl.col("old")
    return _in_order(rows.with_columns(difference=difference, **none, changed=pl.lit(False)))


def _in_order(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.select(pl.col(name).cast(kind) for name, kind in CONFUSIONS.items()).sort(
        -pl.col("difference").abs(), "a", "b"
    )


def _top_confused(old: AuditResult, new: AuditResult, width: int = 0) -> pl.DataFrame:
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


def told_models(
    exact: ModelChanges | None, runs: ToldRuns, *, same_data: bool
) -> ModelChanges | None:
    """What differs between two models as both runs tell it."""
    if exact is None or not runs.width:
        return exact
    old, new = runs.old.told, runs.new.told
    known = replace(
        exact,
        common=runs.in_both(exact.common),
        scores_differ=runs.in_both(exact.scores_differ),
        answers_differ=runs.in_both(exact.answers_differ),
    )
    if old.model is None or new.model is None:
        return known
    tested = exact.common is not None
    alike = exact.predictions == "same" and (tested or same_data)
    pairs = exact.confusions_changed if tested else _top_confused(old, new, runs.width)
    return replace(
        known,
        metrics=metric_changes(old.metric_rows, new.metric_rows, exact=alike),
        confusions=_told_confusions(pairs.select("a", "b"), (old, new), changed=tested),
    )


def _told_confusions(
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
