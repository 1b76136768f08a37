"""The tokens that a model scores, mapped to the compared words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from audit.alignment.preference.lexicon import plain
from audit.alignment.preference.scores import TokenScores
from audit.base.dag import FloatArray, IntArray


class Vocabulary:
    """The tokens met so far; grows with every row, and maps a repeated list of tokens only once.

    Args:
        position: Position of each compared word.
        form: The form of a token that is looked up among the words.

    ``tokens`` holds the tokens met so far.
    """

    def __init__(self, position: Mapping[str, int], form: Callable[[str], str] = plain) -> None:
        self.tokens: set[str] = set()
        self._position, self._form = position, form
        self._last: tuple[str, ...] = ()
        self._places = np.zeros(0, np.int64)

    def places(self, tokens: tuple[str, ...]) -> IntArray:
        """Position of each token's word, shape (n_tokens,); -1 for words that are not compared."""
        if tokens != self._last:
            found = (self._position.get(self._form(token), -1) for token in tokens)
            self._places = np.fromiter(found, np.int64, len(tokens))
            self._last = tokens
            self.tokens.update(tokens)
        return self._places

    def values(self, row: TokenScores) -> FloatArray:
        """Highest score of each word's tokens, shape (n_words,); -inf if none has a score."""
        places = self.places(row.tokens)
        values = np.full(len(self._position), -np.inf)
        known = places >= 0
        np.maximum.at(values, places[known], row.scores[known])
        return values
