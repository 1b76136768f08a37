"""Read the tuples of an entailment graph; every record is kept, or refused and counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import polars as pl

from audit.analyses.entailment.dataset import ENTAILS, TUPLES, EntailmentDataset
from audit.analyses.entailment.tuple_files import (
    BY,
    ELEMENTS,
    Kind,
    files_of,
    kind_named,
    records_in,
    relations,
    roles_among,
    split_named,
    splits,
    truths,
    votes_of,
    with_class_names,
    with_parsed_votes,
)
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.plurals import counted
from audit.base.readings import Reading
from audit.data.class_lists import GivenClasses, refuse_unused
from audit.data.records import pick, sound_records

REASONS = (
    *(f"empty_{name}" for name in ELEMENTS),
    "empty_label",
    "empty_id",
    "unknown_relation",
    "bad_label",
    "bad_vote",
    "self_loop",
    "repeated_id",
)
"""Why records are refused; the first that applies is counted.

An element, the label or the id is missing; the relation is none that is known; the label is
neither valid nor invalid; a vote is neither, or counts of votes are no counts; the instance is its
own concept, which is true of everything and would be an edge from a node to itself; or an earlier
record has the same id.
"""


def read_entailment(
    paths: Path | str | Sequence[Path | str],
    kind: str = "tuples",
    columns: Mapping[str, str] | None = None,
    *,
    labelled: bool = True,
    classes: GivenClasses = None,
) -> EntailmentDataset:
    """Read tuples from CSV, TSV, JSON lines or Parquet.

    Columns are ``head, relation, tail, instance, concept`` and ``label``, and where the files have
    them ``split``, ``id``, and votes. A label is 1, true, valid, yes, y or entailment, or 0, false,
    invalid, no, n, neutral, contradiction or not_entailment. Without an id, a record's number
    from 0 is its id.

    Args:
        paths: Files, or folders of files. Several files without a column of the split are a split
            each, named by their stems; ``dev`` is ``valid``.
        kind: ``tuples``; ``premises`` for pairs of a ``premise`` and the ``hypothesis`` that it
            entails (without a header, in the order of Levy and Holt: hypothesis, premise, label);
            or ``hypernyms`` for pairs of ``hyponym`` and ``hypernym`` (without a label, all valid).
            In both, head and instance are the first, tail and concept the second.
        columns: Names of columns by what they hold, where they differ. ``votes`` names a column for
            each annotator, by names or patterns joined by commas; or, with ``votes_valid``, counts.
        labelled: Whether tuples need a label; else all are valid where no column has labels.
        classes: Names of classes that labels and votes number from 0, or a file of them, one a
            line; -1 is no label.

    Returns:
        The kept records. ``refused`` counts the others by `REASONS`.

    Raises:
        InputError: If a file cannot be read, no record of it all can be kept, labels or votes are
            numbers of classes without names, or ``classes`` name nothing.
        SchemaError: If a required column is missing, or files differ in having ids.
    """
    named_kind = kind_named(kind)
    form = named_kind if labelled else replace(named_kind, unlabelled=True)
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    sources = tuple(files_of([Path(path) for path in given]))
    splits = [
        split_named(path.stem.split(".")[0]) if len(sources) > 1 else None for path in sources
    ]
    parts = [
        _records(path, form, columns or {}, split)
        for path, split in zip(sources, splits, strict=True)
    ]
    _refuse_some_ids(parts, sources)
    records = _named(pl.concat(parts, how="diagonal"), classes, ", ".join(map(str, sources)))
    return replace(_dataset(records, sources), readings=_readings(records, classes))


def _named(records: pl.DataFrame, classes: GivenClasses, where: str) -> pl.DataFrame:
    """The records with the names of classes for their numbers."""
    own = records.select(pl.col("label", f"^{BY}.*$"))
    named = own.select(with_class_names(column, classes, where) for column in own.get_columns())
    words = records["label"].drop_nulls().unique().sort().to_list()
    if named.equals(own):
        refuse_unused(classes, words, where)
    return records.with_columns(named.get_columns())


def _readings(records: pl.DataFrame, classes: GivenClasses) -> tuple[Reading, ...]:
    """What is told of premises whose labels are 0 and 1, which may be numbers of classes."""
    labels = records["label"].drop_nulls()
    if classes is not None or not (records["relation"].eq(ENTAILS).all() and _are_flags(labels)):
        return ()
    decision = "1 is a label of a premise that entails its hypothesis, and 0 of another"
    return (Reading(decision, "labels are 0 and 1 alone", len(labels), "--classes FILE"),)


def _are_flags(labels: pl.Series) -> bool:
    return {*labels.str.strip_suffix(".0")} == {"0", "1"}


def _records(
    source: Path, kind: Kind, columns: Mapping[str, str], split: str | None
) -> pl.DataFrame:
    """The records of one file as text, columns by their roles."""
    table = records_in(source, kind, columns)
    roles = roles_among(table.columns, kind, columns, source)
    votes = {BY + column: column for column in roles.annotators}
    records = pick(table, source, **roles.named, **votes)
    if kind.relation:
        first, second = pl.col("instance"), pl.col("concept")
        records = records.with_columns(head=first, tail=second, relation=pl.lit(kind.relation))
    if "label" not in records.columns:
        records = records.with_columns(label=pl.lit("1"))
    if "split" not in records.columns:
        return records.with_columns(split=pl.lit(split, pl.String))
    return records.with_columns(split=splits(records["split"]))


def _refuse_some_ids(parts: Iterable[pl.DataFrame], sources: Sequence[Path]) -> None:
    without = [path for part, path in zip(parts, sources, strict=True) if "id" not in part.columns]
    if without and len(without) < len(sources):
        raise SchemaError(
            "all files must have a column of ids, or none", found="none", where=without[0]
        )


def _dataset(records: pl.DataFrame, sources: tuple[Path, ...]) -> EntailmentDataset:
    numbered = with_parsed_votes(records.with_row_index("row", offset=1))
    if "id" not in records.columns:
        numbered = numbered.with_columns(id=(pl.col("row") - 1).cast(pl.String))
    read = numbered.with_columns(
        valid=truths(numbered["label"]), known=relations(numbered["relation"])
    ).with_columns(refused=_reason())
    found = sound_records(read, REASONS)
    kept = found.frame.filter(found.frame["id"].is_first_distinct())
    if kept.is_empty():
        _refuse_all(read, found.ledger, sources)
    repeats = found.frame.height - kept.height
    return EntailmentDataset(
        tuples=kept.with_columns(relation="known").select(*TUPLES).cast(pl.Schema(TUPLES)),
        votes=votes_of(kept),
        rows_read=read.height,
        refused={**found.ledger, "repeated_id": repeats} if repeats else found.ledger,
        sources=sources,
        numbered="id" not in records.columns,
    )


def _reason() -> pl.Expr:
    """The first reason to refuse a record, but for a repeated id; null if there is none."""
    empty = [
        pl.when(pl.col(name).is_null()).then(pl.lit(f"empty_{name}"))
        for name in (*ELEMENTS, "label", "id")
    ]
    return pl.coalesce(
        *empty,
        pl.when(pl.col("known").is_null()).then(pl.lit("unknown_relation")),
        pl.when(pl.col("valid").is_null()).then(pl.lit("bad_label")),
        pl.when("bad_vote").then(pl.lit("bad_vote")),
        pl.when(pl.col("instance") == pl.col("concept")).then(pl.lit("self_loop")),
    )


_WRONG = {"unknown_relation": "relation", "bad_label": "label"}
_HINTS = {
    "unknown_relation": "relations are Noun-Entail, Verb-Entail and Event-Entail",
    "bad_label": "a label is 1, true, valid or yes, or 0, false, invalid or no, or names a class",
    "bad_vote": "a vote is 1, true, valid or yes, or 0, false, invalid or no, or empty",
}


def _refuse_all(read: pl.DataFrame, counts: Mapping[str, int], sources: Sequence[Path]) -> NoReturn:
    """Raise InputError, naming the first values that could not be read."""
    parts = [f"{count:,} {reason}" for reason, count in counts.items()]
    for reason, column in _WRONG.items():
        values = read.filter(refused=reason)[column].unique(maintain_order=True)
        parts += [f"{column} {first_cases(values)}"] if len(values) else []
    raise InputError(
        "a tuple with all its elements, a known relation and a label is required",
        found=f"{counted(read.height, 'records')}, all refused: {'; '.join(parts)}"
        if read.height
        else "no records",
        where=", ".join(map(str, sources)),
        hint=_HINTS.get(
            max(counts, key=lambda reason: counts[reason], default=""),
            "name columns of other names, for example --column label=is_valid",
        ),
    )
