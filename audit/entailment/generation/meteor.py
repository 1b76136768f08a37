"""METEOR of an answer, by nltk, with the synonyms of a WordNet folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.packages import require_package

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
