"""Models beside each other: Delta-A with accuracies (table 5), and the paper's mixed-effects model
of each method and oracle (table 4)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.explanations.alignment import BY, delta_a
from audit.analyses.explanations.declared import TABLES
from audit.base.errors import InputError, first_cases
from audit.base.machine import require_package
from audit.base.tables import open_table
from audit.data.records import records
from audit.engine.statistics.intervals import LEVEL

LEAST_POINTS = 3
"""Fewest points that a correlation is computed from: two always give 1 or -1."""
_ROLES = {"model": ("model",), "accuracy": ("accuracy", "acc"), "seed": ("seed",)}
Kinds = Mapping[str, tuple[str, str]]
"""Per model its family and its size, such as ``bert`` and ``base``."""
_TERM = re.compile(r"\[T\.(.*?)\](?=:C\(|$)", re.DOTALL)


def read_accuracies(path: Path, models: pl.Series) -> pl.DataFrame:
    """``model, accuracy``, the name of the file as ``data``, and ``seed`` if the file has one.

    Raises:
        InputError: If a value is no number in [0, 1], a model or a run of it is there twice, or the
            file has none of the ``models`` of the attributions.
        SchemaError: If a column is missing.
    """
    read = records(open_table(path), _ROLES, None, ("model", "accuracy")).frame
    table = read.with_columns(pl.col("accuracy").cast(pl.Float64, strict=False))
    keys = [name for name in ("model", "seed") if name in table]
    for required, wrong in (
        ("accuracies are numbers from 0 to 1", ~pl.col("accuracy").is_between(0, 1)),
        ("each model has one accuracy, or one for each seed", pl.struct(keys).is_duplicated()),
        (f"models are {first_cases(models.unique().sort())}", ~pl.col("model").is_in(models).any()),
    ):
        found = read.filter(table.select(wrong.fill_null(True)).to_series())
        if len(found):
            cases = pl.concat_str([*keys, "accuracy"], separator=" ", ignore_nulls=True)
            told = first_cases(found.select(cases).to_series())
            raise InputError(required, found=told, where=path)
    if "seed" in table:
        table = table.with_columns(pl.col("seed").cast(pl.Int64, strict=False))
    return table.with_columns(data=pl.lit(path.name))


def accuracy_table(aligned: pl.DataFrame, elsewhere: pl.DataFrame | None) -> pl.DataFrame:
    """The table ``accuracy``: Pearson's correlation of Delta-A with accuracy, by oracle and subset.

    A point is a model and seed, or a model where other data do not say the seed. The accuracy of a
    run is the share of its examples that it gets right, of those whose truth is known.
    """
    known = aligned.drop_nulls(["gold", "predicted"])
    each = known.unique(["example", "model", "seed"], keep="first", maintain_order=True)
    own = each.group_by("model", "seed").agg(accuracy=pl.col("right").mean())
    lines, names = list[dict[str, object]](), ["method", "oracle", "subset"]
    for accuracies in [own] if elsewhere is None else [own, elsewhere]:
        of = [name for name in ("model", "seed") if name in accuracies]
        deltas = delta_a(aligned, [*BY, *of[1:]])
        points = deltas.join(accuracies, on=of, how="left").sort(*names, *of)
        for key, part in points.group_by(names, maintain_order=True):
            here = part.drop_nulls(["delta_a", "accuracy"])
            data = accuracies["data"].first() if "data" in accuracies else None
            counts = {"n": len(here), "models": here["model"].n_unique(), "data": data}
            lines.append(dict(zip(names, key, strict=True)) | counts | _accuracy_correlation(here))
    return TABLES["accuracy"].frame(lines)


def _accuracy_correlation(points: pl.DataFrame) -> dict[str, float | str]:
    """Pearson's ``r`` of Delta-A and accuracy, ``low, high, p``; or ``absent``, why none is."""
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


