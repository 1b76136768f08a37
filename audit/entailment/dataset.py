"""Tuples of an abstraction entailment graph, as read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from audit.base.readings import Reading
from audit.base.schemas import schema

NOUN, VERB, EVENT = "Noun-Entail", "Verb-Entail", "Event-Entail"
"""The relations of AbsPyramid."""
ENTAILS, HYPERNYM = "Entails", "Hypernym"
"""The relations of files of two columns: premise and hypothesis, hyponym and hypernym."""
RELATIONS = (NOUN, VERB, EVENT, ENTAILS, HYPERNYM)
"""All relations, in report order."""
WHOLE = frozenset((EVENT, ENTAILS, HYPERNYM))
"""Relations whose instance is the whole head and whose concept is the whole tail."""
SPLITS = ("train", "valid", "test")
"""Names of splits, in report order; a file may have others, which follow by name."""

TUPLES = schema(
    ("id head relation tail instance concept", pl.String),
    ("valid", pl.Boolean),
    ("split", pl.String),
    ("votes_valid votes row", pl.Int64),
)
"""One row per kept tuple, in the order of the files. ``id`` is unique. ``split`` is null if the
file has none. ``votes_valid`` of ``votes`` annotators hold it valid; both are null where nobody's
vote is known. ``row`` counts the records of all files from 1, those that were refused included."""

VOTES = schema(("id annotator", pl.String), ("valid", pl.Boolean))
"""One row per vote whose annotator is known, sorted by ``id`` and ``annotator``."""


def plain(name: str) -> pl.Expr:
    """A column of text in lower case with single blanks, to compare texts by."""
    return pl.col(name).str.to_lowercase().str.replace_all(r"\s+", " ")


@dataclass(frozen=True, eq=False)
class EntailmentDataset:
    """Tuples of a head event, a relation, a tail event, an instance, a concept, and validity.

    Args:
        tuples: The tuples, columns `TUPLES`.
        votes: Votes by annotator, columns `VOTES`; empty where votes are counts, or unknown.
        rows_read: Number of records read; each was kept or refused.
        refused: Number of records refused, by reason.
        sources: The files.
        numbered: Whether ids are the numbers of records from 0, since the files have none.
        readings: What labels were taken to mean.
    """

    tuples: pl.DataFrame
    votes: pl.DataFrame
    rows_read: int
    refused: Mapping[str, int]
    sources: tuple[Path, ...]
    numbered: bool = False
    readings: tuple[Reading, ...] = ()
