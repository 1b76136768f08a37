"""The word sets that are compared: an answer, words below or above it, related ones, all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from audit.alignment.preference.lexicon import Lexicon, plain
from audit.alignment.preference.questions import Question
from audit.base.dag import IntArray


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
        lexicon: Words and nodes.
        questions: The questions.
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
        return Sides(self._places_of(first), self._places_of(second - first))

    def _places_of(self, words: set[str] | frozenset[str]) -> IntArray:
        return np.array(sorted(self.position[word] for word in words), np.int64)
