"""Read the tuples of an entailment graph; every record is kept, or refused and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import polars as pl

from audit.analyses.entailment.dataset import (
    ELEMENTS,
    ENTAILS,
    EVENT,
    HYPERNYM,
    NOUN,
    TUPLES,
    VERB,
    VOTES,
    EntailmentDataset,
)
from audit.base.csv_tables import TextShape
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, files_in
from audit.base.plurals import counted
from audit.base.readings import Reading
from audit.base.table import name_among
from audit.base.tables import open_table
from audit.data.class_lists import GivenClasses, class_names, named_numbers, refuse_unused
from audit.data.records import pick, sound_records

SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet")
"""Suffixes of the files that are read of a folder."""


class Kind(NamedTuple):
    """A form of file: its columns by role, and their order where it has no header.

    Where all tuples have one ``relation``, instance and concept are the whole head and tail;
    ``unlabelled`` rows are valid where no column has labels.
    """

    columns: Mapping[str, str]
    relation: str = ""
    order: tuple[str, ...] = ()
    unlabelled: bool = False


_PREMISES = {"instance": "premise", "concept": "hypothesis"}
_TYPES = {"instance": "hyponym", "concept": "hypernym"}
KINDS: Mapping[str, Kind] = {
    "tuples": Kind({name: name for name in ELEMENTS}),
    "premises": Kind(_PREMISES, ENTAILS, ("hypothesis", "premise", "label")),
    "hypernyms": Kind(_TYPES, HYPERNYM, (*_TYPES.values(), "label"), unlabelled=True),
}
"""Forms of files by name. Rows without a header are ``hypothesis, premise, label`` in the files of
Levy and Holt: the premise, which entails the other, comes second."""
_FURTHER = ("label", "split", "id", "votes_valid", "votes")
_BY = "annotator:"
_NEEDED = (*ELEMENTS, "label", "id")
REASONS = (
    *(f"empty_{name}" for name in _NEEDED),
    *("unknown_relation", "bad_label", "bad_vote", "self_loop", "repeated_id"),
)
"""Why records are refused; the first that applies is counted. A ``self_loop`` is a text that is its
own concept, which is true of everything; of records with one id the first is kept."""


def read_entailment(
    paths: Path | Sequence[Path],
    kind: str = "tuples",
    columns: Mapping[str, str] | None = None,
    *,
    labelled: bool = True,
    classes: GivenClasses = None,
) -> EntailmentDataset:
    """Read tuples from CSV, TSV, JSON lines or Parquet; ``docs/entailment.md`` has their columns.

    Args:
        paths: Files, or folders of files. Several files without a column of the split are a split
            each, named by their stems; ``dev`` is ``valid``.
        kind: A name of `KINDS`.
        columns: Names of columns by what they hold, where they differ. ``votes`` names a column for
            each annotator, by names or patterns joined by commas; or, with ``votes_valid``, counts.
        labelled: Whether tuples need a label; else all are valid where no column has labels.
        classes: Names of classes that labels and votes number from 0, or a file of them, one a
            line; -1 is no label.

    Returns:
        The kept records; ``refused`` counts the others by `REASONS`. Without ids, these are the
        numbers of the records from 0.

    Raises:
        InputError: If a file cannot be read, no record of it all can be kept, labels or votes are
            numbers of classes without names, or ``classes`` name nothing.
        SchemaError: If a required column is missing, or files differ in having ids.
    """
    if kind not in KINDS:
        raise InputError(f"a kind of file is one of {', '.join(KINDS)}", found=repr(kind))
    form = KINDS[kind] if labelled else KINDS[kind]._replace(unlabelled=True)
    sources = _files_of([paths] if isinstance(paths, Path) else paths)
    stems = pl.Series([path.stem.split(".")[0] if sources[1:] else None for path in sources])
    parts = [
        _records(path, form, columns or {}, split)
        for path, split in zip(sources, splits(stems.cast(pl.String)), strict=True)
    ]
    without = [path for path, one in zip(sources, parts, strict=True) if "id" not in one.columns]
    if 0 < len(without) < len(sources):
        required = "all files must have a column of ids, or none"
        raise SchemaError(required, found="none", where=without[0])
    records = _named(pl.concat(parts, how="diagonal"), classes, ", ".join(map(str, sources)))
    return _dataset(records, sources, _readings(records, classes))


def _files_of(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files, in place of each folder those in it that have one of `SUFFIXES`, by name."""
    files = [
        one
        for path in paths
        for one in (files_in(path) if path.is_dir() else [path])
        if one is path or bare_suffix(one) in SUFFIXES
    ]
    if not files:
        raise InputError(
            f"a file or a folder with files is required, of {', '.join(SUFFIXES)}",
            found="none",
            where=", ".join(map(str, paths)),
        )
    return tuple(files)


def _records(path: Path, kind: Kind, columns: Mapping[str, str], split: str | None) -> pl.DataFrame:
    """The records of one file as text, columns by their roles."""
    table = _table(path, kind, columns)
    records = pick(table, path, **_roles(table.columns, kind, columns, path))
    if kind.relation:
        first, second = pl.col("instance"), pl.col("concept")
        records = records.with_columns(head=first, tail=second, relation=pl.lit(kind.relation))
    if "label" not in records.columns:
        records = records.with_columns(label=pl.lit("1"))
    if "split" not in records.columns:
        return records.with_columns(split=pl.lit(split, pl.String))
    return records.with_columns(splits(records["split"]))


