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

Kinds = Mapping[str, tuple[str, str]]
"""Per model its family and its size, such as ``bert`` and ``base``."""
_LEVEL = re.compile(r"\[T\.(.*?)\](?=:C\(|$)", re.DOTALL)


def compare_models(
    aligned: pl.DataFrame, reference: str, kinds: Kinds | None = None
) -> pl.DataFrame:
    """Compare models with a reference model by restricted maximum likelihood.

    Without kinds, examples have random intercepts: the text's formula for smaller models. With
    kinds, sizes and families and their interaction are compared, and examples also have random
    slopes of the size: the formula for transformers.

    Args:
        aligned: From `importance.aligned_rows`, of the examples to compare.
        reference: The model that the others are compared with.
        kinds: Family and size of every model; those of the reference are what is compared with.

    Returns:
        The table ``models``, a row for each method, oracle and other model: ``estimate`` is by how
        much its C - C_R is above that of the reference, ``cov_re`` the variance of the random
        intercepts. With kinds, ``model`` is a size, a family, or "SIZE x FAMILY", what both
        together add. A method and oracle whose model cannot be fitted has one row, with the reason
        in ``absent``.

    Raises:
        InputError: If statsmodels is not installed, there is no model of that name, or no other.
    """
    try:
        import statsmodels.formula.api as formulas
    except ImportError:
        raise InputError(
            "mixed-effects models are fitted by statsmodels",
            found="no statsmodels",
            hint="pip install 'hierarchy-audit[model]'",
        ) from None
    models = aligned["model"].unique().sort().to_list()
    if kinds is not None:
        _check_kinds(kinds, models)
    if reference not in models or len(models) < 2:
        raise InputError(
            "a reference model must be one of two models or more of the attributions",
            found=f"{reference!r} among {first_cases(models)}",
        )
    family, size = (reference, "") if kinds is None else kinds[reference]
    data = aligned.drop_nulls("difference").select(
        "method", "oracle", "model", fisher_cor_diff="difference", ex_id="example"
    )
    if kinds is not None:
        of_model = ({name: of[at] for name, of in kinds.items()} for at in (0, 1))
        parts = map(pl.col("model").replace_strict, of_model)
        data = data.with_columns(**dict(zip(("model", "model_size"), parts, strict=True)))
    lines: list[dict[str, Any]] = []
    for key, _ in aligned.group_by("method", "oracle", maintain_order=True):
        about = dict(zip(("method", "oracle"), key, strict=True))
        own = data.filter(**about).to_pandas()
        about["reference"] = f"{family} {size}".strip()
        try:
            lines += [about | line for line in _fitted(formulas, own, family, size)]
        except InputError as error:
            absent = f"{error.required}; found {error.found}"
            lines.append(about | {"examples": 0, "differences": 0, "absent": absent})
    return TABLES["models"].frame(lines).sort("method", "oracle", "model")


def _check_kinds(kinds: Kinds, models: list[str]) -> None:
    """Refuse sizes of other models than there are, or of a single size or family."""
    if set(kinds) != set(models):
        raise InputError(
            f"a family and a size of each of the models {first_cases(models)} are required",
            found=first_cases(sorted(kinds)),
        )
    for place, name in enumerate(("family", "size")):
        if len(found := {kind[place] for kind in kinds.values()}) < 2:
            raise InputError(f"more than one {name} is required", found=found.pop())


def _fitted(formulas: Any, frame: Any, family: str, size: str) -> Iterator[dict[str, Any]]:
    """A line for each model but the reference."""
    formula = f"C(model, Treatment(reference={family!r}))"
    for column, reference in {"model": family, **({"model_size": size} if size else {})}.items():
        levels = sorted(frame[column].unique())
        if reference not in levels or len(levels) < 2:
            raise InputError(
                f"a mixed model needs two values of {column}, one of them {reference!r}",
                found=first_cases(levels) or "none",
            )
    if size:
        formula = f"C(model_size, Treatment(reference={size!r})) * {formula}"
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
            raise InputError(
                "the mixed model must be identified by its data",
                found=f"{len(frame):,} differences: {error}",
                hint="each kind and size needs several examples",
            ) from None
    for term, estimate in fit.fe_params.items():
        if levels := _LEVEL.findall(term):
            yield {
                "model": " x ".join(levels),
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
