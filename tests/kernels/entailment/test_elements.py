"""Elements that do not fit each other, keys in two splits, and repeats, by plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.dataset import EVENT, NOUN, VERB
from audit.analyses.entailment.quality import (
    consistency,
    mismatched,
    misplaced,
    repeats,
    shared_keys,
)
from fixtures.entailed_release import stated


def with_tail(
    head: str, relation: str, instance: str, concept: str, tail: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Faults by relation, and the tuples that have one, of a single tuple with this tail."""
    tuples = stated([(head, relation, instance, concept, True)]).tuples
    rows = mismatched(tuples.with_columns(tail=pl.lit(tail)))
    return consistency(tuples, rows), rows


FITTING = [
    ("a dog barks", "dog", "pet", "a pet barks"),
    ("a dog barks", "dog", "animal", "an animal barks"),
    ("An owl barks", "owl", "bird", "a bird barks"),
    ("A Dog  barks", "dog", "pet", "a pet barks"),
    ("the cattle and the cat sleep", "cat", "pet", "the cattle and the pet sleep"),
    ("dog eats dog", "dog", "pet", "dog eats pet"),
    ("a c+ (x barks", "c+ (x", "pet", "a pet barks"),
    ("dog eats dog", "dog", "pet", "pet eats pet"),
    ("a dog barks", "a dog barks", "noise", "noise"),
    ("dogs bark", "dog", "pet", "pets bark"),
    ("ein Hund bellt laut über", "Hund", "Tier", "ein Tier bellt laut über"),
]


@pytest.mark.parametrize(("head", "instance", "concept", "tail"), FITTING)
def test_tails_with_one_mention_or_all_replaced_fit(
    head: str, instance: str, concept: str, tail: str
) -> None:
    table, rows = with_tail(head, NOUN, instance, concept, tail)
    assert rows.is_empty()
    assert table["faulty"].sum() == 0


