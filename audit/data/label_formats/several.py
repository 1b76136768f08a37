"""Several columns of labels: one row per instance, with a label in each of DX1, DX2 ... DX20."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.data.label_format import Batches, Columns, LabelFormat, RawLabels, id_beside, raw_labels
from audit.data.records import column_for, id_among, pick, tidy
from audit.data.sources import Source
from audit.data.unnamed_columns import unnamed_columns

_NUMBERED = re.compile(r"(.*?)(\d+)\s*")


def families(names: Iterable[str]) -> dict[str, list[str]]:
    """Names that differ in a number at their end alone, by pattern, in the order of the names.

    The numbers of a family run from 0 or 1 on without a gap, so that ``icd9`` and ``icd10`` are
    none.

    >>> families(["id", "DX1", "DX2", "icd9", "icd10"])
    {'DX*': ['DX1', 'DX2']}
    """
    numbers: dict[str, dict[int, str]] = {}
    for name in names:
        if match := _NUMBERED.fullmatch(name):
            numbers.setdefault(match[1], {})[int(match[2])] = name
    return {
        f"{stem}*": list(members.values())
        for stem, members in numbers.items()
        if stem.strip() and len(members) > 1 and max(members) - min(members) == len(members) - 1
        if min(members) in (0, 1)
    }


def refuse_one_of_several(column: str, names: Sequence[str], source: object) -> None:
    """Refuse one of numbered columns, whose siblings would be left out in silence.

    Raises:
        SchemaError: If the column is of a family.
    """
    for pattern, members in families(names).items():
        if column in members:
            alone = f"{column[:-1]}[{column[-1]}]"
            raise SchemaError(
                "the columns of all labels must be named",
                found=f"{column!r} alone, of the {len(members)} columns {first_cases(members)}",
                where=source,
                hint=f"--label {pattern!r} names them all, --label {alone!r} this one alone",
            )


def is_pattern(name: str | None) -> bool:
    """Whether a name is a pattern of names: with ``*``, ``?`` or ``[...]``.

    >>> is_pattern("DX*"), is_pattern("label"), is_pattern("DX[1]")
    (True, False, True)
    """
    return name is not None and bool(re.search(r"[*?]|\[.+\]", name))


def fitting(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that fit a pattern, case ignored, in their order."""
    return [name for name in names if fnmatchcase(name.strip().lower(), pattern.strip().lower())]


def read(source: Source, columns: Columns) -> RawLabels:
    """Read a label from each of the columns that fit a pattern; a blank is not a label.

    The position of a label is that of its column among them, from 1.

    Raises:
        SchemaError: If no column fits, or it is not clear which columns are meant.
    """
    frame = source.table()
    chosen = label_columns(source, columns.label)
    instance, taken = id_beside(frame, columns, chosen, source)
    mentions = pick(frame, source, instance=instance, **columns.beside)
    labels = tidy(frame.select(chosen), source)
    listed = mentions.with_columns(labels=labels.select(pl.concat_list(pl.all())).to_series())
    raw = raw_labels(_with_positions(mentions, labels), listed, source)
    return replace(raw, unnamed=unnamed_columns(frame, instance, taken, source))


def _with_positions(mentions: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """One row per label with its position; a row without an instance gives at least one."""
    numbered = mentions.with_row_index("row")
    rows = [
        numbered.with_columns(label=labels[name], position=pl.lit(place, pl.Int64))
        for place, name in enumerate(labels.columns, start=1)
    ]
    lost = pl.col("instance").is_null() & (pl.col("position") == 1)
    some = pl.concat(rows).filter(pl.col("label").is_not_null() | lost)
    return some.sort("row", "position").drop("row")


def label_columns(source: Source, pattern: str | None) -> list[str]:
    """The columns of labels: those that fit a pattern, else the only numbered ones.

    Raises:
        SchemaError: If no column fits, or there is not exactly one family of numbered columns.
    """
    names = list(source.schema)
    known = families(names)
    if pattern is not None and not is_pattern(pattern):
        found = [column_for("label", pattern, names, source)]
        refuse_one_of_several(found[0], names, source)
    elif pattern is not None:
        found = fitting(pattern, names)
    else:
        found = next(iter(known.values())) if len(known) == 1 else []
    if not found:
        raise SchemaError(
            f"columns that fit {pattern!r} are required"
            if pattern
            else "one family of numbered columns, as DX1, DX2, DX3, is required",
            found=f"the columns {first_cases(names)}" if names else "no columns",
            where=source,
            hint=f"--label {next(iter(known))!r} names some" if known else "name them with --label",
        )
    return found


def matches(source: Source) -> bool:
    """Whether the only numbered columns are named as those of diagnoses or codes are."""
    known = list(families(source.schema))
    return len(known) == 1 and known[0].strip("*_ -.").lower() in _STEMS


_STEMS = ("dx", "diag", "diagnosis", "icd", "icd9", "icd10", "code", "label", "icd_code")


def columns_in_batches(source: Source, instance: str | None, label: str | None) -> tuple[str, str]:
    """The column of the instance's id, and the pattern of those of labels."""
    chosen = label_columns(source, label)
    instance = id_among(list(source.schema), instance, chosen, source)
    for one in chosen:
        source.refuse_numbers(instance, one)
    return instance, label if label and is_pattern(label) else next(iter(families(source.schema)))


def frames_in_batches(
    source: Source, instance: str, label: str, at_once: int, start: int
) -> Iterator[pl.DataFrame]:
    """Frames of ids and lists of the labels that are not blank."""
    chosen = label_columns(source, label)
    for frame in source.frames([instance, *chosen], at_once, start):
        yield frame.select(instance, _listed(chosen).alias("labels"))


def _listed(columns: Sequence[str]) -> pl.Expr:
    filled = [pl.when(pl.col(name).str.strip_chars() != "").then(pl.col(name)) for name in columns]
    return pl.concat_list(filled).list.drop_nulls()


BATCHES = Batches(columns_in_batches, frames_in_batches)

FORMAT = LabelFormat(
    name="several",
    title="CSV, TSV or Parquet with several columns of labels, as DX1 to DX20: --label 'DX*'",
    matches=matches,
    read=read,
    batches=BATCHES,
)