def compare_models(aligned: pl.DataFrame, reference: str, kinds: Kinds) -> pl.DataFrame:
    """The table ``models``: models beside a reference, by restricted maximum likelihood.

    ``estimate`` is by how much the C - C_R of a model is above that of the reference, ``cov_re``
    the variance of the random intercepts of examples: the text's formula for smaller models. With
    ``kinds`` it is that for transformers: sizes, families and their interaction ("SIZE x FAMILY",
    what both together add), with random slopes of the size. Where it cannot be fitted there is one
    row, with the reason in ``absent``.

    Args:
        aligned: From `alignment.aligned_rows`, of the examples to compare.
        reference: The model that the others are compared with.
        kinds: Family and size of every model; empty to compare models.

    Raises:
        InputError: If statsmodels is not installed, there is no model of that name, or no other.
    """
    require_package("statsmodels", "to compare models")
    models = aligned["model"].unique().sort().to_list()
    alone = any(len({*of}) < 2 for of in zip(*kinds.values(), strict=True))
    if reference not in models or len(models) < 2 or (kinds and {*kinds} != {*models}) or alone:
        raise InputError(
            "a reference model must be one of two models or more of the attributions, each with a "
            "family and a size, of which there are several, where these are compared",
            found=f"{reference!r} among {first_cases(models)}"
            + f", and kinds of {first_cases(kinds)}" * bool(kinds),
        )
    family, size = kinds[reference] if kinds else (reference, "")
    data = aligned.drop_nulls("difference").select(
        "method", "oracle", "model", fisher_cor_diff="difference", ex_id="example"
    )
    if kinds:
        parts = ({name: kind[place] for name, kind in kinds.items()} for place in (0, 1))
        of_model, of_size = map(pl.col("model").replace_strict, parts)
        data = data.with_columns(model=of_model, model_size=of_size)
    lines: list[dict[str, Any]] = []
    for (method, oracle), _ in aligned.group_by("method", "oracle", maintain_order=True):
        about = {"method": method, "oracle": oracle, "reference": f"{family} {size}".strip()}
        own = data.filter(method=method, oracle=oracle).to_pandas()
        lines += [about | line for line in _mixed_model(own, family, size)]
    return TABLES["models"].frame(lines).sort("method", "oracle", "model")


def _mixed_model(frame: Any, reference: str, reference_size: str) -> Iterator[dict[str, Any]]:
    """Fit a mixed model, of sizes too if one is a reference: a line a term, or one with why not."""
    import statsmodels.formula.api as formulas

    formula = f"C(model, Treatment(reference={reference!r}))"
    needed = {"model": reference}
    if reference_size:
        needed["model_size"] = reference_size
        formula = f"C(model_size, Treatment(reference={reference_size!r})) * {formula}"
    none, levels = {"examples": 0, "differences": 0}, {one: frame[one].unique() for one in needed}
    if any(len(levels[one]) < 2 or needed[one] not in levels[one] for one in needed):
        found = ", ".join(map(first_cases, levels.values()))
        absent = f"it needs two values of {' and of '.join(needed)}, with the reference; {found}"
        yield none | {"absent": absent}
        return
    slopes = "~model_size" if reference_size else None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = formulas.mixedlm(
                f"fisher_cor_diff ~ {formula}", frame, groups=frame["ex_id"], re_formula=slopes
            )
            fit = model.fit()
            bounds, errors = fit.conf_int(), fit.bse_fe
        except (np.linalg.LinAlgError, ValueError) as error:
            absent = f"{len(frame):,} differences do not identify the model: {error}"
            yield none | {"absent": absent}
            return
    about = {
        "cov_re": float(fit.cov_re.to_numpy()[0, 0]),
        "residual_variance": float(fit.scale),
        "examples": frame["ex_id"].nunique(),
        "differences": len(frame),
        "warnings": "; ".join(dict.fromkeys(str(one.message) for one in told)) or None,
    }
    for term, estimate in fit.fe_params.items():
        if terms := _TERM.findall(term):
            low, high = bounds.loc[term]
            numbers = {"estimate": estimate, "error": errors[term], "p": fit.pvalues[term]}
            yield about | numbers | {"model": " x ".join(terms), "low": low, "high": high}
