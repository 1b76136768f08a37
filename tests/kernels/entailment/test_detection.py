"""Detection against scikit-learn and brute force, on a made-up world of tuples."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from audit.analyses.entailment.answers import PREDICTIONS
from audit.analyses.entailment.dataset import EVENT, NOUN, VERB
from audit.analyses.entailment.detection import measure_detection
from audit.data.records import Records
from fixtures.entailed_release import stated
from fixtures.entailment_world.world import clean_world

RELATIONS = (NOUN, VERB, EVENT)


@cache
def world():
    return clean_world(11).tuples


def model(tuples, name="m", trained_on=None, noise=0.3, seed=0):
    random = np.random.default_rng(seed)
    score = np.clip(
        0.3 + 0.4 * tuples["valid"].to_numpy() + random.normal(0, noise, len(tuples)), 0, 1
    )
    columns = {"model": name, "trained_on": trained_on, "id": tuples["id"], "score": score.round(2)}
    return pl.DataFrame({**columns, "valid": None, "unparsable": False}, schema=PREDICTIONS)


def predictions(*frames):
    return Records(pl.concat(frames))


@cache
def measured():
    return measure_detection(world(), predictions(model(world())))[0]


def values(measurements, **about):
    rows = measurements["detection_measured"].filter(**about)
    return dict(rows.select("measure", "value").iter_rows())


@pytest.mark.parametrize("column", ["concept", "head"])
def test_a_shortcut_is_the_smoothed_share_in_the_training_set(column):
    train, test = (world().filter(split=split) for split in ("train", "test"))
    expected = []
    for row in test.iter_rows(named=True):
        same = train.filter(relation=row["relation"])
        own = same.filter(pl.col(column) == row[column])["valid"]
        expected.append((own.sum() + same["valid"].mean()) / (len(own) + 1))
    auc = values(measured(), model=f"{column}_alone", relation="All")["roc_auc"]
    assert auc == pytest.approx(roc_auc_score(test["valid"], expected), abs=1e-12)


def test_without_splits_a_shortcut_never_learns_from_its_own_fold():
    """Concepts met under one (head, instance) alone are only known to the relation's share."""
    rows = ((f"head {k}", NOUN, f"instance {k}", f"concept {k}", k % 2 == 0) for k in range(60))
    tuples = stated(rows).tuples
    found = measure_detection(tuples, predictions(model(tuples)))[0]
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
    share, same = zip(*(pair[2:] for pair in pairs), strict=True)
    tuples = stated((a, NOUN, a, b, valid) for a, b, _, valid in pairs).tuples
    found = measure_detection(tuples, predictions(model(tuples)))[0]
    expected = roc_auc_score(same, share)
    assert values(found, model="containment")["roc_auc"] == pytest.approx(expected)
    assert values(found, model="head_word")["accuracy"] == 1
    assert values(found, model="containment")["accuracy"] == 1


def test_answers_that_cannot_be_read_are_counted_and_wrong_in_the_strict_accuracy():
    test = world().filter(split="test")
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
    nouns = world().filter(relation=NOUN)
    found = measure_detection(world(), predictions(model(nouns)))[0]["detection_measured"]
    verbs = found.filter(model="m", relation=VERB)
    assert verbs["value"].null_count() == verbs.height
    assert verbs["absent"].unique().to_list() == ["no_answers"]


@pytest.mark.parametrize("against", ["majority", "concept_alone", "head_alone"])
def test_differences_are_those_of_the_values_on_common_tuples(against):
    rows = measured()["detection_differences"].filter(relation="All", against=against)
    own, other = (values(measured(), model=name, relation="All") for name in ("m", against))
    for measure, difference in rows.select("measure", "difference").rows():
        assert difference == pytest.approx(own[measure] - other[measure], abs=1e-12)
    assert len(rows) == 6
    assert ((rows["low"] <= rows["difference"]) & (rows["difference"] <= rows["high"])).all()


def test_transfer_compares_a_model_with_itself_in_its_domain():
    tuples = world()
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
    tuples = world().with_columns(split=pl.lit(None, pl.String))
    random = np.random.default_rng(3)
    score = random.uniform(size=len(tuples))
    tuples = tuples.with_columns(valid=pl.Series(random.uniform(size=len(tuples)) < score))
    frame = model(tuples).with_columns(score=pl.Series(score))
    found = measure_detection(tuples, predictions(frame))[0]
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


def test_consistency_counts_the_chains_that_brute_force_finds():
    tuples = world()
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
