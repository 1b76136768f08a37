"""Models beside a reference model, by the paper's mixed-effects model of each method and oracle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.explanations.importance.examples import Subset
from audit.explanations.importance.mixed_models import (
    MixedModel,
    fit_mixed_model,
    mixed_model_data,
    refuse_without_statsmodels,
)

COMPARISON: dict[str, Any] = {
    "method": pl.String,
    "oracle": pl.String,
    "model": pl.String,
    "reference": pl.String,
    "estimate": pl.Float64,
    "error": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "cov_re": pl.Float64,
    "residual_variance": pl.Float64,
    "examples": pl.Int64,
    "differences": pl.Int64,
    "warnings": pl.String,
    "absent": pl.String,
}
"""Columns of `compare_models`."""

_MODEL = re.compile(r"\[T\.(.*)\]$", re.DOTALL)


def compare_models(rows: pl.DataFrame, reference: str, subset: Subset = "all") -> pl.DataFrame:
    """Compare models with a reference model, examples as random intercepts.

    Args:
        rows: Rows of an `ImportanceAlignment`.
        reference: The model that the others are compared with.
        subset: The examples that are compared.

    Returns:
        Columns `COMPARISON`, a row for each method, oracle and other model: ``estimate`` is by how
        much its C - C_R is above that of the reference, ``cov_re`` the variance of the random
        intercepts. A method and oracle whose model cannot be fitted has one row, with the reason in
        ``absent``.

    Raises:
        InputError: If statsmodels is not installed, there is no model of that name, or no other.
    """
    refuse_without_statsmodels()
    models = sorted(rows["model"].unique())
    if reference not in models or len(models) < 2:
        raise InputError(
            "a reference model must be one of two models or more of the attributions",
            found=f"{reference!r} among {first_cases(models)}",
        )
    kept = rows if subset == "all" else rows.filter(pl.col(subset))
    lines = [
        line
        for (method, oracle), own in kept.group_by("method", "oracle", maintain_order=True)
        for line in _lines(own, str(method), str(oracle), reference)
    ]
    return pl.DataFrame(lines, schema=COMPARISON, orient="row").sort("method", "oracle", "model")


def _lines(
    rows: pl.DataFrame, method: str, oracle: str, reference: str
) -> Iterator[dict[str, Any]]:
    about = {"method": method, "oracle": oracle, "reference": reference}
    try:
        fit = fit_mixed_model(mixed_model_data(rows), model=reference)
    except InputError as error:
        nothing = {"examples": 0, "differences": 0}
        yield about | nothing | {"absent": f"{error.required}; found {error.found}"}
        return
    yield from (about | line for line in _of_models(fit))


def _of_models(fit: MixedModel) -> Iterator[dict[str, Any]]:
    """A line for each model but the reference."""
    variance = float(fit.covariance.drop("effect").to_numpy()[0, 0])
    for row in fit.coefficients.iter_rows(named=True):
        if named := _MODEL.search(row["term"]):
            yield {
                "model": named.group(1),
                **{name: row[name] for name in ("estimate", "error", "low", "high", "p")},
                "cov_re": variance,
                "residual_variance": fit.residual_variance,
                "examples": fit.examples,
                "differences": fit.n,
                "warnings": "; ".join(fit.warnings) or None,
            }
