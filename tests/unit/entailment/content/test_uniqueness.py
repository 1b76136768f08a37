"""BLEU soft uniqueness, against BLEU counted concept by concept."""

from __future__ import annotations

import math
import re
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.dataset import EVENT, NOUN, VERB
from audit.analyses.entailment.dataset_counts import THRESHOLD, bleu_1, diversity
from audit.analyses.entailment.declared import ALL
from fixtures.abspyramid_paper import TABLE_1, TABLE_2
from fixtures.entailed_release import stated

TEXTS = st.lists(st.sampled_from(["a", "b", "A", "é", "c-d", "!"]), min_size=1, max_size=4).map(
    " ".join
)
ROWS = st.lists(st.tuples(st.integers(0, 2), TEXTS), max_size=14)


def by_hand(concept: str, others: set[str]) -> tuple[float, float]:
    """Precision and BLEU-1 of a concept against the others."""
    words = re.findall(r"\w+", concept.lower())
    references = [re.findall(r"\w+", other.lower()) for other in others]
    if not words or not references:
        return 0.0, 0.0
    matched = sum(
        min(n, max(Counter(reference)[word] for reference in references))
        for word, n in Counter(words).items()
    )
    closest = min((abs(len(r) - len(words)), len(r)) for r in references)[1]
    penalty = 1.0 if len(words) >= closest else math.exp(1 - closest / len(words))
    return matched / len(words), matched / len(words) * penalty


@given(ROWS)
def test_every_concept_is_held_against_the_others_of_its_group(
    rows: list[tuple[int, str]],
) -> None:
    groups = pl.Series([group for group, _ in rows], dtype=pl.Int64)
    found = bleu_1(groups, pl.Series([text for _, text in rows], dtype=pl.String))

    for (group, text), (precision, bleu) in zip(rows, found.iter_rows(), strict=True):
        others = {other for one, other in rows if one == group} - {text}
        assert (precision, bleu) == pytest.approx(by_hand(text, others))


def test_bleu_is_that_of_nltk() -> None:
    nltk_bleu = pytest.importorskip("nltk.translate.bleu_score")
    concepts = ["wild animal", "big wild animal", "animal", "the big big dog", "dog dog dog", "cat"]
    found = bleu_1(pl.Series([0] * len(concepts)), pl.Series(concepts))["bleu"]
    for place, concept in enumerate(concepts):
        references = [one.split() for one in concepts if one != concept]
        with_warnings = nltk_bleu.sentence_bleu(references, concept.split(), weights=(1,))
        assert found[place] == pytest.approx(with_warnings, abs=1e-12)


def test_animals_of_one_another() -> None:
    concepts = pl.Series(["animal", "wild animal", "big wild animal"])
    found = bleu_1(pl.Series([0, 0, 0]), concepts)

    assert found["bleu"].round(5).to_list() == [0.36788, 1.0, 0.66667]
    assert (found["bleu"] <= THRESHOLD).sum() == 1
    assert (found["precision"] <= THRESHOLD).sum() == 0


def test_a_concept_alone_is_unique() -> None:
    assert bleu_1(pl.Series([0, 1]), pl.Series(["cat", "cat"]))["bleu"].to_list() == [0.0, 0.0]


def test_tuples_and_edges_have_shares_of_their_own() -> None:
    heads = ["PersonX pets a dog", "the persona feeds a dog"]
    first = [(heads[0], NOUN, "dog", concept, True) for concept in ("animal", "pet", "wild dog")]
    second = [(heads[1], NOUN, "dog", concept, False) for concept in ("animal", "wild animal")]
    table = diversity(stated([*first, *second, (heads[0], EVENT, heads[0], "petting", True)]))
    noun, event, everything = table.to_dicts()

    assert [row["relation"] for row in (noun, event, everything)] == [NOUN, EVENT, ALL]
    assert (noun["tuples"], noun["edges"]) == (5, 4)
    assert noun["unique"] == 5 / 5  # animal: exp(-1); wild animal: one of two words
    assert noun["unique_without_penalty"] == 4 / 5
    assert noun["unique_edges"] == 2 / 4  # animal has the length of pet; wild animal both words
    assert noun["unique_edges_without_penalty"] == 2 / 4
    assert (event["unique"], everything["unique"]) == (1.0, 1.0)
    assert everything["unique_edges"] == 3 / 5
    assert (noun["heads"], noun["social_heads"], noun["social"]) == (2, 1, 0.5)
    assert noun["vocabulary"] == len({*" ".join(heads).lower().split(), "animal", "pet", "wild"})
    assert event["vocabulary"] == 5


@pytest.mark.parametrize(
    ("head", "social"),
    [
        ("The doctors, prescribe, aspirin", True),
        ("aspirin, is given to, the patients of a ward", True),
        ("personx feeds the dog", True),
        ("patient charts, list, medicines", False),
        ("the ward of doctors, is in, town", False),
        ("the doctor feeds the dog", False),
        ("Obama, was born in, Hawaii", False),
        ("red, white", False),
    ],
)
def test_a_social_head_has_a_variable_or_an_argument_that_is_a_person(
    head: str, social: bool
) -> None:
    assert diversity(stated([(head, NOUN, "a", "b", True)]))["social"][0] == social


def test_relations_are_groups_apart() -> None:
    rows = [("h", relation, "h", "same thing", True) for relation in (NOUN, VERB)]
    assert diversity(stated(rows))["unique"].to_list() == [1.0, 1.0, 1.0]


def test_table_2_of_the_paper_is_not_weighted_by_tuples() -> None:
    """What is printed for all relations is no mean over the tuples of each."""
    relations = ("Noun", "Verb", "Event")
    total = sum(TABLE_1[name].total for name in relations)
    for column, weighted in (("unique", 88.46), ("social", 29.91)):
        values = [getattr(TABLE_2[name], column) for name in relations]
        mean = sum(TABLE_1[n].total * v for n, v in zip(relations, values, strict=True)) / total
        assert round(mean, 2) == weighted != getattr(TABLE_2["All"], column)
