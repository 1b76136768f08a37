"""Tables of edges, one a row, and of levels, one a column, as people name them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import SNIFFED_BYTES, column_named, first_bytes, read_table, read_text
from audit.base.readings import Reading
from audit.hierarchies.formats import caml, names
from audit.hierarchies.formats.format import (
    AS_IT_IS,
    HierarchyFormat,
    Names,
    Shape,
    head_text,
    hierarchy_of,
    hierarchy_of_paths,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.retired import CONSIDER, OBSOLETE, REPLACED_BY, Obsolete, retired_ids

_SIGNS = "\t,;|"
_SNIFFED_ROWS = 200


def matches(path: Path, head: bytes) -> bool:
    """Whether a table has a column of parents, or is two columns of names without a header."""
    return any(map(names.is_parent, columns_of(path, head))) or _is_headless(path, head)


def columns_of(path: Path, head: bytes) -> list[str]:
    """The names in the first line of a table; none of what is no table."""
    if _is_parquet(path):
        return read_table(path).columns
    rows = _rows(head)
    return [_bare(name) for name in rows[0]] if rows and len(rows[0]) > 1 else []


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
    columns, readings = _columns(path, frame, shape)
    table = _table(path, frame, columns)
    _refuse_blank_child(path, frame, table)
    table = table.filter(~_blank("child"))
    obsolete = _obsolete(path, table)
    table = table.join(obsolete, on="child", how="anti", maintain_order="left")
    titles = _titles(path, table)
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


def _has_levels(path: Path, head: bytes) -> bool:
    """Whether the columns of a table, in its first rows, are levels, and none holds parents."""
    if matches(path, head) or not columns_of(path, head):
        return False
    if _is_parquet(path):
        return bool(_levels(read_table(path)))
    header, *rows = [row for row in _rows(head) if any(row)] or [[]]
    if any(len(row) != len(header) for row in rows) or len({*header}) < len(header):
        return False
    schema = dict.fromkeys(map(_bare, header), pl.String)
    return bool(_levels(pl.DataFrame(rows, schema=schema, orient="row")))


def read_levels(path: Path, shape: Shape = AS_IT_IS) -> Hierarchy:
    """Read a table with a row a node and a column a level, from the top down.

    Levels are the columns that are stated, else those that differ in one running number, else those
    side by side of which each has more values than the one before, and nearly each value one value
    before it. A column that has another value in each row is the node itself. ``X LABEL`` and the
    like hold the titles of ``X``. Empty levels are passed over.

    Raises:
        HierarchyError: If there is no node.
        SchemaError: If no columns are levels, or one is missing.
        InputError: If the file cannot be read.
    """
    return levels_of(path, table_of(path, shape), shape)


def levels_of(path: Path, frame: pl.DataFrame, shape: Shape = AS_IT_IS) -> Hierarchy:
    """The hierarchy of a table of levels, as `read_levels` describes it."""
    stated = [column_named(frame, name, path) for name in shape.levels]
    levels = stated or _levels(frame)
    if not levels:
        raise SchemaError(
            "columns of levels are required, each with fewer values than the next",
            found=f"the columns {first_cases(frame.columns)}",
            where=path,
            hint="--hierarchy-levels COL names them, from the top down, one at a time",
        )
    leaf = shape.child or (None if stated else _own_column(frame, levels))
    columns = [*levels, *([column_named(frame, leaf, path)] if leaf else [])]
    titled = {name: _title_of(frame, name, shape.title) for name in columns}
    cells = [_text(frame, name).fill_null("") for name in columns]
    labels = [_text(frame, titled[n] or n).fill_null("") for n in columns]
    rows, titles = list[tuple[Names, None, str | None]](), dict[Names, str]()
    for row, said in zip(zip(*cells, strict=True), zip(*labels, strict=True), strict=True):
        there = [number for number, name in enumerate(row) if name]
        place = tuple(row[number] for number in there)
        own = {n: said[number] for n, number in enumerate(there, 1) if titled[columns[number]]}
        titles |= {place[:n]: title for n, title in own.items() if title}
        rows += [(place, None, None)] if place else []
    told = Reading(
        f"the columns {', '.join(columns)} are levels from the top down",
        "each has fewer values than the next", len(frame), "--hierarchy-levels COL",
    )  # fmt: skip
    return hierarchy_of_paths(
        path, rows, shape.ids or "names", titles=titles, readings=() if stated else (told,)
    )


_OF_TITLES = ("label", "title", "name", "description", "desc")
_NUMBER = re.compile(r"\d+")
_NEARLY = 0.95
"""Share of a level's values that must have one value of the level above."""


def _levels(frame: pl.DataFrame) -> list[str]:
    """The columns of levels, from the top down; nothing where that is not clear."""
    families: dict[str, list[str]] = {}
    for name in frame.columns:
        if len(_NUMBER.findall(name)) == 1:
            families.setdefault(names.plain(_NUMBER.sub("#", name)), []).append(name)
    numbered = [
        sorted(family, key=lambda name: int(_NUMBER.findall(name)[0]))
        for stem, family in families.items()
        if len(family) > 1 and not stem.endswith(_OF_TITLES)
    ]
    if len(numbered) == 1:
        return numbered[0]
    plain = [name for name in frame.columns if not names.plain(name).endswith(_OF_TITLES[2:])]
    runs: list[list[str]] = [[]]
    for name in plain:
        below = runs[-1] and _is_below(frame, runs[-1][-1], name)
        runs = [*runs[:-1], [*runs[-1], name]] if below else [*runs, [name]]
    longest = max(runs, key=len)
    return longest if len(longest) > 2 or longest == list(frame.columns)[:2] == plain else []