def _table(path: Path, kind: Kind, columns: Mapping[str, str]) -> pl.DataFrame:
    """All records under the names of columns.

    A file of pairs has a header if its first row has one of their names, or of those that the user
    named; a file of tuples, or of types, always has one.
    """
    table = open_table(path)
    first = {name.strip().lower() for name in table.schema}
    named = first & {*kind.columns.values(), *map(str.lower, columns.values())}
    if not kind.order or not table.text.separator or named:
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


def _roles(
    names: Sequence[str], kind: Kind, columns: Mapping[str, str], where: Path
) -> dict[str, str]:
    """The columns of a file by role, those of annotators by their names after `_BY`."""
    known = (*kind.columns.values(), *_FURTHER)
    if unknown := [name for name in columns if name not in known]:
        raise InputError(f"columns are named for {', '.join(known)}", found=first_cases(unknown))
    annotators = _annotators(names, columns.get("votes", ""), where)
    here = {name.strip().lower() for name in names}
    wanted = {role: columns.get(name, name) for role, name in kind.columns.items()}
    for role in _FURTHER:
        if role in columns or role in here or (role == "label" and not kind.unlabelled):
            wanted[role] = columns.get(role, role)
    if annotators:
        wanted = {role: name for role, name in wanted.items() if role not in _FURTHER[3:]}
    found = {
        role: name_among(names, name, where, f"name another with --column {role}=COLUMN")
        for role, name in wanted.items()
    }
    if len(counts := [found[role] for role in _FURTHER[3:] if role in found]) == 1:
        raise SchemaError(
            "counts of votes must be in two columns, votes and votes_valid",
            found=f"only {first_cases(counts)}",
            where=where,
            hint="name the columns of annotators, for example votes=worker_*",
        )
    return found | {_BY + name: name for name in annotators}


def _annotators(names: Sequence[str], given: str, where: Path) -> list[str]:
    """Columns of annotators among all; none if ``given`` is the name of one column of counts."""
    patterns = [part.strip().lower() for part in given.split(",") if part.strip()]
    if len(patterns) == 1 and not any(sign in given for sign in "*?["):
        return []
    found = {one: [n for n in names if fnmatchcase(n.lower(), one)] for one in patterns}
    if lacking := [one for one, fitting in found.items() if not fitting]:
        raise SchemaError(
            f"a column of votes named {lacking[0]!r} is required",
            found=f"the columns {first_cases(names)}",
            where=where,
        )
    return [name for fitting in found.values() for name in fitting]


_MEANINGS = {
    **dict.fromkeys(["1", "true", "valid", "yes", "y", "entailment"], True),
    **dict.fromkeys(
        ["0", "false", "invalid", "no", "n", "neutral", "contradiction", "not_entailment"], False
    ),
}
_RELATIONS = {"noun": NOUN, "verb": VERB, "event": EVENT, "": ENTAILS, "hypernym": HYPERNYM}
_SPLITS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    **dict.fromkeys(["valid", "validation", "val", "dev", "development"], "valid"),
}


def truths(values: pl.Series) -> pl.Series:
    """Texts as true or false, null where they say neither: 1, true, valid, yes, y against 0 ..."""
    said = values.str.to_lowercase().str.strip_suffix(".0")
    return said.replace_strict(_MEANINGS, default=None, return_dtype=pl.Boolean)


def relations(values: pl.Series) -> pl.Series:
    """Names of `dataset.RELATIONS`, null where a text is none of them."""
    letters = values.str.to_lowercase().str.replace_all("[^a-z]", "").replace("", None)
    bare = letters.str.replace("entail(s|ment)?$", "")
    return bare.replace_strict(_RELATIONS, default=None, return_dtype=pl.String)


def splits(values: pl.Series) -> pl.Series:
    """The first word of each text that names a split, else the text; ``dev`` is ``valid``."""
    known = pl.element().replace_strict(_SPLITS, default=None, return_dtype=pl.String)
    words = pl.col("split").str.to_lowercase().str.extract_all("[a-z]+").list.eval(known)
    named = words.list.drop_nulls().list.first()
    return values.alias("split").to_frame().select(pl.coalesce(named, "split")).to_series()


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


def _named(records: pl.DataFrame, classes: GivenClasses, where: str) -> pl.DataFrame:
    """The records with the names of classes for their numbers."""
    own = records.select(pl.col("label", f"^{_BY}.*$"))
    named = [with_class_names(column, classes, where) for column in own.get_columns()]
    if own.equals(pl.DataFrame(named)):
        refuse_unused(classes, records["label"].drop_nulls().unique().sort(), where)
    return records.with_columns(named)


