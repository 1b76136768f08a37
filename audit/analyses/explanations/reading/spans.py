"""Spans of characters: which are sound, and which tokens they mark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.analyses.explanations.lists import Lists, laid_out
from audit.base.dag import IntArray

_MOST = 2**31
"""Largest number of characters of a text."""
_APART = 2**32
"""What keeps the characters of one list from those of the next."""


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans from ``firsts`` up to, but not including, ``ends``, in lists.

    Args:
        firsts: The first character of each span, list after list; -1 where the span is no pair.
        ends: The character after the last one; -1 where the span is no pair.
    """

    firsts: IntArray
    ends: IntArray
    starts: IntArray

    @property
    def owner(self) -> IntArray:
        """The list that each span belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def take(self, indices: IntArray) -> Spans:
        """The lists at these places, in this order."""
        firsts = Lists(self.firsts, self.starts).take(indices)
        return Spans(
            firsts.values, Lists(self.ends, self.starts).take(indices).values, firsts.starts
        )


def spans_in(column: pl.Series) -> Spans:
    """The spans in a column of lists of ``[first, end]``; null is an empty list."""
    pairs, starts = laid_out(column)
    sound = (pairs.list.len() == 2).to_numpy() & (
        pairs.list.drop_nulls().list.len() == 2
    ).to_numpy()
    firsts, ends = (
        np.where(sound, pairs.list.get(end, null_on_oob=True).fill_null(-1).to_numpy(), -1)
        for end in (0, 1)
    )
    return Spans(np.clip(firsts, -1, _MOST), np.clip(ends, -1, _MOST), starts)


def lists_with_crossing(spans: Spans) -> NDArray[np.bool_]:
    """Which lists hold two spans that share characters and of which neither holds the other."""
    order = np.lexsort((-spans.ends, spans.firsts, spans.owner))
    owner, firsts, ends = spans.owner[order], spans.firsts[order], spans.ends[order]
    furthest = np.maximum.accumulate(owner * _APART + ends)
    overlapping = owner[1:][furthest[:-1] > owner[1:] * _APART + firsts[1:]]
    crossing = np.zeros(len(spans.starts) - 1, dtype=bool)
    for one in np.unique(overlapping):
        own = slice(spans.starts[one], spans.starts[one + 1])
        crossing[one] = _cross(firsts[own].tolist(), ends[own].tolist())
    return crossing


def _cross(firsts: list[int], ends: list[int]) -> bool:
    """Whether spans cross, in order of their first character, the longest of equals first."""
    around: list[int] = []
    for first, end in zip(firsts, ends, strict=True):
        while around and around[-1] <= first:
            around.pop()
        if around and end > around[-1]:
            return True
        around.append(end)
    return False


def marked_tokens(spans: Spans, tokens: Spans) -> NDArray[np.bool_]:
    """Which tokens share a character with a span of their list.

    A span that shares one begins before the token's end and ends after its beginning. All spans
    that end before the token's beginning also begin before its end, so that their number, taken
    from that of those that begin before its end, leaves those that share one.

    Args:
        spans: Spans that hold a character each, a list a reader.
    """
    firsts = np.sort(spans.owner * _APART + spans.firsts)
    ends = np.sort(spans.owner * _APART + spans.ends)
    base = tokens.owner * _APART
    begun = np.searchsorted(firsts, base + tokens.ends, side="left")
    over = np.searchsorted(ends, base + tokens.firsts, side="right")
    return (begun > over) & (tokens.firsts < tokens.ends)


def tokens_without_text(rows: pl.DataFrame) -> dict[str, int]:
    """Tokens whose offsets are empty wherever they are known, with how often they stand there.

    A tokenizer gives such offsets to the tokens that it adds, whatever their names. A row of which
    no token has others does not count.
    """
    if "offsets" not in rows.columns:
        return {}
    known = rows.filter(pl.col("offsets").list.len() == pl.col("tokens").list.len())
    tokens, spans = laid_out(known["tokens"])[0], spans_in(known["offsets"])
    empty = (spans.firsts == spans.ends) & (spans.firsts >= 0)
    placed = np.bincount(spans.owner, weights=~empty)[spans.owner] > 0
    counts = tokens.filter(pl.Series(empty & placed)).drop_nulls().value_counts()
    held = tokens.filter(pl.Series(~empty)).unique()
    return dict(counts.filter(~pl.nth(0).is_in(held.implode())).iter_rows())
