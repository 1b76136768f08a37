"""*Importance Alignment* against its definitions: equations 1 to 7, tables 2 to 5, the oracles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import atanh, tanh
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr, ttest_rel
from scipy.stats import t as student

from fixtures.importance_paper import (
    ACCURACY_CORRELATIONS,
    ALL_WRONG,
    COEFFICIENTS,
    EXPERT_SUBSET,
    TERMS,
    coefficients,
)
from fixtures.paper_inputs import READERS, explained, informed, write_records, write_rows
from fixtures.paper_runs import made, table

ROWS, REASONS = explained()
READ = informed(ROWS)
HANS = [(model, run, 0.4 + 0.05 * place + 0.02 * run)
        for place, model in enumerate(READERS) for run in range(2)]  # fmt: skip
EXPERT = pytest.param("expert", marks=pytest.mark.slow)
SUBSETS = ("all", "right", "wrong", "common")


def explanations(folder: Path, evidence: Iterable[str], *more: object) -> Path:
    kept = [{key: reason[key] for key in ("id", "target", *evidence)} for reason in REASONS]
    return made(
        folder / "run", "explanations", write_records(folder / "rows.jsonl", [*ROWS, *READ]),
        "--evidence", write_records(folder / "evidence.jsonl", kept),
        "--informed", "bert-base=reader", *more,
    )  # fmt: skip


def tables(run: Path, name: str, **where: object) -> list[dict[str, Any]]:
    return table(run, f"explanations_{name}", **where)


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hard")
    hans = write_rows(folder / "hans.csv", [("model", "seed", "accuracy"), *HANS])
    sizes = (word for m in READERS for word in ("--sizes", f"{m}={m.replace('-', ':')}"))
    return explanations(folder, ["explanation"], "--accuracy", hans, *sizes)


@pytest.fixture(scope="module")
def expert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("expert")
    return explanations(folder, ["marks"], "--reference-model", "bert-base")


def correlated(scores: Sequence[float], oracle: Sequence[float]) -> float:
    """Equation 5."""
    return atanh(pearsonr(np.abs(scores), oracle)[0])


def named(row: Mapping[str, Any]) -> list[float]:
    """Equation 2: words of the reason, without stop words."""
    (reason,) = (reason for reason in REASONS if reason["id"] == row["id"])
    words = set(reason["explanation"].split()) - {"the", "and", "is"}
    return [float(token.lower() in words) for token in row["tokens"]]


def marked(row: Mapping[str, Any]) -> list[float]:
    """Equation 4: the mean of three annotators."""
    (reason,) = (reason for reason in REASONS if reason["id"] == row["id"])
    return [mean(votes) for votes in zip(*reason["marks"], strict=True)]


def of_another(row: Mapping[str, Any]) -> list[float]:
    """What any other reason names in a text."""
    return [float(token in ("Shared", "common")) for token in row["tokens"]]


def read(row: Mapping[str, Any], *, borrowed: bool) -> list[list[float]]:
    """Equation 3: what a model that reads a reason too makes of the words of the text."""
    return [
        [abs(score) for score in other["scores"][: len(row["tokens"])]]
        for other in READ
        if (other["id"], other["borrowed"]) == (row["id"], borrowed)
    ]


Values = dict[tuple[str, str, int], tuple[float, float]]
"""C and C_R (equations 5 and 6) of each text, model and run."""


def valued(oracle: str) -> Values:
    own = {"hard": named, "expert": marked}
    found = {}
    for row in ROWS:
        key, scores = (row["id"], row["model"], row["seed"]), row["scores"]
        if oracle != "soft":
            found[key] = correlated(scores, own[oracle](row)), correlated(scores, of_another(row))
        elif row["model"] == "bert-base":
            (same,) = read(row, borrowed=False)
            others = [correlated(scores, other) for other in read(row, borrowed=True)]
            found[key] = correlated(scores, same), mean(others)
    return found


RIGHT = {(row["id"], row["model"], row["seed"]): row["predicted"] == row["gold"] for row in ROWS}
COMMON = {text for text, _, _ in RIGHT} - {key[0] for key, right in RIGHT.items() if right}
IN: dict[str, Callable[[tuple[str, str, int]], bool]] = {
    "all": lambda key: True,
    "right": lambda key: RIGHT[key],
    "wrong": lambda key: not RIGHT[key],
    "common": lambda key: key[0] in COMMON,
}


def averaged(values: Values, subset: str, model: str, runs: Sequence[int] = (0, 1)) -> Any:
    """C and C_R of each example of a model, averaged over the runs that count."""
    kept: dict[str, list[tuple[float, float]]] = {}
    for key, value in values.items():
        if key[1] == model and key[2] in runs and IN[subset](key):
            kept.setdefault(key[0], []).append(value)
    return np.array([np.mean(own, axis=0) for own in kept.values()])


def delta_a(pairs: Any) -> float:
    """Equation 7."""
    return tanh((pairs[:, 0] - pairs[:, 1]).mean())


@pytest.mark.parametrize("oracle", ["hard", "soft", EXPERT])
def test_tables_2_and_3_have_delta_a_of_every_oracle(
    oracle: str, request: pytest.FixtureRequest
) -> None:
    run = request.getfixturevalue("expert" if oracle == "expert" else "hard")
    values = valued(oracle)
    rows = [row for row in tables(run, "alignment", oracle=oracle) if row["examples"]]
    for row in rows:
        pairs = averaged(values, row["subset"], row["model"])
        test = ttest_rel(pairs[:, 0], pairs[:, 1])
        expected = [len(pairs), delta_a(pairs), tanh(pairs[:, 0].mean()), *test]
        found = [row[key] for key in ("examples", "delta_a", "correlation", "t", "p_t")]
        assert found == pytest.approx(expected, rel=1e-9), row
    models = READERS if oracle != "soft" else ("bert-base",)
    assert {(row["model"], row["subset"]) for row in rows} == set(product(models, SUBSETS))


def test_one_example_has_these_values() -> None:
    own, other = correlated([4, 3, 2, 1], [1, 1, 0, 0]), correlated([4, 3, 2, 1], [0, 1, 0, 1])
    assert [own, other, tanh(own - other)] == pytest.approx([1.44364, -0.48121, 0.95831], abs=5e-6)


def differences(values: Values) -> dict[str, float]:
    """Mean difference of each model on Fisher's scale."""
    means = {model: averaged(values, "all", model) for model in READERS}
    return {model: float((pairs[:, 0] - pairs[:, 1]).mean()) for model, pairs in means.items()}


