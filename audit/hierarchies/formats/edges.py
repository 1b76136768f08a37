"""Edge tables: one edge per row, with columns ``child``, ``parent`` and perhaps ``title``."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.choices import Dangling
from audit.base.errors import SchemaError, first_cases
from audit.base.files import column_named, first_bytes, read_table, read_text
from audit.hierarchies.formats.format import HierarchyFormat, head_text, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.retired import CONSIDER, OBSOLETE, REPLACED_BY, Obsolete, retired_ids


def matches(path: Path, head: bytes) -> bool:
    """Whether the file is Parquet, or a table whose header has ``child`` and ``parent``."""
    if _is_parquet(path):
        return True
    header = head_text(head).partition("\n")[0].rstrip("\r")
    columns = [name.strip('"').lower() for name in header.split(_separator(header))]
    return {"child", "parent"} <= set(columns)


def read(path: Path, relations: tuple[str, ...] = (), dangling: Dangling = "refuse") -> Hierarchy:
    """Read an edge table; a name is declared by appearing.

    A row without a parent only declares its child. The title is the child's; it may be given in one
    of the child's rows or in all. A node is assignable if it is a leaf.

    A column of `OBSOLETE` says which children are obsolete: those are no nodes, and their parents
    and titles are passed over. ``replaced_by`` and ``consider`` name a successor in each row.

    A parent that is obsolete is dangling; no other parent is missing.

    Raises:
        HierarchyError: On a cycle, a parent that is obsolete and not to be dropped, or a table
            without nodes.
        SchemaError: On a missing column, a row without a child, a child of two titles, or one that
            is obsolete in some rows alone.
        InputError: If the file cannot be read.
    """
    header = head_text(first_bytes(path)).partition("\n")[0]
    frame = read_table(path, separator=_separator(header))
    table = _table(path, frame)
    _refuse_blank_child(path, frame, table)
    table = table.filter(~_blank("child"))
    obsolete = _obsolete(path, table)
    table = table.join(obsolete, on="child", how="anti", maintain_order="left")
    titles = _titles(path, table)
    edges = table.filter(pl.col("parent") != "").select("child", "parent")
    named = pl.concat([table["child"], edges["parent"]]).unique(maintain_order=True)
    names = named.filter(~named.is_in(obsolete["child"].implode()))
    return hierarchy_of(
        path,
        edges.rows(),
        [(name, titles.get(name), None) for name in names],
        coding=retired_ids(set(names), (Obsolete(*row) for row in obsolete.iter_rows())),
        dangling=dangling,
    )


FORMAT = HierarchyFormat(
    "edges", "a table with columns child, parent and optionally title", matches, read
)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _separator(header: str) -> str:
    return "\t" if "\t" in header else ","


def _table(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """``child, parent`` and all that a table may have beside them, as text; nothing is empty."""
    there = {column.lower() for column in frame.columns}
    found = {name: column_named(frame, name, path) for name in ("child", "parent")}
    found |= {name: column_named(frame, name, path) for name in _FURTHER if name in there}
    flags = [column_named(frame, name, path) for name in OBSOLETE if name in there]
    if len(flags) > 1:
        raise SchemaError(
            "one column may say what is obsolete", found=first_cases(flags), where=path
        )
    if flags:
        found[_FLAG] = flags[0]
    for name, column in found.items():
        _refuse_other_than_text(path, frame[column], flag=name == _FLAG)
    return frame.select(
        pl.col(column).cast(pl.String).fill_null("").alias(name) for name, column in found.items()
    ).with_columns(pl.lit("").alias(name) for name in (*_FURTHER, _FLAG) if name not in found)


_FURTHER = ("title", REPLACED_BY, CONSIDER)
"""Columns that a table may have, and need not, beside one of `OBSOLETE`."""
_FLAG = OBSOLETE[0]


def _refuse_other_than_text(path: Path, column: pl.Series, *, flag: bool) -> None:
    text = column.dtype in (pl.String, pl.Categorical, pl.Enum) or column.dtype.is_integer()
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
