"""Tables of labels whose columns a format has chosen, read whole or some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.readings import Reading
from audit.data.known_nodes import how_joined, looks_behind, pattern_of
from audit.data.label_format import (
    BEHIND,
    STATED,
    Choose,
    Chosen,
    Columns,
    LabelFormat,
    Layout,
    RawLabels,
    exploded,
    raw_labels,
)
from audit.data.records import column_for, fitting, id_of_rows, parts, pick, tidy
from audit.data.sources import Frame, Source
from audit.data.unnamed_columns import unnamed_columns, with_rules

ROW = "number of the row"
"""Name of the column of ids where rows are numbered."""
AT_ONCE = 1_000_000
"""Number of rows of whole columns that are read at once."""


def table_format(
    name: str, title: str, matches: Callable[[Source], bool], choose: Choose
) -> LabelFormat:
    """A format of tables whose columns ``choose`` finds; parameters as in `LabelFormat`."""
    return LabelFormat(name, title, matches, partial(_read, choose), choose)


def chosen_rows(
    source: Source, columns: Columns, rows: Source, labels: Sequence[str], **further: Any
) -> Chosen:
    """The columns of a table whose rows are instances; ``further`` are fields of `Chosen`."""
    names = list(source.schema)
    taken = {*labels, *roles_of(columns, names, source).values()}
    instance, readings = id_of_rows(names, columns.id, taken, source, values_of(rows))
    for label in labels:
        source.refuse_numbers(instance or "", label)
    return Chosen(instance, tuple(labels), frames, readings=readings, **further)


def _read(choose: Choose, source: Source, columns: Columns) -> RawLabels:
    frame = source.table()
    chosen = with_rules(source, choose(source, columns, Frame(frame)), columns)
    columns = replace(columns, rules=chosen.rules)
    instance = ROW if chosen.id is None else chosen.id
    frame = numbered_rows(frame) if chosen.id is None else frame
    mentions = pick(frame, source, instance=instance, **columns.beside)
    stated = stated_tables(chosen, columns.codes, source)
    tables = [pl.lit(table, pl.String).alias("table") for table in stated]
    if chosen.each:
        labels = tidy(frame.select(chosen.labels), source)
        every = pl.concat_list(_parts(pl.col(name), chosen.sign) for name in chosen.labels)
        listed = mentions.with_columns(labels=pl.Series(labels.select(every)))
        rows = _with_positions(mentions, labels, tables, chosen.sign)
    elif chosen.joined:
        cells = tidy(frame.select(chosen.labels), source)
        listed = mentions.with_columns(labels=pl.Series(cells.select(_labels(chosen))))
        rows = exploded(listed).with_columns(tables[0])
    else:
        role = "labels" if frame.schema[chosen.labels[0]].is_nested() else "label"
        listed = mentions.with_columns(pick(frame, source, **{role: chosen.labels[0]}))
        rows = (exploded(listed) if role == "labels" else listed).with_columns(tables[0])
    taken = {*chosen.labels, *roles_of(columns, frame.columns, source).values()}
    told = {
        "readings": chosen.readings,
        "numbered": chosen.id is None,
        "id": chosen.id,
        "layout": layout_of(chosen, listed=frame.schema[chosen.labels[0]].is_nested()),
    }
    unnamed = unnamed_columns(frame, instance, taken, source, groups=columns.group is None)
    return raw_labels(rows, listed, source, columns.rules, unnamed=unnamed, **told)


def layout_of(chosen: Chosen, *, listed: bool) -> Layout:
    """Where the ids and labels of chosen columns stand; ``listed``: in lists."""
    sign = pattern_of(chosen.sign) if chosen.sign else None
    several = chosen.each or chosen.joined or listed
    return Layout(chosen.id, chosen.labels, several, sign)


def frames(source: Source, chosen: Chosen, at_once: int) -> Iterator[pl.DataFrame]:
    """Frames of the ids and the labels, or lists of labels, of a table, and of marks if any."""
    named = [] if chosen.id is None else [chosen.id]
    further = [column_for("", one, [*source.schema], source) for one in chosen.rules.roles.values()]
    names = dict.fromkeys([*named, *chosen.labels, *further])
    start = 0
    for frame in source.frames([*names], at_once):
        ids = _numbers(start).alias(ROW) if chosen.id is None else pl.col(chosen.id)
        marks = chosen.rules.marked(frame, source, chosen.rules.roles)
        name = STATED if chosen.tables else chosen.labels[0]
        listed = chosen.joined or frame.schema[chosen.labels[0]].is_nested()
        yield frame.select(ids, _labels(chosen, listed=listed).alias(name), *marks)
        start += frame.height


def _labels(chosen: Chosen, *, listed: bool = True) -> pl.Expr:
    """The labels of each row, as a list where there may be several, without those left blank."""
    if chosen.each:
        cells = [_parts(pl.col(name).cast(pl.String), chosen.sign) for name in chosen.labels]
        for n, table in enumerate(chosen.tables):
            cells[n] = cells[n].list.eval(_behind(table, pl.element()))
        return pl.concat_list(cells).list.drop_nulls()
    label = pl.col(chosen.labels[0])
    if chosen.joined:
        label = parts(label, chosen.sign or "\0").list.drop_nulls()
    if not chosen.tables:
        return label
    inside = _behind(chosen.tables[0], pl.element())
    return label.list.eval(inside) if listed else _behind(chosen.tables[0], label)


def _parts(cell: pl.Expr, sign: str | None) -> pl.Expr:
    """The labels of a cell, one or those that a sign joins; an empty list where it is blank."""
    return parts(cell, sign or "\0").fill_null(pl.lit([], dtype=pl.List(pl.String)))


def told_of_parts(
    sign: str, labels: Sequence[str], rows: Source, *, by_nodes: bool
) -> list[Reading]:
    """What is told of cells that hold several labels."""
    cells = [pl.col(name).str.strip_chars() for name in labels]
    between = (
        _parts(pl.col(name), sign).list.len() > 1
        if looks_behind(sign)
        else pl.col(name).str.contains(pattern_of(sign))
        for name in labels
    )
    inside = pl.any_horizontal(a & (b != "") for a, b in zip(between, cells, strict=True))
    frames = rows.frames([*labels], AT_ONCE)
    joined = sum(int(frame.select(inside.sum()).item()) for frame in frames)
    decision = f"the cells of {first_cases(labels)} are several labels, {how_joined(sign)}"
    why = "their parts are nodes" if by_nodes else "their parts look like codes or words"
    return [Reading(decision, why, joined, "--format long")]


def _behind(table: str | None, label: pl.Expr) -> pl.Expr:
    return pl.lit((table or "") + BEHIND) + label.cast(pl.String)


def numbered_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the numbers of its rows, from 0, in a further column `ROW`."""
    return frame.with_columns(_numbers(0).alias(ROW))


