"""Tuples and valid tuples by relation and split, and references per instance."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.dataset import (
    EVENT,
    NOUN,
    RELATIONS,
    VERB,
    EntailmentDataset,
    totals,
)
from audit.analyses.entailment.dataset_counts import generation_set, references
from audit.analyses.entailment.declared import ALL
from audit.engine.statistics.intervals import wilson
from fixtures.abspyramid_paper import TABLE_1, TABLE_3
from fixtures.entailed_release import stated
from fixtures.entailment_world.world import clean_world

ROW = st.tuples(
    st.sampled_from(["h", "g"]), st.sampled_from(RELATIONS), st.sampled_from("ij"),
    st.sampled_from("cd"), st.booleans(), st.sampled_from(["train", "test", "fold 1", None]),
)  # fmt: skip


def dataset_of(rows: list[tuple[str, str, str, str, bool, str | None]]) -> EntailmentDataset:
    made = stated(row[:5] for row in rows)
    splits = pl.Series("split", [row[5] for row in rows], dtype=pl.String)
    return replace(made, tuples=made.tuples.with_columns(splits))


@given(st.lists(ROW, min_size=1))
def test_rows_of_both_tables_are_counted_one_by_one(
    rows: list[tuple[str, str, str, str, bool, str | None]],
) -> None:
    counts, valid, keys = defaultdict(int), defaultdict(int), defaultdict(set)
    for head, relation, instance, _, is_valid, split in rows:
        for place in [(a, b) for a in (relation, ALL) for b in (split, ALL) if b]:
            counts[place] += 1
            valid[place] += is_valid
            keys[place].add((relation, head, instance, is_valid))
    dataset = dataset_of(rows)

    table_1, table_3 = totals(dataset), references(dataset)

    for table in (table_1, table_3):
        assert set(table.select("relation", "split").rows()) == set(counts)
    for row in table_1.iter_rows(named=True):
        place = (row["relation"], row["split"])
        assert (row["tuples"], row["valid"]) == (counts[place], valid[place])
        assert row["share"] == valid[place] / counts[place]
        assert (row["low"], row["high"]) == pytest.approx(wilson(row["valid"], row["tuples"]))
    for row in table_3.iter_rows(named=True):
        place = (row["relation"], row["split"])
        with_valid = {
            key for *key, is_valid in map(list, keys[place]) if is_valid for key in [tuple(key)]
        }
        assert row["instances"] == len(with_valid)
        assert row["identified"] == len({key[:3] for key in keys[place]})
        expected = valid[place] / len(with_valid) if with_valid else None
        assert row["references"] == expected


@given(st.lists(ROW.filter(lambda row: row[5] is not None), min_size=1))
def test_rows_and_columns_add_up(
    rows: list[tuple[str, str, str, str, bool, str | None]],
) -> None:
    table = totals(dataset_of(rows))
    for column in ("tuples", "valid"):
        everything = table.filter(relation=ALL, split=ALL)[column].item()
        for of in (
            table.filter(pl.col("relation") != ALL, pl.col("split") == ALL),
            table.filter(pl.col("relation") == ALL, pl.col("split") != ALL),
            table.filter(pl.col("relation") != ALL, pl.col("split") != ALL),
        ):
            assert of[column].sum() == everything


def test_rows_stand_in_report_order() -> None:
    table = totals(
        dataset_of(
            [("h", r, "i", "c", True, s) for r in (EVENT, NOUN) for s in ("x", "test", "train")]
        )
    )
    assert table.select("relation", "split").rows()[:8] == [
        (NOUN, "train"), (NOUN, "test"), (NOUN, "x"), (NOUN, ALL),
        (EVENT, "train"), (EVENT, "test"), (EVENT, "x"), (EVENT, ALL),
    ]  # fmt: skip


def test_tables_1_and_3_of_the_paper_add_up_and_share_their_totals() -> None:
    of_relations = ("Noun", "Verb", "Event")
    for table in (TABLE_1, TABLE_3):
        for column in ("total", "train", "valid", "test"):
            parts = sum(getattr(table[name], column) for name in of_relations)
            assert parts == getattr(table["All"], column)
        for row in table.values():
            assert row.train + row.valid + row.test == row.total
    for name, row in TABLE_1.items():
        assert round(100 * TABLE_3[name].total / row.total, 2) == row.positive


def test_references_of_the_paper_follow_from_their_parts() -> None:
    instances = sum(
        TABLE_3[name].total / TABLE_3[name].references for name in ("Noun", "Verb", "Event")
    )
    assert round(TABLE_3["All"].total / instances, 2) == 4.32


def test_the_generation_set_is_the_valid_tuples() -> None:
    world = clean_world(5)
    positives = replace(world, tuples=world.tuples.filter("valid"))

    table = generation_set(world, positives)

    counts = world.tuples.filter("valid")["relation"].value_counts()
    expected = dict(counts.iter_rows())
    for row in table.iter_rows(named=True):
        n = expected.get(row["relation"], sum(expected.values()))
        assert row == {
            "relation": row["relation"], "valid": n, "generation": n, "both": n,
            "only_detection": 0, "only_generation": 0, "not_valid": 0,
        }  # fmt: skip
    assert table["relation"].to_list() == [NOUN, VERB, EVENT, ALL]


def test_tuples_that_one_set_alone_has_are_counted() -> None:
    detection = stated([("h", NOUN, "h", c, c != "x") for c in "abcx"])
    generation = stated([("h", NOUN, "h", c, c != "e") for c in "bcde"])

    (row,) = generation_set(detection, generation).filter(relation=NOUN).to_dicts()

    assert row == {
        "relation": NOUN, "valid": 3, "generation": 3, "both": 2,
        "only_detection": 1, "only_generation": 1, "not_valid": 1,
    }  # fmt: skip


def test_without_a_generation_set_there_is_no_comparison() -> None:
    assert generation_set(clean_world(3), None).is_empty()
