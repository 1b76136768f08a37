"""Importance alignment: do models decide for the reasons that people give, and do accurate ones?

Definitions are those of *To what extent do human explanations of model behavior align with actual
model behavior?* (Prasad et al.), equations 1 to 7 and section 5; docs/methods/agreement.md says
what was decided where the paper leaves room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import stdtr

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.declared import TABLES
from audit.analyses.explanations.lists import LEAST_TOKENS, Lists, batches, fisher, pearson
from audit.analyses.explanations.oracles import (
    SOFT,
    SUBSETS,
    Informed,
    clustered_means,
    judged,
    people_oracle,
    soft_pairs,
    soft_scores,
)
from audit.analyses.explanations.other_explanations import drawn_correlations
from audit.base.dag import IntArray
from audit.base.errors import InputError, first_cases
from audit.base.tables import open_table
from audit.data.records import records
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import LEVEL

LEAST_POINTS = 3
"""Fewest points that a correlation is computed from: two always give 1 or -1."""
BY = ["method", "model", "oracle", "subset"]
"""What a line of Delta-A is about."""
NOT_BORROWED = (
    "no informed model has read the explanation of another example (rows called borrowed)"
)


def aligned_rows(
    attributions: Attributions, rows: pl.DataFrame, informed: Informed, *, draws: int, seed: int
) -> pl.DataFrame:
    """Agreement of each judged row with each oracle (equations 5 and 6).

    Args:
        attributions: Rows; their evidence makes an oracle, and so do informed models.
        rows: From `audit.analyses.explanations.oracles.with_examples`.
        informed: Per model the explanation-informed models that make its soft oracle; their rows
            and borrowed ones are not judged themselves.
        draws: Number of other examples whose explanations each example meets.
        seed: Seed of draws, which all methods and models share.

    Returns:
        The judged rows with ``oracle``; ``c``, null where it is undefined; ``difference`` from the
        mean over the ``draws`` of others' explanations that are not ``undefined``, and
        ``difference_zeros`` with 0 for these.
    """
    own, parts, evidence = judged(rows, informed), [], attributions.evidence
    if evidence is not None:
        there = own.drop_nulls("item")
        items = there["item"].to_numpy()
        c = _correlated(
            attributions, there["row"].to_numpy(), lambda some: evidence.marks.take(items[some])
        )
        people = there.select("row", c=c)
        meets = pl.col("row").is_in(people.drop_nulls("c")["row"].implode())
        drawn = drawn_correlations(
            attributions, evidence, own.with_columns(meets=meets), draws, seed
        )
        parts.append((people_oracle(attributions), people, drawn))
    if informed:
        pairs = soft_pairs(attributions, rows, informed)
        c = _correlated(
            attributions,
            pairs["row"].to_numpy(),
            lambda some: soft_scores(attributions, pairs[some]),
        )
        by_row = (
            pairs.with_columns(c=c)
            .group_by("row", "borrowed", maintain_order=True)
            .agg(
                total=pl.col("c").sum(), defined=pl.col("c").count(), draws=pl.len().cast(pl.Int64)
            )
        )
        of_own = by_row.filter(~pl.col("borrowed")).select("row", c=_over("total", "defined"))
        parts.append((SOFT, of_own, by_row.filter("borrowed").drop("borrowed")))
    tables = []
    for oracle, of_own, drawn in parts:
        joined = own
        for part in (of_own, drawn):
            joined = joined.join(part, on="row", how="left", maintain_order="left")
        told = joined.with_columns(
            oracle=pl.lit(oracle),
            difference=pl.col("c") - _over("total", "defined"),
            difference_zeros=pl.col("c") - _over("total", "draws"),
            draws=pl.col("draws").fill_null(0).cast(pl.Int64),
            undefined=(pl.col("draws") - pl.col("defined")).fill_null(0).cast(pl.Int64),
        )
        tables.append(told.drop("total", "defined"))
    return pl.concat(tables)


def _over(total: str, times: str) -> pl.Expr:
    return pl.when(pl.col(times) > 0).then(pl.col(total) / pl.col(times))


def _correlated(
    attributions: Attributions, row: IntArray, importance: Callable[[slice], Lists[np.float64]]
) -> pl.Series:
    """Fisher's transform of the correlation of absolute scores with importance, by row.

    Null for fewer than `LEAST_TOKENS` tokens and where either is constant.
    """
    c, lengths = np.full(len(row), np.nan), attributions.scores.lengths[row]
    for part in batches(lengths):
        scores = attributions.scores.take(row[part])
        c[part] = fisher(pearson(Lists(np.abs(scores.values), scores.starts), importance(part)))
    c[lengths < LEAST_TOKENS] = np.nan
    return pl.Series(c).fill_nan(None)


def delta_a(aligned: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Equation 7 with its paired t-test, for each combination of values of some columns.

    Args:
        aligned: From `aligned_rows`.
        by: Such as ``method, model, oracle, subset``.

    Returns:
        ``by``; ``examples``, those with a difference, and their ``clusters``; ``rows``, and those
        with a difference, ``rows_used``, of so many ``seeds``; ``undefined_share``, of the draws of
        other explanations for rows with a C; ``correlation``, back from the mean C; ``delta_a``
        with ``low, high, t, p_t``; ``delta_a_zeros, low_zeros, high_zeros``, with 0 for undefined
        draws; and ``absent``, why there is no Delta-A. Sorted by ``by``, subsets in their order.
    """
    rows = pl.concat([aligned.filter(name).with_columns(subset=pl.lit(name)) for name in SUBSETS])
    c, own, zeros = (
        clustered_means(rows, by, name) for name in ("c", "difference", "difference_zeros")
    )
    defined = pl.col("c").is_not_null()
    others = rows.group_by(by).agg(
        rows=pl.len().cast(pl.Int64),
        rows_used=pl.col("difference").count().cast(pl.Int64),
        seeds=pl.col("seed").filter(pl.col("difference").is_not_null()).n_unique().cast(pl.Int64),
        lacking=(defined & pl.col("difference").is_null()).any(),
        undefined=pl.col("undefined").filter(defined).sum(),
        draws=pl.col("draws").filter(defined).sum(),
    )
    mean, error = (own[name].fill_null(np.nan).to_numpy() for name in ("mean", "error"))
    t = np.divide(mean, error, out=np.full(len(own), np.nan), where=error > 0)
    p = 2 * stdtr(np.maximum(own["clusters"].to_numpy() - 1, 1), -np.abs(t))
    told = own.select(
        *by,
        "examples",
        "clusters",
        correlation=c["mean"].tanh(),
        delta_a=pl.col("mean").tanh(),
        low=(pl.col("mean") - pl.col("reach")).tanh(),
        high=(pl.col("mean") + pl.col("reach")).tanh(),
        t=pl.Series(t).fill_nan(None),
        p_t=pl.Series(p).fill_nan(None),
        delta_a_zeros=zeros["mean"].tanh(),
        low_zeros=(zeros["mean"] - zeros["reach"]).tanh(),
        high_zeros=(zeros["mean"] + zeros["reach"]).tanh(),
    ).join(others, on=by, nulls_equal=True, maintain_order="left")
    unlent = pl.when((pl.col("oracle") == SOFT) & pl.col("lacking")).then(pl.lit(NOT_BORROWED))
    absent = unlent.otherwise(pl.lit("no example has both a correlation and a baseline"))
    order = pl.col("subset").replace_strict({name: i for i, name in enumerate(SUBSETS)})
    return (
        told.with_columns(
            undefined_share=_over("undefined", "draws"),
            absent=pl.when(pl.col("examples") == 0).then(absent),
        )
        .drop("undefined", "draws", "lacking")
        .sort(order if name == "subset" else name for name in by)
    )


