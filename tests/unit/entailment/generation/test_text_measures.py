"""Stems, words, BLEU and ROUGE against nltk, sacrebleu, and values of rouge-score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.bleu_score import brevity_penalty, closest_ref_length, modified_precision

from audit.analyses.entailment.text_measures import (
    bleu_counts,
    bleu_measures,
    bleu_words,
    rouge,
    rouge_words,
    stem,
)

ENDINGS = (
    *("s", "es", "ies", "ied", "ed", "eed", "ing", "y", "ational", "tional", "enci", "izer"),
    *("bli", "alli", "entli", "eli", "ousli", "ization", "ation", "ator", "alism", "iveness"),
    *("fulness", "ousness", "aliti", "iviti", "biliti", "fulli", "logi", "icate", "ative"),
    *("alize", "iciti", "ical", "ful", "ness", "ance", "ement", "ment", "ent", "sion", "tion"),
    *("ou", "ism", "ate", "iti", "ous", "ive", "ize", "e", "ll", "le", ""),
)
WORDS = st.builds(
    lambda start, *ends: start + "".join(ends),
    st.text("abcdeilnorstuyz", max_size=6),
    st.sampled_from(ENDINGS),
    st.sampled_from(ENDINGS),
)
VOCABULARY = "the a big dog dogs barks wild well-known PersonX's animal, cats."
PHRASES = st.lists(st.sampled_from(VOCABULARY.split(" ")), max_size=6).map(" ".join)
CASES = st.lists(
    st.tuples(PHRASES, st.lists(PHRASES.filter(bool), min_size=1, max_size=3)),
    min_size=1,
    max_size=6,
)
IRREGULAR = ("skies", "dying", "news", "innings", "ties", "tied", "spied", "proceed", "by", "é")

ROUGE_SCORE = [
    ("wild animal", ["big wild animal", "animal"], 1 / 2, 4 / 5),
    ("the dog", ["a dog", "the big dog"], 0, 4 / 5),
    ("big dog", ["the big dog barks"], 1 / 3, 2 / 3),
    ("running the organisation", ["run an organization", "organisations running"], 0, 2 / 5),
    ("surfing", ["surfing"], 0, 1),
    ("", ["dog"], 0, 0),
    ("PersonX's well-known skies", ["personx well known sky"], 2 / 3, 8 / 9),
    ("dog dog dog", ["dog cat dog"], 0, 2 / 3),
]
"""Text, references, and the largest ROUGE-2 recall and ROUGE-L F1 that rouge-score 0.1.2 computes,
with its stemmer, for any of the references."""


@given(WORDS)
def test_stems_are_those_of_nltk(word):
    assert stem(word) == PorterStemmer().stem(word)


@pytest.mark.parametrize("word", IRREGULAR)
def test_words_of_their_own_kind_have_the_stems_of_nltk(word):
    assert stem(word) == PorterStemmer().stem(word)


@pytest.mark.parametrize(("text", "references", "recall", "f1"), ROUGE_SCORE)
def test_rouge_is_that_of_rouge_score(text, references, recall, f1):
    assert rouge(text, references) == pytest.approx((recall, f1), abs=1e-12)


def test_rouge_keeps_words_of_any_alphabet():
    assert rouge_words("é日本 Straße_x") == ["é日本", "straße", "x"]
    assert rouge("é 日本", ["é 日本"]) == (1, 1)


def measures(cases):
    counts = np.array([bleu_counts(text, references) for text, references in cases], float)
    return {name: float(value) for name, value in bleu_measures(counts.sum(axis=0)).items()}


@example([("dog dog", ["dog", "dog"])])
@example([("the big dog", ["the", "the big", "a big dog barks"])])
@given(CASES)
def test_bleu_is_that_of_nltk_on_the_same_words(cases):
    texts = [bleu_words(text) for text, _ in cases]
    references = [[bleu_words(one) for one in of] for _, of in cases]
    found = measures(cases)
    precisions = []
    for order in (1, 2):
        parts = [
            modified_precision(of, text, order)
            for of, text in zip(references, texts, strict=True)
            if len(text) >= order
        ]
        total = sum(part.denominator for part in parts)
        matched = sum(part.numerator for part in parts)
        precisions.append(matched / total if total else 0.0)
        assert found[f"bleu_{order}_precision"] == pytest.approx(precisions[-1], abs=1e-12)
    length = sum(map(len, texts))
    closest = sum(
        closest_ref_length(of, len(text)) for of, text in zip(references, texts, strict=True)
    )
    penalty = brevity_penalty(closest, length) if length else 0.0
    assert found["brevity_penalty"] == pytest.approx(penalty, abs=1e-12)
    assert found["bleu_1"] == pytest.approx(penalty * precisions[0], abs=1e-12)
    expected = penalty * (precisions[0] * precisions[1]) ** 0.5
    assert found["bleu_2"] == pytest.approx(expected, abs=1e-12)


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


def test_the_published_bleu_is_of_clipped_precisions():
    cases = [("wild animal", ["big wild animal", "animal"]), ("the dog", ["a dog", "the big dog"])]
    found = measures(cases)
    assert (found["bleu_1_precision"], found["bleu_2_precision"]) == (1, 0.5)


def test_bleu_of_the_cases_of_rouge_is_what_sacrebleu_prints():
    found = measures([case[:2] for case in ROUGE_SCORE])
    assert 100 * found["bleu_1_precision"] == pytest.approx(62.5, abs=1e-12)
    assert 100 * found["bleu_2_precision"] == pytest.approx(22.22222222222222, abs=1e-12)
    assert found["brevity_penalty"] == pytest.approx(0.8290291181804004, abs=1e-12)
    assert 100 * found["bleu_1"] == pytest.approx(51.814319886275044, abs=1e-12)
    assert 100 * found["bleu_2"] == pytest.approx(30.896091059634703, abs=1e-12)


def test_nothing_generated_has_a_bleu_of_0():
    assert set(measures([("", ["a dog"])]).values()) == {0.0}
