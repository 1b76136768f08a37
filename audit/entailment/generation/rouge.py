"""ROUGE-2 recall and ROUGE-L F1 of an answer, on stems, with the best of several references.

*ROUGE: A Package for Automatic Evaluation of Summaries* (Lin). Words of more than three letters are
stemmed, as in the package `rouge-score`; letters of any alphabet count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from audit.entailment.generation.porter import stem
from audit.entailment.generation.tokens import rouge_words

_STEMMED_FROM = 4


def rouge(answer: str, references: Sequence[str]) -> tuple[float, float]:
    """ROUGE-2 recall and ROUGE-L F1, each the largest over the references.

    ROUGE-2 recall is the share of a reference's pairs of neighbours that the answer has; 0 for a
    reference of one word, even if the answer is equal to it. ROUGE-L compares by the longest common
    subsequence.

    Args:
        answer: The text.
        references: At least one.

    >>> rouge("big dog", ["the big dog barks"])
    (0.3333333333333333, 0.6666666666666666)
    """
    words = _stems(answer)
    others = [_stems(reference) for reference in references]
    recall = max(_pair_recall(words, other) for other in others)
    return recall, max(_subsequence_f1(words, other) for other in others)


@lru_cache(maxsize=200_000)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(word) if len(word) >= _STEMMED_FROM else word for word in rouge_words(text))


def _pair_recall(words: Sequence[str], reference: Sequence[str]) -> float:
    own, other = Counter(pairwise(words)), Counter(pairwise(reference))
    return (own & other).total() / max(other.total(), 1)


def _subsequence_f1(words: Sequence[str], reference: Sequence[str]) -> float:
    common = _longest_common(words, reference)
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(reference)
    return 2 * precision * recall / (precision + recall)


def _longest_common(some: Sequence[str], others: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(others) + 1)
    for word in some:
        diagonal = 0
        for place, other in enumerate(others, start=1):
            above = row[place]
            row[place] = diagonal + 1 if word == other else max(above, row[place - 1])
            diagonal = above
    return row[-1]
