"""Detection against scikit-learn and brute force, on a made-up world of tuples."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    roc_auc_score,
)

from audit.analyses.entailment.dataset import EVENT, NOUN, VERB, EntailmentDataset, questions_of
from audit.analyses.entailment.detection import measure_detection
from audit.analyses.entailment.predictions import PREDICTIONS
from audit.analyses.entailment.validity_measures import baselines, bins
from audit.data.records import Records
from audit.engine.scores.two_classes import majority_macro_f1, random_macro_f1
from fixtures.entailment_world.world import clean_world

RELATIONS = (NOUN, VERB, EVENT)


@cache
def world():
    return clean_world(11)


def model(tuples, name="m", trained_on=None, noise=0.3, seed=0):
    random = np.random.default_rng(seed)
    score = np.clip(
        0.3 + 0.4 * tuples["valid"].to_numpy() + random.normal(0, noise, len(tuples)), 0, 1
    )
    columns = {"model": name, "trained_on": trained_on, "id": tuples["id"], "score": score.round(2)}
    return pl.DataFrame({**columns, "valid": None, "unparsable": False}, schema=PREDICTIONS)


def predictions(*frames):
    frame = pl.concat(frames)
    return Records(frame)


@cache
def measured():
    return measure_detection(world(), predictions(model(world().tuples)))[0]


def values(measurements, **about):
    rows = measurements["detection_measured"].filter(**about)
    return dict(rows.select("measure", "value").iter_rows())


def joined(relation):
    test = world().tuples.filter(split="test")
    test = test if relation == "All" else test.filter(relation=relation)
    rows = test.join(model(world().tuples), on="id", maintain_order="left")
    return rows["valid"].to_numpy(), rows["score"].to_numpy()


@pytest.mark.parametrize("relation", [*RELATIONS, "All"])
def test_measures_of_a_model_are_those_of_scikit_learn(relation):
    truth, score = joined(relation)
    found = values(measured(), model="m", relation=relation)
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, score >= 0.5), abs=1e-12)
    f1 = f1_score(truth, score >= 0.5, average="macro")
    assert found["macro_f1"] == pytest.approx(f1, abs=1e-12)
    assert found["roc_auc"] == pytest.approx(roc_auc_score(truth, score), abs=1e-12)
    ap = average_precision_score(truth, score)
    assert found["average_precision"] == pytest.approx(ap, abs=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(truth, score), abs=1e-12)


def test_intervals_hold_their_values_and_no_measure_is_missing():
    rows = (
        measured()["detection_measured"]
        .filter(kind="model")
        .filter(pl.col("measure") != "calibration_error")
    )
    assert rows["value"].null_count() == 0
    inside = (rows["low"] <= rows["value"]) & (rows["value"] <= rows["high"])
    assert inside.all()
    assert rows["relation"].unique(maintain_order=True).to_list() == [*RELATIONS, "All"]


def test_majority_and_random_have_their_closed_forms():
    rows = measured()["detection_measured"].filter(kind="baseline")
    for relation in RELATIONS:
        truth, _ = joined(relation)
        q = float(truth.mean())
        major = rows.filter(model="majority", relation=relation)
        known = major.drop_nulls("expected")
        assert known["value"].to_list() == pytest.approx(known["expected"].to_list(), abs=1e-12)
        own = dict(major.select("measure", "expected").iter_rows())
        assert own["accuracy"] in (pytest.approx(q), pytest.approx(1 - q))
        assert own["macro_f1"] == pytest.approx(majority_macro_f1(own["accuracy"]))
        chance = dict(
            rows.filter(model="random", relation=relation).select("measure", "expected").iter_rows()
        )
        assert chance["macro_f1"] == pytest.approx(random_macro_f1(q))
    coins = rows.filter(model="random", relation="All").drop_nulls("expected")
    assert (coins["low"] <= coins["expected"]).all()
    assert (coins["expected"] <= coins["high"]).all()


def by_name(dataset):
    return {answers.model: answers for answers in baselines(dataset, questions_of(dataset))}


@pytest.mark.parametrize("column", ["concept", "head"])
def test_a_shortcut_is_the_smoothed_share_in_the_training_set(column):
    train, test = (world().tuples.filter(split=split) for split in ("train", "test"))
    expected = []
    for row in test.iter_rows(named=True):
        same = train.filter(relation=row["relation"])
        own = same.filter(pl.col(column) == row[column])["valid"]
        expected.append((own.sum() + same["valid"].mean()) / (len(own) + 1))
    score = by_name(world())[f"{column}_alone"].score
    np.testing.assert_allclose(score, expected, atol=1e-12)
    auc = values(measured(), model=f"{column}_alone", relation="All")["roc_auc"]
    assert auc == pytest.approx(roc_auc_score(test["valid"], expected), abs=1e-12)


def test_without_splits_a_shortcut_never_learns_from_its_own_fold():
    """Concepts met under one (head, instance) alone are only known to the relation's share."""
    n = 60
    tuples = pl.DataFrame(
        {
            "id": [str(k) for k in range(n)],
            "head": [f"head {k}" for k in range(n)],
            "relation": [NOUN] * n,
            "tail": [f"tail {k}" for k in range(n)],
            "instance": [f"instance {k}" for k in range(n)],
            "concept": [f"concept {k}" for k in range(n)],
            "valid": [k % 2 == 0 for k in range(n)],
        }
    ).with_columns(split=pl.lit(None, pl.String))
    dataset = replace(world(), tuples=tuples)
    found = measure_detection(dataset, predictions(model(tuples)))[0]
    assert found["detection_measured"]["split"].unique().to_list() == ["all"]
    auc = values(found, model="concept_alone", relation=NOUN)["roc_auc"]
    assert auc < 0.6  # knowing its own label, it would be 1
    assert "All" not in found["detection_measured"]["relation"]


