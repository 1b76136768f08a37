"""Helpers shared by the loaders: choice of columns, tidy text, and the raw labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from polars.datatypes import DataTypeClass

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import name_among
from audit.data.label_format import INSTANCES, PLACES, ROWS, STRATUM, Columns, RawLabels
from audit.data.sources import Source

_LISTS = (pl.List, pl.Array)
_OPTIONS = {"instance": "--id", "label": "--label", "labels": "--label"}

ID_NAMES = ("id", "instance", "hadm_id")
"""Names of columns that hold the instance's id unless the user names one; case is ignored."""


def present(frame: pl.DataFrame, name: str) -> str | None:
    """The column of that name, ignoring case; None if there is none."""
    return next((column for column in frame.columns if column.strip().lower() == name), None)


def column_for(role: str, wanted: str, names: Sequence[str], source: Source) -> str:
    """The column named for a role, ignoring case; raises SchemaError if it does not exist."""
    if role.startswith(STRATUM):
        hint = "--strata, and strata, drift, code_dates and person of the policy, name columns"
        return name_among(names, wanted, source, hint)
    hint = f"name another with {_OPTIONS[role]}" if role in _OPTIONS else ""
    return name_among(names, wanted, source, hint)


def id_among(
    names: Sequence[str], named: str | None, beside: Collection[str], source: Source
) -> str:
    """The column, or key, that holds the instance's id.

    It is the one that the user named, else ``id``, ``instance`` or ``hadm_id``, else the only one.

    Args:
        names: All columns.
        named: The column that the user named; None: detect it.
        beside: Columns with another role.
        source: The dataset, for the message.

    Raises:
        SchemaError: If the named one does not exist, or not exactly one qualifies.
    """
    if named is not None:
        return column_for("instance", named, names, source)
    free = [name for name in names if name not in beside]
    candidates = [name for name in free if name.strip().lower() in ID_NAMES] or free
    if len(candidates) == 1:
        return candidates[0]
    raise SchemaError(
        "exactly one column must hold the id of the instance",
        found=f"the candidates {first_cases(candidates)}" if candidates else "no candidate",
        where=source,
        hint="name it with --id",
    )


def id_beside(
    frame: pl.DataFrame, columns: Columns, labels: Sequence[str], source: Source
) -> tuple[str, set[str]]:
    """The column of the instance's id, and those that hold labels or have a role.

    Args:
        frame: The table.
        columns: What the user named.
        labels: Columns of labels.
        source: The dataset.

    Raises:
        SchemaError: If a column does not exist, it is not clear which one holds the id, or codes
            were read as numbers.
    """
    named = {role: name for role, name in columns.beside.items() if name}
    roles = (column_for(role, name, frame.columns, source) for role, name in named.items())
    taken = {*labels, *roles}
    instance = id_among(frame.columns, columns.id, taken, source)
    for label in labels:
        source.refuse_numbers(instance, label)
    return instance, taken


def pick(frame: pl.DataFrame, source: Source, **columns: str | None) -> pl.DataFrame:
    """Select columns under new names (their roles), as tidy text; roles without one are left out.

    Raises:
        SchemaError: If a column does not exist or holds neither plain values nor lists of them.
    """
    found = {
        role: column_for(role, column, frame.columns, source)
        for role, column in columns.items()
        if column is not None
    }
    lists = [column for role, column in found.items() if role == "labels"]
    chosen = pl.DataFrame({column: frame[column] for column in found.values()})
    text = tidy(chosen, source, lists)
    return pl.DataFrame([text[column].alias(role) for role, column in found.items()])


