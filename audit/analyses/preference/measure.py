"""The four metrics of the paper's table 1: which of two sides has the highest score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

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
LEFT_OUT, LOST, WON, TIED = "left out", "lost", "won", "tied"


class Outcomes(NamedTuple):
    """What each question says of each metric, `METRICS`; which are scored; how many tokens are."""

    told: Mapping[str, list[str]]
    scored: BoolArray
    tokens: int


def outcomes(sides: Sides, rows: Iterable[TokenScores], k: int, *, released: bool) -> Outcomes:
    """Compare the highest scores of both sides of each metric, question by question.

    By the text words are compared in their plain form, a word of both sides counts for the first
    alone, and a tie is no win. By the ``released`` code words are compared as written, of equal
    scores the token that is listed first ranks higher, an answer without a token is a miss, and a
    tie of subgraphs is a win. Repeated lists of tokens are looked up once.

    Args:
        k: Rank for the accuracy, at least 1.
    """
    form, n = str if released else plain, len(sides.asked)
    nothing = frozenset[str]()
    task = nothing.union(*sides.below.values(), *sides.above.values())
    asked = sides.asked.select("specific", "general", "key").rows()
    answers = {form(word) for specific, general, _ in asked for word in (specific, general)}
    place_of = {word: place for place, word in enumerate(sorted(task | answers))}

    @cache
    def places(first: frozenset[str], second: frozenset[str]) -> tuple[IntArray, IntArray]:
        two = (first, second if released else second - first)
        left, right = (np.array([place_of[one] for one in side], np.int64) for side in two)
        return left, right

    @cache
    def sets_of(specific: str, general: str, key: str | None) -> list[tuple[IntArray, IntArray]]:
        below, above = (of.get(key or "", nothing) for of in (sides.below, sides.above))
        related = (below | above, task if key in sides.below else nothing)
        answer = (frozenset({form(specific)}), frozenset({form(general)}))
        return [places(*answer), places(below, above), places(*related)]

    @lru_cache(maxsize=1)
    def found_in(tokens: tuple[str, ...]) -> IntArray:
        seen.update(tokens)
        return np.array([place_of.get(form(token), -1) for token in tokens], np.int64)

    seen, listed, scored = set[str](), np.zeros(len(place_of), np.bool_), np.zeros(n, np.bool_)
    highest, hits = np.full((3, 2, n), -np.inf), np.full(n, LEFT_OUT, object)
    earlier = np.zeros(n, np.bool_)
    for row in rows:
        at, own = row.question, found_in(row.tokens)
        known, values = own >= 0, np.full(len(place_of), -np.inf)
        np.maximum.at(values, own[known], row.scores[known])
        sets = sets_of(*asked[at])
        highest[:, :, at] = [[values[side].max(initial=-np.inf) for side in two] for two in sets]
        marks = [own == place_of[form(word)] for word in asked[at][:2]]
        hits[at] = among_highest(row.scores, marks[0], k, in_order=released)
        specific, general = (_first_highest(row.scores, mark) for mark in marks)
        earlier[at] = specific <= general
        listed[own[known]] = scored[at] = True
    first, second = highest[:, 0], highest[:, 1]
    tied, won = (first == second) & np.isfinite(first), first > second
    if released:
        counts = np.isfinite(first) & np.isfinite(second)
        counts[0], won = scored, won | tied
        won[0] &= (first[0] > second[0]) | earlier
        tied = np.zeros_like(tied)
    else:
        spoken = [
            [all(listed[side].any() for side in two) for two in sets_of(*one)] for one in asked
        ]
        counts = np.array(spoken, np.bool_).reshape(n, 3).T & np.isfinite(np.maximum(first, second))
    told = np.select([~counts, tied, won], [LEFT_OUT, TIED, WON], LOST)
    every = [hits.tolist(), *told.tolist()]
    return Outcomes(dict(zip(METRICS, every, strict=True)), scored, len(seen))


def among_highest(scores: FloatArray, own: BoolArray, k: int, *, in_order: bool) -> str:
    """Whether a word is among the k highest tokens: won, lost, or tied if ties decide that.

    Args:
        scores: The scores of all tokens.
        own: Whether each token is the word, shape (n_tokens,); a word without a token is lost.
        in_order: Whether of equal scores the token that is listed first is the higher one.
    """
    if not own.any():
        return LOST
    best = scores[own].max()
    above, equal = int((scores > best).sum()), (scores == best) & ~own
    if in_order:
        above += int(equal[: _first_highest(scores, own)].sum())
        return WON if above < k else LOST
    return WON if above + equal.sum() < k else TIED if above < k else LOST


def _first_highest(scores: FloatArray, own: BoolArray) -> int:
    """Place of the first of the highest tokens of a word; their number where it has none."""
    return int(np.argmax(np.where(own, scores, -np.inf))) if own.any() else len(scores)
