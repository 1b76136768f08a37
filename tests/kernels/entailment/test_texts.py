"""Words, BLEU and ROUGE against sacrebleu, and values of rouge-score; unique concepts."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from audit.analyses.entailment.dataset import EVENT, NOUN
from audit.analyses.entailment.quality import diversity, with_uniqueness
from audit.analyses.entailment.text_measures import (
    bleu_counts,
    bleu_words,
    meteor_by,
    rouge,
)
from audit.base.errors import InputError
from fixtures.entailed import stated
from fixtures.wordnet_files import Synset, write_wordnet

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
    assert rouge("é 日本", ["é 日本"]) == (1, 1)


@given(CASES)
def test_precisions_are_those_of_sacrebleu(cases):
    most = max(len(of) for _, of in cases)
    streams = [[of[k] if k < len(of) else None for _, of in cases] for k in range(most)]
    sums = np.array([bleu_counts(text, references) for text, references in cases]).sum(axis=0)
    bleu = BLEU(max_ngram_order=2, smooth_method="none", force=True)
    expected = bleu.corpus_score([text for text, _ in cases], streams)
    both = zip(expected.counts, expected.totals, strict=True)
    assert sums.tolist() == [n for pair in both for n in pair]


@given(st.text("ab1 .,-'&!?;:()[]{}\"#$%*+/<=>@\\^_`|~é9", max_size=14))
def test_words_are_those_of_the_script_that_sacrebleu_follows(text):
    assert bleu_words(text) == Tokenizer13a()(text).split()


def test_meteor_takes_the_synonyms_of_a_folder(tmp_path: Path) -> None:
    write_wordnet(tmp_path, {"car": Synset(["car", "auto"]), "dog": Synset(["dog"])})
    with pytest.raises(InputError):
        meteor_by(tmp_path / "nowhere")
    for name in (f"{kind}.{pos}" for kind in ("data", "index") for pos in ("verb", "adj", "adv")):
        (tmp_path / name).write_text("  1 a licence\n")
    score = meteor_by(tmp_path)
    one_chunk = 1 - 0.5 * (1 / 2) ** 3
    assert score("auto", ["dog", "car"]) == 0.5
    assert score("a dog", ["A dog", "dog"]) == pytest.approx(one_chunk)
    assert score("dog", ["car"]) == 0


def by_hand(concept: str, others: set[str]) -> tuple[float, float]:
    """Precision and BLEU-1 of a concept against the others."""
    words, *references = (re.findall(r"\w+", text.lower()) for text in (concept, *others))
    if not words or not references:
        return 0.0, 0.0
    most = Counter[str]()
    for reference in references:
        most |= Counter(reference)
    precision = (Counter(words) & most).total() / len(words)
    closest = min((abs(len(r) - len(words)), len(r)) for r in references)[1]
    return precision, precision * math.exp(min(0, 1 - closest / len(words)))


TEXTS = st.lists(st.sampled_from(["a", "b", "A", "é", "c-d", "!"]), min_size=1, max_size=4)


@given(st.lists(st.tuples(st.integers(0, 2), TEXTS.map(" ".join)), max_size=14))
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
    event = (heads[0], EVENT, heads[0], "petting", True)
    noun, event, everything = diversity(stated([*first, *second, event])).to_dicts()

    assert (noun["tuples"], noun["edges"], noun["heads"], noun["social_heads"]) == (5, 4, 2, 1)
    assert noun["unique"] == 5 / 5  # animal: exp(-1); wild animal: one of two words
    assert noun["unique_without_penalty"] == 4 / 5
    assert noun["unique_edges"] == 2 / 4  # animal has the length of pet; wild animal both words
    assert (event["unique"], everything["unique_edges"]) == (1.0, 3 / 5)
    assert noun["vocabulary"] == len({*" ".join(heads).lower().split(), "animal", "pet", "wild"})


@pytest.mark.parametrize(
    ("head", "social"),
    [
        ("The doctors, prescribe, aspirin", True),
        ("aspirin, is given to, the patients of a ward", True),
        ("personx feeds the dog", True),
        ("patient charts, list, medicines", False),
        ("the doctor feeds the dog", False),
    ],
)
def test_a_social_head_has_a_variable_or_an_argument_that_is_a_person(
    head: str, social: bool
) -> None:
    assert diversity(stated([(head, NOUN, "a", "b", True)]))["social"][0] == social
