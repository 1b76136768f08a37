"""Models beside a reference model, by the paper's mixed-effects model of each method and oracle."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.base.errors import InputError, first_cases
from audit.base.schemas import schema
from audit.explanations.importance.oracles import Subset

Kinds = Mapping[str, tuple[str, str]]
"""Per model its kind and its size, such as ``bert`` and ``base``."""

_DIFFERENCE, _EXAMPLE = "fisher_cor_diff", "ex_id"


@dataclass(frozen=True, eq=False)
class MixedModel:
    """A fitted mixed-effects model.

    Args:
        formula: The fixed effects, as statsmodels reads them.
        re_formula: The random effects of an example; None for a random intercept alone.
        coefficients: ``term, estimate, error, z, p, low, high``: the fixed effects.
        covariance: Covariance of the random effects (`cov_re` of statsmodels, whose parameter
            "Group Var" is this over the residual variance): ``effect`` and a column per effect.
    """

    formula: str
    re_formula: str | None
    coefficients: pl.DataFrame
    covariance: pl.DataFrame
    residual_variance: float
    converged: bool
    warnings: tuple[str, ...]
    n: int
    examples: int


def mixed_model_data(rows: pl.DataFrame, kinds: Kinds | None = None) -> pl.DataFrame:
    """The table that the paper's formulas are about.

    Args:
        rows: Rows of an `ImportanceAlignment`, of one method, oracle and subset.
        kinds: Kind and size of each model; without it each model is its own kind, and there are no
            sizes.

    Returns:
        ``fisher_cor_diff, ex_id, model``, and ``model_size`` with ``kinds``; rows without a
        difference are left out.

    Raises:
        InputError: Rows of several methods or oracles, or a model that ``kinds`` lacks.
    """
    for name in ("method", "oracle"):
        if rows[name].n_unique() > 1:
            raise InputError(
                f"a mixed model is fitted to one {name}",
                found=f"{first_cases(sorted(rows[name].unique()))}",
                hint="filter the rows first",
            )
    data = rows.drop_nulls("difference").select(
        pl.col("difference").alias(_DIFFERENCE), pl.col("example").alias(_EXAMPLE), "model"
    )
    if kinds is None:
        return data
    if missing := sorted(set(data["model"]) - set(kinds)):
        raise InputError(
            "each model needs a kind and a size", found=f"none of {first_cases(missing)}"
        )
    return data.with_columns(
        model=pl.col("model").replace_strict({name: kind for name, (kind, _) in kinds.items()}),
        model_size=pl.col("model").replace_strict(
            {name: size for name, (_, size) in kinds.items()}
        ),
    )


def fit_mixed_model(
    data: pl.DataFrame, *, model: str, size: str | None = None, slope: bool | None = None
) -> MixedModel:
    """Fit the paper's mixed-effects model by restricted maximum likelihood.

    Args:
        data: From `mixed_model_data`.
        model: The kind of model that the others are compared with.
        size: The size that the others are compared with: the formula for transformers, with sizes,
            kinds and their interaction; None for the formula for smaller models, of kinds alone.
        slope: Whether an example has a random slope of the size beside its random intercept. As the
            text of the paper, if it is None: with sizes, and not without; its printed call for
            smaller models has the slope, too.

    Raises:
        InputError: Without statsmodels; if a factor has one level or lacks its reference; if the
            fit fails.
    """
    formulas = _library()
    formula = f"C(model, Treatment(reference={model!r}))"
    _check_levels(data, "model", model)
    if size is not None:
        _check_levels(data, "model_size", size)
        formula = f"C(model_size, Treatment(reference={size!r})) * {formula}"
    formula = f"{_DIFFERENCE} ~ {formula}"
    re_formula = "~model_size" if (size is not None if slope is None else slope) else None
    if re_formula and "model_size" not in data:
        raise InputError("a slope of the size needs sizes", found="no column model_size")
    frame = data.to_pandas()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            fit = formulas.mixedlm(
                formula, frame, groups=frame[_EXAMPLE], re_formula=re_formula
            ).fit()
            return _summary(fit, formula, re_formula, data, told)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise InputError(
                "the mixed model must be identified by its data",
                found=f"{len(data):,} differences: {error}",
                hint="each kind and size needs several examples",
            ) from None


def _check_levels(data: pl.DataFrame, column: str, reference: str) -> None:
    levels = sorted(data[column].unique()) if column in data else []
    if len(levels) < 2 or reference not in levels:
        raise InputError(
            f"a mixed model needs two values of {column}, one of them {reference!r}",
            found=first_cases(levels) or "none",
        )


def _summary(
    fit: Any,
    formula: str,
    re_formula: str | None,
    data: pl.DataFrame,
    told: list[warnings.WarningMessage],
) -> MixedModel:
    effects = list(fit.fe_params.index)
    bounds = fit.conf_int().loc[effects]
    covariance = fit.cov_re
    return MixedModel(
        formula=formula,
        re_formula=re_formula,
        coefficients=pl.DataFrame(
            {
                "term": effects,
                "estimate": fit.fe_params.to_numpy(),
                "error": fit.bse_fe.to_numpy(),
                "z": fit.tvalues[effects].to_numpy(),
                "p": fit.pvalues[effects].to_numpy(),
                "low": bounds[0].to_numpy(),
                "high": bounds[1].to_numpy(),
            }
        ),
        covariance=pl.DataFrame(
            {"effect": list(covariance.index)}
            | {str(name): covariance[name].to_numpy() for name in covariance.columns}
        ),
        residual_variance=float(fit.scale),
        converged=bool(fit.converged),
        warnings=tuple(dict.fromkeys(str(one.message) for one in told)),
        n=len(data),
        examples=data[_EXAMPLE].n_unique(),
    )


def refuse_without_statsmodels() -> None:
    """Raise InputError if statsmodels is not installed."""
    _library()


def _library() -> Any:
    try:
        import statsmodels.formula.api as formulas
    except ImportError:
        raise InputError(
            "mixed-effects models are fitted by statsmodels",
            found="no statsmodels",
            hint="pip install 'hierarchy-audit[model]'",
        ) from None
    return formulas


COMPARISON = schema(
    ("method oracle model reference", pl.String),
    ("estimate error low high p cov_re residual_variance", pl.Float64),
    ("examples differences", pl.Int64),
    ("warnings absent", pl.String),
)
"""Columns of `compare_models`."""

_LEVEL = re.compile(r"\[T\.(.*?)\](?=:C\(|$)", re.DOTALL)


def compare_models(
    rows: pl.DataFrame, reference: str, subset: Subset = "all", kinds: Kinds | None = None
) -> pl.DataFrame:
    """Compare models with a reference model, examples as random intercepts.

    With kinds, sizes and families are compared, and examples also have random slopes of the size.

    Args:
        rows: Rows of an `ImportanceAlignment`.
        reference: The model that the others are compared with.
        subset: The examples that are compared.
        kinds: Family and size of every model; those of the reference are what is compared with.

    Returns:
        Columns `COMPARISON`, a row for each method, oracle and other model: ``estimate`` is by how
        much its C - C_R is above that of the reference, ``cov_re`` the variance of the random
        intercepts. With kinds, ``model`` is a size, a family, or "SIZE x FAMILY", what both
        together add. A method and oracle whose model cannot be fitted has one row, with the reason
        in ``absent``.

    Raises:
        InputError: If statsmodels is not installed, there is no model of that name, or no other.
    """
    refuse_without_statsmodels()
    models = sorted(rows["model"].unique())
    if kinds is not None:
        _check_kinds(kinds, models)
    if reference not in models or len(models) < 2:
        raise InputError(
            "a reference model must be one of two models or more of the attributions",
            found=f"{reference!r} among {first_cases(models)}",
        )
    kept = rows if subset == "all" else rows.filter(pl.col(subset))
    lines = [
        line
        for (method, oracle), own in kept.group_by("method", "oracle", maintain_order=True)
        for line in _lines(own, str(method), str(oracle), reference, kinds)
    ]
    return pl.DataFrame(lines, schema=COMPARISON, orient="row").sort("method", "oracle", "model")


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


def _lines(
    rows: pl.DataFrame, method: str, oracle: str, reference: str, kinds: Kinds | None
) -> Iterator[dict[str, Any]]:
    family, size = (reference, None) if kinds is None else kinds[reference]
    named = reference if size is None else f"{family} {size}"
    about = {"method": method, "oracle": oracle, "reference": named}
    try:
        fit = fit_mixed_model(mixed_model_data(rows, kinds), model=family, size=size)
    except InputError as error:
        nothing = {"examples": 0, "differences": 0}
        yield about | nothing | {"absent": f"{error.required}; found {error.found}"}
        return
    yield from (about | line for line in _of_models(fit))


def _of_models(fit: MixedModel) -> Iterator[dict[str, Any]]:
    """A line for each model but the reference."""
    variance = float(fit.covariance.drop("effect").to_numpy()[0, 0])
    for row in fit.coefficients.iter_rows(named=True):
        if levels := _LEVEL.findall(row["term"]):
            yield {
                "model": " x ".join(levels),
                **{name: row[name] for name in ("estimate", "error", "low", "high", "p")},
                "cov_re": variance,
                "residual_variance": fit.residual_variance,
                "examples": fit.examples,
                "differences": fit.n,
                "warnings": "; ".join(fit.warnings) or None,
            }
