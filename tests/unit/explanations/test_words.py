"""Words are compared without markers of pieces and case; nothing else is taken from them."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.explanations.reading.texts import (
    ALL_SPECIAL,
    SPECIAL_TOKENS,
    special_tokens,
    stop_words,
    words_in,
    words_of,
)
from audit.base.errors import InputError

PIECES = st.text(st.sampled_from("aB#▁Ġ</w>.'é İΣ"), max_size=6)


@pytest.mark.parametrize(
    ("token", "word"),
    [
        ("##Iac", "iac"),
        ("▁Heart", "heart"),
        ("ĠHeart", "heart"),
        ("heart</w>", "heart"),
        (".", "."),
        ("##.", "."),
        ("Ġ(", "("),
        ("#", "#"),
        ("##", "##"),
        ("▁", "▁"),
        ("", ""),
        ("38.5", "38.5"),
    ],
)
def test_markers_and_case_are_removed(token: str, word: str) -> None:
    assert words_of(pl.Series([token])).to_list() == [word]


@given(st.lists(PIECES, max_size=5))
def test_words_are_words_of_themselves(tokens: list[str]) -> None:
    once = words_of(pl.Series(tokens, dtype=pl.String))
    assert words_of(once).to_list() == once.to_list()


@given(st.lists(st.text("aÉ_9.-' \n\t…β漢", max_size=8), max_size=5))
def test_only_spaces_of_a_text_are_lost(texts: list[str]) -> None:
    for text, words in zip(texts, words_in(pl.Series(texts, dtype=pl.String)), strict=True):
        assert set("".join(words)) == {one for one in text.lower() if not one.isspace()}


def test_a_word_with_an_apostrophe_is_met_however_it_is_divided() -> None:
    assert words_in(pl.Series(["Don't go."]))[0].to_list() == [
        "don", "'", "t", "go", ".", "don't",
    ]  # fmt: skip


def test_special_tokens_stand_for_no_text() -> None:
    assert {"[CLS]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>", "<bos>", "<eos>"} <= ALL_SPECIAL
    assert "<|endoftext|>" in ALL_SPECIAL
    assert not {"[UNK]", "[MASK]", "<unk>", "<mask>", "Ġ"} & ALL_SPECIAL
    assert special_tokens("bert") == SPECIAL_TOKENS["bert"]
    assert special_tokens("none") == frozenset()
    assert special_tokens(["a"]) == {"a"}


def test_stop_words_of_the_paper() -> None:
    words = stop_words("paper")
    assert len(words) == 179
    assert {"i", "the", "not", "wouldn't", "s", "t"} <= words
    assert not {"system", "side", "back", ".", "without"} & words


def test_stop_words_of_the_paper_are_those_of_nltk() -> None:
    nltk = pytest.importorskip("nltk")
    try:
        theirs = set(nltk.corpus.stopwords.words("english"))
    except LookupError:
        pytest.skip("the corpus is not installed")
    assert stop_words("paper") <= theirs


def test_clinical_stop_words_keep_what_negates() -> None:
    paper, clinical = stop_words("paper"), stop_words("clinical")
    assert clinical < paper
    kept = paper - clinical
    assert {"no", "not", "nor", "don't", "don", "isn't"} <= kept
    assert all(
        w in {"no", "not", "nor", "ain"} or w.endswith("n't") or f"{w}'t" in kept for w in kept
    )
    with pytest.raises(InputError, match="paper, clinical"):
        stop_words("french")