def _is_below(frame: pl.DataFrame, above: str, name: str) -> bool:
    pair = pl.DataFrame({"above": _text(frame, above), "name": _text(frame, name)}).drop_nulls()
    pair = pair.filter(pl.col("above") != "", pl.col("name") != "")
    each = pair.group_by("name").agg(pl.col("above").n_unique())["above"]
    return len(each) > pair["above"].n_unique() and (each == 1).sum() >= _NEARLY * len(each)


def _own_column(frame: pl.DataFrame, levels: Sequence[str]) -> str | None:
    """The first column beside the levels that has another value in each row; None without one."""
    texts = [name for name in frame.columns if name not in levels]
    return next((name for name in texts if _text(frame, name).is_unique().all()), None)


def _title_of(frame: pl.DataFrame, name: str, stated: str | None) -> str | None:
    wanted = {names.plain(name) + end for end in _OF_TITLES} | {names.plain(stated or name + "?")}
    return next((n for n in frame.columns if n != name and names.plain(n) in wanted), None)


FORMAT = HierarchyFormat(
    "edges", "a table with columns child, parent and optionally title, or named alike",
    matches, read, frozenset({"child", "parent", "title", "ids"}),
)  # fmt: skip
LEVELS = HierarchyFormat(
    "levels", "a table with a row a node and a column a level", _has_levels, read_levels,
    frozenset({"child", "title", "levels", "ids"}),
)  # fmt: skip


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _separator(header: str) -> str:
    return max(_SIGNS, key=header.count)


def _bare(name: str) -> str:
    """A name without blanks, and without the single quotes of files of AHRQ."""
    return name.strip(" \t\r\ufeff").strip("'").strip()


def _rows(head: bytes) -> list[list[str]]:
    """The fields of the first lines; of what is no table, none."""
    text = head_text(head)
    lines = text.replace("\r", "").split("\n")
    lines = lines[: -1 if len(head) >= SNIFFED_BYTES else None][:_SNIFFED_ROWS]
    if text.startswith(("{", "[", "<", "@", "format-version:")):
        return []
    try:
        return list(csv.reader(lines, delimiter=_separator(lines[0])))
    except csv.Error:
        return []


def _is_headless(path: Path, head: bytes) -> bool:
    """Whether a text is pairs of names, and a name of its first line stands in others too."""
    if _is_parquet(path) or caml.FORMAT.matches(path, head):
        return False
    rows = [row for row in _rows(head) if any(row)]
    if all(len(row) == 1 for row in rows):
        rows = [row[0].split(" ") for row in rows]
    if not rows or not all(len(row) == 2 and all(row) for row in rows):
        return False
    return bool({*rows[0]} & {name for row in rows[1:] for name in row})


def table_of(path: Path, shape: Shape = AS_IT_IS) -> pl.DataFrame:
    """The table in a file; columns without a header are called by their numbers, 1 and 2."""
    if _is_parquet(path):
        return read_table(path)
    head = first_bytes(path)
    first = head_text(head).partition("\n")[0]
    stated = [name for name in (shape.child, shape.parent) if name]
    headless = _is_headless(path, head) or (bool(stated) and all(map(str.isdigit, stated)))
    separator = _separator(first) if any(sign in first for sign in _SIGNS) else " "
    frame = read_table(
        path, separator="," if separator == " " and not headless else separator, header=not headless
    )
    bare = [str(n) if headless else _bare(name) for n, name in enumerate(frame.columns, 1)]
    return frame.rename(dict(zip(frame.columns, bare, strict=True)))


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
        found["parent"] = parents[0] if parents else column_named(frame, "parent", path)
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
    values = {name: set(_text(frame, name).drop_nulls()) - {""} for name in possible}
    above = {one for one in _text(frame, parent).drop_nulls() if not names.is_nothing(one)}
    child = names.referred(above, values)
    if child == possible[0]:
        return child, []
    evidence = f"{parent!r} holds such names, and no values of {possible[0]!r}"
    option = f"--hierarchy-child {possible[0]}"
    return child, [Reading(f"nodes go by {child!r}", evidence, len(frame), option)]


def _text(frame: pl.DataFrame, column: str, *, trimmed: bool = True) -> pl.Series:
    """A column as text, trimmed or not; whole floats are the numbers without their points."""
    values = frame[column]
    if values.dtype.is_float() and (values.drop_nans().round() == values.drop_nans()).all():
        values = values.fill_nan(None).cast(pl.Int64)
    text = values.cast(pl.String)
    bare = text.str.strip_chars()
    known = bare.drop_nulls()
    quoted = known.str.starts_with("'") & known.str.ends_with("'")
    if len(known) and quoted.all():
        return bare.str.strip_chars("'").str.strip_chars()
    return bare if trimmed else text


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
            name: _text(frame, column, trimmed=name != "title").fill_null("")
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
            where=path if _is_parquet(path) else f"{path}:{_line(path, frame, row)}",
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


def _titles(path: Path, table: pl.DataFrame) -> dict[str, str]:
    titled = table.filter(pl.col("title") != "").select("child", "title").unique()
    several = titled.filter(pl.col("child").is_duplicated())["child"].unique().sort()
    if len(several):
        raise SchemaError(
            "a node has one title", found=f"several for {first_cases(several)}", where=path
        )
    return dict(titled.iter_rows())
