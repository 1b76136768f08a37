"""Words as they are compared, tokens that represent no text, and stop words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import polars as pl

from audit.base.errors import refuse_unknown

_STOP_WORDS = Path(__file__).parent / "data" / "stop_words.csv"
STOP_WORDS = ("paper", "clinical")
"""The 179 English stop words that NLTK had until 2024, and those of them that do not negate."""

SPECIAL_TOKENS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "bert": frozenset({"[CLS]", "[CLR]", "[SEP]", "[PAD]"}),
        "roberta": frozenset({"<s>", "</s>", "<pad>"}),
        "gpt2": frozenset({"<|endoftext|>"}),
        "llama": frozenset({"<s>", "</s>", "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"}),
        "t5": frozenset({"</s>", "<pad>"}),
        "xlnet": frozenset({"<cls>", "<sep>", "<pad>", "<s>", "</s>", "<eod>", "<eop>"}),
        "gemma": frozenset({"<bos>", "<eos>", "<pad>"}),
        "kamp": frozenset({"[CLS]", "[SEP]", "<s>", "</s>", "Ġ"}),
    }
)
"""Tokens that a model adds to a text, by the name of a list.

Unknown and masked words are not among them: they stand for a word of the text. ``kamp`` is the
list that the released code of "Dynamic top-k" uses; its ``Ġ`` is a space that stands alone.
"""
ALL_SPECIAL = frozenset[str]().union(
    *(tokens for name, tokens in SPECIAL_TOKENS.items() if name != "kamp")
)
"""The tokens of all lists but ``kamp``: what is left out unless another list is named."""

LEADING_MARKERS = r"^(?:##|▁|Ġ)+"
CLOSING_MARKERS = r"(?i)(?:</w>)+$"


def words_of(tokens: pl.Series) -> pl.Series:
    """Tokens as they are compared: in lower case, without the markers of word pieces.

    The markers are ``##``, ``▁`` and ``Ġ`` before a piece, and ``</w>`` behind it. Punctuation is
    never removed, and a token that is nothing but markers stays as it is.

    >>> words_of(pl.Series(["Card", "##iac", "Ġarrest", ".", "##"])).to_list()
    ['card', 'iac', 'arrest', '.', '##']
    """
    bare = tokens.str.replace(LEADING_MARKERS, "").str.replace(CLOSING_MARKERS, "")
    return bare.zip_with(bare.str.len_bytes() > 0, tokens).str.to_lowercase()


def words_in(texts: pl.Series) -> pl.Series:
    """The words of free texts, as lists in lower case, with repeats.

    They are runs of letters and digits, each other character that is no space, and runs of
    letters and digits that single characters hold together: ``don't`` gives ``don``, ``'``, ``t``
    and ``don't``, so that it is met however a model divides it.

    >>> words_in(pl.Series(["Sepsis, 38.5"]))[0].to_list()
    ['sepsis', ',', '38', '.', '5', '38.5']
    """
    lower = texts.str.to_lowercase()
    parts = lower.str.extract_all(r"\w+|[^\w\s]")
    joined = lower.str.extract_all(r"\w+(?:[^\w\s]\w+)+")
    return pl.select(pl.concat_list(parts, joined)).to_series()


def special_tokens(named: str | Collection[str]) -> frozenset[str]:
    """The tokens of a named list (``all``, ``none``, or a key of `SPECIAL_TOKENS`), or those given.

    Raises:
        InputError: If there is no list of that name.
    """
    if not isinstance(named, str):
        return frozenset(named)
    lists = {"all": ALL_SPECIAL, "none": frozenset[str](), **SPECIAL_TOKENS}
    refuse_unknown(named, lists, "a list of special tokens", "lists")
    return lists[named]


@cache
def stop_words(name: str = "paper") -> frozenset[str]:
    """The stop words of a named list: ``paper`` or ``clinical``.

    ``paper`` is the list of "Importance Alignment": the 179 words of NLTK. ``clinical`` leaves
    out of it the words that negate (``no``, ``not``, ``nor``, ``don't`` and the like), since a
    finding and its absence are different codes. Neither holds ``system``, ``side`` or ``back``, as
    scikit-learn's list does.

    Raises:
        InputError: If there is no list of that name.
    """
    refuse_unknown(name, STOP_WORDS, "a list of stop words", "lists")
    table = pl.read_csv(_STOP_WORDS)
    return frozenset(table.filter(pl.col(name) == 1)["word"])