def _numbers(start: int) -> pl.Expr:
    return pl.int_range(start, start + pl.len(), dtype=pl.Int64).cast(pl.String)


def stated_tables(
    chosen: Chosen, codes: Mapping[str, str | None], source: Source
) -> tuple[str | None, ...]:
    """The code set that is stated for each column of labels, by the first pattern that it fits."""
    for pattern in codes:
        if not fitting(pattern, chosen.labels):
            raise SchemaError(
                f"columns of labels that fit {pattern!r} are required",
                found=f"the columns {first_cases(chosen.labels)}",
                where=source,
            )
    fits = (next((one for one in codes if fitting(one, [name])), "") for name in chosen.labels)
    return tuple(codes.get(one) for one in fits)


def _with_positions(
    mentions: pl.DataFrame, labels: pl.DataFrame, tables: Sequence[pl.Expr], sign: str | None
) -> pl.DataFrame:
    """One row per label with its position; a row without an instance gives at least one."""
    numbered = mentions.with_row_index("row")
    rows = [
        numbered.with_columns(table, label=labels[name], position=pl.lit(place, pl.Int64))
        for place, (name, table) in enumerate(zip(labels.columns, tables, strict=True), start=1)
    ]
    lost = pl.col("instance").is_null() & (pl.col("position") == 1)
    if sign:
        split = parts(pl.col("label"), sign)
        rows = [one.with_columns(label=split).explode("label") for one in rows]
    some = pl.concat(rows).filter(pl.col("label").is_not_null() | lost)
    return some.sort("row", "position").drop("row")


def roles_of(columns: Columns, names: Collection[str], source: Source) -> dict[str, str]:
    """The columns that the user names beside id and label, by role."""
    named = columns.beside.items()
    return {role: column_for(role, name, [*names], source) for role, name in named}


def values_of(rows: Source) -> Callable[[str], Iterator[pl.Series]]:
    """The values of a column of a table by its name, some rows at a time."""
    return lambda name: (frame[name] for frame in rows.frames([name], AT_ONCE))
