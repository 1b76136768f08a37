"""The four metrics of the paper's table 1: which of two sides has the highest score."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np

from audit.analyses.preference.questions import TokenScores
from audit.analyses.preference.words import Sides, plain
from audit.base.dag import BoolArray, FloatArray, IntArray

METRICS = {
    "accuracy": "Acc@{k}",
    "answers": "P(s, g)",
    "subgraphs": "P(s-down, s-up)",
    "task": "P(s-updown, t)",
}
"""What each metric is called, in the paper's order: whether the specific answer is among the k
highest tokens; whether it is above the general one; what is at or below it above what is above it;
both above the rest of the task."""
SAID = LEFT_OUT, LOST, WON, TIED = "left out", "lost", "won", "tied"


def outcomes(
    asked: Sequence[Sides], rows: Iterable[TokenScores], k: int, *, released: bool
) -> dict[str, list[str]]:
    """Compare the highest scores of both sides of each metric, question by question.

    By the text a tie is no win, and a side that a question does not list is below all that it
    lists. By the ``released`` code, of equal scores the token that is listed first ranks higher, an
    answer without a token is a miss, and a tie of subgraphs is a win. Repeated lists of tokens are
    looked up once.

    Args:
        k: Rank for the accuracy, at least 1.

    Returns:
        What each question says of each metric, one of `SAID`.
    """
    n, form = len(asked), str if released else plain
    spoken = frozenset[str]().union(
        *(side for pairs in {*asked} for pair in pairs for side in pair)
    )
    place_of = {word: place for place, word in enumerate(sorted(spoken))}
    listed = np.zeros(len(place_of), np.bool_)

    @cache
    def places(side: frozenset[str]) -> IntArray:
        return np.array([place_of[word] for word in side], np.int64)

    @lru_cache(maxsize=1)
    def found_in(tokens: tuple[str, ...]) -> IntArray:
        return np.array([place_of.get(form(token), -1) for token in tokens], np.int64)

    highest, hits = np.full((3, 2, n), -np.inf), np.full(n, LEFT_OUT, object)
    scored, earlier = np.zeros((2, n), np.bool_)
    for at, tokens, scores in rows:
        own, pairs = found_in(tokens), [[*map(places, pair)] for pair in asked[at]]
        known, values = own >= 0, np.full(len(place_of), -np.inf)
        np.maximum.at(values, own[known], scores[known])
        highest[:, :, at] = [[values[of].max(initial=-np.inf) for of in pair] for pair in pairs]
        listed[own[known]] = scored[at] = True
        above, equal = _tokens_above(scores, np.isin(own, pairs[0][0]), first_wins=released)
        hits[at] = WON if above + equal < k else TIED if above < k else LOST
        general, _ = _tokens_above(scores, np.isin(own, pairs[0][1]), first_wins=released)
        earlier[at] = above <= general and above < len(scores)
    first, second = highest[:, 0], highest[:, 1]
    if released:
        counts, tied = np.isfinite(first) & np.isfinite(second), np.zeros_like(first, np.bool_)
        won = first >= second
        counts[0], won[0] = scored, earlier
    else:
        both = [[all(listed[places(of)].any() for of in pair) for pair in pairs] for pairs in asked]
        counts = np.reshape(both, (n, 3)).T & np.isfinite(np.maximum(first, second))
        won, tied = first > second, first == second
    told = np.full((3, n), LOST, object)
    told[won], told[tied], told[~counts] = WON, TIED, LEFT_OUT
    return dict(zip(METRICS, np.vstack([hits, told]).tolist(), strict=True))


def _tokens_above(scores: FloatArray, of_answer: BoolArray, *, first_wins: bool) -> tuple[int, int]:
    """How many tokens score above the best ``of_answer``, and as high; maxsize, 0 without any."""
    if not of_answer.any():
        return sys.maxsize, 0
    best = scores[of_answer].max()
    above, equal = int((scores > best).sum()), (scores == best) & ~of_answer
    if first_wins:
        return above + int(equal[: np.argmax(of_answer & (scores == best))].sum()), 0
    return above, int(equal.sum())
