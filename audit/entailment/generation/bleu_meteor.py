"""BLEU of one and two words, from counts that add up over answers; METEOR of an answer, by nltk.

*BLEU: a Method for Automatic Evaluation of Machine Translation* (Papineni et al.), without
smoothing. What *AbsPyramid* prints as BLEU-1 and BLEU-2 are the clipped precisions alone. METEOR
takes the synonyms of a WordNet folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from audit.base.dag import FloatArray
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.machine import require_package

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


Meteor: TypeAlias = Callable[[str, Sequence[str]], float]
"""The largest METEOR of an answer over its references."""

_KINDS, _PARTS_OF_SPEECH = ("data", "index"), ("noun", "verb", "adj", "adv")
_FILES = tuple(f"{kind}.{pos}" for kind in _KINDS for pos in _PARTS_OF_SPEECH)


def meteor_by(wordnet: Path) -> Meteor:
    """METEOR with alpha .9, beta 3 and gamma .5 on words between blanks, in lower case.

    *METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with Human Judgments*
    (Banerjee and Lavie), where equal words, equal stems and synonyms match. An answer of one word
    scores .5 at most, even if it is equal to a reference. nltk looks for synonyms among stems, so
    that *car* matches *auto* and never *automobile*, whose stem is no word.

    Args:
        wordnet: A WordNet folder with nouns, verbs, adjectives and adverbs.

    Raises:
        InputError: If it is none, or nltk is not installed.
        SchemaError: If its files are not as WordNet writes them.
    """
    require_package("nltk", "to compute METEOR")
    missing = [name for name in _FILES if not (wordnet / name).is_file()]
    if missing:
        raise InputError(
            "a WordNet folder with all parts of speech is required for METEOR",
            found=f"no {first_cases(missing)}",
            where=wordnet,
            hint="Debian's package wordnet-base installs one as /usr/share/wordnet",
        )
    from nltk.translate.meteor_score import single_meteor_score

    from audit.hierarchies.formats.wordnet_nltk import WordReader

    try:
        reader = WordReader(wordnet)
    except Exception as error:  # nltk raises what it stumbles over in a broken file
        raise SchemaError(
            "the files of a WordNet folder must be as WordNet writes them",
            found=f"{type(error).__name__}: {error}".rstrip(": "),
            where=wordnet,
        ) from None

    def best(answer: str, references: Sequence[str]) -> float:
        words = answer.split()
        scores = (single_meteor_score(one.split(), words, wordnet=reader) for one in references)
        return float(max(scores))

    return best
