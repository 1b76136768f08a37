"""Texts by sacrebleu and rouge-score; detection by scikit-learn with its weights."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from audit.analyses.entailment.answers import PREDICTIONS
from audit.analyses.entailment.dataset import EVENT, NOUN, VERB, questions_of
from audit.analyses.entailment.detection import measure_detection
from audit.analyses.entailment.quality import diversity, with_uniqueness
from audit.analyses.entailment.text_measures import bleu_counts, bleu_words, meteor_by, rouge
from audit.base.errors import InputError
from audit.data.records import Records
from fixtures.doors import read_entailment
from fixtures.entailed import stated
from fixtures.tuple_files import SAMPLE
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


def test_rouge_is_that_of_rouge_score():
    for text, references, recall, f1 in ROUGE_SCORE:
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


def test_a_social_head_has_a_variable_or_an_argument_that_is_a_person() -> None:
    for head, social in [
        ("The doctors, prescribe, aspirin", True),
        ("aspirin, is given to, the patients of a ward", True),
        ("personx feeds the dog", True),
        ("patient charts, list, medicines", False),
        ("the doctor feeds the dog", False),
    ]:
        assert diversity(stated([(head, NOUN, "a", "b", True)]))["social"][0] == social


@cache
def sample() -> pl.DataFrame:
    return read_entailment(SAMPLE / "tuples.csv").tuples


def test_a_frame_is_read_as_the_file_that_it_was() -> None:
    in_memory = pl.read_csv(SAMPLE / "tuples.csv", infer_schema=False)

    assert read_entailment(in_memory).tuples.equals(sample())


def model(tuples: pl.DataFrame) -> pl.DataFrame:
    noise = np.random.default_rng(0).normal(0, 0.3, len(tuples))
    score = np.clip(0.3 + 0.4 * tuples["valid"].to_numpy() + noise, 0, 1).round(2)
    columns = {"model": "m", "trained_on": None, "id": tuples["id"], "score": score}
    return pl.DataFrame({**columns, "valid": None, "unparsable": False}, schema=PREDICTIONS)


def measured(tuples: pl.DataFrame, predictions: pl.DataFrame, **about: str) -> pl.DataFrame:
    found = measure_detection(tuples, Records(predictions))[0]["detection_measured"]
    return found.filter(**about)


def values(found: pl.DataFrame) -> dict[str, float]:
    return dict(found.select("measure", "value").iter_rows())


@pytest.mark.slow
def test_intervals_are_percentiles_of_what_scikit_learn_says_with_weights() -> None:
    asked, given = questions_of(sample()), model(sample())
    score = asked.rows.join(given, on="id", maintain_order="left")["score"].to_numpy()
    truth, weights = asked.rows["valid"].to_numpy(), asked.drawn.weights[asked.drawn.group]
    found = measured(sample(), given, model="m", relation="All")
    for measure, of in (
        ("macro_f1", lambda w: f1_score(truth, score >= 0.5, average="macro", sample_weight=w)),
        ("roc_auc", lambda w: roc_auc_score(truth, score, sample_weight=w)),
        ("average_precision", lambda w: average_precision_score(truth, score, sample_weight=w)),
    ):
        value, *drawn = (of(own) for own in weights.T)
        (row,) = found.filter(measure=measure).to_dicts()
        expected = (value, *np.percentile(drawn, [2.5, 97.5]))
        assert (row["value"], row["low"], row["high"]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("column", ["concept", "head"])
def test_a_shortcut_is_the_smoothed_share_in_the_training_set(column: str) -> None:
    train, test = (sample().filter(split=split) for split in ("train", "test"))
    expected = []
    for row in test.iter_rows(named=True):
        same = train.filter(relation=row["relation"])
        own = same.filter(pl.col(column) == row[column])["valid"]
        expected.append((own.sum() + same["valid"].mean()) / (len(own) + 1))
    found = measured(sample(), model(sample()), model=f"{column}_alone", relation="All")
    auc = roc_auc_score(test["valid"], expected)
    assert values(found)["roc_auc"] == pytest.approx(auc, abs=1e-12)


def test_without_splits_a_shortcut_never_learns_from_its_own_fold() -> None:
    """Concepts met under one (head, instance) alone are only known to the relation's share."""
    rows = ((f"head {k}", NOUN, f"instance {k}", f"concept {k}", k % 2 == 0) for k in range(60))
    found = measured(tuples := stated(rows), model(tuples), model="concept_alone")
    assert found["split"].unique().to_list() == ["all"]
    assert values(found)["roc_auc"] < 0.6  # knowing its own label, it would be 1
    assert "All" not in found["relation"]
    told = stated((f"head {k}", NOUN, f"instance {k}", f"c{k % 2}", k % 2 == 0) for k in range(60))
    assert values(measured(told, model(told), model="concept_alone"))["roc_auc"] > 0.9


def test_a_random_answer_is_as_often_yes_as_no() -> None:
    tuples = stated((f"head {k}", NOUN, f"instance {k}", "concept", True) for k in range(1000))
    found = measured(tuples, model(tuples), model="random", measure="accuracy")
    assert found["value"].to_list() == pytest.approx([0.5], abs=0.05)


def test_what_was_not_answered_is_counted_and_not_measured() -> None:
    test, third = sample().filter(split="test"), pl.int_range(pl.len()) % 3
    said = pl.when(third == 0).then(test["valid"])
    nothing = pl.lit(None, pl.Float64)
    given = model(test).with_columns(score=nothing, valid=said, unparsable=third == 1)
    found = measured(sample(), given.filter(third != 2), model="m", relation="All")
    thirds = [len(range(rest, test.height, 3)) for rest in range(2)]
    (row,) = found.filter(measure="accuracy").to_dicts()
    assert [row[name] for name in ("n", "unparsable", "tuples")] == [*thirds, test.height]
    assert (row["value"], values(found)["roc_auc"]) == (1, None)
    assert {*found.filter(measure="roc_auc")["absent"]} == {"no_scores"}
    nouns = model(sample().filter(relation=NOUN))
    verbs = measured(sample(), nouns, model="m", relation=VERB)
    assert {*verbs["absent"]} == {"no_answers"}