def test_containment_and_head_word_read_the_concept_in_the_instance():
    pairs = [
        ("big wild animal", "animal", 1.0, True),
        ("big wild animal", "wild beast", 0.5, False),
        ("Big Dog", "big dog!", 1.0, True),
        ("dog", "cat", 0.0, False),
        ("-", "dog", 0.0, False),
        ("dog", "-", 0.0, False),
    ]
    instance, concept, share, same = zip(*pairs, strict=True)
    n = len(pairs)
    tuples = pl.DataFrame(
        {
            "id": [str(k) for k in range(n)],
            "head": list(instance),
            "relation": [NOUN] * n,
            "instance": list(instance),
            "concept": list(concept),
            "valid": list(same),
            "split": ["test"] * n,
        }
    )
    found = measure_detection(replace(world(), tuples=tuples), predictions(model(tuples)))[0]
    expected = roc_auc_score(same, share)
    assert values(found, model="containment")["roc_auc"] == pytest.approx(expected)
    assert values(found, model="head_word")["accuracy"] == 1
    assert values(found, model="containment")["accuracy"] == 1


def test_every_row_of_the_file_is_accounted_for():
    tuples = world().tuples
    stray = model(tuples.head(3)).with_columns(id=pl.lit("none ") + pl.col("id"))
    given = Records(pl.concat([model(tuples), stray]), {"no_answer": 2})
    ledger = measure_detection(world(), given)[1]
    test = tuples.filter(split="test").height
    assert ledger == {
        "rows_read": tuples.height + 5,
        "used": test,
        "other_split": tuples.height - test,
        "unknown_id": 3,
        "no_answer": 2,
    }
    assert sum(ledger.values()) == 2 * ledger["rows_read"]


def test_answers_that_cannot_be_read_are_counted_and_wrong_in_the_strict_accuracy():
    test = world().tuples.filter(split="test")
    answered = pl.int_range(pl.len()) % 3
    frame = (
        model(test)
        .with_columns(
            score=pl.lit(None, pl.Float64),
            valid=pl.when(answered == 0).then(test["valid"]),
            unparsable=answered == 1,
        )
        .filter(answered != 2)
    )
    found = measure_detection(world(), predictions(frame))[0]
    line = found["detection_coverage"].filter(relation="All").row(0, named=True)
    thirds = [len(range(rest, test.height, 3)) for rest in range(3)]
    assert [line[name] for name in ("answered", "unparsable", "missing")] == thirds
    own = values(found, model="m", relation="All")
    assert own["accuracy"] == 1
    assert own["accuracy_strict"] == pytest.approx(thirds[0] / (thirds[0] + thirds[1]))
    absent = dict(
        found["detection_measured"]
        .filter(model="m", relation="All")
        .select("measure", "absent")
        .rows()
    )
    assert absent["roc_auc"] == "no_scores"
    assert found["detection_reliability"].is_empty()


