"""The two sides of each comparison, how often which has the highest score, and the result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from audit.alignment.preference.questions import Lexicon, Question, plain
from audit.alignment.preference.scores import TokenScores, Vocabulary
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import schema
from audit.engine.statistics.intervals import wilson

ACCURACY = "Acc@{k}"
SPECIFIC_OR_GENERAL = "P(s, g)"
BELOW_OR_ABOVE = "P(s-down, s-up)"
RELATED_OR_TASK = "P(s-updown, t)"


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

    def to_frame(self) -> pl.DataFrame:
        """The columns ``metric, value, low, high, n, ties, left_out``, one row per metric."""
        return pl.DataFrame([asdict(row) for row in self.rows], schema=_SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values that can be written as JSON."""
        told = asdict(replace(self, by_question=pl.DataFrame()))
        del told["by_question"]
        return told | {
            "unmapped": dict(self.unmapped),
            "rows": list(map(asdict, self.rows)),
        }


LEFT_OUT, LOST, WON, TIED = -1, 0, 1, 2
"""What a question says: it is left out, or the first side is lower, higher, or equal."""


def share(metric: str, wins: int, ties: int, n: int, questions: int) -> PreferenceRow:
    """Make a row from counts; value and interval are None if n is 0."""
    low, high = wilson(wins, n) if n else (None, None)
    return PreferenceRow(metric, wins / n if n else None, low, high, n, ties, questions - n)


_SCHEMA = schema(
    ("metric", pl.String),
    ("value low high", pl.Float64),
    ("n ties left_out", pl.Int64),
)


COMPARED = (SPECIFIC_OR_GENERAL, BELOW_OR_ABOVE, RELATED_OR_TASK)
"""Metrics that compare two sides, in the order of the paper's table 1."""


@dataclass(frozen=True, eq=False)
class Sides:
    """The two sides of a comparison, as positions among the words of the task.

    A word on both sides counts for the first only: the second is *any other* word.
    """

    first: IntArray
    second: IntArray


class TaskWords:
    """Every word that is compared in some question, and the sides of each comparison.

    The task's hierarchy consists of all specific answers, their ancestors and descendants.

    Args:
        nodes: The node of each question's specific answer; None if it is not in the hierarchy.

    ``position`` maps each word to its position in code-point order.
    """

    def __init__(
        self, lexicon: Lexicon, questions: Sequence[Question], nodes: Sequence[str | None]
    ) -> None:
        self._lexicon = lexicon
        self._below = {node: self._words(node, up=False) for node in set(nodes) if node}
        self._above = {node: self._words(node, up=True) for node in self._below}
        self._task = frozenset[str]().union(*self._below.values(), *self._above.values())
        answers = {plain(a) for asked in questions for a in (asked.specific, asked.general)}
        self.position = {word: i for i, word in enumerate(sorted(self._task | answers))}
        self._of_node: dict[str, tuple[Sides, Sides]] = {}

    def answers(self, question: Question) -> Sides:
        """The specific answer against the general one, each a single word."""
        return self._sides({plain(question.specific)}, {plain(question.general)})

    def subgraphs(self, node: str) -> tuple[Sides, Sides]:
        """At or below a node against above it; related to it against the rest of the task."""
        if node not in self._of_node:
            below, above = self._below[node], self._above[node]
            self._of_node[node] = (
                self._sides(below, above),
                self._sides(below | above, self._task),
            )
        return self._of_node[node]

    def _words(self, node: str, *, up: bool) -> frozenset[str]:
        hierarchy = self._lexicon.hierarchy
        if up:
            return self._lexicon.words_of(hierarchy.ancestors(node))
        return self._lexicon.words_of(hierarchy.descendants(node, with_self=True))

    def _sides(self, first: set[str] | frozenset[str], second: set[str] | frozenset[str]) -> Sides:
        return Sides(places_of(first, self.position), places_of(second - first, self.position))


def places_of(words: Collection[str], position: Mapping[str, int]) -> IntArray:
    """Positions of words among all that are compared, ascending."""
    return np.array(sorted(position[word] for word in words), np.int64)