def tidy(frame: pl.DataFrame, source: Source, lists: Collection[str] = ()) -> pl.DataFrame:
    """Convert every value to stripped text, null if blank; whole floats are written as integers.

    Lists stay lists, of such values.

    Raises:
        SchemaError: If a column holds neither plain values nor, where allowed, lists of them.
    """
    for name, dtype in frame.schema.items():
        inner = dtype.inner if name in lists and isinstance(dtype, _LISTS) else dtype
        if inner.is_nested() or inner in (pl.Binary, pl.Object):
            raise SchemaError(
                f"the column {name!r} must hold plain values"
                + " or lists of them" * (name in lists),
                found=str(dtype),
                where=source,
            )
    columns = {
        name: frame.select(_text(pl.nth(position), dtype)).to_series()
        for position, (name, dtype) in enumerate(frame.schema.items())
    }
    return pl.DataFrame(columns)


def is_blank(values: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Whether values, none of them a list, become null when they are made tidy."""
    if dtype.is_float():
        return values.fill_nan(None).is_null()
    return values.is_null() if dtype.is_integer() else _text(values, dtype).is_null()


def lines_of(source: Source) -> pl.DataFrame:
    """The nonblank lines of a text file, as ``line`` (number from 1) and ``text``."""
    lines = pl.DataFrame({"text": source.text().split("\n")}).with_row_index("line", offset=1)
    return lines.filter(pl.col("text").str.strip_chars() != "")


def labels_on_lines(
    source: Source,
    columns: Columns,
    separators: tuple[str, str],
    refuse: Callable[[pl.DataFrame, Source], None],
) -> RawLabels:
    """The labels of a text whose lines have no header: an id, then its labels.

    Args:
        source: The text, or its parts.
        columns: What the user named.
        separators: What stands between the id and its labels, and between two labels.
        refuse: Raises SchemaError for the lines of a part, as ``line``, ``text``, ``instance`` and
            ``labels``.

    Raises:
        SchemaError: If ``refuse`` does, or the user named a column.
    """
    refuse_named(columns, source, "id", "label", "group", "split", "strata")
    after_id, between = separators
    halves = pl.col("text").str.splitn(after_id, 2).struct
    own = {"instance": halves.field("field_0"), "labels": parts(halves.field("field_1"), between)}
    split = []
    for part in source.parts:
        lines = lines_of(part).with_columns(**own)
        refuse(lines, part)
        split.append(lines.select("instance", "labels"))
    listed = pick(pl.concat(split), source, instance="instance", labels="labels")
    return raw_labels(exploded(listed), listed, source)


def parts(joined: pl.Expr, separator: str) -> pl.Expr:
    """Split a joined text into a list of labels as tidy text; null if all of it is blank."""
    split = joined.str.split(separator).list.eval(_text(pl.element(), pl.String))
    return pl.when(joined.str.strip_chars() != "").then(split)


def exploded(listed: pl.DataFrame) -> pl.DataFrame:
    """Turn one row per instance, with its list of ``labels``, into one row per label.

    An instance without labels gives no row; a row without an instance gives at least one, so that
    it is counted.
    """
    filled = pl.when(pl.col("labels").list.len() > 0).then(pl.col("labels"))
    rows = listed.with_columns(labels=filled)
    counted = pl.col("labels").is_not_null() | pl.col("instance").is_null()
    return rows.filter(counted).explode("labels").rename({"labels": "label"})


def raw_labels(
    rows: pl.DataFrame,
    mentions: pl.DataFrame,
    source: Source,
    *,
    files: Sequence[Path] = (),
    titles: Sequence[Path] = (),
    persons: bool = False,
) -> RawLabels:
    """Build the raw labels of a loader from tables that may lack columns.

    Args:
        rows: Columns of `ROWS`; a row without an instance is refused as ``bad_row``.
        mentions: Columns of `INSTANCES` and the strata by role, one row each time an instance
            occurs; with ``labels`` if each row is a record.
        source: The dataset.
        files: The files that were read; those of the source where none are given.
        titles: Title dictionaries beside them.
        persons: Whether the format holds persons' records.

    Raises:
        InputError: If there is no instance at all.
        SchemaError: If an instance has two groups, or two values of a stratum.
    """
    if mentions.is_empty():
        raise InputError("a dataset with rows is required", found="none", where=source)
    return RawLabels(
        rows=_rows(rows),
        instances=_instances(mentions, source),
        places=_places(rows, mentions),
        sources=tuple(files) or source.files,
        titles=tuple(titles),
        persons=persons,
    )


def refuse_named(columns: Columns, source: Source, *options: str) -> None:
    """Refuse options that name columns (``id``, ``strata`` ...) for a format without columns.

    Raises:
        SchemaError: If the user gave one of the options.
    """
    given = [
        "the policy's columns" if option == "strata" else f"--{option}"
        for option in options
        if getattr(columns, option) not in (None, ())
    ]
    if given:
        raise SchemaError(
            "columns can be named only where the format has them",
            found=", ".join(given),
            where=source,
        )


def _text(values: pl.Expr, dtype: pl.DataType | DataTypeClass) -> pl.Expr:
    if isinstance(dtype, _LISTS):
        return values.cast(pl.List(dtype.inner)).list.eval(_text(pl.element(), dtype.inner))
    if dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int64, strict=False)
        written = pl.when(whole == values).then(whole.cast(pl.String))
        return written.otherwise(values.cast(pl.String))
    if dtype.is_integer():
        return values.cast(pl.String)
    stripped = values.cast(pl.String).str.strip_chars()
    return pl.when(stripped != "").then(stripped)


def _rows(rows: pl.DataFrame) -> pl.DataFrame:
    homeless = pl.when(pl.col("instance").is_null()).then(pl.lit("bad_row"))
    return _completed(rows, ROWS).with_columns(refused=pl.coalesce("refused", homeless))


def _instances(mentions: pl.DataFrame, source: Source) -> pl.DataFrame:
    further = [name for name in mentions.columns if name.startswith(STRATUM)]
    distinct = _completed(mentions, INSTANCES | dict.fromkeys(further, pl.String))
    distinct = distinct.drop_nulls("instance").unique(maintain_order=True)
    by_instance = distinct.group_by("instance", maintain_order=True)
    for role in ("group", *further):
        values = by_instance.agg(pl.col(role).drop_nulls().unique(maintain_order=True))
        torn = values.filter(pl.col(role).list.len() > 1)
        if not torn.is_empty():
            name = role.removeprefix(STRATUM)
            raise SchemaError(
                f"an instance must be in one {name}",
                found=f"in several: {_several_values(torn, role)}",
                where=source,
                hint="name the column that holds the group with --group, or the id with --id"
                if role == "group"
                else f"leave {name!r} out of the policy, or name the id with --id",
            )
    firsts = pl.col("group", *further).drop_nulls().first()
    instances = by_instance.agg(firsts, pl.col("split").min())
    names = {role: role.removeprefix(STRATUM) for role in further}
    return instances.select(*INSTANCES, *further).rename(names)


def _places(rows: pl.DataFrame, mentions: pl.DataFrame) -> pl.DataFrame:
    """Places of instances met in several records, or else in several splits."""
    if "labels" in mentions.columns:
        met = mentions.drop_nulls("instance").filter(pl.col("instance").is_duplicated())
        listed = met.with_columns(pl.col("labels").fill_null([]).list.drop_nulls().list.sort())
    elif {"split", "label"} <= set(rows.columns):
        named = rows.drop_nulls(["instance", "split"])
        several = pl.col("split").n_unique().over("instance") > 1
        labels = pl.col("label").drop_nulls().sort().alias("labels")
        listed = named.filter(several).group_by("instance", "split").agg(labels)
    else:
        return pl.DataFrame(schema=PLACES)
    places = _completed(listed, PLACES)
    return places.sort("instance", "split", pl.col("labels").list.join("\0"))


def _several_values(torn: pl.DataFrame, role: str) -> str:
    cases = torn.head(5).select(pl.format("{} in {}", "instance", pl.col(role).list.join(", ")))
    return first_cases(cases.to_series(), torn.height)


def _completed(frame: pl.DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in schema.items()
        if name not in frame.columns
    ]
    return frame.with_columns(missing).select(
        pl.col(name).cast(dtype) for name, dtype in schema.items()
    )