def test_table_4_is_a_model_of_size_and_family(hard: Path) -> None:
    d = differences(valued("hard"))
    large = d["bert-large"] - d["bert-base"]
    roberta = d["roberta-base"] - d["bert-base"]
    both = d["roberta-large"] - d["bert-base"] - large - roberta
    found = {row["model"]: row["estimate"] for row in tables(hard, "models", oracle="hard")}
    assert found == pytest.approx(
        {"large": large, "roberta": roberta, "large x roberta": both}, abs=1e-6
    )


@pytest.mark.slow
def test_table_4_compares_models_without_sizes(expert: Path) -> None:
    d = differences(valued("expert"))
    found = {row["model"]: row["estimate"] for row in tables(expert, "models", oracle="expert")}
    assert found == pytest.approx(
        {model: d[model] - d["bert-base"] for model in READERS if model != "bert-base"}, abs=1e-6
    )


@pytest.mark.parametrize("data", [None, "hans.csv"])
def test_table_5_correlates_delta_a_with_accuracy(data: str | None, hard: Path) -> None:
    values = valued("hard")
    own = {
        (model, run): mean(right for key, right in RIGHT.items() if key[1:] == (model, run))
        for model, run, _ in HANS
    }
    accuracy = own if data is None else {(model, run): value for model, run, value in HANS}
    for row in tables(hard, "accuracy", oracle="hard", data=data):
        points = [delta_a(averaged(values, row["subset"], model, [run])) for model, run in accuracy]
        expected = pearsonr(points, list(accuracy.values()))
        assert (row["n"], row["models"]) == (8, 4)
        assert [row["r"], row["p"]] == pytest.approx([*expected]), row


@pytest.mark.parametrize("first", ["hard", EXPERT])
def test_oracles_are_correlated_over_tokens(first: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(first)
    texts = [row for row in ROWS if (row["model"], row["seed"]) == ("bert-base", 0)]
    oracle = {"hard": named, "expert": marked}[first]
    said = np.concatenate([oracle(row) for row in texts])
    soft = np.concatenate([read(row, borrowed=False)[0] for row in texts])
    (row,) = tables(run, "oracles")
    assert row["spearman"] == pytest.approx(spearmanr(said, soft)[0])
    assert row["pearson"] == pytest.approx(pearsonr(said, soft)[0])
    each = [spearmanr(oracle(row), read(row, borrowed=False)[0])[0] for row in texts]
    assert row["mean_spearman"] == pytest.approx(mean(each))


PRINTED = {("all wrong", name): of for name, of in ALL_WRONG.items()}
PRINTED |= {("expert subset", name): of for name, of in EXPERT_SUBSET.items()}


def test_what_is_printed_in_table_4_follows_from_tables_2_and_3() -> None:
    far = {
        (column, term)
        for column, of_models in PRINTED.items()
        for term, printed, implied in zip(
            TERMS, COEFFICIENTS[column], coefficients(of_models), strict=True
        )
        if abs(printed - implied) > (0.046 if column[1] == "expert" else 0.017)
    }
    expert = ("expert subset", "expert")
    assert far == {(("all wrong", "hard"), "Large (vs. Base)"), (expert, "BOW (vs. BERT-base)")}
    assert coefficients(ALL_WRONG["hard"])[0] == pytest.approx(-0.032, abs=0.001), "not -0.32"
    assert COEFFICIENTS[expert][5:] == COEFFICIENTS["expert subset", "hard"][5:], "a copied cell"


def test_printed_correlations_with_accuracy_have_a_point_for_each_model_and_run() -> None:
    def p(r: float, n: int) -> float:
        return float(2 * student.sf(r * ((n - 2) / (1 - r * r)) ** 0.5, n - 2))

    for name, r, printed, digits in ACCURACY_CORRELATIONS:
        n = 35 if "without BOW" in name or "HANS" in name else 40
        ends = p(abs(r) + 0.005, n), p(abs(r) - 0.005, n)
        half = 0.5 * 10**-digits
        assert ends[0] - half <= printed <= ends[1] + half, name
