"""Words, BLEU and ROUGE against nltk, sacrebleu, and values of rouge-score; unique concepts."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.entailment.dataset import EVENT, NOUN
from audit.analyses.entailment.declared import ALL
from audit.analyses.entailment.quality import diversity, with_uniqueness
from audit.analyses.entailment.text_measures import (
    bleu_counts,
    bleu_measures,
    bleu_words,
    rouge,
)
from fixtures.entailed_release import stated

VOCABULARY = "the a big dog dogs barks wild well-known PersonX's animal, cats."
PHRASES = st.lists(st.sampled_from(VOCABULARY.split(" ")), max_size=6).map(" ".join)
CASES = st.lists(
    st.tuples(PHRASES, st.lists(PHRASES.filter(bool), min_size=1, max_size=3)),
    min_size=1,
    max_size=6,
)

ROUGE_SCORE = [
    ("wild animal", ["big wild animal", "animal"], 1 / 2, 4 / 5),
    ("the dog", ["a dog", "the big dog"], 0, 4 / 5),
    ("big dog", ["the big dog barks"], 1 / 3, 2 / 3),
    ("running the organisation", ["run an organization", "organisations running"], 0, 2 / 5),
    ("surfing", ["surfing"], 0, 1),
    ("gas", ["ga"], 0, 0),
    ("", ["dog"], 0, 0),
    ("PersonX's well-known skies", ["personx well known sky"], 2 / 3, 8 / 9),
    ("dog dog dog", ["dog cat dog"], 0, 2 / 3),
]
"""Text, references, and the largest ROUGE-2 recall and ROUGE-L F1 that rouge-score 0.1.2 computes,
with its stemmer, for any of the references."""


@pytest.mark.parametrize(("text", "references", "recall", "f1"), ROUGE_SCORE)
def test_rouge_is_that_of_rouge_score(text, references, recall, f1):
    assert rouge(text, references) == pytest.approx((recall, f1), abs=1e-12)


def test_rouge_keeps_words_of_any_alphabet():
    assert rouge("é 日本", ["é 日本"]) == (1, 1)


def measures(cases):
    counts = np.array([bleu_counts(text, references) for text, references in cases], float)
    return {name: float(value) for name, value in bleu_measures(counts.sum(axis=0)).items()}


@given(CASES)
def test_bleu_is_that_of_sacrebleu(cases):
    bleu = pytest.importorskip("sacrebleu").BLEU
    texts = [text for text, _ in cases]
    most = max(len(of) for _, of in cases)
    streams = [[of[k] if k < len(of) else None for _, of in cases] for k in range(most)]
    found = measures(cases)
    for order in (1, 2):
        settings = {"max_ngram_order": order, "smooth_method": "none", "force": True}
        expected = bleu(**settings).corpus_score(texts, streams)
        assert found[f"bleu_{order}"] == pytest.approx(expected.score / 100, abs=1e-12)
        precision = expected.precisions[order - 1] / 100
        assert found[f"bleu_{order}_precision"] == pytest.approx(precision, abs=1e-12)
        assert found["brevity_penalty"] == pytest.approx(expected.bp, abs=1e-12)


@given(st.text("ab1 .,-'&!?;:()[]{}\"#$%*+/<=>@\\^_`|~é9", max_size=14))
def test_words_are_those_of_the_script_that_sacrebleu_follows(text):
    pytest.importorskip("sacrebleu")
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    assert bleu_words(text) == Tokenizer13a()(text).split()


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
def test_every_concept_is_held_against_the_others_of_its_group(rows):
    frame = pl.DataFrame(rows, {"of": pl.Int64, "concept": pl.String}, orient="row")
    found = with_uniqueness(frame, ["of"]).select("precision", "bleu")

    for (group, text), scores in zip(rows, found.iter_rows(), strict=True):
        others = {other for one, other in rows if one == group} - {text}
        assert scores == pytest.approx(by_hand(text, others))


def test_tuples_and_edges_have_shares_of_their_own() -> None:
    heads = ["PersonX pets a dog", "the persona feeds a dog"]
    first = [(heads[0], NOUN, "dog", concept, True) for concept in ("animal", "pet", "wild dog")]
    second = [(heads[1], NOUN, "dog", concept, False) for concept in ("animal", "wild animal")]
    table = diversity(
        stated([*first, *second, (heads[0], EVENT, heads[0], "petting", True)]).tuples
    )
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
    assert diversity(stated([(head, NOUN, "a", "b", True)]).tuples)["social"][0] == social
