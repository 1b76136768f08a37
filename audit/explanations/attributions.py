"""Token attributions of models, and the human evidence for the same texts; written as files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.disk import written_whole
from audit.base.readings import Reading
from audit.base.schemas import schema
from audit.explanations.lists import Lists, list_column, starts_of

EvidenceKind = Literal["marks", "spans", "text"]

ROWS = schema(
    ("id target method model", pl.String),
    ("seed", pl.Int64),
    ("gold predicted", pl.Boolean),
    ("group", pl.String),
    ("borrowed", pl.Boolean),
    ("text item", pl.Int64),
)
ITEMS = schema(("text", pl.Int64), ("target", pl.String), ("annotators", pl.Int64))


@dataclass(frozen=True, eq=False)
class Evidence:
    """What people point to: one item per text and target.

    Args:
        kind: Token masks, character spans, or explanations in free text.
        items: ``text, target, annotators``: the place of the text, and how many people marked it.
        marks: Per item one value per token of its text: the share of its annotators that marked
            the token. For free text 1 where the explanation holds the word of the token, else 0;
            stop words count as not held.
        words: Per item the different words of its evidence, as places in the vocabulary: the words
            of marked tokens, or those of the explanation without stop words. Ascending.
    """

    kind: EvidenceKind
    items: pl.DataFrame
    marks: Lists[np.float64]
    words: Lists[np.int64]


@dataclass(frozen=True, eq=False)
class Attributions:
    """Scores of tokens, one row per instance, target label, method, model and seed.

    Args:
        rows: ``id``; ``target``, the label that is explained; ``method``; ``model``; ``seed``;
            ``gold``, whether the target is a true label of the instance, and ``predicted``,
            whether the model gives it (both null if unknown); ``group``, instances whose
            explanations are too alike to stand for each other, such as those of one premise;
            ``borrowed``, whether the model also read the explanation of another instance, which
            the baseline of the soft oracle needs; ``text``, the place of its text in ``words``;
            ``item``, the place of its evidence, null if there is none.
        scores: Per row one signed score per token of its text.
        words: Per text the word of each token, as a place in the vocabulary. Texts are kept apart
            by instance and by tokenisation, so that token lists of two models never mix.
        tokens: The tokens of all texts as the model has them, text after text, as in ``words``.
        vocabulary: Words as they are compared: lower case, without the markers of word pieces.
        evidence: The human evidence; None if there is none.
        ledger: How many rows were read, kept, and left out, by reason.
        sources: The files that were read.
        readings: What they were taken to mean.
    """

    rows: pl.DataFrame
    scores: Lists[np.float64]
    words: Lists[np.int64]
    tokens: pl.Series
    vocabulary: pl.Series
    evidence: Evidence | None = None
    ledger: Mapping[str, int] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()
    readings: tuple[Reading, ...] = ()

    def of_rows(self, places: IntArray) -> Attributions:
        """The same texts and evidence with these rows alone."""
        return replace(self, rows=self.rows[places], scores=self.scores.take(places))


ROUNDING = 1e-9
"""Difference from a whole number of annotators up to which a mark is theirs, not graded."""
_PLAIN = (
    "id", "target", "method", "model", "seed", "gold", "predicted", "group", "borrowed",
)  # fmt: skip


def write_attributions(attributions: Attributions, path: Path | str) -> None:
    """Write attributions with their evidence, a row each, as Parquet or as JSON lines.

    Read again with the same lists of stop words and special tokens, without merging, they are the
    same. Marks and spans come back as shares of as many annotators, not as those of each person:
    the first annotators mark what any did. Spans are written over places of tokens, since the text
    is not kept.

    Args:
        attributions: What to write.
        path: The file: Parquet if its suffix is ``.parquet``, else JSON lines, packed if the
            suffix is ``.gz``. An existing file is replaced.

    Raises:
        OutputError: If the file cannot be written.
    """
    path = Path(path)
    frame = _frame(attributions)
    with written_whole(path) as begun:
        if path.suffix.lower() == ".parquet":
            frame.write_parquet(begun)
        elif path.suffix.lower() == ".gz":
            with gzip.open(begun, "wb") as stream:
                stream.write(frame.write_ndjson().encode())
        else:
            frame.write_ndjson(begun)


def _frame(attributions: Attributions) -> pl.DataFrame:
    rows, words = attributions.rows, attributions.words
    tokens = list_column(attributions.tokens, words.starts)
    scores = attributions.scores
    columns = {
        "tokens": tokens.gather(rows["text"]),
        "scores": list_column(pl.Series(scores.values), scores.starts),
    }
    if attributions.evidence is not None:
        evidence = _columns(attributions.evidence, attributions.vocabulary)
        columns |= {name: column.gather(rows["item"]) for name, column in evidence.items()}
        if attributions.evidence.kind == "spans":
            columns["offsets"] = _spans(words.starts).gather(rows["text"])
    return rows.select(_PLAIN).with_columns(**columns)


def _columns(evidence: Evidence, vocabulary: pl.Series) -> dict[str, pl.Series]:
    """The columns of evidence, an item each."""
    if evidence.kind == "text":
        words = vocabulary.gather(evidence.words.values)
        return {"explanation_tokens": list_column(words, evidence.words.starts)}
    annotators = evidence.items["annotators"].to_numpy()
    masks = _masks(evidence.marks, annotators)
    if evidence.kind == "marks":
        shares = evidence.marks.take(np.repeat(np.arange(len(annotators)), annotators))
        times = shares.values * np.repeat(np.repeat(annotators, annotators), shares.lengths)
        graded = np.abs(times - np.rint(times)) > ROUNDING
        own = np.where(graded, shares.values, masks.values)
        lists = list_column(pl.Series(own), masks.starts)
        return {"marks": list_column(lists, starts_of(annotators))}
    marked = masks.values
    places = np.arange(len(marked)) - np.repeat(masks.starts[:-1], masks.lengths)
    totals = np.concatenate([[0], np.cumsum(marked)])
    spans = list_column(_pairs(places[marked]), totals[masks.starts])
    return {"spans": list_column(spans, starts_of(annotators))}


def _masks(marks: Lists[np.float64], annotators: np.typing.NDArray[np.int64]) -> Lists[np.bool_]:
    """A mask for each annotator that together give the shares."""
    counts = np.rint(marks.values * np.repeat(annotators, marks.lengths)).astype(np.int64)
    items = np.repeat(np.arange(len(marks)), annotators)
    seen = Lists(counts, marks.starts).take(items)
    number = np.arange(len(items)) - np.repeat(starts_of(annotators)[:-1], annotators)
    return Lists(seen.values > np.repeat(number, seen.lengths), seen.starts)


def _spans(starts: np.typing.NDArray[np.int64]) -> pl.Series:
    """A span of two characters for each token of each text, one after another."""
    lengths = np.diff(starts)
    return list_column(_pairs(np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)), starts)


def _pairs(places: np.typing.NDArray[np.int64]) -> pl.Series:
    ends = np.stack([2 * places, 2 * places + 1], axis=1).ravel()
    return list_column(pl.Series(ends), 2 * np.arange(len(places) + 1))
