"""Measures of an answer against references: BLEU by counts that add up, ROUGE, METEOR by nltk.

*BLEU: a Method for Automatic Evaluation of Machine Translation* (Papineni et al.): what
*AbsPyramid* prints as BLEU-1 and BLEU-2 are its clipped precisions. METEOR takes the synonyms of a
WordNet folder. *ROUGE: A Package for Automatic Evaluation of Summaries* (Lin), with the best of
several references, on nltk's stems: words of more than three letters are stemmed, as in the package
`rouge-score`; letters of any alphabet count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from audit.base.errors import InputError, first_cases
from audit.base.machine import require_package

_SIGNS = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_APART = (
    (r"([!\"#$%&()*+/:;<=>?@\[\\\]^_`{|}~])", r" \1 "),
    (r"([^0-9])([.,])", r"\1 \2 "),
    (r"([.,])([^0-9])", r" \1 \2"),
    (r"([0-9])(-)", r"\1 \2 "),
)
ORDERS = (1, 2)
"""Lengths of the n-grams of BLEU."""


def bleu_counts(answer: str, references: Sequence[str]) -> list[int]:
    """For each of `ORDERS` the n-grams that match one of a reference, and all of the answer's.

    A match counts as often as the reference with the most of it has it; there is at least one.
    """
    words, others, counts = bleu_words(answer), [*map(bleu_words, references)], list[int]()
    for order in ORDERS:
        own, most = _grams(words, order), Counter[tuple[str, ...]]()
        for other in others:
            most |= _grams(other, order)
        counts += [(own & most).total(), own.total()]
    return counts


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def bleu_words(text: str) -> list[str]:
    """Words by the rules of the NIST script ``mteval-v13a``, the default of BLEU; case is kept.

    Signs stand alone, but for apostrophes; a point or comma does so unless between digits, a hyphen
    after a digit.

    >>> bleu_words("PersonX's 3.5-inch disk, &amp; more.")
    ["PersonX's", '3.5', '-', 'inch', 'disk', ',', '&', 'more', '.']
    """
    for sign, meant in _SIGNS:
        text = re.sub(sign, meant, text)
    text = f" {text} "
    for pattern, padded in _APART:
        text = re.sub(pattern, padded, text)
    return text.split()


Meteor: TypeAlias = Callable[[str, Sequence[str]], float]
"""The largest METEOR of an answer over its references."""
_FILES = [f"{kind}.{pos}" for kind in ("data", "index") for pos in ("noun", "verb", "adj", "adv")]


def meteor_by(wordnet: Path) -> Meteor:
    """METEOR with alpha .9, beta 3 and gamma .5 on words between blanks, in lower case.

    An answer of one word scores .5 at most, even if it is equal to a reference. nltk looks for
    synonyms among stems, so that *car* matches *auto* and never *automobile*, whose stem is no
    word. Raises InputError if the folder is no WordNet, or nltk is not installed.
    """
    require_package("nltk", "to compute METEOR")
    from nltk.translate.meteor_score import single_meteor_score

    from audit.hierarchies.formats.wordnet import nltk_reader

    lacking = first_cases(name for name in _FILES if not (wordnet / name).is_file())
    try:
        reader = None if lacking else nltk_reader(wordnet)
    except Exception as error:  # nltk raises what it stumbles over in a broken file
        lacking = f"{type(error).__name__}: {error}".rstrip(": ")
    if lacking:
        raise InputError(
            "a WordNet folder with all parts of speech, as WordNet writes them, is required",
            found=f"faulty or missing: {lacking}",
            where=wordnet,
            hint="Debian's package wordnet-base installs one as /usr/share/wordnet",
        )

    def best(answer: str, references: Sequence[str]) -> float:
        words = answer.split()
        scores = (single_meteor_score(one.split(), words, wordnet=reader) for one in references)
        return float(max(scores))

    return best


def rouge(answer: str, references: Sequence[str]) -> tuple[float, float]:
    """ROUGE-2 recall and ROUGE-L F1, each the largest over the references, of which there is one.

    ROUGE-2 recall is the share of a reference's pairs of neighbours that the answer has; 0 for a
    reference of one word, even if the answer is equal to it.

    >>> rouge("big dog", ["the big dog barks"])
    (0.3333333333333333, 0.6666666666666666)
    """
    words, recalls, f1 = _stems(answer), list[float](), list[float]()
    own = Counter(pairwise(words))
    for other in map(_stems, references):
        pairs = Counter(pairwise(other))
        recalls.append((own & pairs).total() / max(pairs.total(), 1))
        f1.append(2 * _longest_common(words, other) / max(len(words) + len(other), 1))
    return max(recalls), max(f1)


@lru_cache(maxsize=200_000)
def _stems(text: str) -> tuple[str, ...]:
    """Runs of letters and digits in lower case, those of other alphabets too, as stems."""
    words = re.findall(r"[^\W_]+", text.lower())
    return tuple(_stemmer()(word) if len(word) > 3 else word for word in words)


@cache
def _stemmer() -> Callable[[str], str]:
    require_package("nltk", "to compute ROUGE")
    from nltk.stem.porter import PorterStemmer

    stem: Callable[[str], str] = lru_cache(maxsize=200_000)(PorterStemmer().stem)
    return stem


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
