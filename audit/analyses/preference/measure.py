"""The two sides of each comparison, how often which has the highest score, and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from audit.analyses.preference.questions import Question, plain
from audit.analyses.preference.scores import TokenScores
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.engine.statistics.intervals import wilson

ACCURACY = "Acc@{k}"
COMPARED = ("P(s, g)", "P(s-down, s-up)", "P(s-updown, t)")
"""Metrics that compare two sides, in the order of the paper's table 1: the specific answer with the
general one; what is at or below the former with what is above it; both with the task."""
LEFT_OUT, LOST, WON, TIED = -1, 0, 1, 2
"""What a question says: it is left out, or the first side is lower, higher, or equal."""
Words: TypeAlias = Mapping[str, frozenset[str]]
NO_WORD = frozenset[str]()
Sides: TypeAlias = tuple[IntArray, IntArray]
"""The two sides of a comparison, as positions among the words that are compared."""


@dataclass(frozen=True)
class PreferenceRow:
    """One metric: a share of questions.

    Args:
        metric: Its name, as in the paper.
        value: Share of the n questions in which the first side strictly wins; None if n is 0.
        low: Lower bound of its 95 % Wilson interval; None if n is 0.
        high: Upper bound of the interval.
        n: Number of questions that count.
        ties: Number of those that a tie decides; they are not wins.
        left_out: Number of questions that do not count; n + left_out is the same in every row.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    ties: int
    left_out: int