def test_a_model_that_answers_nothing_of_a_relation_has_no_measure_there():
    nouns = world().tuples.filter(relation=NOUN)
    found = measure_detection(world(), predictions(model(nouns)))[0]["detection_measured"]
    verbs = found.filter(model="m", relation=VERB)
    assert verbs["value"].null_count() == verbs.height
    assert verbs["absent"].unique().to_list() == ["no_answers"]


def test_differences_are_those_of_the_values_on_common_tuples():
    differences = measured()["detection_differences"].filter(
        relation="All", against="concept_alone"
    )
    for measure, difference, low, high in differences.select(
        "measure", "difference", "low", "high"
    ).iter_rows():
        own, other = (
            values(measured(), model=name, relation="All")[measure]
            for name in ("m", "concept_alone")
        )
        assert difference == pytest.approx(own - other, abs=1e-12)
        assert low <= difference <= high


def test_transfer_compares_a_model_with_itself_in_its_domain():
    tuples = world().tuples
    frames = [model(tuples, trained_on=NOUN, noise=0.1), model(tuples, trained_on=VERB, noise=0.6)]
    found = measure_detection(world(), predictions(*frames))[0]
    line = (
        found["detection_differences"]
        .filter(against="in_domain", relation=NOUN, trained_on=VERB, measure="roc_auc")
        .row(0, named=True)
    )
    by_training = found["detection_measured"].filter(measure="roc_auc", relation=NOUN, kind="model")
    auc = dict(by_training.select("trained_on", "value").iter_rows())
    assert line["difference"] == pytest.approx(auc[VERB] - auc[NOUN])
    assert line["high"] < 0
    assert (
        found["detection_differences"]
        .filter(against="in_domain", relation=NOUN, trained_on=NOUN)
        .is_empty()
    )


def test_reliability_bins_hold_every_score_and_a_calibrated_model_is_off_by_chance():
    tuples = world().tuples.with_columns(split=pl.lit(None, pl.String))
    random = np.random.default_rng(3)
    score = random.uniform(size=len(tuples))
    tuples = tuples.with_columns(valid=pl.Series(random.uniform(size=len(tuples)) < score))
    frame = model(tuples).with_columns(score=pl.Series(score))
    found = measure_detection(replace(world(), tuples=tuples), predictions(frame))[0]
    bins = found["detection_reliability"].filter(relation="All")
    assert bins["n"].sum() == tuples.height
    assert bins["from"].to_list() == pytest.approx(np.arange(10) / 10)
    off = (bins["n"] * (bins["mean_score"] - bins["valid_share"]).abs()).sum() / tuples.height
    line = found["detection_measured"].filter(
        model="m", relation="All", measure="calibration_error"
    )
    assert line["value"].item() == pytest.approx(off, abs=1e-12)
    assert 0.3 < line["value"].item() / line["expected"].item() < 3
    covered = (bins["low"] <= bins["mean_score"]) & (bins["mean_score"] <= bins["high"])
    assert covered.sum() >= 8


def test_tuples_of_one_class_have_no_auc():
    tuples = world().tuples.filter("valid")
    found = measure_detection(replace(world(), tuples=tuples), predictions(model(tuples)))[0]
    rows = found["detection_measured"].filter(model="m", relation="All", measure="roc_auc")
    assert rows["absent"].to_list() == ["one_class"]