def q_values(table: pl.DataFrame, by: Sequence[str], p: str) -> pl.Series:
    """P values adjusted by Benjamini and Hochberg within families; null where there is none."""
    q = np.full(len(table), np.nan)
    for _, own in table.with_row_index("line").drop_nulls(p).group_by(by):
        q[own["line"].to_numpy()] = benjamini_hochberg(own[p].to_numpy(), len(own))
    return pl.Series(q).fill_nan(None)


def with_q(summary: pl.DataFrame) -> pl.DataFrame:
    """Lines with q and the ``family`` of each: how many lines of its subset have a p."""
    family = pl.col("p_t").count().over("subset").cast(pl.Int64)
    return summary.with_columns(q=q_values(summary, ["subset"], "p_t"), family=family)


def accuracies(rows: pl.DataFrame) -> pl.DataFrame:
    """Share of the examples in judged rows that each model gets right: ``model, seed, accuracy``.

    Examples whose truth or prediction is unknown are left out.
    """
    known = rows.drop_nulls(["gold", "predicted"])
    each = known.unique(["example", "model", "seed"], keep="first", maintain_order=True)
    right = (pl.col("gold") == pl.col("predicted")).mean()
    return each.group_by("model", "seed").agg(accuracy=right).sort("model", "seed")


_ROLES = {"model": ("model",), "accuracy": ("accuracy", "acc"), "seed": ("seed",)}


