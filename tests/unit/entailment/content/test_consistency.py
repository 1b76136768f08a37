"""Elements of tuples that do not fit each other, and what would make them fit."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.consistency import FAULTS, consistency
from audit.analyses.entailment.dataset import EVENT, NOUN, VERB, EntailmentDataset
from fixtures.entailed_release import stated
from fixtures.entailment_world.world import clean_world


def with_tail(
    head: str, relation: str, instance: str, concept: str, tail: str
) -> EntailmentDataset:
    made = stated([(head, relation, instance, concept, True)])
    return replace(made, tuples=made.tuples.with_columns(tail=pl.lit(tail)))


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
    table, rows = consistency(with_tail(head, NOUN, instance, concept, tail))
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
    table, rows = consistency(with_tail(head, relation, instance, concept, tail))

    (row,) = rows.to_dicts()
    assert (row["fault"], row["proposed"], row["id"], row["row"]) == (fault, proposed, "t0", 1)
    assert table.filter(pl.col("faulty") > 0)["fault"].to_list() == [fault]


WORDS = st.lists(st.sampled_from(["a", "an", "dog", "do", "g", "owl"]), min_size=1, max_size=5)


@given(head=WORDS, instance=WORDS, concept=WORDS, tail=WORDS)
def test_a_tail_fits_if_and_only_if_a_mention_is_replaced(
    head: list[str], instance: list[str], concept: list[str], tail: list[str]
) -> None:
    texts = tuple(" ".join(words) for words in (head, instance, concept, tail))
    _, rows = consistency(with_tail(texts[0], NOUN, *texts[1:]))

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
    _, rows = consistency(with_tail(texts[0], NOUN, *texts[1:], "something else"))
    for row in rows.drop_nulls("proposed").iter_rows(named=True):
        assert consistency(with_tail(texts[0], NOUN, *texts[1:], row["proposed"]))[1].is_empty()


def test_each_relation_has_the_faults_that_it_can_have() -> None:
    table, rows = consistency(clean_world(5))

    assert rows.is_empty()
    assert table.filter(relation=EVENT)["fault"].to_list() == list(FAULTS[:2])
    assert table.filter(relation=NOUN)["fault"].to_list() == list(FAULTS[2:])
    assert table["faulty"].to_list() == [0] * 8
