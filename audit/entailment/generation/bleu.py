"""BLEU of one and two words over a corpus, from counts that add up over answers.

*BLEU: a Method for Automatic Evaluation of Machine Translation* (Papineni et al.), without
smoothing. What *AbsPyramid* prints as BLEU-1 and BLEU-2 are the clipped precisions alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from audit.base.dag import FloatArray

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_APART = re.compile(r"([!\"#$%&()*+/:;<=>?@\[\\\]^_`{|}~])")
_AFTER_OTHER = re.compile(r"([^0-9])([.,])")
_BEFORE_OTHER = re.compile(r"([.,])([^0-9])")
_AFTER_DIGIT = re.compile(r"([0-9])(-)")
_ORDERS = (1, 2)
COUNTS = 2 * len(_ORDERS) + 2
"""Number of counts of an answer: matches and n-grams by order, its length, the reference length."""


def bleu_counts(answer: str, references: Sequence[str]) -> tuple[int, ...]:
    """Matches and n-grams of one and of two words, the answer's length and the reference length.

    A match counts as often as the reference with the most of it has it. The reference length is
    that of the reference closest in length, the shorter of two.

    Args:
        answer: The text; empty counts nothing but the reference length.
        references: At least one.
    """
    words, others = bleu_words(answer), [bleu_words(reference) for reference in references]
    counts: list[int] = []
    for order in _ORDERS:
        own, most = _grams(words, order), Counter[tuple[str, ...]]()
        for other in others:
            most |= _grams(other, order)
        counts += [(own & most).total(), own.total()]
    closest = min((abs(len(other) - len(words)), len(other)) for other in others)[1]
    return (*counts, len(words), closest)


def bleu_measures(sums: FloatArray) -> Mapping[str, FloatArray]:
    """BLEU of a corpus from sums of `bleu_counts`, each measure of shape (...).

    A precision without n-grams is 0, as is a BLEU with a precision of 0. Without words in the
    answers the brevity penalty is 0.

    Args:
        sums: Shape (..., `COUNTS`).
    """
    one, of_one, two, of_two, length, reference = np.moveaxis(sums, -1, 0)
    first, second = _per(one, of_one), _per(two, of_two)
    with np.errstate(divide="ignore"):
        short = np.exp(np.minimum(1 - _per(reference, length), 0.0))
    penalty = np.where(length > 0, short, 0.0)
    return {
        "bleu_1_precision": first,
        "bleu_2_precision": second,
        "brevity_penalty": penalty,
        "bleu_1": penalty * first,
        "bleu_2": penalty * np.sqrt(first * second),
    }


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def _per(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def bleu_words(text: str) -> list[str]:
    """Words by the rules of the NIST script ``mteval-v13a``, the default of BLEU; case is kept.

    Signs stand alone, but for apostrophes; a point or comma does so unless between digits, a hyphen
    after a digit.

    >>> bleu_words("PersonX's 3.5-inch disk, &amp; more.")
    ["PersonX's", '3.5', '-', 'inch', 'disk', ',', '&', 'more', '.']
    """
    for written, meant in _ENTITIES:
        text = text.replace(written, meant)
    padded = _APART.sub(r" \1 ", f" {text} ")
    padded = _AFTER_OTHER.sub(r"\1 \2 ", padded)
    padded = _BEFORE_OTHER.sub(r" \1 \2", padded)
    return _AFTER_DIGIT.sub(r"\1 \2 ", padded).split()
