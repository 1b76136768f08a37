"""Generation: references, bootstrap, ledger and coverage on small data and a made-up world."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from audit.analyses.entailment.dataset import EVENT, NOUN, VERB
from audit.analyses.entailment.generation import measure_generation
from audit.analyses.entailment.generations import GENERATIONS, read_generations
from audit.base.errors import InputError, SchemaError
from audit.data.records import Records
from fixtures.entailment_world.world import clean_world

WORDNET = Path("/usr/share/wordnet")


@cache
def world():
    return clean_world(11)


def instances(split="test"):
    test = world().tuples.filter("valid", split=split)
    keys = ["head", "relation", "instance"]
    return test.group_by(keys, maintain_order=True).agg("concept", pl.col("id").first())


def texts(made, model="m"):
    """Generations of every instance of the test set, by their ids."""
    rows = instances().select("id", text=made)
    return generations(rows.with_columns(model=pl.lit(model)))


def generations(frame):
    missing = [name for name in GENERATIONS if name not in frame.columns]
    whole = frame.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)
    return Records(whole.select(*GENERATIONS).cast(GENERATIONS))


def values(measured, **about):
    return dict(
        measured["generation_measured"].filter(**about).select("measure", "value").iter_rows()
    )


def test_the_first_reference_as_the_answer_is_an_exact_match():
    found = measure_generation(world(), texts(pl.col("concept").list.first()))[0]
    for relation in (NOUN, VERB, EVENT, "All"):
        own = values(found, relation=relation)
        assert own["exact_match"] == own["rouge_l_f1"] == own["bleu_1_precision"] == 1
    sizes = (
        found["generation_measured"]
        .filter(relation="All", measure="exact_match")
        .row(0, named=True)
    )
    assert sizes["n"] == instances().height
    assert sizes["references"] == pytest.approx(instances()["concept"].list.len().mean())
    assert (sizes["low"], sizes["high"]) == (1, 1)


def test_a_concept_that_is_stated_twice_is_one_reference():
    twice = world().tuples.with_columns(id=pl.lit("again ") + pl.col("id"))
    doubled = replace(world(), tuples=pl.concat([world().tuples, twice]))
    first, second = (
        measure_generation(data, texts(pl.lit("an animal")))[0]["generation_measured"]
        for data in (world(), doubled)
    )
    assert first.equals(second)


def test_case_and_blanks_do_not_matter_to_an_exact_match():
    spaced = pl.col("concept").list.first().str.to_uppercase().str.replace(" ", "  ")
    assert values(measure_generation(world(), texts(spaced))[0], relation="All")["exact_match"] == 1


def test_intervals_hold_their_values():
    half = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("concept").list.first())
    found = measure_generation(world(), texts(half.otherwise(pl.lit("nonsense word"))))[0][
        "generation_measured"
    ]
    assert ((found["low"] <= found["value"]) & (found["value"] <= found["high"])).all()
    line = found.filter(relation="All", measure="exact_match").row(0, named=True)
    assert line["value"] == -(-line["n"] // 2) / line["n"]
    assert line["low"] < line["value"] < line["high"]


def test_a_blank_text_is_counted_and_scores_nothing():
    blank = pl.when(pl.int_range(pl.len()) >= 10).then(pl.col("concept").list.first())
    found = measure_generation(world(), texts(blank.otherwise(pl.lit(""))))[0]
    line = found["generation_coverage"].filter(relation="All").row(0, named=True)
    n = instances().height
    assert (line["instances"], line["generated"], line["blank"], line["missing"]) == (n, n, 10, 0)
    assert values(found, relation="All")["exact_match"] == pytest.approx((n - 10) / n)
    assert values(found, relation="All")["bleu_1_precision"] == 1


def test_every_row_is_accounted_for():
    elsewhere = instances("train").head(4).select("id", text=pl.lit("x"))
    unknown = pl.DataFrame({"id": ["no such id", "nor this"], "text": ["x", "x"]})
    lone = instances().filter(pl.col("concept").list.len() == 1).head(1)
    denied = pl.col("id").is_in(lone["id"].implode())
    tuples = world().tuples.with_columns(valid=pl.col("valid") & ~denied)
    used = instances().select("id", text=pl.lit("thing"))
    given = pl.concat([used, used.tail(3), elsewhere, unknown]).with_columns(model=pl.lit("m"))
    read = replace(generations(given), ledger={"missing_key": 1})
    ledger = measure_generation(replace(world(), tuples=tuples), read)[1]["generations"]
    assert ledger == {
        "rows_read": given.height + 1,
        "used": used.height - lone.height,
        "unknown": 2,
        "repeated": 3,
        "other_split": 4,
        "without_reference": lone.height,
        "missing_key": 1,
    }
    assert sum(ledger.values()) == 2 * ledger["rows_read"]


def test_two_texts_of_one_model_for_one_instance_are_refused():
    both = pl.concat([texts(pl.lit(text)).frame for text in ("a", "b")])
    with pytest.raises(InputError, match="one answer to each question"):
        measure_generation(world(), Records(both))[0]
    apart = pl.concat([texts(pl.lit(text), model=text).frame for text in ("a", "b")])
    found = measure_generation(world(), Records(apart))[0]
    assert found["generation_coverage"]["model"].unique().sort().to_list() == ["a", "b"]


def test_order_of_rows_changes_nothing():
    given = texts(pl.col("concept").list.last())
    mixed = replace(given, frame=given.frame.sample(fraction=1, shuffle=True, seed=1))
    first, second = (measure_generation(world(), one)[0] for one in (given, mixed))
    assert first["generation_measured"].equals(second["generation_measured"])
    assert first["generation_coverage"].equals(second["generation_coverage"])


def test_generations_are_read_by_id_or_by_what_they_are_for(tmp_path):
    one = instances().filter(relation=EVENT).row(0, named=True)
    rows = [
        {"id": one["id"], "text": f"\n  {one['concept'][0]}  \nand an explanation"},
        {"head": one["head"], "relation": "event", "text": f" {one['concept'][0]}\r\nmore"},
        {"head": one["head"], "relation": "adverb", "text": "x"},
        {"text": "x"},
        {"id": one["id"], "model": "empty", "text": " \n "},
    ]
    path = tmp_path / "gpt.test.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    read = read_generations([path])
    assert read.ledger == {"missing_key": 1, "unknown_relation": 1}
    assert read.frame["text"].to_list() == [one["concept"][0]] * 2 + [""]
    assert read.frame["model"].to_list() == ["gpt", "gpt", "empty"]
    frames, ledgers = measure_generation(world(), read)
    assert ledgers["generations"]["repeated"] == 1
    assert values(frames, model="gpt")["exact_match"] == 1
    assert values(frames, model="empty")["exact_match"] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\n1\n", "'text'"),
        ("text\nx\n", "the id of a tuple"),
        ("id,text\n,x\n", "1 missing_key"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, text, message):
    path = tmp_path / "g.csv"
    path.write_text(text)
    with pytest.raises((InputError, SchemaError), match=message):
        read_generations([path])


def test_meteor_needs_a_folder_with_all_parts_of_speech(tmp_path):
    with pytest.raises(InputError, match="all parts of speech"):
        measure_generation(world(), texts(pl.lit("x")), meteor=tmp_path)[0]


@pytest.mark.slow
@pytest.mark.skipif(not (WORDNET / "data.verb").is_file(), reason="needs WordNet")
def test_meteor_counts_synonyms_and_halves_an_equal_word():
    from audit.analyses.entailment.text_measures import meteor_by

    meteor = meteor_by(WORDNET)
    assert meteor("dog", ["dog"]) == pytest.approx(0.5)
    assert meteor("a car", ["an auto"]) > meteor("a car", ["an oak"]) == 0
    assert meteor("a car", ["an automobile"]) == 0  # its stem is no word
    assert meteor("running", ["cat", "run"]) == pytest.approx(0.5)
    assert meteor("", ["dog"]) == 0