@dataclass(frozen=True)
class PreferenceResult:
    """The metrics of one model on the questions of one predicate.

    Args:
        predicate: Predicate of the questions, such as ``P106``.
        relation: The relation of the hierarchy that was used; None for its only one.
        unscored: Number of questions without scores; left out of every metric.
        tokens: Size of the vocabulary: number of tokens with a score in some question.
        answers: Number of different specific answers.
        unmapped: Specific answers that are not in the hierarchy, with the number of their
            questions; left out of the two metrics over subgraphs.
        rows: The metrics, in the order of the paper's table 1.
        released: Whether the rules of the paper's released code were followed.
        chosen: Specific answers whose sense was chosen by a file.
        by_question: ``question`` (row, from 0), ``subject, relation, specific, general, node``,
            and what it says of each metric: ``accuracy, answers, subgraphs, task``, each ``won``,
            ``lost``, ``tied`` or ``left out``.
    """

    predicate: str
    relation: str | None
    hierarchy: str
    k: int
    questions: int
    unscored: int
    tokens: int
    answers: int
    unmapped: Mapping[str, int]
    rows: tuple[PreferenceRow, ...]
    released: bool = False
    chosen: int = 0
    by_question: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that can be written as JSON."""
        told = {name: value for name, value in vars(self).items() if name != "by_question"}
        return told | {"unmapped": dict(self.unmapped), "rows": [*map(asdict, self.rows)]}


def share(metric: str, said: IntArray, tied: BoolArray) -> PreferenceRow:
    """The row of a metric from what each question says, and whether a tie is behind that."""
    wins, ties, n = (int(of.sum()) for of in (said == WON, tied, said != LEFT_OUT))
    low, high = wilson(wins, n) if n else (None, None)
    return PreferenceRow(metric, wins / n if n else None, low, high, n, ties, len(said) - n)


class Measured:
    """Highest scores of both sides of every comparison, collected question by question.

    Args:
        nodes: What the specific answer of each question denotes; not in ``below`` if nothing.
        below: Words of what is at or below each of them.
        above: Words of what is above it; the task is all words below and above.
        k: Rank for the accuracy among the k highest tokens.
        released: Whether the rules of the paper's released code are followed: words are compared as
            written, also those of both sides, which else count for the first; of equal scores the
            token that is listed first ranks higher; an answer without a token is a miss; a tie of
            subgraphs is a win.

    ``tokens`` are those with a score in some question; repeated lists are looked up once.
    """

    def __init__(
        self,
        asked: Sequence[Question],
        nodes: Sequence[str | None],
        below: Words,
        above: Words,
        k: int,
        *,
        released: bool,
    ) -> None:
        self._k, self._released, form, n = k, released, str if released else plain, len(asked)
        task = NO_WORD.union(*below.values(), *above.values())
        answers = {form(answer) for one in asked for answer in (one.specific, one.general)}
        position = {word: place for place, word in enumerate(sorted(task | answers))}

        def sides(first: frozenset[str], second: frozenset[str]) -> Sides:
            two = first, second if released else second - first
            at = (sorted(position[word] for word in words) for words in two)
            left, right = (np.array(places, np.int64) for places in at)
            return left, right

        @cache
        def of_node(node: str | None) -> tuple[Sides, Sides]:
            if node is None or node not in below:
                return sides(NO_WORD, NO_WORD), sides(NO_WORD, NO_WORD)
            return sides(below[node], above[node]), sides(below[node] | above[node], task)

        @lru_cache(maxsize=1)
        def places_of(tokens: tuple[str, ...]) -> IntArray:
            self.tokens.update(tokens)
            return np.array([position.get(form(token), -1) for token in tokens], np.int64)

        self.tokens: set[str] = set()
        words = [(frozenset({form(one.specific)}), frozenset({form(one.general)})) for one in asked]
        self._sides = [(sides(*two), *of_node(of)) for two, of in zip(words, nodes, strict=True)]
        self._places = places_of
        self._highest = np.full((len(COMPARED), 2, n), -np.inf)
        self._hits, self._first_listed = np.full(n, LEFT_OUT), np.zeros(n, np.bool_)
        self._listed = np.zeros(len(position), np.bool_)
        self.scored = np.zeros(n, np.bool_)

    def add(self, row: TokenScores) -> None:
        """Add the scores of one question; each question may be added once."""
        at, places = row.question, self._places(row.tokens)
        values, known = np.full(len(self._listed), -np.inf), places >= 0
        np.maximum.at(values, places[known], row.scores[known])
        for highest, sides in zip(self._highest, self._sides[at], strict=True):
            highest[:, at] = [values[side].max(initial=-np.inf) for side in sides]
        answers = [places == word for side in self._sides[at][0] for word in side]
        self._hits[at] = among_highest(row.scores, answers[0], self._k, in_order=self._released)
        if self._released:
            first, second = (_first_highest(row.scores, answer) for answer in answers)
            self._first_listed[at] = first <= second
        self._listed[places[known]] = True
        self.scored[at] = True

    def outcomes(self) -> tuple[IntArray, BoolArray]:
        """`WON`, `TIED`, `LOST` or `LEFT_OUT` of each metric and question, and whether one is tied.

        Of shape (n_metrics, n_questions) each.
        """
        first, second = np.moveaxis(self._highest, 1, 0)
        tied = (first == second) & np.isfinite(first)
        if self._released:
            used = np.isfinite(first) & np.isfinite(second)
            used[0], won = self.scored, (first > second) | tied
            won[0] &= (first[0] > second[0]) | self._first_listed
            told = np.where(won, WON, LOST)
        else:
            used = self._spoken() & self.scored & np.isfinite(np.maximum(first, second))
            told = np.where(tied, TIED, np.where(first > second, WON, LOST))
        said = np.vstack([self._hits, np.where(used, told, LEFT_OUT)])
        return said, np.vstack([self._hits == TIED, tied & used])

    def rows(self) -> tuple[PreferenceRow, ...]:
        """The four metrics over all questions added."""
        names = (ACCURACY.format(k=self._k), *COMPARED)
        return tuple(map(share, names, *self.outcomes()))

    def _spoken(self) -> BoolArray:
        """Whether the vocabulary has a word of both sides of each comparison."""
        spoken = [
            [all(self._listed[side].any() for side in sides) for sides in own]
            for own in self._sides
        ]
        return np.array(spoken, np.bool_).reshape(-1, len(COMPARED)).T


def among_highest(scores: FloatArray, own: BoolArray, k: int, *, in_order: bool) -> int:
    """Whether a word is among the k highest tokens: `WON`, `LOST`, or `TIED` if ties decide that.

    Args:
        scores: The scores of all tokens.
        own: Whether each token is the word, shape (n_tokens,); a word without a token is lost.
        k: At least 1.
        in_order: Whether of equal scores the token that is listed first is the higher one.
    """
    if not own.any():
        return LOST
    best = scores[own].max()
    above, equal = int((scores > best).sum()), (scores == best) & ~own
    if in_order:
        return WON if above + int(equal[: _first_highest(scores, own)].sum()) < k else LOST
    others = above + int(equal.sum())
    return WON if others < k else TIED if above < k else LOST


def _first_highest(scores: FloatArray, own: BoolArray) -> int:
    """Place of the first of the highest tokens of a word; their number where it has none."""
    return int(np.argmax(np.where(own, scores, -np.inf))) if own.any() else len(scores)
