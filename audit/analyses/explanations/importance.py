"""Importance alignment: do models decide for the reasons that people give, and do accurate ones?

Definitions are those of *To what extent do human explanations of model behavior align with actual
model behavior?* (Prasad et al.), equations 1 to 7 and section 5; docs/methods/agreement.md says
what was decided where the paper leaves room.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import stdtr

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.declared import TABLES
from audit.analyses.explanations.lists import LEAST_TOKENS, Lists, batches, fisher, pearson
from audit.analyses.explanations.node_results import q_values
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
from audit.base.dag import FloatArray
from audit.base.errors import InputError, first_cases
from audit.base.tables import open_table
from audit.data.records import records
from audit.engine.statistics.intervals import LEVEL

LEAST_POINTS = 3
"""Fewest points that a correlation is computed from: two always give 1 or -1."""
BY = ["method", "model", "oracle", "subset"]
"""What a line of Delta-A is about."""


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
    own = judged(rows, informed)
    parts = []
    if attributions.evidence is not None:
        c = own.select("row", c=pl.Series(_with_people(attributions, own)).fill_nan(None))
        meets = pl.Series(c["c"]).is_not_null()
        drawn = drawn_correlations(
            attributions, attributions.evidence, own.with_columns(meets=meets), draws, seed
        )
        parts.append((people_oracle(attributions), c, drawn))
    if informed:
        pairs = soft_pairs(attributions, rows, informed)
        each = pairs.with_columns(c=pl.Series(_with_models(attributions, pairs)).fill_nan(None))
        totals = [pl.col("c").sum().alias("total"), pl.col("c").count().alias("defined")]
        by_row = each.group_by("row", "borrowed", maintain_order=True).agg(
            *totals, draws=pl.len().cast(pl.Int64)
        )
        c = by_row.filter(~pl.col("borrowed")).select("row", c=_over("total", "defined"))
        parts.append((SOFT, c, by_row.filter("borrowed").drop("borrowed")))
    return pl.concat([_differences(own, *part) for part in parts])


def _differences(
    own: pl.DataFrame, oracle: str, c: pl.DataFrame, drawn: pl.DataFrame
) -> pl.DataFrame:
    """The judged rows with C and its differences from those of other explanations."""
    joined = own.join(c, on="row", how="left", maintain_order="left").join(
        drawn, on="row", how="left", maintain_order="left"
    )
    return joined.with_columns(
        oracle=pl.lit(oracle),
        difference=pl.col("c") - _over("total", "defined"),
        difference_zeros=pl.col("c") - _over("total", "draws"),
        draws=pl.col("draws").fill_null(0),
        undefined=(pl.col("draws") - pl.col("defined")).fill_null(0),
    ).drop("total", "defined")


def _over(total: str, times: str) -> pl.Expr:
    return pl.when(pl.col(times) > 0).then(pl.col(total) / pl.col(times))


def _with_people(attributions: Attributions, own: pl.DataFrame) -> FloatArray:
    """C of each row with the marks of people, shape (n_rows,); NaN where it is undefined."""
    c = np.full(len(own), np.nan)
    there = own.with_row_index("at").drop_nulls("item")
    at, row, item = (there[name].to_numpy().astype(np.int64) for name in ("at", "row", "item"))
    assert attributions.evidence is not None
    for part in batches(attributions.scores.lengths[row]):
        marks = attributions.evidence.marks.take(item[part])
        c[at[part]] = _correlated(attributions.scores.take(row[part]), marks)
    return c


def _with_models(attributions: Attributions, pairs: pl.DataFrame) -> FloatArray:
    """C of each pair of `soft_pairs`, shape (n_pairs,); NaN where it is undefined."""
    c, row = np.full(len(pairs), np.nan), pairs["row"].to_numpy()
    for part in batches(attributions.scores.lengths[row]):
        soft = soft_scores(attributions, pairs[part])
        c[part] = _correlated(attributions.scores.take(row[part]), soft)
    return c


def _correlated(scores: Lists[np.float64], importance: Lists[np.float64]) -> FloatArray:
    """Fisher's transform of the correlation of absolute scores; NaN for few or constant tokens."""
    r = pearson(Lists(np.abs(scores.values), scores.starts), importance)
    return np.where(scores.lengths < LEAST_TOKENS, np.nan, fisher(r))


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
    low, high = pl.col("mean") - pl.col("reach"), pl.col("mean") + pl.col("reach")
    told = own.select(
        *by,
        "examples",
        "clusters",
        correlation=c["mean"].tanh(),
        delta_a=pl.col("mean").tanh(),
        low=low.tanh(),
        high=high.tanh(),
        t=pl.Series(t).fill_nan(None),
        p_t=pl.Series(p).fill_nan(None),
        delta_a_zeros=zeros["mean"].tanh(),
        low_zeros=(zeros["mean"] - zeros["reach"]).tanh(),
        high_zeros=(zeros["mean"] + zeros["reach"]).tanh(),
    ).join(others, on=by, nulls_equal=True, maintain_order="left")
    order = pl.col("subset").replace_strict({name: i for i, name in enumerate(SUBSETS)})
    return (
        told.with_columns(undefined_share=_over("undefined", "draws"), absent=_absent())
        .drop("undefined", "draws", "lacking")
        .sort(order if name == "subset" else name for name in by)
    )


