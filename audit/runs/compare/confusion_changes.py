"""Pairs of labels that a model confuses more, or less, than another one."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from audit.base.dag import FloatArray, IntArray
from audit.base.schemas import schema
from audit.engine.statistics.intervals import LEVEL
from audit.results.model_overview import most_confused
from audit.results.result import AuditResult
from audit.runs.compare.counts import q_values
from audit.runs.compare.kept_models import KeptModel
from audit.runs.compare.terms import CONFUSIONS_TESTED, FALSE_DISCOVERY_RATE, LEAST_EXPECTED

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
    labelled = _labelled(*runs)
    top = pl.concat(
        [
            most_confused(run.model.pairs, labelled).select("a", "b").collect()
            for run in runs
            if run.model is not None
        ]
    ).unique()
    rows = _side_by_side(*runs).join(top, on=["a", "b"], how="semi")
    none = pl.lit(None, pl.Float64)
    table = rows.with_columns(
        difference=pl.col("new") - pl.col("old"),
        low=none, high=none, p_value=none, q_value=none, changed=pl.lit(False),
    ).select(*CONFUSIONS)  # fmt: skip
    return table.sort(-pl.col("difference").abs(), "a", "b"), 0


def _family(old: AuditResult, new: AuditResult) -> pl.DataFrame:
    labelled = _labelled(old, new).implode()
    met = pl.max_horizontal("joint_old", "joint_new") >= LEAST_EXPECTED.value
    rows = _side_by_side(old, new).filter(
        met & pl.col("a").is_in(labelled) & pl.col("b").is_in(labelled)
    )
    ranked = rows.sort(-(pl.col("old") + pl.col("new")), "a", "b")
    return ranked.head(int(CONFUSIONS_TESTED.value))


def _labelled(old: AuditResult, new: AuditResult) -> pl.Series:
    """Nodes of both hierarchies that are a label in one run."""
    nodes = [run.nodes.select("node", "direct") for run in (old, new)]
    both = nodes[0].join(nodes[1], on="node")
    return both.filter((pl.col("direct") > 0) | (pl.col("direct_right") > 0))["node"]


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


_RELATED = ("ancestor", "overlap")


def _unrelated(run: AuditResult) -> pl.DataFrame:
    assert run.model is not None
    columns = ("a", "b", "confusion", "joint", "co_predicted")
    pairs = run.model.pairs.filter(~pl.col("relation").is_in(_RELATED)).select(*columns)
    return pairs.collect()


def _related(run: AuditResult) -> pl.DataFrame:
    assert run.model is not None
    pairs = run.model.pairs.filter(pl.col("relation").is_in(_RELATED))
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
