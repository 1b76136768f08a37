"""Texts that attributions are about: words as they are compared, token lists, words merged."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.analyses.explanations.lists import Lists, laid_out, list_column, starts_of
from audit.base.dag import IntArray
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
    """The tokens of a named list (``all``, ``none``, a key of `SPECIAL_TOKENS`), or those given."""
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


Merging = Literal["sum", "mean", "max"]
"""How the scores of a word's pieces become the score of the word.

``sum`` keeps the total of a text, and with it what completeness says of integrated gradients;
``mean`` is the mean over the pieces; ``max`` is the score that is largest by absolute value, with
its sign, and the positive one of two that differ in sign alone.
"""

_MARKERS = {"##": r"^##.", "▁": r"^▁", "Ġ": r"^Ġ", "</w>": r"(?i)</w>$"}
"""Which tokens bear the marker of a way to divide words."""


def merging_named(name: str | None) -> Merging | None:
    """The rule of that name; raises InputError if there is none."""
    if name is not None:
        refuse_unknown(name, get_args(Merging), "a rule for merging word pieces", "rules")
    return cast(Merging | None, name)


def word_starts(
    tokens: pl.Series, models: IntArray, breaks: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which tokens begin a word.

    A model marks either the pieces that go on with a word (``##``), or the tokens that begin one
    (``▁``, ``Ġ``), or those that end one (``</w>``); the marker that most of its tokens bear
    decides. A model whose tokens bear none gives whole words. Where only the beginning is marked,
    a token also begins a word where letters and digits meet other characters: ``Ġarrest`` and
    ``,`` are two words, since punctuation is never merged.

    Args:
        breaks: Which tokens begin a word in any case, such as the first of each text.
    """
    starts = np.ones(len(tokens), dtype=bool)
    bearing = {marker: _matches(tokens, pattern) for marker, pattern in _MARKERS.items()}
    for model in np.unique(models):
        own = models == model
        counts = {marker: int((bears & own).sum()) for marker, bears in bearing.items()}
        marker = max(counts, key=lambda one: counts[one])
        if counts[marker]:
            starts[own] = _starts(tokens, bearing[marker], marker)[own]
    return starts | breaks


def merged_tokens(tokens: pl.Series, starts: NDArray[np.bool_]) -> pl.Series:
    """The tokens of each word as one: the first as it is, the others without leading ``##``."""
    if starts.all():
        return tokens
    begins = pl.Series(starts)
    pieces = tokens.zip_with(begins, tokens.str.strip_prefix("##"))
    frame = pl.DataFrame({"word": np.cumsum(starts), "piece": pieces})
    words = frame.group_by("word", maintain_order=True).agg(pl.col("piece").str.join(""))
    return words["piece"]


def merged_scores(
    scores: NDArray[np.float64], starts: NDArray[np.bool_], rule: Merging
) -> NDArray[np.float64]:
    """One score a word, from those of its pieces."""
    if starts.all():
        return scores
    firsts = np.flatnonzero(starts)
    if rule == "max":
        highest = np.maximum.reduceat(scores, firsts)
        lowest = np.minimum.reduceat(scores, firsts)
        return np.where(highest >= -lowest, highest, lowest)
    sums = np.add.reduceat(scores, firsts)
    return sums if rule == "sum" else sums / np.diff(firsts, append=len(scores))


def _starts(tokens: pl.Series, bears: NDArray[np.bool_], marker: str) -> NDArray[np.bool_]:
    if marker == "##":
        return ~bears
    if marker == "</w>":
        return np.concatenate([[True], bears[:-1]])
    first = _matches(tokens, r"^\w")
    last = _matches(tokens, r"\w$")
    meets = np.concatenate([[True], first[1:] != last[:-1]])
    return np.asarray(bears | meets)


def _matches(tokens: pl.Series, pattern: str) -> NDArray[np.bool_]:
    return tokens.str.contains(pattern).to_numpy()