def _absent() -> pl.Expr:
    """Why a line has no Delta-A."""
    return (
        pl.when(pl.col("examples") > 0)
        .then(None)
        .when((pl.col("oracle") == SOFT) & pl.col("lacking"))
        .then(
            pl.lit(
                "no informed model has read the explanation of another example (rows called "
                "borrowed)"
            )
        )
        .otherwise(pl.lit("no example has both a correlation and a baseline"))
    )


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
    return (
        each.group_by("model", "seed")
        .agg(accuracy=(pl.col("gold") == pl.col("predicted")).mean())
        .sort("model", "seed")
    )


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
            cases = found.select(
                pl.concat_str([*keys, "accuracy"], separator=" ", ignore_nulls=True)
            )
            raise InputError(required, found=first_cases(cases.to_series()), where=path)
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

    Seeds of one model are not independent of each other, so that p is too small where there are
    several: ``models`` is given with ``n``.

    Args:
        deltas: From `delta_a`, by `BY` and ``seed`` where each seed is a point.
        accuracy: ``model, accuracy``, and ``seed`` if it is known by seed.

    Returns:
        Per method, oracle and subset: ``n`` points of so many ``models``, ``r`` with ``low``,
        ``high`` and ``p``, or, in ``absent``, why there is none; ``data`` is null.
    """
    shared = [name for name in ("model", "seed") if name in deltas and name in accuracy]
    points = deltas.join(
        accuracy.select(*shared, "accuracy"), on=shared, nulls_equal=True, how="left"
    ).sort("method", "oracle", "subset", *(name for name in ("model", "seed") if name in deltas))
    lines = []
    for key, part in points.group_by("method", "oracle", "subset", maintain_order=True):
        known = part.drop_nulls(["delta_a", "accuracy"])
        line = dict(zip(("method", "oracle", "subset"), key, strict=True))
        lines.append(line | {"n": len(known), "models": known["model"].n_unique()} | _fit(known))
    return TABLES["accuracy"].frame(lines)


def _fit(points: pl.DataFrame) -> dict[str, float | str]:

    n = len(points)
    if n < LEAST_POINTS:
        return {"absent": f"{n} points, and {LEAST_POINTS} are needed"}
    for name, what in (("delta_a", "Delta-A"), ("accuracy", "the accuracy")):
        if points[name].n_unique() == 1:
            return {"absent": f"{what} is the same at all {n} points"}
    from scipy.stats import pearsonr

    found = pearsonr(points["delta_a"].to_numpy(), points["accuracy"].to_numpy())
    low, high = found.confidence_interval(LEVEL)
    return {"r": float(found.statistic), "low": low, "high": high, "p": float(found.pvalue)}
