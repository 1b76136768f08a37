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
    EntailmentDataset,
)
from audit.base.csv_tables import TextShape
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.plurals import counted
from audit.base.readings import Reading
from audit.base.table import Table
from audit.base.tables import open_table
from audit.data.class_lists import GivenClasses, class_names, named_numbers, refuse_unused
from audit.data.records import records, sound_records


class Kind(NamedTuple):
    """A form of file: its columns, and their order where it has no header.

    Of one ``relation`` they are instance and concept, which are the whole head and tail;
    ``unlabelled`` rows are valid where no column has labels.
    """

    columns: tuple[str, ...]
    relation: str = ""
    order: tuple[str, ...] = ()
    unlabelled: bool = False


_TYPES = ("hyponym", "hypernym")
KINDS: Mapping[str, Kind] = {
    "tuples": Kind(ELEMENTS),
    "premises": Kind(("premise", "hypothesis"), ENTAILS, ("hypothesis", "premise", "label")),
    "hypernyms": Kind(_TYPES, HYPERNYM, (*_TYPES, "label"), unlabelled=True),
}
"""Forms of files by name. Rows without a header are ``hypothesis, premise, label`` in the files of
Levy and Holt: the premise, which entails the other, comes second."""
_VOTES = ("votes_valid", "votes")
_BY = "annotator:"
_NEEDED = (*ELEMENTS, "label", "id")
REASONS = (
    *(f"empty_{name}" for name in _NEEDED),
    *("unknown_relation", "bad_label", "bad_vote", "self_loop", "repeated_id"),
)
"""Why records are refused; the first that applies is counted. A ``self_loop`` is a text that is its
own concept, which is true of everything; of records with one id the first is kept."""


def read_entailment(
    paths: Path | pl.DataFrame | Sequence[Path | pl.DataFrame],
    kind: str = "tuples",
    columns: Mapping[str, str] | None = None,
    *,
    labelled: bool = True,
    classes: GivenClasses = None,
) -> EntailmentDataset:
    """Read tuples from tables of any format; ``docs/entailment.md`` has their columns.

    Args:
        paths: Files, folders of one table each, or frames. Several without a column of the split
            are a split each, named by their stems; ``dev`` is ``valid``.
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
    given = paths if isinstance(paths, Sequence) else [paths]
    places = [one if isinstance(one, Path) else Path("the frame") for one in given]
    tables = [
        _headed(open_table(one), place, form, columns or {})
        for one, place in zip(given, places, strict=True)
    ]
    stems = [place.stem.split(".")[0] if places[1:] else None for place in places]
    parts = [_records(*one, form, columns or {}) for one in zip(tables, stems, strict=True)]
    without = [place for place, one in zip(places, parts, strict=True) if "id" not in one.columns]
    if 0 < len(without) < len(parts):
        required = "all files must have a column of ids, or none"
        raise SchemaError(required, found="none", where=without[0])
    rows = _named(pl.concat(parts, how="diagonal"), classes, ", ".join(map(str, places)))
    sources = tuple(file for table in tables for file in table.files)
    return _dataset(rows, sources, _readings(rows, classes))


def _headed(table: Table, path: Path, kind: Kind, columns: Mapping[str, str]) -> Table:
    """The table with its columns' names; a file of pairs has a header if its first row has one."""
    first, text = {name.strip().lower() for name in table.schema}, table.text.separator
    named = first & {*kind.columns, *map(str.lower, columns.values())}
    if named or not kind.order or not text or path.is_dir():
        return table
    rows = open_table(path, text=TextShape(header=False))
    if not 2 <= len(rows.schema) <= len(kind.order):
        raise SchemaError(
            f"rows without a header must be {', '.join(kind.order)}",
            found=f"{len(rows.schema)} columns, and no header with their names",
            where=path,
            hint="write names above the columns; --column NAME=COLUMN names one that is called "
            "otherwise",
        )
    return rows.renamed(dict(zip(kind.order, rows.schema, strict=False)))


def _records(
    table: Table, split: str | None, kind: Kind, columns: Mapping[str, str]
) -> pl.DataFrame:
    """The records of one table as text, columns by roles, those of annotators prefixed by `_BY`."""
    annotators = _annotators([*table.schema], columns.get("votes", ""), table)
    votes = () if annotators else _VOTES
    roles = {name: [name] for name in (*kind.columns, "label", "split", "id", *votes)}
    named = {name: of for name, of in columns.items() if name != "votes" or votes}
    required = kind.columns if kind.unlabelled else (*kind.columns, "label")
    read = records(table, roles | {_BY + one: [one] for one in annotators}, named, required).frame
    if len(counts := [name for name in _VOTES if name in read.columns]) == 1:
        raise SchemaError(
            "counts of votes must be in two columns, votes and votes_valid",
            found=f"only {counts[0]!r}",
            where=table,
            hint="name the columns of annotators, for example votes=worker_*",
        )
    if kind.relation:
        first, second = map(pl.col, kind.columns)
        whole = {"instance": first, "head": first, "concept": second, "tail": second}
        read = read.with_columns(**whole, relation=pl.lit(kind.relation))
    if "label" not in read.columns:
        read = read.with_columns(label=pl.lit("1"))
    if "split" not in read.columns:
        read = read.with_columns(split=pl.lit(split, pl.String))
    return read.with_columns(_split())