def read_accuracies(path: Path, attributions: Attributions) -> pl.DataFrame:
    """Accuracies of models on other data, from a file with ``model, accuracy`` and maybe ``seed``.

    Returns:
        ``model, accuracy, data``, which is the name of the file, and ``seed`` if it has one.

    Raises:
        InputError: If a value is no number in [0, 1], a model or a run of it is there twice, or the
            file has none of the attributions' models.
        SchemaError: If a column is missing.
    """
    read = records(open_table(path), _ROLES, None, ("model", "accuracy")).frame
    table = read.with_columns(pl.col("accuracy").cast(pl.Float64, strict=False))
    keys = [name for name in ("model", "seed") if name in table]
    for required, wrong in (
        ("accuracies are numbers from 0 to 1", ~pl.col("accuracy").is_between(0, 1)),
        ("each model has one accuracy, or one for each seed", pl.struct(keys).is_duplicated()),
    ):
        found = read.filter(table.select(wrong.fill_null(True)).to_series())
        if len(found):
            cases = pl.concat_str([*keys, "accuracy"], separator=" ", ignore_nulls=True)
            told = first_cases(found.select(cases).to_series())
            raise InputError(required, found=told, where=path)
    known = attributions.rows["model"].unique()
    if not table["model"].is_in(known.implode()).any():
        raise InputError(
            f"accuracies of the models {first_cases(known.sort())} are required",
            found=first_cases(table["model"]),
            where=path,
        )
    if "seed" in table:
        table = table.with_columns(pl.col("seed").cast(attributions.rows.schema["seed"]))
    return table.with_columns(data=pl.lit(path.name))


def correlate_with_accuracy(deltas: pl.DataFrame, accuracy: pl.DataFrame) -> pl.DataFrame:
    """Pearson's correlation of Delta-A with accuracy, a point per model, and seed if there are.

    Args:
        deltas: From `delta_a`, by `BY` and ``seed`` where each seed is a point.
        accuracy: ``model, accuracy``, and ``seed`` if it is known by seed.

    Returns:
        Per method, oracle and subset: ``n`` points of so many ``models``, ``r`` with ``low``,
        ``high`` and ``p``, or, in ``absent``, why there is none; ``data`` is null.
    """
    names, of = ["method", "oracle", "subset"], ["model", "seed"]
    shared = [name for name in of if name in deltas and name in accuracy]
    known = accuracy.select(*shared, "accuracy")
    points = deltas.join(known, on=shared, nulls_equal=True, how="left")
    lines = []
    ordered = points.sort(*names, *(name for name in of if name in deltas))
    for key, part in ordered.group_by(names, maintain_order=True):
        here = part.drop_nulls(["delta_a", "accuracy"])
        counts = {"n": len(here), "models": here["model"].n_unique()}
        lines.append(dict(zip(names, key, strict=True)) | counts | _fit(here))
    return TABLES["accuracy"].frame(lines)


def _fit(points: pl.DataFrame) -> dict[str, float | str]:
    from scipy.stats import pearsonr

    n = len(points)
    if n < LEAST_POINTS:
        return {"absent": f"{n} points, and {LEAST_POINTS} are needed"}
    for name, what in (("delta_a", "Delta-A"), ("accuracy", "the accuracy")):
        if points[name].n_unique() == 1:
            return {"absent": f"{what} is the same at all {n} points"}
    found = pearsonr(points["delta_a"].to_numpy(), points["accuracy"].to_numpy())
    low, high = found.confidence_interval(LEVEL)
    return {"r": float(found.statistic), "low": low, "high": high, "p": float(found.pvalue)}