def among_highest(row: TokenScores, own: BoolArray, k: int) -> tuple[bool, bool]:
    """Whether a word is among the k highest tokens, and whether only ties decide that.

    Args:
        row: The scores of all tokens.
        own: Whether each token is the word, shape (n_tokens,).
        k: At least 1.

    Returns:
        Hit and tie. A hit is one for any order of equal scores; a word without a token is none.
    """
    if not own.any():
        return False, False
    best, others = row.scores[own].max(), row.scores[~own]
    above, not_below = int((others > best).sum()), int((others >= best).sum())
    return not_below < k, above < k <= not_below


class Measured:
    """Highest scores of both sides of every comparison, collected question by question.

    Args:
        nodes: The node of each question's specific answer; None if it is not in the hierarchy.
        k: Rank for the accuracy among the k highest tokens.
    """

    def __init__(
        self, words: TaskWords, questions: Sequence[Question], nodes: Sequence[str | None], k: int
    ) -> None:
        self._k = k
        self._vocabulary = Vocabulary(words.position)
        self._sides = [
            (words.answers(question), *(words.subgraphs(node) if node else (None, None)))
            for question, node in zip(questions, nodes, strict=True)
        ]
        self._highest = np.full((len(questions), len(COMPARED), 2), -np.inf)
        self._listed = np.zeros(len(words.position), np.bool_)
        self._hits = np.full(len(questions), LEFT_OUT)
        self.scored = np.zeros(len(questions), np.bool_)

    @property
    def tokens(self) -> int:
        """Size of the vocabulary: number of tokens with a score in some question."""
        return len(self._vocabulary.tokens)

    def add(self, row: TokenScores) -> None:
        """Add the scores of one question; each question may be added once."""
        places, values = self._vocabulary.places(row.tokens), self._vocabulary.values(row)
        sides = self._sides[row.question]
        hit, by_order = among_highest(row, np.isin(places, sides[0].first), self._k)
        self._hits[row.question] = TIED if by_order else WON if hit else LOST
        self._highest[row.question] = [_highest(values, compared) for compared in sides]
        self._listed[places[places >= 0]] = True
        self.scored[row.question] = True

    def rows(self) -> tuple[PreferenceRow, ...]:
        """The four metrics over all questions added."""
        return tuple(self._row(metric, of) for metric, of in self.outcomes().items())

    def _row(self, metric: str, of: IntArray) -> PreferenceRow:
        won, tied, n = (int(one.sum()) for one in (of == WON, of == TIED, of >= 0))
        return share(metric, won, tied, n, len(of))

    def outcomes(self) -> Mapping[str, IntArray]:
        """`WON`, `TIED`, `LOST` or `LEFT_OUT` of each question, (n_questions,), by metric."""
        compared = ((metric, self._outcomes(at)) for at, metric in enumerate(COMPARED))
        return {ACCURACY.format(k=self._k): self._hits, **dict(compared)}

    def _outcomes(self, at: int) -> IntArray:
        first, second = self._highest[:, at].T
        told = np.where(first > second, WON, np.where(first == second, TIED, LOST))
        return np.where(self._used(at), told, LEFT_OUT)

    def _used(self, at: int) -> BoolArray:
        """Questions with a word of the vocabulary on both sides, one of them scored."""
        spoken = [sides[at] is not None and self._spoken(sides[at]) for sides in self._sides]
        used = np.array(spoken, np.bool_) & self.scored
        return np.asarray(used & np.isfinite(self._highest[:, at].max(axis=1)))

    def _spoken(self, sides: Sides) -> bool:
        return bool(self._listed[sides.first].any() and self._listed[sides.second].any())


def _highest(values: FloatArray, sides: Sides | None) -> tuple[float, float]:
    if sides is None:
        return -np.inf, -np.inf
    return top(values, sides.first), top(values, sides.second)


def top(values: FloatArray, at: IntArray) -> float:
    """The highest of some values, minus infinity of none."""
    return float(values[at].max(initial=-np.inf))
