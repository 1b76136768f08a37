"""Merging the pieces of words, where a model divides them."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import IntArray
from audit.base.errors import InputError

Merging = Literal["sum", "mean", "max"]
"""How the scores of a word's pieces become the score of the word.

``sum`` keeps the total of a text, and with it what completeness says of integrated gradients;
``mean`` is the mean over the pieces; ``max`` is the score that is largest by absolute value, with
its sign, and the positive one of two that differ in sign alone.
"""

_MARKERS = {"##": r"^##.", "▁": r"^▁", "Ġ": r"^Ġ", "</w>": r"(?i)</w>$"}
"""Which tokens bear the marker of a way to divide words."""


def merging_named(name: str | None) -> Merging | None:
    """The rule of that name; raises InputError if there is none."""
    for rule in get_args(Merging):
        if name == rule:
            return rule  # type: ignore[no-any-return]
    if name is None:
        return None
    raise InputError(
        "a rule for merging word pieces is required",
        found=repr(name),
        hint=f"the rules are {', '.join(get_args(Merging))}",
    )


def word_starts(
    tokens: pl.Series, models: IntArray, breaks: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which tokens begin a word.

    A model marks either the pieces that go on with a word (``##``), or the tokens that begin one
    (``▁``, ``Ġ``), or those that end one (``</w>``); the marker that most of its tokens bear
    decides. A model whose tokens bear none gives whole words. Where only the beginning is marked,
    a token also begins a word where letters and digits meet other characters: ``Ġarrest`` and
    ``,`` are two words, since punctuation is never merged.

    Args:
        tokens: All tokens, text after text.
        models: The model that each token belongs to.
        breaks: Which tokens begin a word in any case, such as the first of each text.
    """
    starts = np.ones(len(tokens), dtype=bool)
    bearing = {marker: _matches(tokens, pattern) for marker, pattern in _MARKERS.items()}
    for model in np.unique(models):
        own = models == model
        counts = {marker: int((bears & own).sum()) for marker, bears in bearing.items()}
        marker = max(counts, key=lambda one: counts[one])
        if counts[marker]:
            starts[own] = _starts(tokens, bearing[marker], marker)[own]
    return starts | breaks


def merged_tokens(tokens: pl.Series, starts: NDArray[np.bool_]) -> pl.Series:
    """The tokens of each word as one: the first as it is, the others without leading ``##``.

    Args:
        tokens: All tokens, text after text.
        starts: Which of them begin a word.
    """
    if starts.all():
        return tokens
    begins = pl.Series(starts)
    pieces = tokens.zip_with(begins, tokens.str.strip_prefix("##"))
    frame = pl.DataFrame({"word": np.cumsum(starts), "piece": pieces})
    words = frame.group_by("word", maintain_order=True).agg(pl.col("piece").str.join(""))
    return words["piece"]


def merged_scores(
    scores: NDArray[np.float64], starts: NDArray[np.bool_], rule: Merging
) -> NDArray[np.float64]:
    """One score a word, from those of its pieces.

    Args:
        scores: The score of each token.
        starts: Which tokens begin a word; the first one does.
        rule: How scores are merged.
    """
    if starts.all():
        return scores
    firsts = np.flatnonzero(starts)
    if rule == "max":
        highest = np.maximum.reduceat(scores, firsts)
        lowest = np.minimum.reduceat(scores, firsts)
        return np.where(highest >= -lowest, highest, lowest)
    sums = np.add.reduceat(scores, firsts)
    return sums if rule == "sum" else sums / np.diff(firsts, append=len(scores))


def _starts(tokens: pl.Series, bears: NDArray[np.bool_], marker: str) -> NDArray[np.bool_]:
    if marker == "##":
        return ~bears
    if marker == "</w>":
        return np.concatenate([[True], bears[:-1]])
    first = _matches(tokens, r"^\w")
    last = _matches(tokens, r"\w$")
    meets = np.concatenate([[True], first[1:] != last[:-1]])
    return np.asarray(bears | meets)


def _matches(tokens: pl.Series, pattern: str) -> NDArray[np.bool_]:
    return tokens.str.contains(pattern).to_numpy()
