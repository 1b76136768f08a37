"""Corrected tables: what decisions on labels make of the rows of tables, whatever their files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import polars as pl

from audit.base.declared import schema
from audit.base.errors import InputError, first_cases
from audit.base.plurals import counted
from audit.data.records import tidy
from audit.data.rows import rows_in
from audit.runs.fixes.changes import Change
from audit.runs.fixes.table_files import OpenTable

_ROW = "\0row"
"""Name of the column of the numbers of rows, which no file has."""
_CHANGES = schema(
    ("instance kind label new table", pl.String), ("keep", pl.Int64), ("finding by", pl.String)
)


def corrected(tables: Sequence[OpenTable], changes: Sequence[Change]) -> list[pl.DataFrame]:
    """The rows of each table after the changes; a table in which nothing changes is the same one.

    The row of a label that goes is taken out, unless it is the last of its record; one that is
    added gets a row behind them, with what all rows of a record have alike. Of columns of several
    labels it takes the first blank cells of the last row, or stands behind those of the last cell.

    Raises:
        InputError: If two changes are of one label of an instance, or one has no place.
    """
    _refuse_repeated(changes)
    if not tables:
        return []
    asked = pl.DataFrame(map(asdict, changes), _CHANGES).with_columns(
        pl.col("new").replace("", None), number=pl.int_range(pl.len())
    )
    codes, table_of = pl.col("codes"), pl.col("table")
    fits = (codes == "") | (table_of == "") | (codes == table_of)
    cells = pl.concat(_cells(tables)).join(asked.select("instance").unique(), "instance", "semi")
    own = cells.join(
        asked.filter(pl.col("kind") != "add"),
        on=["instance", "label"],
        how="left",
        maintain_order="left",
    ).with_columns(number=pl.when(fits).then("number"))
    nth = pl.int_range(pl.len()).over("number")
    own = own.with_columns(acts=pl.col("number").is_not_null() & (nth >= pl.col("keep")))
    last = own.group_by("file", "codes", "instance", maintain_order=True).agg(pl.col("row").last())
    added = (
        asked.filter(kind="add")
        .join(last, on="instance")
        .filter(fits)
        .sort("number", "file")
        .unique("number", keep="first", maintain_order=True)
    )
    frames, made = list[pl.DataFrame](), {*own.filter("acts")["number"], *added["number"]}
    for file, table in enumerate(tables):
        there, here = own.filter(file=file), added.filter(file=file)
        if not (there["acts"].any() or len(here)):
            frames.append(table.frame)
        elif table.joins:
            frame, unplaced = _of_cells(table, there, here)
            made -= unplaced
            frames.append(frame)
        else:
            frames.append(_of_rows(table, there, here))
    refuse_unmade(one for number, one in enumerate(changes) if number not in made)
    return frames


def _refuse_repeated(changes: Sequence[Change]) -> None:
    """Raise InputError for several changes of a label of an instance, or additions of one to it."""
    keys = pl.Series([f"{one.label or f'+{one.new}'} of {one.instance}" for one in changes])
    if keys.is_duplicated().any():
        twice = keys.filter(keys.is_duplicated()).unique(maintain_order=True)
        raise InputError(
            "at most one decision on each label of an instance is required",
            found=f"several on {first_cases(twice)}",
        )


def refuse_unmade(unmade: Iterable[Change]) -> None:
    """Raise InputError if there are changes that no place was found for."""
    if several := [*unmade]:
        raise InputError(
            "a place in the data is required for each change",
            found=f"none for {counted(len(several), 'changes')}: "
            + first_cases(f"{one.label or 'add ' + one.new} of {one.instance}" for one in several),
            hint="a label is added only where a cell of the record is blank, or holds several",
        )


def _cells(tables: Sequence[OpenTable]) -> list[pl.DataFrame]:
    """Each label of the rows that count, in order; null where a cell is blank.

    ``instance, label``, positions of ``file``, ``row`` and label ``column``; ``codes`` is the
    code set of the table, empty unless it is one.
    """
    found, start = list[pl.DataFrame](), 0
    for file, one in enumerate(tables):
        rows = rows_in(one.frame, one.columns, first=start, where=one.path)
        rows = rows.unique("row", keep="first", maintain_order=True)
        start += len(one.frame)
        sets = {*one.columns.sets}
        known = rows.select(
            pl.lit(file).alias("file"),
            pl.int_range(pl.len()).alias("row"),
            "instance",
            pl.lit((sets.pop() or "") if len(sets) == 1 else "").alias("codes"),
            pl.col("refused").is_null().alias("counts"),
        )
        held = (
            known.with_columns(column=pl.lit(n), label=_lists(one, name)).explode(
                "label", empty_as_null=True
            )
            for n, name in enumerate(one.columns.label)
        )
        label = pl.col("label").str.strip_chars().replace("", None)
        every = pl.concat(held).filter("counts").drop("counts").with_columns(label)
        found.append(every.sort("row", "column", maintain_order=True))
    return found


def _lists(table: OpenTable, name: str) -> pl.Series:
    """The labels of each cell of a column as text, in lists."""
    values = table.frame[name]
    if values.dtype not in (pl.String, pl.List(pl.String)):
        lists = [name] if values.dtype.is_nested() else []
        values = tidy(values.to_frame(), table.path, lists).to_series()
    if values.dtype.is_nested():
        return values
    sign = _sign(table)
    text = pl.col(name)
    made = text.str.split(sign) if sign else pl.concat_list(text)
    return values.to_frame(name).select(made).to_series()


def _sign(table: OpenTable) -> str:
    """What separates labels in a cell: white space, or text without any around it."""
    sep = table.columns.sep
    return sep if sep.isspace() else sep.strip()


def _of_rows(table: OpenTable, own: pl.DataFrame, added: pl.DataFrame) -> pl.DataFrame:
    """A table of a row a label after the changes: ``own`` cells, and additions."""
    (name,) = table.columns.label
    goes = pl.col("acts") & (pl.col("kind") == "remove")
    left = ~goes.all().over("instance") | pl.col("instance").is_in(added["instance"].implode())
    stays = ~goes | (~left & (pl.col("row") == pl.col("row").max().over("instance")))
    acting = own.with_columns(stays=stays).filter("acts").select("row", "new", "stays")
    numbered = table.frame.with_row_index(_ROW).with_columns(pl.col(_ROW).cast(pl.Int64))
    edits = numbered.join(acting, left_on=_ROW, right_on="row", how="left", maintain_order="left")
    kept = edits.filter(pl.col("stays").fill_null(value=True))
    became = _typed(table, name, kept["new"])
    kept = kept.with_columns(
        pl.when(pl.col("stays").is_null()).then(pl.col(name)).otherwise(became).alias(name)
    )
    others = numbered[added["row"].to_list()].with_columns(
        _typed(table, name, added["new"]), *(pl.lit(None).alias(one) for one in _varying(table))
    )
    both = pl.concat([kept.select(numbered.columns), others], how="vertical_relaxed")
    return both.sort(_ROW, maintain_order=True).drop(_ROW)


def _varying(table: OpenTable) -> list[str]:
    """Columns, but of labels and of lists, whose values differ between rows of one instance."""
    rows = rows_in(table.frame, table.columns, where=table.path).unique("row", keep="first")
    plain = [
        name
        for name, kind in table.frame.schema.items()
        if name not in table.columns.label and not kind.is_nested()
    ]
    by = rows.sort("row")["instance"].alias(_ROW)
    every = table.frame.select(plain).group_by(by).agg(pl.all().n_unique())
    return [name for name in plain if (every[name] > 1).any()]


def _of_cells(
    table: OpenTable, own: pl.DataFrame, added: pl.DataFrame
) -> tuple[pl.DataFrame, set[int]]:
    """A table of a row an instance after the changes, and numbers of additions without a place."""
    names, unplaced = table.columns.label, set[int]()
    columns = [table.frame[name].to_list() for name in names]
    label = pl.when("acts").then("new").otherwise("label")
    became = own.with_columns(label=label).group_by("row", "column", maintain_order=True)
    for row, column, labels, acts in became.agg(
        pl.col("label").drop_nulls(), pl.col("acts").any()
    ).iter_rows():
        if acts:
            columns[column][row] = _cell(table, labels)
    for row, new, number in added.select("row", "new", "number").iter_rows():
        place = next((n for n, one in enumerate(columns) if not str(one[row] or "").strip()), None)
        if table.frame.schema[names[-1]].is_nested():
            columns[-1][row] = [*(columns[-1][row] or []), new]
        elif table.columns.sep:
            before = (columns[-1][row] or "").rstrip()
            columns[-1][row] = _between(table).join(filter(None, [before, new]))
        elif place is None:
            unplaced.add(number)
        else:
            columns[place][row] = new
    made = (_typed(table, name, one) for name, one in zip(names, columns, strict=True))
    return table.frame.with_columns(made), unplaced


def _cell(table: OpenTable, labels: list[str]) -> object:
    """Labels as a cell holds them: a list, or text; None for a cell of text without any."""
    listed = table.frame.schema[table.columns.label[0]].is_nested()
    return labels if listed else _between(table).join(labels) or None


def _between(table: OpenTable) -> str:
    """What stands between the labels of the first cell that holds several."""
    if not table.columns.sep:
        return ""
    held = (one for name in table.columns.label for one in table.frame[name].drop_nulls())
    found = (re.search(f"{re.escape(_sign(table))}[ ]*", one.strip()) for one in held)
    return next((one[0] for one in found if one), table.columns.sep)


def _typed(table: OpenTable, name: str, values: Iterable[object]) -> pl.Series:
    kind = table.frame.schema[name]
    text = pl.List(pl.String) if kind.is_nested() else pl.String()
    try:
        return pl.Series(name, values, text, strict=False).cast(kind)
    except pl.exceptions.PolarsError:
        raise InputError(
            f"labels that the column {name!r} can hold, {kind}, are required",
            found=first_cases(dict.fromkeys(map(str, values))),
            where=table.path,
        ) from None
