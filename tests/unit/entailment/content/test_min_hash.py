"""Similar texts by MinHash, against the comparison of all pairs."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.entailment.dataset import NOUN
from audit.entailment.near_duplicates import (
    ROWS,
    SHINGLE,
    _signatures,
    miss_rate,
    near_duplicates,
    shingles_of,
    similar_pairs,
)
from fixtures.entailed_release import stated
from fixtures.entailment_world.world import clean_world


def shingles(text: str) -> set[str]:
    padded = text.ljust(SHINGLE)
    return {padded[at : at + SHINGLE] for at in range(len(padded) - SHINGLE + 1)}


def jaccard(a: str, b: str) -> float:
    return len(shingles(a) & shingles(b)) / len(shingles(a) | shingles(b))


TEXTS = st.lists(st.text(st.sampled_from("aé b"), min_size=1, max_size=14), max_size=8)


@given(TEXTS)
def test_shingles_are_runs_of_characters(texts: list[str]) -> None:
    made = shingles_of(texts)

    assert len(made) == len(texts)
    for a, b in combinations(range(len(texts)), 2):
        ours, theirs = made.of(a), made.of(b)
        assert len(ours) == len(shingles(texts[a]))
        assert len(ours & theirs) == len(shingles(texts[a]) & shingles(texts[b]))


@given(TEXTS, st.sampled_from([0.3, 0.8, 1.0]))
def test_no_pair_is_wrong(texts: list[str], least: float) -> None:
    pairs, similarity = similar_pairs(shingles_of(texts), least)

    for (a, b), found in zip(pairs.tolist(), similarity, strict=True):
        assert a < b
        assert found == pytest.approx(jaccard(texts[a], texts[b]))
        assert found >= least
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)


@given(TEXTS)
def test_equal_sets_are_always_met(texts: list[str]) -> None:
    pairs, _ = similar_pairs(shingles_of(texts), 1.0)
    same = {
        (a, b) for a, b in combinations(range(len(texts)), 2)
        if shingles(texts[a]) == shingles(texts[b])
    }  # fmt: skip
    assert {tuple(pair) for pair in pairs.tolist()} == same


def variants(number: int, draw: random.Random) -> list[str]:
    """Pairs of neighbours, each a text and a copy with two letters changed."""
    made = []
    for _ in range(number):
        text = "".join(draw.choice("abcdefghijklmnopqrstuvwxyz ") for _ in range(80))
        other = list(text)
        for _ in range(2):
            other[draw.randrange(80)] = draw.choice("0123456789")
        made += [text, "".join(other)]
    return made


def test_similar_pairs_are_missed_as_seldom_as_the_closed_form_says() -> None:
    """At a low number of bands misses are frequent enough to be counted."""
    texts = variants(1_500, random.Random(3))
    exact = [jaccard(*texts[at : at + 2]) for at in range(0, len(texts), 2)]
    bands = _signatures(shingles_of(texts))
    met = (bands[::2] == bands[1::2]).mean(axis=1)

    expected = np.array(exact) ** ROWS
    assert abs(met.mean() - expected.mean()) < 5 * met.std() / np.sqrt(len(met))
    found = {tuple(pair) for pair in similar_pairs(shingles_of(texts), 0.75)[0].tolist()}
    wanted = {(2 * n, 2 * n + 1) for n, one in enumerate(exact) if one >= 0.75}
    missed = sum(miss_rate(one) for one in exact if one >= 0.75)
    assert found <= wanted
    assert len(wanted - found) <= missed + 5 * max(missed, 1) ** 0.5
    assert len(wanted) > 500


def test_the_rate_of_misses_is_that_of_the_bands() -> None:
    assert miss_rate(1.0) == 0.0
    assert miss_rate(0.8) == pytest.approx((1 - 0.8**4) ** 16)


HEADS = [
    ("train", "PersonX walks the dog along the river every evening", "dog"),
    ("test", "Personx walks the dog, along the river every evening!", "dog"),
    ("valid", "PersonX walks the dog along the river every evenings", "evenings"),
    ("test", "a child sells bread at the market", "bread"),
    ("train", "a child sells bread at the market", "child"),
]


def test_near_heads_of_two_splits_are_told_with_the_most_similar_one() -> None:
    made = stated((head, NOUN, instance, "thing", True) for _, head, instance in HEADS)
    splits = pl.Series("split", [split for split, _, _ in HEADS])
    table, heads = near_duplicates(
        type(made)(made.tuples.with_columns(splits), made.votes, made.rows_read, {}, ())
    )

    assert table.select("split", "other", "heads", "near", "same_instance").rows() == [
        ("train", "valid", 1, 1, 0),
        ("train", "test", 2, 1, 1),
        ("valid", "test", 2, 1, 0),
    ]
    assert heads["similarity"].to_list() == pytest.approx([45 / 46, 1.0, 45 / 46], abs=0.02)


def test_near_heads_are_those_of_all_pairs() -> None:
    world = clean_world(7)
    some = world.tuples.with_columns(
        head=pl.when(pl.col("split") == "test")
        .then(pl.col("head").str.replace("the", "this"))
        .otherwise("head")
    )
    extra = world.tuples.with_columns(
        id="x" + pl.col("id"), split=pl.lit("test"), head=pl.col("head") + " now"
    )
    both = pl.concat([some, extra])
    table, heads = near_duplicates(type(world)(both, world.votes, both.height, {}, ()))

    expected = set()
    places = both.select("head", "split").unique()
    by_split = {name: set(of["head"]) for (name,), of in places.group_by("split")}
    for row in table.iter_rows(named=True):
        for head in by_split[row["other"]]:
            near = by_split[row["split"]] - {head}
            if any(jaccard(head.lower(), one.lower()) >= 0.8 for one in near):
                expected.add((row["split"], row["other"], head))
    assert set(heads.select("split", "other", "head").rows()) == expected
    assert expected


def test_without_two_splits_nothing_is_compared() -> None:
    table, heads = near_duplicates(stated([("h", NOUN, "h", "c", True)]))
    assert table.is_empty()
    assert heads.is_empty()
