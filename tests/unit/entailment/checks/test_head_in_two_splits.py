"""head_in_two_splits: heads that stand with one instance in two splits."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal

from audit.entailment.checks.dataset_checks import HEAD_IN_TWO_SPLITS as CHECK
from fixtures.entailed_release import measured_tuples
from fixtures.entailment_world.faults import head_in_two_splits
from fixtures.entailment_world.world import clean_world, dataset_of

CLEAN = clean_world(7)


def test_pairs_of_splits_are_told_with_heads_and_all_their_tuples() -> None:
    planted = head_in_two_splits(CLEAN, keys=3)
    measured = measured_tuples(planted.dataset)
    result = CHECK.run(measured)
    (finding,) = result.findings

    assert (result.denominator, finding.severity) == (3, "error")
    assert finding.key == ("train", "test")
    assert finding.evidence["keys"].value == 3
    in_test = planted.dataset.tuples.filter(split="test").select("head", "instance").n_unique()
    assert finding.evidence["of"].value == in_test
    assert finding.evidence["astray"].value == 3
    ids = measured.loaded.dataset.instances["instance"]
    assert CHECK.cases is not None
    keys = planted.dataset.tuples.filter(pl.col("id").is_in(sorted(planted.ids)))
    expected = planted.dataset.tuples.join(keys, on=["head", "instance"], how="semi")
    assert set(ids.gather(CHECK.cases(measured, finding))) == set(expected["id"])
    assert "PersonX feeds the dog" in finding.statement


def test_the_same_head_with_another_instance_is_no_fault() -> None:
    heads = CLEAN.tuples.select("head", "split").unique()
    assert heads["head"].is_duplicated().any()
    assert CHECK.run(measured_tuples(CLEAN)).status == "pass"


def test_without_two_splits_it_does_not_apply() -> None:
    tuples = CLEAN.tuples.with_columns(split=pl.lit(None, pl.String))
    result = CHECK.run(measured_tuples(dataset_of(tuples, CLEAN.votes)))
    assert result.not_applicable == "there are no two splits"


def test_the_order_of_rows_does_not_matter() -> None:
    dataset = head_in_two_splits(CLEAN).dataset
    turned = dataset_of(dataset.tuples.reverse(), dataset.votes)
    one, other = (CHECK.run(measured_tuples(each)).findings[0] for each in (dataset, turned))
    assert (one.id, one.evidence) == (other.id, other.evidence)
    assert_frame_equal(dataset.tuples.sort("id"), turned.tuples.sort("id"))
