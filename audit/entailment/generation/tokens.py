"""Words of short texts, as BLEU and as ROUGE divide them."""

from __future__ import annotations

import re

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_APART = re.compile(r"([!\"#$%&()*+/:;<=>?@\[\\\]^_`{|}~])")
_AFTER_OTHER = re.compile(r"([^0-9])([.,])")
_BEFORE_OTHER = re.compile(r"([.,])([^0-9])")
_AFTER_DIGIT = re.compile(r"([0-9])(-)")
_WORD = re.compile(r"[^\W_]+")


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


def rouge_words(text: str) -> list[str]:
    """Runs of letters and digits in lower case, those of other alphabets too.

    >>> rouge_words("A well-known café")
    ['a', 'well', 'known', 'café']
    """
    return _WORD.findall(text.lower())