MISFITS = [
    (NOUN, "a dog barks", "dog", "pet", "a pet sings", "tail_differs", "a pet barks"),
    (NOUN, "a Dog barks", "dog", "pet", "a Dog barks", "tail_repeats_head", "a pet barks"),
    (NOUN, "a dog barks", "cow", "pet", "a pet barks", "head_lacks_instance", None),
    (NOUN, "a dog barks", "cow", "pet", "a dog barks", "head_lacks_instance", None),
    (NOUN, "cattle and a cat", "cat", "pet", "x", "tail_differs", "cattle and a pet"),
    (NOUN, "a cat barks", "c.t", "pet", "a pet barks", "head_lacks_instance", None),
    (NOUN, "cattle", "cat", "pet", "x", "head_lacks_instance", None),
    (VERB, "he takes it", "take", "moves", "he moves it", "head_lacks_instance", None),
    (NOUN, "he eats an apple", "apple", "fruit", "x", "tail_differs", "he eats a fruit"),
    (NOUN, "A cow lows", "cow", "animal", "A cow lows", "tail_repeats_head", "An animal lows"),
    (NOUN, "tuna cow", "cow", "animal", "x", "tail_differs", "tuna animal"),
    (NOUN, "a dog barks", "dog", r"\1", "x", "tail_differs", r"a \1 barks"),
    (EVENT, "a dog barks", "a dog", "noise", "noise", "instance_not_head", "a dog barks"),
    (EVENT, "a dog barks", "a dog barks", "noise", "noises", "tail_not_concept", "noise"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("relation", "head", "instance", "concept", "tail", "fault", "proposed"), MISFITS
)
def test_others_are_told_with_what_would_fit(
    relation: str,
    head: str,
    instance: str,
    concept: str,
    tail: str,
    fault: str,
    proposed: str | None,
) -> None:
    table, rows = with_tail(head, relation, instance, concept, tail)

    (row,) = rows.to_dicts()
    assert (row["fault"], row["proposed"], row["id"], row["row"]) == (fault, proposed, "t0", 1)
    assert table.filter(pl.col("faulty") > 0)["fault"].to_list() == [fault]


WORDS = st.lists(st.sampled_from(["a", "an", "dog", "do", "g", "owl"]), min_size=1, max_size=5)


@given(head=WORDS, instance=WORDS, concept=WORDS, tail=WORDS)
def test_a_tail_fits_if_and_only_if_a_mention_is_replaced(
    head: list[str], instance: list[str], concept: list[str], tail: list[str]
) -> None:
    texts = tuple(" ".join(words) for words in (head, instance, concept, tail))
    _, rows = with_tail(texts[0], NOUN, *texts[1:])

    def plain(text: str) -> str:
        return " ".join("a" if word == "an" else word for word in text.split(" "))

    starts = [at for at in range(len(texts[0])) if texts[0].startswith(texts[1], at)]
    fitting = [texts[0][:at] + texts[2] + texts[0][at + len(texts[1]) :] for at in starts]
    fitting.append(texts[0].replace(texts[1], texts[2]))
    fits = bool(starts) and plain(texts[3]) in map(plain, fitting)
    told = {row["fault"] for row in rows.to_dicts()}
    overlapping = len(starts) != texts[0].count(texts[1])
    assert overlapping or bool(told) != fits


@given(head=WORDS, instance=WORDS, concept=WORDS)
def test_what_is_proposed_fits(head: list[str], instance: list[str], concept: list[str]) -> None:
    texts = tuple(" ".join(words) for words in (head, instance, concept))
    _, rows = with_tail(texts[0], NOUN, *texts[1:], "something else")
    for row in rows.drop_nulls("proposed").iter_rows(named=True):
        assert with_tail(texts[0], NOUN, *texts[1:], row["proposed"])[1].is_empty()


SPLITS = ("train", "valid", "test", "extra")
ROWS = st.lists(
    st.tuples(
        st.sampled_from("gh"), st.sampled_from("ij"), st.sampled_from("cd"), st.booleans(),
        st.sampled_from([*SPLITS, None]),
    ),
    max_size=16,
)  # fmt: skip
Rows = list[tuple[str, str, str, bool, str | None]]


def with_splits(rows: Rows) -> pl.DataFrame:
    made = stated(
        (head, NOUN, instance, concept, valid) for head, instance, concept, valid, _ in rows
    )
    splits = pl.Series("split", [row[4] for row in rows], dtype=pl.String)
    return made.tuples.with_columns(splits)


@given(ROWS)
def test_shared_keys_are_those_that_both_splits_hold(rows: Rows) -> None:
    table, astray = shared_keys(with_splits(rows)), misplaced(with_splits(rows))

    keys = defaultdict(set)
    for head, instance, _, _, split in rows:
        keys[split].add((head, instance))
    there = [split for split in SPLITS if keys[split]]
    assert table.select("split", "other", "keys", "shared").rows() == [
        (a, b, len(keys[b]), len(keys[a] & keys[b])) for a, b in combinations(there, 2)
    ]
    splits = defaultdict(Counter)
    for head, instance, _, _, split in rows:
        if split is not None:
            splits[head, instance][split] += 1
    expected = [
        (f"t{n}", max(found, key=lambda one: (found[one], -SPLITS.index(one))))
        for n, (head, instance, _, _, split) in enumerate(rows)
        if split is not None and len(found := splits[head, instance]) > 1
    ]
    assert astray.select("id", "home").rows() == expected


def test_case_and_blanks_make_no_other_key_and_no_other_tuple() -> None:
    dataset = with_splits(
        [
            ("a Dog barks", "Dog", "pet", True, "train"),
            ("a dog  barks", "dog", "Pet", True, "test"),
            ("a dog barks", "bark", "sound", True, "test"),
        ]
    )
    table, astray = shared_keys(dataset), misplaced(dataset)

    assert table["shared"].to_list() == [1]
    assert astray.select("id", "instance", "home").rows() == [
        ("t0", "Dog", "train"),
        ("t1", "dog", "train"),
    ]
    assert repeats(dataset)["id"].to_list() == ["t1"]


@given(ROWS)
def test_repeats_are_all_but_the_first_of_equal_tuples(rows: Rows) -> None:
    firsts: dict[tuple[str, str, str, bool], int] = {}
    expected = []
    for n, (*elements, split) in enumerate(rows):
        first = firsts.setdefault(tuple(elements), n)  # type: ignore[arg-type]
        if first != n:
            expected.append((f"t{n}", split, f"t{first}", rows[first][4]))

    found = repeats(with_splits(rows))

    assert found.select("id", "split", "first", "first_split").rows() == expected
