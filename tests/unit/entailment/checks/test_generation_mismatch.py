"""generation_mismatch: a generation set that lacks valid tuples, or holds others."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.entailment.checks.dataset_checks import GENERATION_MISMATCH as CHECK
from audit.entailment.dataset import NOUN, EntailmentDataset
from audit.measure.measure import Measurements
from audit.results.findings import CheckResult
from fixtures.entailed_release import measured_tuples
from fixtures.entailment_world.world import clean_world
from fixtures.examples import examples


@pytest.fixture(scope="module")
def world() -> EntailmentDataset:
    return clean_world(5)


def checked(dataset: EntailmentDataset, positives: pl.DataFrame) -> CheckResult:
    generation = replace(dataset, tuples=positives)
    return CHECK.run(measured_tuples(dataset, positives=generation))


def test_the_valid_tuples_have_no_finding(world: EntailmentDataset) -> None:
    assert checked(world, world.tuples.filter("valid").reverse()).findings == ()


@examples(10)
@given(lacking=st.integers(0, 5), more=st.integers(0, 5))
def test_what_lacks_and_what_is_too_much_is_counted(lacking: int, more: int) -> None:
    world = clean_world(5)
    valid = world.tuples.filter("valid")
    noun = valid.filter(relation=NOUN).unique(["head", "tail", "instance", "concept"])
    left_out = noun.head(lacking)
    added = noun.tail(more).with_columns(concept=pl.col("concept") + " of old")
    found = checked(world, pl.concat([valid.join(left_out, on="id", how="anti"), added]))

    if not lacking and not more:
        assert found.findings == ()
        return
    (finding,) = found.findings
    assert finding.nodes == (NOUN,)
    assert (finding.evidence["lacking"].value, finding.evidence["more"].value) == (lacking, more)


def test_tuples_that_the_set_itself_calls_invalid_are_too_many(world: EntailmentDataset) -> None:
    (finding,) = (one for one in checked(world, world.tuples).findings if one.key == (NOUN,))
    assert finding.evidence["lacking"].value == 0
    invalid = world.tuples.filter(~pl.col("valid"), relation=NOUN)
    different = invalid.select("head", "tail", "instance", "concept").unique()
    assert finding.evidence["more"].value == len(different)


def test_cases_are_the_tuples_that_lack(world: EntailmentDataset) -> None:
    valid = world.tuples.filter("valid")
    lacking = valid.filter(relation=NOUN)["id"][0]
    generation = replace(world, tuples=valid.filter(pl.col("id") != lacking))
    measured: Measurements = measured_tuples(world, positives=generation)
    (finding,) = CHECK.run(measured).findings
    assert CHECK.cases is not None
    ids = measured.loaded.dataset.instances["instance"]
    assert ids[CHECK.cases(measured, finding)].to_list() == [lacking]


def test_without_a_generation_set_it_does_not_apply(world: EntailmentDataset) -> None:
    assert CHECK.run(measured_tuples(world)).status == "not_applicable"
