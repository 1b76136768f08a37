"""Importance alignment: do models decide for the reasons that people give, and do accurate ones?

Definitions are those of *To what extent do human explanations of model behavior align with actual
model behavior?* (Prasad et al.), equations 1 to 7 and section 5; docs/methods/agreement.md says
what was decided where the paper leaves room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtr

from audit.base.errors import InputError, first_cases
from audit.base.schemas import schema
from audit.base.tables import open_table
from audit.data.records import records
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import LEVEL
from audit.explanations.attributions import Attributions, Evidence
from audit.explanations.importance.delta_a import delta_a
from audit.explanations.importance.oracles import (
    SUBSETS,
    Informed,
    OracleName,
    codes,
    examples_of,
    human_oracle,
    judged_rows,
    members,
    soft_oracle,
)
from audit.explanations.importance.row_alignment import (
    align_with_model,
    align_with_people,
)

LEAST_POINTS = 3
"""Fewest points that a correlation is computed from: two always give 1 or -1."""

CORRELATION = schema(
    ("method oracle subset data", pl.String),
    ("n models", pl.Int64),
    ("r low high p", pl.Float64),
    ("absent", pl.String),
)


def correlation_p(r: float, n: int) -> float:
    """Two-sided p value of Pearson's correlation of n points, by Student's t.

    >>> round(correlation_p(0.39, 40), 2)
    0.01
    """
    freedom = n - 2
    if abs(r) >= 1:
        return 0.0
    return float(2 * stdtr(freedom, -abs(r) * np.sqrt(freedom / (1 - r * r))))


def correlation_interval(r: float, n: int) -> tuple[float, float]:
    """Interval of Pearson's correlation of n points, by Fisher's transform; (-1, 1) up to 3."""
    if n <= LEAST_POINTS or abs(r) >= 1:
        return (-1.0, 1.0) if n <= LEAST_POINTS else (r, r)
    half = float(ndtri((1 + LEVEL) / 2)) / np.sqrt(n - 3)
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


def accuracies(attributions: Attributions, informed: Informed | None = None) -> pl.DataFrame:
    """Share of the examples in the attributions that each model gets right, by seed.

    Returns:
        ``model, seed, examples, accuracy``; examples whose truth or prediction is unknown are left
        out.
    """
    rows = attributions.rows[judged_rows(attributions, informed or {})]
    known = rows.filter(pl.col("gold").is_not_null() & pl.col("predicted").is_not_null())
    return (
        known.unique(["id", "target", "model", "seed"], keep="first", maintain_order=True)
        .group_by("model", "seed")
        .agg(
            examples=pl.len().cast(pl.Int64),
            accuracy=(pl.col("gold") == pl.col("predicted")).mean(),
        )
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
        deltas: ``method, model, oracle, subset, delta_a``, and ``seed`` where each seed is a point,
            as `alignment_by_seed` gives them.
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
    return pl.DataFrame(lines, schema=CORRELATION)


def _fit(points: pl.DataFrame) -> dict[str, float | str]:
    n = len(points)
    if n < LEAST_POINTS:
        return {"absent": f"{n} points, and {LEAST_POINTS} are needed"}
    for name, what in (("delta_a", "Delta-A"), ("accuracy", "the accuracy")):
        if points[name].n_unique() == 1:
            return {"absent": f"{what} is the same at all {n} points"}
    r = float(np.corrcoef(points["delta_a"].to_numpy(), points["accuracy"].to_numpy())[0, 1])
    low, high = correlation_interval(r, n)
    return {"r": r, "low": low, "high": high, "p": correlation_p(r, n)}


DRAWS = 10
"""Other explanations that each example meets; the paper draws one."""

BY = ("method", "model", "oracle", "subset")
"""What a line of the summary is about."""


@dataclass(frozen=True, eq=False)
class ImportanceAlignment:
    """Importance alignment of all methods and models with all oracles.

    Args:
        summary: A line per method, model, oracle and subset: the columns of `delta_a`;
            ``q``, p_t after Benjamini and Hochberg over the lines of a subset that have one, and
            ``family``, how many these are; ``absent``, why there is no Delta-A, null where there
            is.
        rows: A line per judged row and oracle: ``row``, its place in the attributions; ``oracle``;
            ``c``, ``c_random``, ``difference``, and ``difference_zeros`` with 0 for undefined
            draws; ``draws`` and how many of them are ``undefined``; ``dropped``, why there is no
            difference; ``method, model, seed, target, example, cluster``; and whether it is
            ``right``, ``wrong`` or ``common``.
    """

    summary: pl.DataFrame
    rows: pl.DataFrame


def importance_alignment(
    attributions: Attributions,
    *,
    evidence: Sequence[Evidence] = (),
    informed: Informed | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> ImportanceAlignment:
    """Importance alignment of each method and model with each oracle.

    Args:
        attributions: Rows; their own evidence makes the first oracle.
        evidence: Further evidence on the same texts, such as expert marks beside explanations.
        informed: Per model the explanation-informed models that make its soft oracle; their rows
            and borrowed ones are not judged themselves.
        draws: Number of other examples whose explanations each example meets.
        seed: Seed of draws, which all methods and models share.

    Raises:
        InputError: Without any oracle, without draws, with two of the same kind, or if an informed
            model has no rows.
    """
    if draws < 1:
        raise InputError("the baseline needs one draw at least", found=f"draws={draws}")
    given = [one for one in (attributions.evidence, *evidence) if one is not None]
    people = [human_oracle(attributions, one) for one in given]
    _check_names([oracle.name for oracle in people], informed or {})
    row = judged_rows(attributions, informed or {})
    examples = examples_of(attributions.rows)
    judged = attributions.rows[row]
    belongs = members(judged, examples.of_row[row])
    parts = [
        align_with_people(attributions, oracle, row, examples, draws=draws, seed=seed)
        for oracle in people
    ]
    if informed:
        parts.append(align_with_model(attributions, soft_oracle(attributions, informed), row))
    about = judged.select("method", "model", "seed", "target").with_columns(
        example=examples.of_row[row],
        cluster=examples.cluster[examples.of_row[row]],
        **{name: belongs[name] for name in SUBSETS[1:]},
    )
    rows = pl.concat([part.frame().hstack(about) for part in parts])
    summary = delta_a(in_subsets(rows), BY)
    return ImportanceAlignment(_in_order(_with_q(summary)).with_columns(absent=_absent()), rows)


def alignment_by_seed(rows: pl.DataFrame) -> pl.DataFrame:
    """Delta-A per method, model, oracle, subset and seed: `delta_a` of the rows of an alignment."""
    return delta_a(in_subsets(rows), (*BY, "seed"))


def _check_names(names: Sequence[OracleName], informed: Informed) -> None:
    if not names and not informed:
        raise InputError(
            "importance alignment needs human evidence or explanation-informed models",
            found="neither",
            hint="give marks, spans or explanations with --evidence",
        )
    if len(set(names)) < len(names):
        raise InputError(
            "each kind of oracle may be given once", found=f"oracles {', '.join(names)}"
        )


def in_subsets(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows once for each subset that they belong to, in the column ``subset``."""
    return pl.concat(
        [
            rows.filter(pl.lit(True) if name == "all" else pl.col(name)).with_columns(
                subset=pl.lit(name, pl.String)
            )
            for name in SUBSETS
        ]
    )


