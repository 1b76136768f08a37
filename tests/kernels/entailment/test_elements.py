"""Elements that do not fit each other, and keys in two splits, by plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.dataset import EVENT, NOUN, VERB
from audit.analyses.entailment.elements import mismatched, misplaced, shared_keys
from fixtures.entailed import stated


def misfits(relation: str, head: str, instance: str, concept: str, tail: str) -> pl.DataFrame:
    tuples = stated([(head, relation, instance, concept, True)])
    return mismatched(tuples.with_columns(tail=pl.lit(tail))).select("fault", "proposed")


TAILS = [
    (NOUN, "a dog barks", "dog", "animal", "an animal barks", None, None),
    (NOUN, "A Dog  barks", "dog", "pet", "a pet barks", None, None),
    (
        NOUN,
        "the cattle and the cat sleep",
        "cat",
        "pet",
        "the cattle and the pet sleep",
        None,
        None,
    ),
    (NOUN, "a c+ (x barks", "c+ (x", "pet", "a pet barks", None, None),
    (NOUN, "dogs bark", "dog", "pet", "pets bark", None, None),
    (NOUN, "a dog barks", "dog", "pet", "a pet sings", "tail_differs", "a pet barks"),
    (NOUN, "a Dog barks", "dog", "pet", "a Dog barks", "tail_repeats_head", "a pet barks"),
    (NOUN, "a dog barks", "cow", "pet", "a dog barks", "head_lacks_instance", None),
    (NOUN, "cattle and a cat", "cat", "pet", "x", "tail_differs", "cattle and a pet"),
    (NOUN, "a cat barks", "c.t", "pet", "a pet barks", "head_lacks_instance", None),
    (VERB, "he takes it", "take", "moves", "he moves it", "head_lacks_instance", None),
    (NOUN, "A cow lows", "cow", "animal", "A cow lows", "tail_repeats_head", "An animal lows"),
    (NOUN, "tuna cow", "cow", "animal", "x", "tail_differs", "tuna animal"),
    (NOUN, "a dog barks", "dog", r"\1", "x", "tail_differs", r"a \1 barks"),
    (EVENT, "a dog barks", "a dog", "noise", "noise", "instance_not_head", "a dog barks"),
    (EVENT, "a dog barks", "a dog barks", "noise", "noises", "tail_not_concept", "noise"),
]
"""Relation, head, instance, concept, tail; the fault, if there is one, and what would fit."""


@pytest.mark.parametrize("row", TAILS)
def test_a_tail_fits_or_is_told_with_what_would_fit(row: tuple[str, ...]) -> None:
    *elements, fault, proposed = row
    assert misfits(*elements).rows() == ([] if fault is None else [(fault, proposed)])


WORDS = st.lists(st.sampled_from(["a", "an", "dog", "do", "g", "owl"]), min_size=1, max_size=5)
TEXTS = WORDS.map(" ".join)


@given(head=TEXTS, instance=TEXTS, concept=TEXTS, tail=TEXTS)
def test_a_tail_fits_if_and_only_if_a_mention_is_replaced(
    head: str, instance: str, concept: str, tail: str
) -> None:
    def plain(text: str) -> list[str]:
        return ["a" if word == "an" else word for word in text.split(" ")]

    starts = [at for at in range(len(head)) if head.startswith(instance, at)]
    fitting = [head[:at] + concept + head[at + len(instance) :] for at in starts]
    fitting.append(head.replace(instance, concept))
    fits = bool(starts) and plain(tail) in map(plain, fitting)
    found = misfits(NOUN, head, instance, concept, tail)
    overlapping = len(starts) != head.count(instance)
    assert overlapping or found.is_empty() == fits
    for proposed in found["proposed"].drop_nulls():
        assert misfits(NOUN, head, instance, concept, proposed).is_empty()


SPLITS = ("train", "valid", "test", "extra")
KEYS = (st.sampled_from("gh"), st.sampled_from("ij"), st.sampled_from([*SPLITS, None]))


@given(st.lists(st.tuples(*KEYS), max_size=16))
def test_shared_keys_are_those_that_both_splits_hold(rows: list[tuple[str, str, str]]) -> None:
    tuples = stated((f"{h.upper()}  {h}", NOUN, i, "c", True) for h, i, _ in rows)
    tuples = tuples.with_columns(split=pl.Series([row[2] for row in rows], dtype=pl.String))
    table, astray = shared_keys(tuples), misplaced(tuples)

    held, splits = defaultdict(set), defaultdict(Counter)
    for *key, split in rows:
        if split is not None:
            held[split].add((*key,))
            splits[(*key,)][split] += 1
    assert table.select("split", "other", "keys", "shared").rows() == [
        (a, b, len(held[b]), len(held[a] & held[b]))
        for a, b in combinations([split for split in SPLITS if split in held], 2)
    ]
    assert astray.select("id", "home").rows() == [
        (f"t{n}", max(found, key=lambda one: (found[one], -SPLITS.index(one))))
        for n, (*key, split) in enumerate(rows)
        if split is not None and len(found := splits[(*key,)]) > 1
    ]
