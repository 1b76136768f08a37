"""Files of tuples as tables: which column holds which part of a tuple, and what its values mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from audit.analyses.entailment.dataset import ENTAILS, EVENT, HYPERNYM, NOUN, VERB, VOTES
from audit.base.csv_tables import TextShape
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, files_in
from audit.base.table import Table, name_among
from audit.base.tables import open_table
from audit.data.class_lists import GivenClasses, class_names, named_numbers

ELEMENTS = ("head", "relation", "tail", "instance", "concept")
"""The parts of a tuple, which are also the usual names of their columns."""
FURTHER = ("label", "split", "id", "votes_valid", "votes")
"""What may be there besides them, likewise."""


SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet")
"""Suffixes of the files that are read of a folder."""


@dataclass(frozen=True)
class Kind:
    """A form of file.

    Args:
        order: Their order where a file has no header; empty if it must have one.
        unlabelled: Whether rows are valid where no column has labels.
    """

    relation: str
    columns: Mapping[str, str]
    order: tuple[str, ...] = ()
    unlabelled: bool = False


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "tuples": Kind("", {name: name for name in ELEMENTS}),
        "premises": Kind(
            ENTAILS,
            {"instance": "premise", "concept": "hypothesis"},
            ("hypothesis", "premise", "label"),
        ),
        "hypernyms": Kind(
            HYPERNYM,
            {"instance": "hyponym", "concept": "hypernym"},
            ("hyponym", "hypernym", "label"),
            unlabelled=True,
        ),
    }
)
"""Forms of files by name. Rows without a header are ``hypothesis, premise, label`` in the files of
Levy and Holt: the premise, which entails the other, comes second."""


@dataclass(frozen=True)
class Roles:
    """The columns of one file by role, and those that hold the votes of one annotator each."""

    named: Mapping[str, str]
    annotators: tuple[str, ...]


def kind_named(name: str) -> Kind:
    """The form of that name; raises InputError if there is none."""
    if name not in KINDS:
        raise InputError(f"a kind of file is one of {', '.join(KINDS)}", found=repr(name))
    return KINDS[name]


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files, in place of each folder those in it that have one of `SUFFIXES`, by name."""
    files = []
    for path in paths:
        within = files_in(path) if path.is_dir() else [path]
        files += [one for one in within if one is path or bare_suffix(one) in SUFFIXES]
    if not files:
        raise InputError(
            f"a file or a folder with files is required, of {', '.join(SUFFIXES)}",
            found="none",
            where=", ".join(map(str, paths)),
        )
    return files


def records_in(path: Path, kind: Kind, columns: Mapping[str, str]) -> pl.DataFrame:
    """All records of a file under the names of its columns.

    A file of two columns has a header if its first row has one of their names, or of those that
    the user named.
    """
    table = open_table(path)
    if _has_header(table, kind, columns):
        return table.frame()
    rows = open_table(path, text=TextShape(header=False)).frame()
    if not 2 <= rows.width <= len(kind.order):
        raise SchemaError(
            f"rows without a header must be {', '.join(kind.order)}",
            found=f"{rows.width} columns, and no header with their names",
            where=path,
            hint="write names above the columns; --column NAME=COLUMN names one that is called "
            "otherwise",
        )
    return rows.rename(dict(zip(rows.columns, kind.order, strict=False)))


def _has_header(table: Table, kind: Kind, columns: Mapping[str, str]) -> bool:
    """Whether the first row names columns; a file of tuples, or of types, always does so."""
    if not kind.order or not table.text.separator:
        return True
    first = {name.strip().lower() for name in table.schema}
    return bool(first & {*kind.columns.values(), *map(str.lower, columns.values())})


def roles_among(
    names: Sequence[str], kind: Kind, columns: Mapping[str, str], where: object
) -> Roles:
    """Find the columns of a file; case is ignored.

    Args:
        columns: Columns that the user named by role. ``votes`` may name the columns of annotators:
            names or patterns such as ``worker_*``, joined by commas.
    """
    _refuse_unknown(kind, columns)
    wanted = {role: columns.get(name, name) for role, name in kind.columns.items()}
    required = wanted if kind.unlabelled else {**wanted, "label": columns.get("label", "label")}
    found = {role: _column(names, role, name, where) for role, name in required.items()}
    annotators = tuple(_annotators(names, columns.get("votes", ""), where))
    for role in FURTHER:
        if role in found or (role == "votes" and annotators):
            continue
        if role in columns:
            found[role] = _column(names, role, columns[role], where)
        elif role in {name.strip().lower() for name in names}:
            found[role] = _column(names, role, role, where)
    if annotators:
        found.pop("votes_valid", None)
    if ("votes" in found) != ("votes_valid" in found):
        raise SchemaError(
            "counts of votes must be in two columns, votes and votes_valid",
            found=f"only {first_cases(found[n] for n in ('votes', 'votes_valid') if n in found)}",
            where=where,
            hint="name the columns of annotators, for example votes=worker_*",
        )
    return Roles(found, annotators)


def _refuse_unknown(kind: Kind, columns: Mapping[str, str]) -> None:
    known = (*kind.columns.values(), *FURTHER)
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise InputError(f"columns are named for {', '.join(known)}", found=first_cases(unknown))


def _column(names: Sequence[str], role: str, wanted: str, where: object) -> str:
    return name_among(names, wanted, where, f"name another with --column {role}=COLUMN")


def _annotators(names: Sequence[str], given: str, where: object) -> Iterator[str]:
    """Columns of annotators among all; none if ``given`` is the name of one column of counts."""
    patterns = [part.strip() for part in given.split(",") if part.strip()]
    if len(patterns) == 1 and not any(sign in given for sign in "*?["):
        return
    for pattern in patterns:
        fitting = [name for name in names if fnmatchcase(name.lower(), pattern.lower())]
        if not fitting:
            raise SchemaError(
                f"a column of votes named {pattern!r} is required",
                found=f"the columns {first_cases(names)}",
                where=where,
            )
        yield from fitting


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


def with_class_names(values: pl.Series, classes: GivenClasses, where: object) -> pl.Series:
    """Labels, votes or predictions with the names of classes in place of numbers, none for -1."""
    numbers = values.filter(values.str.contains(r"^-?\d+(\.0)?$")).str.strip_suffix(".0")
    counts = dict(sorted(numbers.value_counts().iter_rows()))
    if classes is not None:
        found = named_numbers((n for n in counts if n != "-1"), class_names(classes), where)
        known: dict[str, str | None] = {"-1": None, **found}
        return values.str.replace(r"^(-?\d+)\.0$", "$1").replace(known)
    if not counts.keys() <= {"0", "1"}:
        raise InputError(
            "numbers that say valid or invalid are 1 and 0; other numbers are classes",
            found=", ".join(f"{number} ({rows:,} rows)" for number, rows in counts.items()),
            where=where,
            hint="--classes FILE names them, a name a line; in SNLI and MNLI these are entailment,"
            " neutral and contradiction, and -1 says that there is no label",
        )
    return values


def relations(values: pl.Series) -> pl.Series:
    """Names of `audit.analyses.entailment.dataset.RELATIONS`, null where a text is none of them."""
    return _meanings(values, _relation, pl.String)


def splits(values: pl.Series) -> pl.Series:
    """Names of splits; ``dev`` and ``validation`` are ``valid``, unknown names stay."""
    return _meanings(values, split_named, pl.String)


def split_named(text: str) -> str:
    """A name of `dataset.SPLITS` if a word of the text is one, else the text.

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