def _with_q(summary: pl.DataFrame) -> pl.DataFrame:
    """Add q and the size of its family: the lines of a subset that have a p."""
    p, subset = summary["p_t"].fill_null(np.nan).to_numpy(), codes(summary, ("subset",))
    tested = ~np.isnan(p)
    family = np.bincount(subset[tested], minlength=len(SUBSETS))[subset]
    q = np.full(len(p), np.nan)
    for one in np.unique(subset[tested]):
        here = tested & (subset == one)
        q[here] = benjamini_hochberg(p[here], int(here.sum()))
    return summary.with_columns(q=pl.Series(q).fill_nan(None), family=pl.Series(family))


def _absent() -> pl.Expr:
    """Why a line has no Delta-A."""
    baseline = (pl.col("oracle") == "soft") & (pl.col("dropped_no_baseline") > 0)
    return (
        pl.when(pl.col("examples") > 0)
        .then(None)
        .when(baseline)
        .then(
            pl.lit(
                "no informed model has read the explanation of another example (rows called "
                "borrowed)"
            )
        )
        .otherwise(pl.lit("no example has both a correlation and a baseline"))
        .cast(pl.String)
    )


def _in_order(summary: pl.DataFrame) -> pl.DataFrame:
    """Lines by method, model and oracle, and the subsets of each in their order."""
    order = pl.col("subset").replace_strict({name: i for i, name in enumerate(SUBSETS)})
    return summary.sort("method", "model", "oracle", order)
