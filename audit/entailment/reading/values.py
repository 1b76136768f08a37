"""What values of relations, labels, votes and splits mean, however they are spelt."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl

from audit.entailment.dataset import ENTAILS, EVENT, HYPERNYM, NOUN, VERB

_TRUE = ("1", "true", "valid", "yes", "y")
_FALSE = ("0", "false", "invalid", "no", "n")
_RELATIONS = {"noun": NOUN, "verb": VERB, "event": EVENT, "": ENTAILS, "hypernym": HYPERNYM}
_ENTAIL = re.compile(r"entail(s|ment)?$")
_SPLITS = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "validation": "valid",
    "val": "valid",
    "dev": "valid",
    "development": "valid",
    "test": "test",
    "testing": "test",
}


def truths(values: pl.Series) -> pl.Series:
    """Texts as true or false, null where they say neither: 1, true, valid, yes, y against 0 ..."""
    return _meanings(values, _truth, pl.Boolean)


def relations(values: pl.Series) -> pl.Series:
    """Names of `audit.entailment.dataset.RELATIONS`, null where a text is none of them."""
    return _meanings(values, _relation, pl.String)


def splits(values: pl.Series) -> pl.Series:
    """Names of splits; ``dev`` and ``validation`` are ``valid``, unknown names stay."""
    return _meanings(values, split_named, pl.String)


def split_named(text: str) -> str:
    """A name of `audit.entailment.dataset.SPLITS` if a word of the text is one, else the text.

    >>> split_named("noun_dev"), split_named("Fold 3")
    ('valid', 'Fold 3')
    """
    words = re.findall(r"[a-z]+", text.lower())
    return next((_SPLITS[word] for word in words if word in _SPLITS), text)


def _truth(text: str) -> bool | None:
    plain = text.lower().removesuffix(".0")
    return True if plain in _TRUE else False if plain in _FALSE else None


def _relation(text: str) -> str | None:
    letters = re.sub(r"[^a-z]", "", text.lower())
    return _RELATIONS.get(_ENTAIL.sub("", letters)) if letters else None


def _meanings(values: pl.Series, meaning: Callable[[str], Any], dtype: Any) -> pl.Series:
    """What each different text means; null stays null."""
    different = values.drop_nulls().unique()
    means = pl.Series([meaning(text) for text in different], dtype=dtype)
    return values.replace_strict(different, means, default=None, return_dtype=dtype)
