"""Models beside a reference model: the fits of each method and oracle, or why there is none."""

from __future__ import annotations

import polars as pl
import pytest

from audit.analyses.explanations.declared import TABLES
from audit.analyses.explanations.mixed_model import compare_models
from audit.base.errors import InputError
from fixtures.compared_models import KINDS
from fixtures.compared_models import rows as rows_of_models

formulas = pytest.importorskip("statsmodels.formula.api")


def rows(n: int = 60) -> pl.DataFrame:
    made = rows_of_models(n).with_columns(common=pl.col("example") % 2 == 0)
    return pl.concat([made, made.with_columns(method=pl.lit("lime"))])


def test_each_other_model_has_the_estimate_of_the_fit() -> None:
    table = compare_models(rows(), "bert-b")
    data = rows().filter(pl.col("method") == "ig").to_pandas()
    formula = "difference ~ C(model, Treatment(reference='bert-b'))"
    fit = formulas.mixedlm(formula, data, groups=data["example"]).fit()
    own = table.filter(pl.col("method") == "ig")

    assert table.schema == TABLES["models"].columns.types
    assert own["model"].to_list() == ["bert-l", "roberta-b", "roberta-l"]
    assert own["estimate"].to_list() == pytest.approx(fit.fe_params.tolist()[1:])
    assert own["cov_re"].unique().to_list() == pytest.approx([fit.cov_re.iloc[0, 0]])
    assert own["p"].to_list() == pytest.approx(fit.pvalues.tolist()[1:4])
    assert own["estimate"].to_list() == pytest.approx([-0.1, -0.2, -0.15], abs=0.06)


@pytest.mark.filterwarnings("ignore")
def test_sizes_and_families_are_the_fit_with_random_slopes() -> None:
    table = compare_models(rows(), "bert-b", kinds=KINDS).filter(pl.col("method") == "ig")
    families = {name: family for name, (family, _) in KINDS.items()}
    sizes = {name: size for name, (_, size) in KINDS.items()}
    own = (
        rows()
        .filter(pl.col("method") == "ig")
        .with_columns(
            model=pl.col("model").replace_strict(families),
            size=pl.col("model").replace_strict(sizes),
        )
    )
    data = own.to_pandas()
    formula = "difference ~ C(size, Treatment('b')) * C(model, Treatment('bert'))"
    fit = formulas.mixedlm(formula, data, groups=data["example"], re_formula="~size").fit()

    assert dict(table.select("model", "estimate").iter_rows()) == pytest.approx(
        dict(zip(["l", "roberta", "l x roberta"], fit.fe_params.tolist()[1:], strict=True)),
        rel=1e-3,
    )
    assert table["estimate"].to_list() == pytest.approx([-0.1, 0.15, -0.2], abs=0.06)
    assert table["reference"].unique().to_list() == ["bert b"]


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"bert-b": ("bert", "b")}, "a family and a size of each of the models"),
        ({**KINDS, "gpt": ("gpt", "b")}, "a family and a size of each of the models"),
        ({name: (name, "b") for name in KINDS}, "more than one size"),
        ({name: ("bert", name) for name in KINDS}, "more than one family"),
    ],
)
def test_sizes_of_other_models_or_of_one_kind_are_refused(
    kinds: dict[str, tuple[str, str]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        compare_models(rows(), "bert-b", kinds=kinds)


def test_a_subset_is_compared_on_request() -> None:
    assert compare_models(rows().filter("common"), "bert-b")["examples"].unique().to_list() == [30]


def test_a_method_without_differences_says_why_there_is_no_model() -> None:
    some = rows().with_columns(
        difference=pl.when(pl.col("method") == "ig").then(pl.col("difference"))
    )
    absent = compare_models(some, "bert-b").filter(pl.col("method") == "lime").to_dicts()

    assert [row["model"] for row in absent] == [None]
    assert "two values of model" in absent[0]["absent"]


@pytest.mark.parametrize("reference", ["gpt", ""])
def test_a_reference_that_is_not_there_is_refused(reference: str) -> None:
    with pytest.raises(InputError, match="one of two models or more"):
        compare_models(rows(), reference)


def test_one_model_has_nothing_to_be_compared_with() -> None:
    with pytest.raises(InputError, match="one of two models or more"):
        compare_models(rows().filter(pl.col("model") == "bert-b"), "bert-b")
