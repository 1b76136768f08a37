"""Detection against scikit-learn with its weights, and baselines written out, on the sample."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from audit.analyses.entailment.answers import PREDICTIONS
from audit.analyses.entailment.dataset import NOUN, VERB, questions_of
from audit.analyses.entailment.detection import measure_detection
from audit.data.records import Records
from fixtures.doors import read_entailment
from fixtures.entailed import stated
from fixtures.tuple_files import SAMPLE


@cache
def sample() -> pl.DataFrame:
    return read_entailment(SAMPLE / "tuples.csv").tuples


def model(tuples: pl.DataFrame) -> pl.DataFrame:
    noise = np.random.default_rng(0).normal(0, 0.3, len(tuples))
    score = np.clip(0.3 + 0.4 * tuples["valid"].to_numpy() + noise, 0, 1).round(2)
    columns = {"model": "m", "trained_on": None, "id": tuples["id"], "score": score}
    return pl.DataFrame({**columns, "valid": None, "unparsable": False}, schema=PREDICTIONS)


def measured(tuples: pl.DataFrame, predictions: pl.DataFrame, **about: str) -> pl.DataFrame:
    found = measure_detection(tuples, Records(predictions))[0]["detection_measured"]
    return found.filter(**about)


def values(found: pl.DataFrame) -> dict[str, float]:
    return dict(found.select("measure", "value").iter_rows())


def test_intervals_are_percentiles_of_what_scikit_learn_says_with_weights() -> None:
    asked, given = questions_of(sample()), model(sample())
    score = asked.rows.join(given, on="id", maintain_order="left")["score"].to_numpy()
    truth, weights = asked.rows["valid"].to_numpy(), asked.drawn.weights[asked.drawn.group]
    found = measured(sample(), given, model="m", relation="All")
    for measure, of in (
        ("macro_f1", lambda w: f1_score(truth, score >= 0.5, average="macro", sample_weight=w)),
        ("roc_auc", lambda w: roc_auc_score(truth, score, sample_weight=w)),
        ("average_precision", lambda w: average_precision_score(truth, score, sample_weight=w)),
    ):
        value, *drawn = (of(own) for own in weights.T)
        (row,) = found.filter(measure=measure).to_dicts()
        expected = (value, *np.percentile(drawn, [2.5, 97.5]))
        assert (row["value"], row["low"], row["high"]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("column", ["concept", "head"])
def test_a_shortcut_is_the_smoothed_share_in_the_training_set(column: str) -> None:
    train, test = (sample().filter(split=split) for split in ("train", "test"))
    expected = []
    for row in test.iter_rows(named=True):
        same = train.filter(relation=row["relation"])
        own = same.filter(pl.col(column) == row[column])["valid"]
        expected.append((own.sum() + same["valid"].mean()) / (len(own) + 1))
    found = measured(sample(), model(sample()), model=f"{column}_alone", relation="All")
    auc = roc_auc_score(test["valid"], expected)
    assert values(found)["roc_auc"] == pytest.approx(auc, abs=1e-12)


def test_without_splits_a_shortcut_never_learns_from_its_own_fold() -> None:
    """Concepts met under one (head, instance) alone are only known to the relation's share."""
    rows = ((f"head {k}", NOUN, f"instance {k}", f"concept {k}", k % 2 == 0) for k in range(60))
    found = measured(tuples := stated(rows), model(tuples), model="concept_alone")
    assert found["split"].unique().to_list() == ["all"]
    assert values(found)["roc_auc"] < 0.6  # knowing its own label, it would be 1
    assert "All" not in found["relation"]
    told = stated((f"head {k}", NOUN, f"instance {k}", f"c{k % 2}", k % 2 == 0) for k in range(60))
    assert values(measured(told, model(told), model="concept_alone"))["roc_auc"] > 0.9


def test_what_was_not_answered_is_counted_and_not_measured() -> None:
    test, third = sample().filter(split="test"), pl.int_range(pl.len()) % 3
    said = pl.when(third == 0).then(test["valid"])
    nothing = pl.lit(None, pl.Float64)
    given = model(test).with_columns(score=nothing, valid=said, unparsable=third == 1)
    found = measured(sample(), given.filter(third != 2), model="m", relation="All")
    thirds = [len(range(rest, test.height, 3)) for rest in range(2)]
    (row,) = found.filter(measure="accuracy").to_dicts()
    assert [row[name] for name in ("n", "unparsable", "tuples")] == [*thirds, test.height]
    assert (row["value"], values(found)["roc_auc"]) == (1, None)
    assert {*found.filter(measure="roc_auc")["absent"]} == {"no_scores"}
    nouns = model(sample().filter(relation=NOUN))
    verbs = measured(sample(), nouns, model="m", relation=VERB)
    assert {*verbs["absent"]} == {"no_answers"}
