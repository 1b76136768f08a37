"""Measures of an answer against references: BLEU and ROUGE by counts that add up, METEOR by nltk.

*BLEU: a Method for Automatic Evaluation of Machine Translation* (Papineni et al.), without
smoothing. What *AbsPyramid* prints as BLEU-1 and BLEU-2 are the clipped precisions alone. METEOR
takes the synonyms of a WordNet folder. *ROUGE: A Package for Automatic Evaluation of Summaries*
(Lin), with the best of several references, on stems: words of more than three letters are stemmed,
as in the package `rouge-score`; letters of any alphabet count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
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

    from audit.hierarchies.formats.wordnet import nltk_reader

    try:
        reader = nltk_reader(wordnet)
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


_IRREGULAR = {
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
} | {
    word: word
    for word in (
        *("sky", "news", "inning", "outing", "canning"),
        *("howe", "proceed", "exceed", "succeed"),
    )
}
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
    *("ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)
_VOWELS = "aeiou"
_WORD = re.compile(r"[^\W_]+")
_SYLLABLE = re.compile("v+c+")


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The stem of a word in lower case; words of one or two letters are their own.

    >>> [stem(word) for word in ("animals", "running", "relational", "skies")]
    ['anim', 'run', 'relat', 'sky']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffix, _suffix, _last_suffix, _final_e):
        word = step(word)
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest != word and "v" in _shape(rest):
            return _restored(rest)
    return word


def _restored(rest: str) -> str:
    """What is left of a word without "ed" or "ing", as its present is written."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and _shape(rest)[-1] == "c":
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _is_short(rest) else rest


def _final_y(word: str) -> str:
    rest = word.removesuffix("y")
    return rest + "i" if rest != word and len(rest) > 1 and _shape(rest)[-1] == "c" else word


def _double_suffix(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2])
    replaced = _replaced(word, _STEP_2)
    if replaced is None and word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return word if replaced is None else replaced


def _suffix(word: str) -> str:
    replaced = _replaced(word, _STEP_3)
    return word if replaced is None else replaced


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str | None:
    """The word with the first of the suffixes that it has replaced; None if it has none."""
    for suffix, written in rules:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + written if _measure(rest) > 0 else word
    return None


def _last_suffix(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            fits = suffix != "ion" or rest.endswith(("s", "t"))
            return rest if fits and _measure(rest) > 1 else word
    return word


def _final_e(word: str) -> str:
    rest = word.removesuffix("e")
    if rest == word:
        return word
    measure = _measure(rest)
    return rest if measure > 1 or (measure == 1 and not _is_short(rest)) else word


def _is_short(word: str) -> bool:
    """Whether a word ends in consonant, vowel, consonant, the last none of w, x and y."""
    shape = _shape(word)
    return (shape.endswith("cvc") and word[-1] not in "wxy") or shape == "vc"


def _measure(word: str) -> int:
    """Number of sequences of vowels followed by consonants."""
    return len(_SYLLABLE.findall(_shape(word)))


@lru_cache(maxsize=200_000)
def _shape(word: str) -> str:
    """A letter v for each vowel and c for each consonant; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


_STEMMED_FROM = 4


def rouge(answer: str, references: Sequence[str]) -> tuple[float, float]:
    """ROUGE-2 recall and ROUGE-L F1, each the largest over the references.

    ROUGE-2 recall is the share of a reference's pairs of neighbours that the answer has; 0 for a
    reference of one word, even if the answer is equal to it. ROUGE-L compares by the longest common
    subsequence.

    Args:
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


def rouge_words(text: str) -> list[str]:
    """Runs of letters and digits in lower case, those of other alphabets too.

    >>> rouge_words("A well-known café")
    ['a', 'well', 'known', 'café']
    """
    return _WORD.findall(text.lower())
