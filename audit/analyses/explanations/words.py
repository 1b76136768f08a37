"""Words as they are compared: tokens without markers, special tokens, stop words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import polars as pl

from audit.base.errors import refuse_unknown

STOP_WORDS = ("paper", "clinical")
"""The 179 English stop words that NLTK had until 2024, and those of them that do not negate."""
SPECIAL_TOKENS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "all": frozenset(
            (
                *("[CLS]", "[CLR]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>", "<cls>", "<sep>"),
                *("<eod>", "<eop>", "<bos>", "<eos>", "<|endoftext|>", "<|begin_of_text|>"),
                *("<|end_of_text|>", "<|eot_id|>"),
            )
        ),
        "none": frozenset(),
        "kamp": frozenset({"[CLS]", "[SEP]", "<s>", "</s>", "Ġ"}),
    }
)
"""Tokens that models add to a text, by the name of a list.

Unknown and masked words are not among them: they stand for a word of the text. ``kamp`` is the
list of the released code of "Dynamic top-k"; its ``Ġ`` is a space that stands alone.
"""
_PIECES = r"\w+|[^\w\s]", r"\w+(?:[^\w\s]\w+)+"


@cache
def stop_words(name: str) -> frozenset[str]:
    """The stop words of a named list, ``paper`` or ``clinical``; InputError if there is none."""
    refuse_unknown(name, STOP_WORDS, "a list of stop words", "lists")
    table = pl.read_csv(Path(__file__).parent / "data" / "stop_words.csv")
    return frozenset(table.filter(pl.col(name) == 1)["word"])


def word_of(token: pl.Expr) -> pl.Expr:
    """Tokens in lower case, without the markers of word pieces, unless they are nothing else.

    >>> tokens = pl.Series("t", ["Card", "##iac", "Ġarrest", ".", "##"])
    >>> tokens.to_frame().select(word_of(pl.col("t")))["t"].to_list()
    ['card', 'iac', 'arrest', '.', '##']
    """
    bare = token.str.replace(r"^(?:##|▁|Ġ)+", "").str.replace(r"(?i)(?:</w>)+$", "")
    return pl.when(bare.str.len_bytes() > 0).then(bare).otherwise(token).str.to_lowercase()


def explanation_words(explanation: pl.Expr, stop: Collection[str], *, tokens: bool) -> pl.Expr:
    """The different words of each explanation, text or ``tokens``, sorted, without stop words.

    Of a text they are runs of letters and digits, each other character that is no space, and runs
    of letters and digits that single characters hold together: ``don't`` gives ``don``, ``'``,
    ``t`` and ``don't``, so that it is met however a model divides it.
    """
    lower = explanation if tokens else explanation.str.to_lowercase()
    words = (
        explanation.list.eval(word_of(pl.element()))
        if tokens
        else pl.concat_list(lower.str.extract_all(pattern) for pattern in _PIECES)
    )
    kept = pl.element().filter(~pl.element().is_in(list(stop))).drop_nulls()
    return words.list.eval(kept).list.unique().list.sort()
