"""Models beside a reference model, by the paper's mixed-effects model of each method and oracle."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from audit.analyses.explanations.declared import TABLES
from audit.base.errors import InputError, first_cases
from audit.base.machine import require_package

Kinds = Mapping[str, tuple[str, str]]
"""Per model its family and its size, such as ``bert`` and ``base``."""
_LEVEL = re.compile(r"\[T\.(.*?)\](?=:C\(|$)", re.DOTALL)


def compare_models(
    aligned: pl.DataFrame, reference: str, kinds: Kinds | None = None
) -> pl.DataFrame:
    """The table ``models``: models beside a reference, by restricted maximum likelihood.

    Without kinds, examples have random intercepts: the text's formula for smaller models. With
    kinds, sizes and families and their interaction are compared, and examples also have random
    slopes of the size: the formula for transformers.

    Args:
        aligned: From `alignment.aligned_rows`, of the examples to compare.
        reference: The model that the others are compared with.
        kinds: Family and size of every model; those of the reference are what is compared with.

    Returns:
        A row for each method, oracle and other model: ``estimate`` is by how much its C - C_R is
        above that of the reference, ``cov_re`` the variance of the random intercepts. With kinds,
        ``model`` is a size, a family, or "SIZE x FAMILY", what both together add. Where the model
        cannot be fitted, one row with the reason in ``absent``.

    Raises:
        InputError: If statsmodels is not installed, there is no model of that name, or no other.
    """
    require_package("statsmodels", "to compare models")
    models = aligned["model"].unique().sort().to_list()
    alone = (
        any(len({kind[place] for kind in kinds.values()}) < 2 for place in (0, 1))
        if kinds
        else False
    )
    if reference not in models or len(models) < 2 or (kinds and {*kinds} != {*models}) or alone:
        raise InputError(
            "a reference model must be one of two models or more of the attributions, each with a "
            "family and a size, of which there are several, where these are compared",
            found=f"{reference!r} among {first_cases(models)}"
            + f", and kinds of {first_cases(kinds or ())}" * bool(kinds),
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
        lines += [about | line for line in _fitted(own, family, size)]
    return TABLES["models"].frame(lines).sort("method", "oracle", "model")


def _fitted(frame: Any, family: str, size: str) -> Iterator[dict[str, Any]]:
    """A line for each model but the reference, or the reason why there is none."""
    import statsmodels.formula.api as formulas

    formula = f"C(model, Treatment(reference={family!r}))"
    needed = {"model": family}
    if size:
        needed["model_size"] = size
        formula = f"C(model_size, Treatment(reference={size!r})) * {formula}"
    levels = {column: frame[column].unique() for column in needed}
    if any(len(levels[one]) < 2 or needed[one] not in levels[one] for one in needed):
        found = ", ".join(map(first_cases, levels.values()))
        absent = f"it needs two values of {' and of '.join(needed)}, with the reference; {found}"
        yield {"examples": 0, "differences": 0, "absent": absent}
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            fit = formulas.mixedlm(
                f"fisher_cor_diff ~ {formula}",
                frame,
                groups=frame["ex_id"],
                re_formula="~model_size" if size else None,
            ).fit()
            bounds, errors = fit.conf_int(), fit.bse_fe
        except (np.linalg.LinAlgError, ValueError) as error:
            absent = f"{len(frame):,} differences do not identify the model: {error}"
            yield {"examples": 0, "differences": 0, "absent": absent}
            return
    for term, estimate in fit.fe_params.items():
        if terms := _LEVEL.findall(term):
            yield {
                "model": " x ".join(terms),
                "estimate": estimate,
                "error": errors[term],
                "low": bounds.loc[term, 0],
                "high": bounds.loc[term, 1],
                "p": fit.pvalues[term],
                "cov_re": float(fit.cov_re.to_numpy()[0, 0]),
                "residual_variance": float(fit.scale),
                "examples": frame["ex_id"].nunique(),
                "differences": len(frame),
                "warnings": "; ".join(dict.fromkeys(str(one.message) for one in told)) or None,
            }
