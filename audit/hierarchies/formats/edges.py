"""Edge tables: one edge a row, with columns ``child``, ``parent`` and perhaps ``title``."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import column_named, read_text
from audit.base.readings import Reading
from audit.hierarchies.formats import names
from audit.hierarchies.formats.format import (
    AS_IT_IS,
    HierarchyFormat,
    Shape,
    hierarchy_of,
    titles_of,
)
from audit.hierarchies.formats.tables import (
    columns_of,
    is_headless,
    is_parquet,
    table_of,
    text_of,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.retired import CONSIDER, OBSOLETE, REPLACED_BY, Obsolete, retired_ids


def matches(path: Path, head: bytes) -> bool:
    """Whether a table has a column of parents, or is two columns of names without a header."""
    return any(map(names.is_parent, columns_of(path, head))) or is_headless(path, head)


def read(path: Path, shape: Shape = AS_IT_IS) -> Hierarchy:
    """Read an edge table; a name is declared by appearing.

    A row without a parent only declares its child; one whose parent is the child itself says that a
    group is named like its member. The title is the child's; it may be given in one of the child's
    rows or in all. A node is assignable if it is a leaf, or such a member.

    Columns are found by their usual names; of several that may be the child's it is the one whose
    values the parents name. Several parents may stand in a cell.

    A column of `OBSOLETE` says which children are obsolete: those are no nodes, and their parents
    and titles are passed over. ``replaced_by`` and ``consider`` name a successor in each row.

    A parent that is obsolete is dangling; no other parent is missing.

    Raises:
        HierarchyError: On a cycle, a parent that is obsolete and not to be dropped, or a table
            without nodes.
        SchemaError: On a missing column, a row without a child, a child of two titles, or one that
            is obsolete in some rows alone.
        InputError: If the file cannot be read, or two columns without a header may be either.
    """
    return of_table(path, table_of(path, shape), shape)


def of_table(path: Path, frame: pl.DataFrame, shape: Shape = AS_IT_IS) -> Hierarchy:
    """The hierarchy of an edge table, as `read` describes it."""
    several = [n for n in frame.columns if names.is_parent(n) and n[-1].isdigit()]
    if len(several) > 1 and not shape.parent:
        others = pl.exclude(several)
        frame = pl.concat([frame.select(others, pl.col(n).alias(several[0])) for n in several])
    columns, readings = _columns(path, frame, shape)
    table = _table(path, frame, columns)
    _refuse_blank_child(path, frame, table)
    table = table.filter(~_blank("child"))
    obsolete = _obsolete(path, table)
    table = table.join(obsolete, on="child", how="anti", maintain_order="left")
    titled = table.filter(pl.col("title") != "").select("child", "title")
    titles = titles_of(titled.unique(maintain_order=True).iter_rows(), path)
    edges = table.filter(pl.col("parent") != "").select("child", "parent")
    named = pl.concat([table["child"], edges["parent"]]).unique(maintain_order=True)
    ids = named.filter(~named.is_in(obsolete["child"].implode()))
    return hierarchy_of(
        path,
        edges.rows(),
        [(name, titles.get(name), None) for name in ids],
        coding=retired_ids(set(ids), (Obsolete(*row) for row in obsolete.iter_rows())),
        dangling=shape.dangling,
        members=shape.ids or "names",
        readings=readings,
    )


FORMAT = HierarchyFormat(
    "edges", "a table with columns child, parent and optionally title, or named alike",
    matches, read, frozenset({"child", "parent", "title", "ids"}),
)  # fmt: skip


def _columns(path: Path, frame: pl.DataFrame, shape: Shape) -> tuple[dict[str, str], list[Reading]]:
    """The columns of child, parent and title, and what of it was found by the values alone."""
    stated = {"child": shape.child, "parent": shape.parent, "title": shape.title}
    found = {role: column_named(frame, name, path) for role, name in stated.items() if name}
    if frame.columns == ["1", "2"] and not found:
        lower, said = names.lower_end(
            frame.rows(), path, ("names of column 1", "names of column 2"),
            ("--hierarchy-child 1 --hierarchy-parent 2", _SECOND_BELOW),
        )  # fmt: skip
        return {"child": str(lower + 1), "parent": str(2 - lower)}, [said]
    others = [name for name in frame.columns if name not in found.values()]
    parents = [name for name in others if names.is_parent(name)]
    if "parent" not in found:
        by_id = [name for name in parents if not names.plain(name).endswith("name")]
        found["parent"] = [*by_id, *parents, "parent"][0]
        column_named(frame, found["parent"], path)
    others = [name for name in others if name not in (*parents, found["parent"])]
    told = list[Reading]()
    if "child" not in found:
        found["child"], told = _child(path, frame, found["parent"], others)
    titled = names.among([name for name in others if name != found["child"]], names.TITLES)
    return ({"title": titled[0]} if titled else {}) | found, told


_SECOND_BELOW = "--hierarchy-child 2 --hierarchy-parent 1"


def _child(
    path: Path, frame: pl.DataFrame, parent: str, others: list[str]
) -> tuple[str, list[Reading]]:
    """The column of the child, with what decided between several that may be it."""
    named = names.among(others, names.IDS) + names.among(others, names.TITLES)
    possible = named or others
    if len(possible) == 1 or (named and names.plain(named[0]) in names.CHILD):
        return possible[0], []
    if not possible:
        return column_named(frame, "child", path), []
    values = {name: set(text_of(frame, name).drop_nulls()) - {""} for name in possible}
    above = {one for one in text_of(frame, parent).drop_nulls() if not names.is_nothing(one)}
    child = names.referred(above, values)
    if child == possible[0]:
        return child, []
    evidence = f"{parent!r} holds such names, and no values of {possible[0]!r}"
    option = f"--hierarchy-child {possible[0]}"
    return child, [Reading(f"nodes go by {child!r}", evidence, len(frame), option)]


def _table(path: Path, frame: pl.DataFrame, found: dict[str, str]) -> pl.DataFrame:
    """``child, parent`` and all that a table may have beside them, as text; nothing is empty."""
    there = {column.lower() for column in frame.columns}
    found |= {n: column_named(frame, n, path) for n in (REPLACED_BY, CONSIDER) if n in there}
    flags = [column_named(frame, name, path) for name in OBSOLETE if name in there]
    if len(flags) > 1:
        raise SchemaError(
            "one column may say what is obsolete", found=first_cases(flags), where=path
        )
    if flags:
        found[_FLAG] = flags[0]
    for name, column in found.items():
        _refuse_other_than_text(path, frame[column], flag=name == _FLAG)
    table = pl.DataFrame(
        {
            name: text_of(frame, column, trimmed=name != "title").fill_null("")
            for name, column in found.items()
        }
    )
    table = table.with_columns(pl.lit("").alias(n) for n in (*_FURTHER, _FLAG) if n not in found)
    ids = set(table["child"])
    parents = table["parent"].unique()
    split = names.parts_of((one for one in parents if not names.is_nothing(one, ids)), ids)
    if all(parts == [cell] for cell, parts in split.items()) and len(split) == len(parents):
        return table
    lists = pl.Series([split.get(one, [""]) for one in table["parent"]], dtype=pl.List(pl.String))
    return table.with_columns(parent=lists).explode("parent")


_FURTHER = ("title", REPLACED_BY, CONSIDER)
"""Columns that a table may have, and need not, beside one of `OBSOLETE`."""
_FLAG = OBSOLETE[0]


def _refuse_other_than_text(path: Path, column: pl.Series, *, flag: bool) -> None:
    text = column.dtype in (pl.String, pl.Categorical, pl.Enum) or column.dtype.is_integer()
    if column.dtype.is_float():
        text = bool((column.drop_nulls().drop_nans() % 1 == 0).all())
    if not text and not (flag and column.dtype == pl.Boolean):
        raise SchemaError(
            f"the column {column.name!r} must hold text", found=str(column.dtype), where=path
        )


def _refuse_blank_child(path: Path, frame: pl.DataFrame, table: pl.DataFrame) -> None:
    blank = table.with_row_index().filter(_blank("child") & ~_blank("parent", "title"))
    if len(blank):
        row, parent = blank["index"][0], blank["parent"][0]
        raise SchemaError(
            "every row must name a child",
            found=f"{len(blank):,} without, the first with parent {parent!r}",
            where=path if is_parquet(path) else f"{path}:{_line(path, frame, row)}",
        )


def _blank(*columns: str) -> pl.Expr:
    return pl.all_horizontal(pl.col(*columns).str.strip_chars() == "")


def _line(path: Path, frame: pl.DataFrame, row: int) -> int:
    """The line on which a row of a text table starts, where fields may hold line breaks."""
    text = read_text(path)
    header = len(text) - len(text.lstrip("\n")) + 1
    within = frame.head(row).select(pl.all().str.count_matches("\n", literal=True).sum())
    return header + row + 1 + sum(count or 0 for count in within.row(0))


_TRUE, _FALSE = ("true", "1"), ("false", "0")


def _obsolete(path: Path, table: pl.DataFrame) -> pl.DataFrame:
    """``child, replaced_by, consider`` of each obsolete child; the last two are lists."""
    said = table.with_columns(pl.col(_FLAG).str.strip_chars().str.to_lowercase())
    other = said.filter(~pl.col(_FLAG).is_in(["", *_TRUE, *_FALSE]))
    if len(other):
        raise SchemaError(
            f"the column that says what is obsolete must hold {' or '.join((*_TRUE, *_FALSE))}",
            found=first_cases(other[_FLAG].unique(maintain_order=True)),
            where=path,
            hint="give the column another name if it says something else",
        )
    by_child = said.group_by("child", maintain_order=True).agg(
        pl.col(REPLACED_BY, CONSIDER).filter(pl.col(REPLACED_BY, CONSIDER) != ""),
        told=pl.col(_FLAG).is_in(_TRUE).any(),
        denied=pl.col(_FLAG).is_in(_FALSE).any(),
    )
    torn = by_child.filter("told", "denied")["child"]
    if len(torn):
        raise SchemaError(
            "a node is obsolete in all of its rows or in none",
            found=f"both for {first_cases(torn)}",
            where=path,
        )
    return by_child.filter("told").select("child", REPLACED_BY, CONSIDER)