def test_order_of_rows_changes_nothing():
    tuples = world().tuples
    shuffled = replace(world(), tuples=tuples.sample(fraction=1, shuffle=True, seed=2))
    again = measure_detection(
        shuffled, predictions(model(tuples).sample(fraction=1, shuffle=True, seed=1))
    )[0]
    for name, first in measured().items():
        second = again[name]
        numbers = [column for column, kind in first.schema.items() if kind == pl.Float64]
        assert first.drop(numbers).equals(second.drop(numbers))
        np.testing.assert_allclose(
            first.select(numbers).to_numpy().astype(float),
            second.select(numbers).to_numpy().astype(float),
            atol=1e-12,
        )


def chain_dataset(closing: bool) -> tuple[EntailmentDataset, pl.DataFrame]:
    edges = [("a", "b"), ("b", "c"), ("a", "c")]
    tuples = pl.DataFrame(
        {
            "id": ["1", "2", "3"],
            "head": [a for a, _ in edges],
            "relation": [EVENT] * 3,
            "tail": [b for _, b in edges],
            "instance": [a for a, _ in edges],
            "concept": [b for _, b in edges],
            "valid": [True] * 3,
            "split": ["test"] * 3,
        }
    )
    frame = model(tuples).with_columns(score=pl.Series([0.9, 0.8, 0.7 if closing else 0.2]))
    return replace(world(), tuples=tuples), frame


@pytest.mark.parametrize("closing", [True, False])
def test_a_model_that_breaks_a_chain_is_inconsistent_where_the_labels_are_not(closing):
    dataset, frame = chain_dataset(closing)
    found = measure_detection(dataset, predictions(frame))[0]["detection_consistency"]
    counts = dict(found.select("kind", pl.struct("chains", "closed", "broken", "open")).iter_rows())
    own = {"chains": 1, "closed": int(closing), "broken": int(not closing), "open": 0}
    assert counts == {"model": own, "labels": {"chains": 1, "closed": 1, "broken": 0, "open": 0}}


def test_an_edge_with_as_many_valid_as_invalid_predictions_leaves_a_chain_open():
    dataset, frame = chain_dataset(closing=True)
    again = dataset.tuples.filter(id="3").with_columns(id=pl.lit("4"), head=pl.lit("a too"))
    tuples = pl.concat([dataset.tuples, again])
    denied = frame.filter(id="3").with_columns(id=pl.lit("4"), score=pl.lit(0.1))
    given = predictions(pl.concat([frame, denied]))
    found = measure_detection(replace(dataset, tuples=tuples), given)[0]["detection_consistency"]
    line = found.filter(kind="model").row(0, named=True)
    assert [line[name] for name in ("chains", "closed", "broken", "open")] == [1, 0, 0, 1]
    assert line["closed_share"] is None


def test_a_score_of_the_threshold_is_valid():
    frame = model(world().tuples.filter("valid", split="test")).with_columns(score=pl.lit(0.5))
    found = measure_detection(world(), predictions(frame))[0]
    assert values(found, model="m", relation="All")["accuracy"] == 1


def test_a_bin_begins_with_its_lower_bound_and_the_last_holds_1():
    score = np.array([0.0, 0.1, 0.3, 0.9, 1.0])
    rows = bins(score > 0.5, score, np.arange(5))
    assert [(row["from"], row["n"]) for row in rows] == [(0.0, 1), (0.1, 1), (0.3, 1), (0.9, 2)]


def test_consistency_counts_the_chains_that_brute_force_finds():
    tuples = world().tuples
    rows = tuples.join(model(tuples), on="id").with_columns(said=pl.col("score") >= 0.5)
    votes = rows.group_by("relation", "instance", "concept").agg(pl.col("said").mean())
    said = {row[:3]: row[3] for row in votes.iter_rows()}
    chains = closed = broken = 0
    for (relation, a, b), first in said.items():
        for (other, start, c), second in said.items():
            if (other, start) == (relation, b) and a != c and first > 0.5 and second > 0.5:
                end = said.get((relation, a, c), 0.5)
                chains += 1
                closed, broken = closed + (end > 0.5), broken + (end < 0.5)
    line = (
        measured()["detection_consistency"].filter(kind="model", relation="All").row(0, named=True)
    )
    assert [line["chains"], line["closed"], line["broken"]] == [chains, closed, broken]
    assert line["open"] == chains - closed - broken