@dataclass(frozen=True, eq=False)
class Texts:
    """Token lists as they were given, and what is left of them.

    Two lists that differ in special tokens alone, or only in how words are divided where pieces
    are merged, are one text: methods that see them so can be compared.

    Args:
        given: ``id, model, tokens, text``: each different token list, with the place of its text;
            null if no token is left.
        begins: Per given list, which of the kept tokens begin a word.
    """

    given: pl.DataFrame
    kept: Lists[np.bool_]
    begins: Lists[np.bool_]
    of_row: IntArray
    left: pl.DataFrame

    @property
    def sizes(self) -> IntArray:
        """Number of tokens that are left of each given list, words merged."""
        return _sums(self.begins)

    def numbered(self, places: IntArray) -> Texts:
        """The texts at these places, in this order; lists of another text have none."""
        numbers = np.full(self.left.height, -1)
        numbers[places] = np.arange(len(places))
        text = pl.Series(numbers).replace(-1, None).gather(self.given["text"])
        return replace(self, given=self.given.with_columns(text=text), left=self.left[places])

    def scores(
        self, scores: Lists[np.float64], lists: IntArray, rule: Merging | None
    ) -> Lists[np.float64]:
        """Scores of given tokens as scores of the tokens that are left."""
        values, lengths = scores.values, scores.lengths
        if not self.kept.values.all():
            values = values[self.kept.take(lists).values]
            lengths = self.begins.lengths[lists]
        if rule is not None and not self.begins.values.all():
            begins = self.begins.take(lists)
            values = merged_scores(values, begins.values, rule)
            lengths = _sums(begins)
        return Lists(values, starts_of(lengths))


def texts_of(rows: pl.DataFrame, special: Collection[str], rule: Merging | None) -> Texts:
    """The texts of rows with ``id``, ``model`` and ``tokens``."""
    given, of_row = _distinct(rows.select("id", "model", "tokens"))
    tokens, starts = laid_out(given["tokens"])
    kept = ~tokens.is_in(list(special)).to_numpy()
    left = tokens.filter(pl.Series(kept))
    kept_starts = starts_of(_sums(Lists(kept, starts)))
    begins = np.ones(len(left), dtype=bool)
    if rule is not None:
        models = given["model"].rank("dense").to_numpy().astype(np.int64)
        firsts = np.concatenate([[True], ~kept[:-1]])[: len(kept)]
        firsts[starts[:-1][np.diff(starts) > 0]] = True
        owners = np.repeat(models, np.diff(kept_starts))
        begins = word_starts(left, owners, firsts[kept])
    merged = merged_tokens(left, begins)
    lists = list_column(merged, starts_of(_sums(Lists(begins, kept_starts))))
    found, text = _distinct(given.select("id", "model").with_columns(tokens=lists))
    holds = found["tokens"].list.len().to_numpy() > 0
    places = np.where(holds, np.cumsum(holds) - 1, -1)[text]
    return Texts(
        given=given.with_columns(text=pl.Series(places).replace(-1, None)),
        kept=Lists(kept, starts),
        begins=Lists(begins, kept_starts),
        of_row=of_row,
        left=found.filter(pl.Series(holds)),
    )


def _distinct(frame: pl.DataFrame) -> tuple[pl.DataFrame, IntArray]:
    """The different rows of a frame, in order of first occurrence, and the place of each row."""
    row = pl.int_range(pl.len()).alias("row")
    groups = frame.with_columns(row).group_by(frame.columns, maintain_order=True).agg("row")
    rows, starts = laid_out(groups["row"])
    places = np.empty(frame.height, dtype=np.int64)
    places[rows.to_numpy()] = np.repeat(np.arange(groups.height), np.diff(starts))
    return groups.drop("row"), places


def _sums(lists: Lists[np.bool_]) -> IntArray:
    """How many values of each list are true."""
    totals = np.concatenate([[0], np.cumsum(lists.values, dtype=np.int64)])
    return np.asarray(np.diff(totals[lists.starts]))


def marked_words(marked: NDArray[np.bool_], words: Lists[np.int64]) -> Lists[np.int64]:
    """The different words of the marked tokens of each list, ascending."""
    number = int(words.values.max(initial=0)) + 1
    pairs = np.unique(words.owner[marked] * number + words.values[marked])
    return Lists(pairs % number, starts_of(np.bincount(pairs // number, minlength=len(words))))