def _readings(records: pl.DataFrame, classes: GivenClasses) -> tuple[Reading, ...]:
    """What is told of premises whose labels are 0 and 1, which may be numbers of classes."""
    labels = records["label"].drop_nulls()
    flags = {*labels.str.strip_suffix(".0")} == {"0", "1"}
    if classes is not None or not flags or not records["relation"].eq(ENTAILS).all():
        return ()
    decision = "1 is a label of a premise that entails its hypothesis, and 0 of another"
    return (Reading(decision, "labels are 0 and 1 alone", len(labels), "--classes FILE"),)


def _dataset(
    records: pl.DataFrame, sources: tuple[Path, ...], readings: tuple[Reading, ...]
) -> EntailmentDataset:
    numbered = "id" not in records.columns
    rows = _with_votes(records.with_row_index("row", offset=1))
    if numbered:
        rows = rows.with_columns(id=(pl.col("row") - 1).cast(pl.String))
    known = {"valid": truths(rows["label"]), "known": relations(rows["relation"])}
    read = rows.with_columns(**known).with_columns(refused=_reason())
    found = sound_records(read, REASONS)
    kept = found.frame.filter(found.frame["id"].is_first_distinct())
    if kept.is_empty():
        raise _all_refused(read, found.ledger, sources)
    votes = [
        kept.select("id", annotator=pl.lit(name.removeprefix(_BY)), valid=name).drop_nulls("valid")
        for name in kept.columns
        if name.startswith(_BY)
    ]
    repeats = found.frame.height - kept.height
    return EntailmentDataset(
        tuples=kept.with_columns(relation="known").select(*TUPLES).cast(pl.Schema(TUPLES)),
        votes=pl.concat([pl.DataFrame(schema=VOTES), *votes]).sort("id", "annotator"),
        rows_read=read.height,
        refused={**found.ledger, "repeated_id": repeats} if repeats else found.ledger,
        sources=sources,
        numbered=numbered,
        readings=readings,
    )


def _with_votes(records: pl.DataFrame) -> pl.DataFrame:
    """Records with ``votes_valid, votes``, null where there is none, and ``bad_vote``.

    Columns of annotators become true, false or null.
    """
    named = pl.col(f"^{_BY}.*$")
    if any(name.startswith(_BY) for name in records.columns):
        written = records.select(pl.sum_horizontal(named.is_not_null())).to_series()
        parsed = records.with_columns(truths(one) for one in records.select(named).get_columns())
        votes = pl.sum_horizontal(named.is_not_null())
        valid = pl.sum_horizontal(named.fill_null(False))
        given = parsed.with_columns(votes_valid=valid, votes=votes, bad_vote=votes != written)
    elif "votes" in records.columns:
        both = pl.col("votes_valid", "votes")
        counts = records.select(both.str.strip_suffix(".0").cast(pl.Int64, strict=False))
        sound = pl.col("votes_valid").is_between(0, pl.col("votes")).fill_null(False)
        written = records.select(pl.any_horizontal(both.is_not_null())).to_series()
        wrong = written & ~counts.select(sound).to_series()
        given = records.with_columns(*counts.get_columns(), bad_vote=wrong)
    else:
        nothing = pl.lit(None, pl.Int64)
        return records.with_columns(votes_valid=nothing, votes=nothing, bad_vote=False)
    some = pl.when((pl.col("votes") > 0) & ~pl.col("bad_vote"))
    counted = {name: some.then(name) for name in ("votes_valid", "votes")}
    return given.with_columns(**counted)


def _reason() -> pl.Expr:
    """The first reason to refuse a record, but for a repeated id; null if there is none."""
    faults = {f"empty_{name}": pl.col(name).is_null() for name in _NEEDED} | {
        "unknown_relation": pl.col("known").is_null(),
        "bad_label": pl.col("valid").is_null(),
        "bad_vote": pl.col("bad_vote"),
        "self_loop": pl.col("instance") == pl.col("concept"),
    }
    return pl.coalesce(pl.when(fault).then(pl.lit(reason)) for reason, fault in faults.items())


_HINTS = {
    "unknown_relation": "relations are Noun-Entail, Verb-Entail and Event-Entail",
    "bad_label": "a label is 1, true, valid or yes, or 0, false, invalid or no, or names a class",
    "bad_vote": "a vote is 1, true, valid or yes, or 0, false, invalid or no, or empty",
}
_OTHER_HINT = "name columns of other names, for example --column label=is_valid"


def _all_refused(
    read: pl.DataFrame, counts: Mapping[str, int], sources: Sequence[Path]
) -> InputError:
    """The error that names the first values that could not be read."""
    parts = [f"{count:,} {reason}" for reason, count in counts.items()]
    for reason, column in (("unknown_relation", "relation"), ("bad_label", "label")):
        values = read.filter(refused=reason)[column].unique(maintain_order=True)
        parts += [f"{column} {first_cases(values)}"] if len(values) else []
    refused = f"{counted(read.height, 'records')}, all refused: {'; '.join(parts)}"
    most = max(counts, key=lambda reason: counts[reason], default="")
    return InputError(
        "a tuple with all its elements, a known relation and a label is required",
        found=refused if read.height else "no records",
        where=", ".join(map(str, sources)),
        hint=_HINTS.get(most, _OTHER_HINT),
    )
