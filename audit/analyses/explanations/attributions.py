"""Token attributions of models, and the human evidence for the same texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from audit.analyses.explanations.lists import Lists
from audit.base.declared import schema
from audit.base.readings import Reading

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
            the token; for free text 1 where the explanation holds the word of the token.
        words: Per item the different words of its evidence, as places in the vocabulary, ascending.
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
            ``gold``, whether the target is a true label, and ``predicted``, whether the model
            gives it (null if unknown); ``group``, instances whose explanations are too alike to
            stand for each other; ``borrowed``, whether the model also read the explanation of
            another instance; ``text``, the place of its text in ``words``; ``item``, the place of
            its evidence, null if there is none.
        scores: Per row one signed score per token of its text.
        words: Per text the word of each token, as a place in the vocabulary. Texts are kept apart
            by instance and by tokenisation.
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

    def own_rows(self) -> pl.DataFrame:
        """Rows whose model read no other's explanation, each with its place as ``row``."""
        placed = self.rows.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
        return placed.filter(~pl.col("borrowed").fill_null(False))