def _annotators(names: Sequence[str], given: str, where: object) -> list[str]:
    """Columns of annotators among all; none if ``given`` is the name of one column of counts."""
    patterns = [part.strip().lower() for part in given.split(",") if part.strip()]
    if len(patterns) == 1 and not any(sign in given for sign in "*?["):
        return []
    found = [[name for name in names if fnmatchcase(name.lower(), one)] for one in patterns]
    if not all(found):
        required = f"a column of votes named {patterns[found.index([])]!r} is required"
        raise SchemaError(required, found=f"the columns {first_cases(names)}", where=where)
    return [name for fitting in found for name in fitting]


_MEANINGS = {
    **dict.fromkeys(["1", "true", "valid", "yes", "y", "entailment"], True),
    **dict.fromkeys(
        ["0", "false", "invalid", "no", "n", "neutral", "contradiction", "not_entailment"], False
    ),
}
_RELATIONS = {"noun": NOUN, "verb": VERB, "event": EVENT, "": ENTAILS, "hypernym": HYPERNYM}
_SPLITS = {
    **dict.fromkeys(["train", "training"], "train"),
    **dict.fromkeys(["test", "testing"], "test"),
    **dict.fromkeys(["valid", "validation", "val", "dev", "development"], "valid"),
}


def truth(name: str) -> pl.Expr:
    """A column of text as true or false, null where it says neither: 1, true, valid, yes, y ..."""
    said = pl.col(name).str.to_lowercase().str.strip_suffix(".0")
    return said.replace_strict(_MEANINGS, default=None, return_dtype=pl.Boolean)


def relation() -> pl.Expr:
    """Names of `dataset.RELATIONS`, null where a text is none of them."""
    letters = pl.col("relation").str.to_lowercase().str.replace_all("[^a-z]", "").replace("", None)
    bare = letters.str.replace("entail(s|ment)?$", "")
    return bare.replace_strict(_RELATIONS, default=None, return_dtype=pl.String)


def _split() -> pl.Expr:
    """The first word of each text that names a split, else the text; ``dev`` is ``valid``."""
    known = pl.element().replace_strict(_SPLITS, default=None, return_dtype=pl.String)
    words = pl.col("split").str.to_lowercase().str.extract_all("[a-z]+").list.eval(known)
    return pl.coalesce(words.list.drop_nulls().list.first(), "split").alias("split")


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
    given: pl.DataFrame, sources: tuple[Path, ...], readings: tuple[Reading, ...]
) -> EntailmentDataset:
    """The tuples that are kept of all records, and how many were refused; InputError for none."""
    rows = given.with_row_index("row", offset=1)
    if numbered := "id" not in given.columns:
        rows = rows.with_columns(id=(pl.col("row") - 1).cast(pl.String))
    voted = _with_votes(rows).with_columns(valid=truth("label"), known=relation())
    found = sound_records(voted.with_columns(refused=_reason()), REASONS)
    kept = found.frame.filter(found.frame["id"].is_first_distinct())
    if kept.is_empty():
        parts = ", ".join(f"{count:,} {reason}" for reason, count in found.ledger.items())
        raise InputError(
            "a tuple with all its elements, a known relation and a label is required",
            found=f"{counted(rows.height, 'records')}, all refused: {parts}",
            where=", ".join(map(str, sources)),
            hint="relations are Noun-Entail, Verb-Entail and Event-Entail, labels and votes 1 and "
            "0 or words for these; --column label=is_valid names another column",
        )
    repeats = found.frame.height - kept.height
    return EntailmentDataset(
        tuples=kept.with_columns(relation="known").select(*TUPLES).cast(pl.Schema(TUPLES)),
        rows_read=rows.height,
        refused={**found.ledger, "repeated_id": repeats} if repeats else found.ledger,
        sources=sources,
        annotators=sum(name.startswith(_BY) for name in given.columns),
        numbered=numbered,
        readings=readings,
    )


def _with_votes(records: pl.DataFrame) -> pl.DataFrame:
    """Records with ``votes_valid, votes``, null where there is none, and ``bad_vote``."""
    if by := [name for name in records.columns if name.startswith(_BY)]:
        said = [*map(truth, by)]
        votes = pl.sum_horizontal(one.is_not_null() for one in said)
        valid = pl.sum_horizontal(one.fill_null(False) for one in said)
        bad = votes != pl.sum_horizontal(pl.col(by).is_not_null())
    else:
        lacking = (pl.lit(None, pl.String).alias(n) for n in _VOTES if n not in records.columns)
        records = records.with_columns(lacking)
        bare = (pl.col(name).str.strip_suffix(".0") for name in _VOTES)
        valid, votes = (one.cast(pl.Int64, strict=False) for one in bare)
        written = pl.any_horizontal(pl.col(_VOTES).is_not_null())
        bad = written & ~valid.is_between(0, votes).fill_null(False)
    some = pl.when((votes > 0) & ~bad)
    return records.with_columns(votes_valid=some.then(valid), votes=some.then(votes), bad_vote=bad)


def _reason() -> pl.Expr:
    """The first reason to refuse a record, but for a repeated id; null if there is none."""
    faults = {f"empty_{name}": pl.col(name).is_null() for name in _NEEDED} | {
        "unknown_relation": pl.col("known").is_null(),
        "bad_label": pl.col("valid").is_null(),
        "bad_vote": pl.col("bad_vote"),
        "self_loop": pl.col("instance") == pl.col("concept"),
    }
    return pl.coalesce(pl.when(fault).then(pl.lit(reason)) for reason, fault in faults.items())
