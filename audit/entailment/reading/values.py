"""What values of relations, labels, splits and votes mean, however they are spelt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from audit.base.errors import InputError, first_cases
from audit.data.class_names import Classes, beyond_names, read_classes
from audit.entailment.dataset import ENTAILS, EVENT, HYPERNYM, NOUN, VERB, VOTES

BY = "annotator:"
"""What the column of an annotator begins with in a table of records."""
_TRUE = ("1", "true", "valid", "yes", "y", "entailment")
_FALSE = ("0", "false", "invalid", "no", "n", "neutral", "contradiction", "not_entailment")
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


def with_class_names(values: pl.Series, classes: Classes | None, where: object) -> pl.Series:
    """Labels, votes or predictions with the names of classes in place of numbers, none for -1.

    Raises:
        InputError: If they are numbers, not 0 and 1 alone, and classes have no names.
        SchemaError: If a number has no name.
    """
    numbers = values.filter(values.str.contains(r"^-?\d+(\.0)?$")).str.strip_suffix(".0")
    counts = dict(sorted(numbers.value_counts().iter_rows()))
    if classes is not None:
        names = read_classes(classes)
        known = {"-1": None, **{str(number): name for number, name in enumerate(names)}}
        if beyond := [number for number in counts if number not in known]:
            raise beyond_names(names, first_cases(beyond), where)
        return values.str.replace(r"^(-?\d+)\.0$", "$1").replace(known)
    if not counts.keys() <= {"0", "1"}:
        raise InputError(
            "numbers that say valid or invalid are 1 and 0; others are those of classes",
            found=", ".join(f"{number} ({rows:,} rows)" for number, rows in counts.items()),
            where=where,
            hint="--classes FILE names them, a name a line; in SNLI and MNLI these are entailment,"
            " neutral and contradiction, and -1 says that there is no label",
        )
    return values


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


def with_parsed_votes(records: pl.DataFrame) -> pl.DataFrame:
    """Records with counts ``votes_valid, votes`` and whether they have a ``bad_vote``.

    Columns of annotators become true, false or null. Counts are null where there is no vote.

    Args:
        records: Text columns ``votes_valid`` and ``votes``, or one for each annotator, its name
            after `BY`.
    """
    annotators = [name for name in records.columns if name.startswith(BY)]
    if annotators:
        return _from_annotators(records, annotators)
    if "votes" not in records.columns:
        nothing = pl.lit(None, pl.Int64)
        return records.with_columns(votes_valid=nothing, votes=nothing, bad_vote=False)
    return _from_counts(records)


def votes_of(kept: pl.DataFrame) -> pl.DataFrame:
    """Each known vote of kept records, columns `VOTES`."""
    by_annotator = [
        kept.select("id", annotator=pl.lit(name.removeprefix(BY)), valid=name).drop_nulls("valid")
        for name in kept.columns
        if name.startswith(BY)
    ]
    return pl.concat([pl.DataFrame(schema=VOTES), *by_annotator]).sort("id", "annotator")


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


def _from_annotators(records: pl.DataFrame, annotators: Sequence[str]) -> pl.DataFrame:
    parsed = records.with_columns(truths(records[name]).alias(name) for name in annotators)
    bad = [parsed[name].is_null() & records[name].is_not_null() for name in annotators]
    votes = pl.sum_horizontal(pl.col(annotators).is_not_null().cast(pl.Int64))
    valid = pl.sum_horizontal(pl.col(annotators).fill_null(False).cast(pl.Int64))
    return parsed.with_columns(
        votes_valid=pl.when(votes > 0).then(valid),
        votes=pl.when(votes > 0).then(votes),
        bad_vote=pl.DataFrame(bad, schema=list(annotators))
        .select(pl.any_horizontal(pl.all()))
        .to_series(),
    )


def _from_counts(records: pl.DataFrame) -> pl.DataFrame:
    plain = records.with_columns(pl.col("votes_valid", "votes").str.strip_suffix(".0"))
    counts = plain.select(pl.col("votes_valid", "votes").cast(pl.Int64, strict=False))
    valid, votes = pl.col("votes_valid"), pl.col("votes")
    given = records.select(valid.is_not_null() | votes.is_not_null()).to_series()
    sound = counts.select((valid >= 0) & (valid <= votes)).to_series().fill_null(False)
    some = given & sound & (counts["votes"] > 0)
    kept = counts.select(pl.when(some).then(pl.col("votes_valid", "votes")))
    return records.with_columns(*kept.get_columns(), bad_vote=given & ~sound)
