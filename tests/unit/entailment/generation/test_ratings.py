"""Ratings of texts: published means, shares, agreement, and what is counted."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

from audit.analyses.entailment.dataset import EVENT, NOUN, VERB
from audit.analyses.entailment.generations import rating_tables, read_ratings
from audit.base.errors import InputError, SchemaError
from fixtures.abspyramid_paper import TABLE_18
from fixtures.entailment_world.world import clean_world

NAMES = {"Noun": NOUN, "Verb": VERB, "Event": EVENT}


@cache
def tuples():
    return clean_world(11).tuples


def fifty(relation, model, share, rater="expert"):
    ids = tuples().filter(relation=relation)["id"].head(50)
    valid = [int(place < round(share / 2)) for place in range(50)]
    return pl.DataFrame({"id": ids, "rating": valid, "model": model, "rater": rater})


def read(tmp_path, frame):
    path = tmp_path / "ratings.csv"
    frame.write_csv(path)
    return read_ratings([path])


def test_the_published_human_evaluation_is_that_of_fifty_texts_a_relation(tmp_path):
    frame = pl.concat(
        fifty(NAMES[name], model, row[name]) for model, row in TABLE_18.items() for name in NAMES
    )
    shares, agreement, ledger = rating_tables(read(tmp_path, frame), tuples())
    found = {
        (model, relation): share
        for model, relation, share in shares.filter(level="valid")
        .select("model", "relation", "share")
        .iter_rows()
    }
    for model, row in TABLE_18.items():
        for name in (*NAMES, "All"):
            share = found[model, NAMES.get(name, name)]
            assert round(100 * share, 2) == row[name]
    assert agreement.is_empty()
    assert ledger == {"rows_read": 300, "used": 300, "unknown_id": 0}
    assert ((shares["low"] <= shares["share"]) & (shares["share"] <= shares["high"])).all()


def test_raters_who_agree_have_an_alpha_of_1_and_those_who_toss_coins_about_0(tmp_path):
    alike = [fifty(NOUN, "alike", 40, rater=rater) for rater in "abc"]
    apart = [
        fifty(NOUN, "apart", 50, rater=rater).with_columns(
            pl.col("rating").sample(fraction=1, shuffle=True, seed=seed)
        )
        for seed, rater in enumerate("abc")
    ]
    shares, agreement, _ = rating_tables(read(tmp_path, pl.concat([*alike, *apart])), tuples())
    alpha = dict(agreement.filter(measure="alpha").select("model", "value").iter_rows())
    assert alpha["alike"] == 1
    assert abs(alpha["apart"]) < 0.2
    line = agreement.filter(model="alike", measure="fleiss").row(0, named=True)
    assert (line["items"], line["ratings"], line["raters"]) == (50, 150, 3)
    wide = shares.filter(model="alike", level="valid")["high"].item()
    narrow = shares.filter(model="apart", level="valid")
    assert wide - 0.4 > (narrow["high"] - narrow["share"]).item()  # three raters are not 150 texts


def test_levels_keep_their_names(tmp_path):
    frame = fifty(NOUN, "m", 50).with_columns(
        rating=pl.when(pl.col("rating") == 1).then(pl.lit("good")).otherwise(pl.lit("poor"))
    )
    shares, _, _ = rating_tables(read(tmp_path, frame), tuples())
    assert dict(shares.select("level", "share").iter_rows()) == {"good": 0.5, "poor": 0.5}


def test_what_cannot_be_used_is_counted(tmp_path):
    stray = pl.DataFrame({"id": ["none", None, "1"], "rating": ["1", "1", None]}).with_columns(
        model=pl.lit("m"), rater=pl.lit("expert")
    )
    own = fifty(NOUN, "m", 50).cast(pl.String)
    _, _, ledger = rating_tables(read(tmp_path, pl.concat([own, stray], how="diagonal")), tuples())
    expected = {"rows_read": 53, "used": 50, "unknown_id": 1, "missing_id": 1, "missing_rating": 1}
    assert ledger == expected


def test_without_ratings_tables_are_empty():
    shares, agreement, ledger = rating_tables(None, tuples())
    assert (shares.height, agreement.height, ledger) == (0, 0, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,rater\n1,a\n", "'rating'"),
        ("rating\n1\n", "'id'"),
        ("id,rating\n1,1\n1,0\n", "one answer to each question"),
        ("id,rating\n,1\n", "1 missing_id"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, text, message):
    path = tmp_path / "r.csv"
    path.write_text(text)
    with pytest.raises((InputError, SchemaError), match=message):
        read_ratings([path])
