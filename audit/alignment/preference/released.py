"""Preference as the code released with *Abstraction Alignment* measures it.

It differs from the paper's text, and from `audit.alignment.preference.measure`, in that

- of several questions about one subject the last one counts for all;
- a node has one word, the first part of its synset's name, and its answer; words are compared as
  written, with case and ``_``;
- ancestors and descendants are reached by hypernyms of kinds, or by part-holonyms, and not beyond
  the node above the task;
- a tie is a win in the two metrics over subgraphs, and all words of the task are the second side
  of the last one;
- in the first two metrics an answer without a token counts as a miss.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from audit.alignment.preference.measure import places_of, top
from audit.alignment.preference.questions import Question
from audit.alignment.preference.result import (
    ACCURACY,
    BELOW_OR_ABOVE,
    RELATED_OR_TASK,
    SPECIFIC_OR_GENERAL,
    PreferenceRow,
    share,
)
from audit.alignment.preference.scores import TokenScores, Vocabulary
from audit.hierarchies.formats.wordnet import WordNet

RELATIONS = {"hypernym": "kind_hypernym", "holonym": "part_holonym"}
"""The relation that the released code follows, for each that a task is about."""


TOPS = {"P106": "person.n.01"}
"""The synset beyond which the released code follows no edge, by predicate; others have none."""


@dataclass(frozen=True, eq=False)
class RelatedWords:
    """The words below and above each answer that has a sense.

    Args:
        below: Words of an answer's node and its descendants, and the answer, by answer.
        above: Words of the node's ancestors, by answer.
    """

    below: Mapping[str, frozenset[str]]
    above: Mapping[str, frozenset[str]]

    @property
    def task(self) -> frozenset[str]:
        """All words of the task."""
        return frozenset().union(*self.below.values(), *self.above.values())


def related_words(
    senses: Mapping[str, str | None], nouns: WordNet, relation: str, top: str | None
) -> RelatedWords:
    """The words related to each answer with a sense.

    Args:
        senses: Synset of each answer; None for an answer that has none.
        nouns: The WordNet.
        relation: ``hypernym`` or ``holonym``.
        top: Synset beyond which nothing is followed; None for none.
    """
    up, down = defaultdict(list), defaultdict(list)
    for child, parent in nouns.edges[RELATIONS[relation]]:
        up[child].append(parent)
        down[parent].append(child)
    chosen = {answer: synset for answer, synset in senses.items() if synset is not None}
    return RelatedWords(
        below={
            answer: _words(_reached(synset, down, top) | {synset}) | {answer}
            for answer, synset in chosen.items()
        },
        above={answer: _words(_reached(synset, up, top)) for answer, synset in chosen.items()},
    )


def _reached(start: str, steps: Mapping[str, list[str]], top: str | None) -> set[str]:
    """Synsets some steps away; nothing is followed beyond the top."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node != top and node in steps:
            new = set(steps[node]) - found
            found |= new
            waiting += new
    return found


def _words(synsets: Iterable[str]) -> frozenset[str]:
    """The first part of each synset's name, as the released code writes words."""
    return frozenset(synset.split(".")[0] for synset in synsets)


class ReleasedMeasure:
    """The four metrics of the released code, collected question by question.

    Args:
        words: The related words of each answer.
        questions: The questions.
        k: Rank for the accuracy among the k highest tokens.

    Of equal scores the token that is listed first ranks higher.
    """

    def __init__(self, words: RelatedWords, questions: Sequence[Question], k: int) -> None:
        self._k, self._n = k, len(questions)
        last = {question.subject: question for question in questions}
        self._asked = [last[question.subject] for question in questions]
        answers = {a for q in self._asked for a in (q.specific, q.general)}
        position = {word: i for i, word in enumerate(sorted(words.task | answers))}
        self._position = position
        self._vocabulary = Vocabulary(position, form=str)
        self._below = {answer: places_of(own, position) for answer, own in words.below.items()}
        self._above = {answer: places_of(own, position) for answer, own in words.above.items()}
        self._task = places_of(words.task, position)
        self._counts = {name: [0, 0, 0] for name in ("k", "pr", "ps", "pt")}
        self.scored = np.zeros(len(questions), np.bool_)

    @property
    def tokens(self) -> int:
        """Size of the vocabulary: number of tokens with a score in some question."""
        return len(self._vocabulary.tokens)

    def add(self, row: TokenScores) -> None:
        """Add the scores of one question; each question may be added once."""
        asked, values = self._asked[row.question], self._vocabulary.values(row)
        self.scored[row.question] = True
        self._add_words(row, asked)
        if asked.specific in self._below:
            below, above = self._below[asked.specific], self._above[asked.specific]
            related = np.concatenate([below, above])
            self._add_sides("ps", top(values, below), top(values, above))
            self._add_sides("pt", top(values, related), top(values, self._task))

    def rows(self) -> tuple[PreferenceRow, ...]:
        """The four metrics over all questions added; ties are among the wins."""
        titles = (ACCURACY.format(k=self._k), SPECIFIC_OR_GENERAL, BELOW_OR_ABOVE, RELATED_OR_TASK)
        return tuple(
            share(title, wins, ties, n, self._n)
            for title, (wins, ties, n) in zip(titles, self._counts.values(), strict=True)
        )

    def _add_words(self, row: TokenScores, asked: Question) -> None:
        specific, general = (self._rank(row, a) for a in (asked.specific, asked.general))
        equal = np.isfinite(specific[0]) and specific[0] == general[0]
        self._count("k", self._among_highest(row, specific), False)
        self._count("pr", bool(np.isfinite(specific[0])) and specific <= general, bool(equal))

    def _rank(self, row: TokenScores, word: str) -> tuple[float, int]:
        """Negative score and place of a word's first token; infinite where it has none."""
        places = np.flatnonzero(self._vocabulary.places(row.tokens) == self._position[word])
        if not len(places):
            return np.inf, len(row.tokens)
        best = places[np.argmax(row.scores[places])]
        return -float(row.scores[best]), int(best)

    def _among_highest(self, row: TokenScores, rank: tuple[float, int]) -> bool:
        score, place = rank
        if not np.isfinite(score):
            return False
        before = int((row.scores > -score).sum() + (row.scores[:place] == -score).sum())
        return before < self._k

    def _add_sides(self, name: str, first: float, second: float) -> None:
        if np.isfinite(first) and np.isfinite(second):
            self._count(name, first >= second, first == second)

    def _count(self, name: str, win: bool, tie: bool) -> None:
        self._counts[name] = [
            total + one for total, one in zip(self._counts[name], (win, tie, True), strict=True)
        ]
