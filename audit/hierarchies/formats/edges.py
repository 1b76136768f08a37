"""Edge tables: one edge per row, with columns ``child``, ``parent`` and optionally ``title``."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import column_named, first_bytes, read_table, read_text
from audit.hierarchies.formats.format import HierarchyFormat, head_text, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy


def matches(path: Path, head: bytes) -> bool:
    """Whether the file is Parquet, or a table whose header has ``child`` and ``parent``."""
    if _is_parquet(path):
        return True
    header = head_text(head).partition("\n")[0].rstrip("\r")
    columns = [name.strip('"').lower() for name in header.split(_separator(header))]
    return {"child", "parent"} <= set(columns)


def read(path: Path, relations: tuple[str, ...] = ()) -> Hierarchy:
    """Read an edge table; a name is declared by appearing.

    A row without a parent only declares its child. The title is the child's; it may be given in one
    of the child's rows or in all. A node is assignable if it is a leaf.

    Args:
        path: CSV, separated by commas or tabs, or Parquet.
        relations: Not used: a table has edges of one type.

    Raises:
        HierarchyError: On a cycle, or a table without rows.
        SchemaError: On a missing column, a row without a child, or a child of two titles.
        InputError: If the file cannot be read.
    """
    frame = read_table(path, separator=_separator_of(path))
    table = _table(path, frame)
    _refuse_blank_child(path, frame, table)
    table = table.filter(~_blank("child"))
    titles = _titles(path, table)
    edges = table.filter(pl.col("parent") != "").select("child", "parent")
    names = pl.concat([table["child"], edges["parent"]]).unique(maintain_order=True)
    return hierarchy_of(path, edges.rows(), [(name, titles.get(name), None) for name in names])


FORMAT = HierarchyFormat(
    "edges", "a table with columns child, parent and perhaps title", matches, read
)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _separator(header: str) -> str:
    return "\t" if "\t" in header else ","


def _separator_of(path: Path) -> str:
    return _separator(head_text(first_bytes(path)).partition("\n")[0])


def _table(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """``child, parent, title`` as text, empty where there is nothing."""
    found = {name: column_named(frame, name, path) for name in ("child", "parent")}
    if "title" in (column.lower() for column in frame.columns):
        found["title"] = column_named(frame, "title", path)
    for column in found.values():
        _refuse_other_than_text(path, frame[column])
    table = frame.select(
        pl.col(column).cast(pl.String).fill_null("").alias(name) for name, column in found.items()
    )
    return table if "title" in found else table.with_columns(title=pl.lit(""))


def _refuse_other_than_text(path: Path, column: pl.Series) -> None:
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum) and not column.dtype.is_integer():
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


def _titles(path: Path, table: pl.DataFrame) -> dict[str, str]:
    titled = table.filter(pl.col("title") != "").select("child", "title").unique()
    several = titled.filter(pl.col("child").is_duplicated())["child"].unique().sort()
    if len(several):
        raise SchemaError(
            "a node has one title", found=f"several for {first_cases(several)}", where=path
        )
    return dict(titled.iter_rows())
