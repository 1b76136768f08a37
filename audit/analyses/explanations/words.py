"""Words as they are compared: special tokens, stop words, and the pieces of words merged."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.analyses.explanations.lists import laid_out, list_column
from audit.base.dag import BoolArray, IntArray
from audit.base.errors import refuse_unknown

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
list of the released code of "Dynamic top-k"; its ``Ġ`` is a space that stands alone.
"""
ALL_SPECIAL = frozenset[str]().union(
    *(tokens for name, tokens in SPECIAL_TOKENS.items() if name != "kamp")
)
"""The tokens of all lists but ``kamp``: what is left out unless another list is named."""
Merging = Literal["sum", "mean", "max"]
"""How the scores of a word's pieces become its score; ``max`` is the largest by absolute value, the
positive one of two that differ in sign alone."""
_MARKERS = {"##": r"^##.", "▁": r"^▁", "Ġ": r"^Ġ", "</w>": r"(?i)</w>$"}
"""Which tokens bear the marker of a way to divide words."""


def special_tokens(named: str | Collection[str]) -> frozenset[str]:
    """The tokens of a named list (``all``, ``none``, a key of `SPECIAL_TOKENS`), or those given."""
    if not isinstance(named, str):
        return frozenset(named)
    lists = {"all": ALL_SPECIAL, "none": frozenset[str](), **SPECIAL_TOKENS}
    refuse_unknown(named, lists, "a list of special tokens", "lists")
    return lists[named]


@cache
def stop_words(name: str = "paper") -> frozenset[str]:
    """The stop words of a named list, ``paper`` or ``clinical``; InputError if there is none."""
    refuse_unknown(name, STOP_WORDS, "a list of stop words", "lists")
    table = pl.read_csv(Path(__file__).parent / "data" / "stop_words.csv")
    return frozenset(table.filter(pl.col(name) == 1)["word"])


def words_of(tokens: pl.Series) -> pl.Series:
    """Tokens in lower case, without the markers of word pieces, unless they are nothing else.

    >>> words_of(pl.Series(["Card", "##iac", "Ġarrest", ".", "##"])).to_list()
    ['card', 'iac', 'arrest', '.', '##']
    """
    bare = tokens.str.replace(r"^(?:##|▁|Ġ)+", "").str.replace(r"(?i)(?:</w>)+$", "")
    return bare.zip_with(bare.str.len_bytes() > 0, tokens).str.to_lowercase()


def explanation_words(explanations: pl.Series, stop: Collection[str]) -> pl.Series:
    """The different words of each explanation, text or tokens, without stop words, in order.

    Of a text they are runs of letters and digits, each other character that is no space, and runs
    of letters and digits that single characters hold together: ``don't`` gives ``don``, ``'``,
    ``t`` and ``don't``, so that it is met however a model divides it.
    """
    if explanations.dtype == pl.String:
        lower = explanations.str.to_lowercase()
        patterns = r"\w+|[^\w\s]", r"\w+(?:[^\w\s]\w+)+"
        words = pl.select(pl.concat_list(*map(lower.str.extract_all, patterns))).to_series()
    else:
        tokens, starts = laid_out(explanations)
        words = list_column(words_of(tokens), starts)
    left = pl.element().filter(~pl.element().is_in(list(stop))).drop_nulls().unique().sort()
    frame = pl.DataFrame({"words": words, "given": explanations.is_not_null()})
    return frame.select(pl.when("given").then(pl.col("words").list.eval(left))).to_series()


def word_starts(tokens: pl.Series, models: IntArray, breaks: BoolArray) -> BoolArray:
    """Which tokens begin a word, shape (tokens,).

    A model marks either the pieces that go on with a word (``##``), or the tokens that begin one
    (``▁``, ``Ġ``), or those that end one (``</w>``); the marker that most of its tokens bear
    decides, and without one each token is a word. Where only the beginning is marked, a token also
    begins a word where letters and digits meet other characters: punctuation is never merged.

    Args:
        tokens: Tokens of all texts.
        models: The number of the model of each.
        breaks: Which tokens begin a word in any case, such as the first of each text.
    """
    bears = np.stack([tokens.str.contains(one).to_numpy() for one in _MARKERS.values()])
    begins, ends = (tokens.str.contains(one).to_numpy() for one in (r"^\w", r"\w$"))
    meets = np.concatenate([[True], begins[1:] != ends[:-1]])[: len(tokens)]
    after_end = np.concatenate([[True], bears[3, :-1]])[: len(tokens)]
    starting = (~bears[0], bears[1] | meets, bears[2] | meets, after_end)
    starts = np.ones(len(tokens), np.bool_)
    for model in np.unique(models):
        own = models == model
        counts = bears[:, own].sum(axis=1)
        if counts.any():
            starts[own] = starting[int(counts.argmax())][own]
    return starts | breaks


def merged_tokens(tokens: pl.Series, starts: BoolArray) -> pl.Series:
    """The tokens of each word as one: the first as it is, the others without leading ``##``."""
    pieces = tokens.zip_with(pl.Series(starts), tokens.str.strip_prefix("##"))
    frame = pl.DataFrame({"word": np.cumsum(starts), "piece": pieces})
    return frame.group_by("word", maintain_order=True).agg(pl.col("piece").str.join(""))["piece"]


def merged_scores(
    scores: NDArray[np.float64], starts: BoolArray, rule: Merging
) -> NDArray[np.float64]:
    """One score a word, from those of its pieces."""
    firsts = np.flatnonzero(starts)
    if rule == "max":
        highest, lowest = (of.reduceat(scores, firsts) for of in (np.maximum, np.minimum))
        return np.where(highest >= -lowest, highest, lowest)
    total = np.add.reduceat(scores, firsts)
    return total if rule == "sum" else total / np.diff(firsts, append=len(scores))
