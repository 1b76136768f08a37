"""The texts that attributions are about: one a token list of an instance and model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import IntArray
from audit.explanations.lists import Lists
from audit.explanations.reading.list_columns import laid_out, list_column, starts_of
from audit.explanations.reading.word_pieces import (
    Merging,
    merged_scores,
    merged_tokens,
    word_starts,
)


@dataclass(frozen=True, eq=False)
class Texts:
    """Token lists as they were given, and what is left of them.

    Two lists that differ in special tokens alone, or only in how words are divided where pieces
    are merged, are one text: methods that see them so can be compared.

    Args:
        given: ``id, model, tokens, text``: each different token list, with the place of its text;
            null if no token is left.
        kept: Per given list, which tokens are not special.
        begins: Per given list, which of the kept tokens begin a word.
        of_row: The given list of each row.
        left: ``id, model, tokens`` of each text.
    """

    given: pl.DataFrame
    kept: Lists[np.bool_]
    begins: Lists[np.bool_]
    of_row: IntArray
    left: pl.DataFrame

    @property
    def sizes(self) -> IntArray:
        """Number of tokens that are left of each given list, words merged."""
        return _sums(self.begins)

    def numbered(self, places: IntArray) -> Texts:
        """The texts at these places, in this order; lists of another text have none."""
        numbers = np.full(self.left.height, -1)
        numbers[places] = np.arange(len(places))
        text = pl.Series(numbers).replace(-1, None).gather(self.given["text"])
        return replace(self, given=self.given.with_columns(text=text), left=self.left[places])

    def scores(
        self, scores: Lists[np.float64], lists: IntArray, rule: Merging | None
    ) -> Lists[np.float64]:
        """Scores of given tokens as scores of the tokens that are left.

        Args:
            scores: A score for each token of a given list, one list a row.
            lists: The given list of each row.
            rule: How the scores of merged pieces become one.
        """
        values, lengths = scores.values, scores.lengths
        if not self.kept.values.all():
            values = values[self.kept.take(lists).values]
            lengths = self.begins.lengths[lists]
        if rule is not None and not self.begins.values.all():
            begins = self.begins.take(lists)
            values = merged_scores(values, begins.values, rule)
            lengths = _sums(begins)
        return Lists(values, starts_of(lengths))


def texts_of(rows: pl.DataFrame, special: Collection[str], rule: Merging | None) -> Texts:
    """The texts of rows with ``id``, ``model`` and ``tokens``.

    Args:
        rows: A row for each list of tokens; none of the tokens is null.
        special: Tokens that are left out.
        rule: Merge word pieces if a rule is given.
    """
    given, of_row = _distinct(rows.select("id", "model", "tokens"))
    tokens, starts = laid_out(given["tokens"])
    kept = ~tokens.is_in(list(special)).to_numpy()
    left = tokens.filter(pl.Series(kept))
    kept_starts = starts_of(_sums(Lists(kept, starts)))
    begins = np.ones(len(left), dtype=bool)
    if rule is not None:
        models = given["model"].rank("dense").to_numpy().astype(np.int64)
        firsts = np.concatenate([[True], ~kept[:-1]])[: len(kept)]
        firsts[starts[:-1][np.diff(starts) > 0]] = True
        owners = np.repeat(models, np.diff(kept_starts))
        begins = word_starts(left, owners, firsts[kept])
    merged = merged_tokens(left, begins)
    lists = list_column(merged, starts_of(_sums(Lists(begins, kept_starts))))
    found, text = _distinct(given.select("id", "model").with_columns(tokens=lists))
    holds = found["tokens"].list.len().to_numpy() > 0
    places = np.where(holds, np.cumsum(holds) - 1, -1)[text]
    return Texts(
        given=given.with_columns(text=pl.Series(places).replace(-1, None)),
        kept=Lists(kept, starts),
        begins=Lists(begins, kept_starts),
        of_row=of_row,
        left=found.filter(pl.Series(holds)),
    )


def _distinct(frame: pl.DataFrame) -> tuple[pl.DataFrame, IntArray]:
    """The different rows of a frame, in order of first occurrence, and the place of each row."""
    row = pl.int_range(pl.len()).alias("row")
    groups = frame.with_columns(row).group_by(frame.columns, maintain_order=True).agg("row")
    rows, starts = laid_out(groups["row"])
    places = np.empty(frame.height, dtype=np.int64)
    places[rows.to_numpy()] = np.repeat(np.arange(groups.height), np.diff(starts))
    return groups.drop("row"), places


def _sums(lists: Lists[np.bool_]) -> IntArray:
    """How many values of each list are true."""
    totals = np.concatenate([[0], np.cumsum(lists.values, dtype=np.int64)])
    return np.asarray(np.diff(totals[lists.starts]))


def marked_words(marked: NDArray[np.bool_], words: Lists[np.int64]) -> Lists[np.int64]:
    """The different words of the marked tokens of each list, ascending."""
    number = int(words.values.max(initial=0)) + 1
    pairs = np.unique(words.owner[marked] * number + words.values[marked])
    return Lists(pairs % number, starts_of(np.bincount(pairs // number, minlength=len(words))))
