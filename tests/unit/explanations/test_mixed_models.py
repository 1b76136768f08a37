"""The paper's mixed-effects models: planted effects are recovered, and what is odd is said."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

from audit.base.errors import InputError
from audit.explanations.importance.model_comparison import (
    MixedModel,
    fit_mixed_model,
    mixed_model_data,
)
from fixtures.compared_models import KINDS, rows


def estimates(model: MixedModel) -> list[float]:
    return model.coefficients["estimate"].to_list()


@pytest.mark.slow
def test_planted_effects_are_recovered() -> None:
    pytest.importorskip("statsmodels")
    model = fit_mixed_model(mixed_model_data(rows(400), KINDS), model="bert", size="b")
    within = model.coefficients.filter(
        (pl.col("low") <= pl.Series([0.3, -0.1, -0.2, 0.15]))
        & (pl.col("high") >= pl.Series([0.3, -0.1, -0.2, 0.15]))
    )

    assert model.formula == (
        "fisher_cor_diff ~ C(model_size, Treatment(reference='b'))"
        " * C(model, Treatment(reference='bert'))"
    )
    assert model.re_formula == "~model_size"
    assert estimates(model) == pytest.approx([0.3, -0.1, -0.2, 0.15], abs=0.03)
    assert len(within) == 4
    assert model.coefficients["p"].max() < 1e-6
    assert model.converged
    assert (model.n, model.examples) == (1600, 400)


def test_the_covariance_of_random_effects_is_no_multiple_of_the_residual_variance() -> None:
    pytest.importorskip("statsmodels")
    model = fit_mixed_model(mixed_model_data(rows(400), KINDS), model="bert", size="b")
    intercept, slope = np.diag(model.covariance.drop("effect").to_numpy())

    assert intercept == pytest.approx(0.04, rel=0.25)
    assert slope == pytest.approx(0.01, rel=0.5)
    assert model.residual_variance == pytest.approx(0.01, rel=0.15)
    assert intercept / model.residual_variance > 3


def test_fixed_effects_of_complete_data_are_differences_of_means() -> None:
    pytest.importorskip("statsmodels")
    data = mixed_model_data(rows(60), KINDS)
    mean = {
        key: value
        for *key_, value in data.group_by("model", "model_size")
        .agg(pl.col("fisher_cor_diff").mean())
        .iter_rows()
        for key in ["-".join(key_)]
    }
    model = fit_mixed_model(data, model="bert", size="b")

    assert estimates(model) == pytest.approx(
        [
            mean["bert-b"],
            mean["bert-l"] - mean["bert-b"],
            mean["roberta-b"] - mean["bert-b"],
            mean["roberta-l"] - mean["roberta-b"] - mean["bert-l"] + mean["bert-b"],
        ],
        abs=1e-6,
    )


def test_models_without_sizes_have_a_random_intercept_as_the_text_says() -> None:
    pytest.importorskip("statsmodels")
    small = rows(100).filter(pl.col("model").is_in(["bert-b", "roberta-b"]))
    model = fit_mixed_model(mixed_model_data(small), model="bert-b")

    assert model.formula == "fisher_cor_diff ~ C(model, Treatment(reference='bert-b'))"
    assert model.re_formula is None
    assert model.covariance.shape == (1, 2)
    assert estimates(model)[1] == pytest.approx(-0.2, abs=0.05)


def test_models_without_sizes_may_have_the_slope_of_the_printed_call() -> None:
    pytest.importorskip("statsmodels")
    model = fit_mixed_model(mixed_model_data(rows(100), KINDS), model="bert", slope=True)

    assert model.re_formula == "~model_size"
    assert model.covariance.shape == (2, 3)


def test_warnings_are_told_and_not_raised() -> None:
    pytest.importorskip("statsmodels")
    flat = rows(30).with_columns(difference=pl.Series(np.random.default_rng(1).normal(size=120)))
    model = fit_mixed_model(mixed_model_data(flat, KINDS), model="bert", size="b")

    assert model.warnings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "electra"}, "two values of model, one of them 'electra'"),
        ({"model": "bert", "size": "huge"}, "two values of model_size, one of them 'huge'"),
    ],
)
def test_a_reference_that_is_not_there(arguments: dict[str, str], message: str) -> None:
    pytest.importorskip("statsmodels")
    with pytest.raises(InputError, match=message):
        fit_mixed_model(mixed_model_data(rows(5), KINDS), **arguments)


def test_a_slope_without_sizes() -> None:
    pytest.importorskip("statsmodels")
    with pytest.raises(InputError, match="a slope of the size needs sizes"):
        fit_mixed_model(mixed_model_data(rows(5)), model="bert-b", slope=True)


def test_data_that_identify_nothing() -> None:
    pytest.importorskip("statsmodels")
    with pytest.raises(InputError, match="must be identified by its data"):
        fit_mixed_model(mixed_model_data(rows(1), KINDS), model="bert", size="b")


def test_data_of_one_oracle_and_known_models() -> None:
    two = pl.concat([rows(2), rows(2).with_columns(oracle=pl.lit("soft"))])

    with pytest.raises(InputError, match="fitted to one oracle"):
        mixed_model_data(two)
    with pytest.raises(InputError, match="needs a kind and a size"):
        mixed_model_data(rows(2), {"bert-b": ("bert", "b")})


def test_rows_without_a_difference_are_left_out() -> None:
    holes = rows(4).with_columns(difference=pl.when(pl.col("example") > 0).then("difference"))

    assert len(mixed_model_data(holes)) == 12


def test_statsmodels_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.formula.api", None)

    with pytest.raises(InputError, match=r"pip install 'hierarchy-audit\[model\]'"):
        fit_mixed_model(mixed_model_data(rows(4)), model="bert-b")
