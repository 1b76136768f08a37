"""Answers that need no model: majority, random, shortcuts, words in common, WordNet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.resampling import unit_keys
from audit.entailment.dataset import TRAIN, EntailmentDataset, Questions
from audit.entailment.detection.answers import BASELINE, Answers, whole_answers
from audit.entailment.graph.wordnet import NOT_COMPARED, agreeing_edges
from audit.hierarchies.formats.wordnet import WordNet

MAJORITY, RANDOM = "majority", "random"
CONCEPT_ALONE, HEAD_ALONE = "concept_alone", "head_alone"
CONTAINMENT, HEAD_WORD = "containment", "head_word"
WORDNET = "wordnet"
BASELINES = (MAJORITY, RANDOM, CONCEPT_ALONE, HEAD_ALONE, CONTAINMENT, HEAD_WORD, WORDNET)
"""Names of all baselines, in report order."""

FOLDS = 5
"""Parts of which each is answered from the others, where no split is for training."""
PRIOR = 1.0
"""Weight of the relation's share, in tuples, against the tuples of a concept or head."""

_WORD = r"[\p{L}\p{N}]+"


def baselines(
    dataset: EntailmentDataset, questions: Questions, wordnet: WordNet | None = None
) -> Iterator[Answers]:
    """Answers of every baseline, in the order of `BASELINES`.

    Args:
        dataset: All tuples; those of the training split, where there is one, are learned from.
        questions: The tuples that are measured.
        wordnet: A WordNet; None leaves its baseline out.
    """
    learned = dataset.tuples.filter(pl.col("split") == TRAIN)
    own = learned.is_empty()
    learned = questions.tuples if own else learned
    share = _majority(learned, questions)
    yield _scored(MAJORITY, np.where(share >= 0.5, 1.0, 0.0))
    coin = unit_keys(questions.tuples["id"].to_list(), seed=0) % np.uint64(2)
    yield _scored(RANDOM, coin.astype(np.float64))
    for name, column in ((CONCEPT_ALONE, "concept"), (HEAD_ALONE, "head")):
        yield _scored(name, _rates(learned, questions, column, own=own))
    yield from _words_in_common(questions)
    if wordnet is not None:
        yield _by_wordnet(questions, wordnet)


def _scored(name: str, score: FloatArray) -> Answers:
    return whole_answers(BASELINE, name, score >= 0.5, score)


def _majority(learned: pl.DataFrame, questions: Questions) -> FloatArray:
    """Share of valid tuples of each tuple's relation among those learned from, shape (n,)."""
    rates = learned.group_by("relation").agg(rate=pl.col("valid").mean())
    found = questions.tuples.select("relation").join(
        rates, on="relation", how="left", maintain_order="left"
    )
    return found["rate"].fill_null(learned["valid"].mean()).to_numpy()


def _rates(learned: pl.DataFrame, questions: Questions, column: str, *, own: bool) -> FloatArray:
    """Smoothed share of valid tuples that have a tuple's relation and concept, or head.

    ``(k + PRIOR * share of the relation) / (n + PRIOR)``, from the training split, or from the
    other folds of the tuples themselves.

    Args:
        learned: Tuples that are learned from.
        questions: The tuples that are measured.
        column: ``concept`` or ``head``.
        own: Whether the tuples learned from are those that are measured.
    """
    fold = pl.Series(_folds(questions) if own else np.zeros(len(questions.valid), np.int64))
    parts = questions.tuples.select("relation", column).with_columns(fold=fold)
    known = learned.select("relation", column, "valid").with_columns(
        fold=fold if own else pl.lit(-1, pl.Int64)
    )
    specific = _held_out(parts, known, ["relation", column])
    general = _held_out(parts, known, ["relation"])
    overall = known["valid"].mean()
    share = (general["k"] / general["n"]).fill_nan(None).fill_null(overall)
    rate = (specific["k"] + PRIOR * share) / (specific["n"] + PRIOR)
    return rate.to_numpy()


def _held_out(parts: pl.DataFrame, known: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Valid (``k``) and all (``n``) tuples with the keys of each row, those of its fold left out.

    Args:
        parts: The rows, with the keys and their ``fold``.
        known: Tuples to count, with the keys, ``fold`` and ``valid``.
        keys: Columns.
    """
    counts = {"k": pl.col("valid").sum().cast(pl.Int64), "n": pl.len().cast(pl.Int64)}
    total = known.group_by(keys).agg(**counts)
    inside = known.group_by(*keys, "fold").agg(**counts)
    rows = parts.join(total, on=keys, how="left", maintain_order="left").join(
        inside, on=[*keys, "fold"], how="left", suffix="_inside", maintain_order="left"
    )
    return rows.select(
        pl.col(name).fill_null(0) - pl.col(f"{name}_inside").fill_null(0) for name in ("k", "n")
    )


def _folds(questions: Questions) -> IntArray:
    """Fold of each tuple, decided by a hash of its head and instance, as splits are."""
    return (unit_keys(questions.keys.to_list(), seed=1) % np.uint64(FOLDS)).astype(np.int64)


def _words_in_common(questions: Questions) -> Iterator[Answers]:
    """Whether all words of the concept are in the instance, and whether the last ones are equal."""
    words = questions.tuples.select(
        pl.col(name).str.to_lowercase().str.extract_all(_WORD) for name in ("instance", "concept")
    )
    of_concept = pl.col("concept").list.unique()
    shared = of_concept.list.set_intersection("instance").list.len()
    share = words.select((shared / of_concept.list.len()).fill_nan(0.0)).to_series().to_numpy()
    yield whole_answers(BASELINE, CONTAINMENT, share == 1, share)
    last = pl.col("concept").list.last() == pl.col("instance").list.last()
    same: BoolArray = words.select(last.fill_null(False)).to_series().to_numpy()
    yield _scored(HEAD_WORD, same.astype(np.float64))


def _by_wordnet(questions: Questions, wordnet: WordNet) -> Answers:
    """Whether a sense of the concept is above one of the instance; no answer about verbs."""
    edges = questions.tuples.select("relation", "instance", "concept").with_row_index("edge")
    compared = ~edges["relation"].is_in(NOT_COMPARED)
    above = agreeing_edges(edges.filter(compared), wordnet)[1]
    found = edges["edge"].is_in(above.implode()).to_numpy()
    return replace(
        _scored(WORDNET, found.astype(np.float64)), answered=compared.to_numpy(), predicted=found
    )
