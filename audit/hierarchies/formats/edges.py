"""Edge tables: one edge a row, with columns ``child``, ``parent`` and perhaps ``title``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from shlex import quote
from typing import Any

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import column_named, read_text
from audit.base.readings import Reading
from audit.hierarchies.coding import CONSIDER, OBSOLETE, REPLACED_BY
from audit.hierarchies.formats import clinical, names, tables
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    hierarchy_of_paths,
    hierarchy_of_records,
)
from audit.hierarchies.hierarchy import Hierarchy


def matches(path: Path, head: bytes) -> bool:
    """Whether a table has a column of parents, or is two columns of names that are edges."""
    if clinical.is_codes(path, head):
        return False
    columns = tables.columns_of(path, head)
    if names.parents_among(columns) or tables.is_headless(path, head):
        return True
    related = tables.ends_of_relations(columns) is not None
    if related or tables.is_parquet(path):
        return related
    header, *rows = [row for row in tables.rows_of(head) if any(row)] or [[]]
    pairs_or_triples = names.are_edges(header, rows) or names.are_triples(rows)
    return pairs_or_triples or names.ends_by_values([*map(tables.bare, header)], rows) is not None


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read an edge table; a name is declared by appearing.

    A row without a parent only declares its child; one whose parent is the child itself says that a
    group is named like its member. The title is the child's; it may be given in one of the child's
    rows or in all. A node is assignable if it is a leaf, or such a member.

    Columns are found by their usual names; of several that may be the child's it is the one whose
    values the parents name. Several parents may stand in a cell.

    A column of `OBSOLETE` says which children are obsolete: those are no nodes, and their parents
    and titles are passed over. ``replaced_by`` and ``consider`` name a successor in each row.

    Of a column of relations beside one of ``is_a`` others are left out unless they are stated, and
    so is a row that its column ``active`` calls inactive. Where each parent is written as the way
    to it from the top, it is the last on that way.

    A parent that is obsolete is dangling. One without a row of its own, where the rows say which
    nodes have no parent, is a node, which is told.
    """
    return of_table(path, tables.table_of(path, shape), shape)


def of_table(path: Path, frame: pl.DataFrame, shape: Shape) -> Hierarchy:
    """The hierarchy of an edge table, as `read` describes it."""
    frame, left_out = _edges_of(path, frame, shape)
    several = [n for n in frame.columns if names.is_parent(n) and n[-1].isdigit()]
    if len(several) > 1 and not shape.parent:
        others = pl.exclude(several)
        frame = pl.concat([frame.select(others, pl.col(n).alias(several[0])) for n in several])
    columns, readings = tables.roles_of(path, frame, shape)
    for column in columns.values():
        _refuse_other_than_text(frame[column])
    frame, columns, through = tables.through_numbers(frame, columns, shape)
    readings = [*readings, *through]
    if whole := _below_ways(path, frame, columns):
        return whole
    _refuse_titles(path, frame, columns)
    frame, synonyms = _synonyms(path, frame, columns)
    table = _of_whole_numbers(_table(path, frame, columns))
    _refuse_blank_child(path, frame, table)
    table = table.filter(~_blank("child"))
    records = list(zip(table["child"], table["title"], _stated(table), strict=False))
    edges = table.filter(pl.col("parent") != "").select("child", "parent")
    lacking = _undeclared(table)
    readings = [*left_out, *readings, *synonyms, *_told(lacking)]
    return hierarchy_of_records(path, edges.iter_rows(), records, readings)


FORMAT = HierarchyFormat(
    "edges", "a table with columns child, parent and optionally title, or named alike",
    matches, read, frozenset({"child", "parent", "title", "relations"}),
)  # fmt: skip


def _edges_of(path: Path, frame: pl.DataFrame, shape: Shape) -> tuple[pl.DataFrame, list[Reading]]:
    """The rows that are edges in force, and what is told of others."""
    told = list[Reading]()
    for name in (one for one in frame.columns if names.plain(one) in _IN_FORCE):
        values = tables.text_of(frame, name).fill_null("").str.to_lowercase()
        if {*values} <= {"0", "1", "true", "false"}:
            kept = values.is_in(["1", "true"])
            if off := len(frame) - int(kept.sum()):
                said = f"rows that {name!r} calls inactive are left out"
                told.append(Reading(said, "they say so", off, f"rename {name!r}"))
            frame = frame.filter(kept)
    meant = {names.plain(one) for one in shape.relations}
    for name in tables.relations_in(frame.columns) or tables.relation_between(frame):
        values = tables.text_of(frame, name).fill_null("")
        every = values.unique(maintain_order=True)
        others = [one for one in every if not (names.is_a(one) or names.plain(one) in meant)]
        if len(others) < len(every):
            kept = ~values.is_in(others)
            if others:
                said = f"relations other than is_a are no edges: {first_cases(others)}"
                option = f"--relations {quote(others[0])}"
                off = len(frame) - int(kept.sum())
                told.append(Reading(said, f"{name!r} says which they are", off, option))
            return frame.filter(kept), told
    if shape.relations:
        raise SchemaError(
            "a column that says which rows are is_a is required beside --relations",
            found=f"the columns {first_cases(frame.columns)}", where=path,
        )  # fmt: skip
    return frame, told


_IN_FORCE = ("active", "isactive")


def _refuse_titles(path: Path, frame: pl.DataFrame, columns: Mapping[str, str]) -> None:
    """Refuse parents that are another one in each row, none of them a child, and not called so."""
    child, parent = (
        tables.text_of(frame, columns[end]).fill_null("") for end in ("child", "parent")
    )
    each = len(frame) > 2 and child.n_unique() == parent.n_unique() == len(frame)
    if each and not names.is_parent(columns["parent"]) and {*child}.isdisjoint(parent):
        raise SchemaError(
            "a parent must be that of several rows, or have a row of its own",
            found=f"another one in each row of {columns['parent']!r}, as titles are",
            where=path,
            hint=f"--hierarchy-title {quote(columns['parent'])}; codes that begin with those above "
            "them, or have a level, need no --hierarchy-parent",
        )


def _below_ways(path: Path, frame: pl.DataFrame, columns: Mapping[str, str]) -> Hierarchy | None:
    """The hierarchy of a table whose parents are written as ways from the top, of no ids."""
    texts = {role: tables.text_of(frame, n).fill_null("") for role, n in columns.items()}
    sign = names.way_sign(texts["parent"]) if texts["parent"].str.contains("[;|>]").any() else None
    if sign is None:
        return None
    ways, ids = [names.way_of(cell, sign) for cell in texts["parent"]], {*texts["child"]}
    if any(len(way) > 1 and way[0] in ids for way in ways):
        return None
    places = [
        (way if way[-1:] == (child,) else (*way, child), child)
        for way, child in zip(ways, texts["child"], strict=True)
        if child
    ]
    titles = dict(zip((place for place, _ in places), texts.get("title", ()), strict=False))
    told = Reading(
        f"{sign!r} joins the names of ways from the top in {columns['parent']!r}",
        "half of its cells have it, and ways share their tops", len(frame),
        "--hierarchy-parent COL",
    )  # fmt: skip
    return hierarchy_of_paths(path, places, by_name=True, titles=titles, readings=[told])


_ACCEPTED = re.compile(
    r"(dwc|is)?(accepted|valid|current|preferred|senior)(name)?(usage|taxon|concept|term)?"
    r"(id|key|code|aphiaid|uri)|(mergedinto|replacedby|synonymof|supersededby|successor)(id|code)?"
)
_SYNONYM = re.compile(
    r".*synonym.*|merged|misapplied|unaccepted|superseded|alternate representation"
)


def _synonyms(
    path: Path, frame: pl.DataFrame, columns: Mapping[str, str]
) -> tuple[pl.DataFrame, list[Reading]]:
    """The table with successors of the ids that are those of synonyms, which are no nodes."""
    there = {column.lower() for column in frame.columns}
    named = [one for one in frame.columns if _ACCEPTED.fullmatch(names.plain(one))]
    named = [one for one in named if one not in columns.values()]
    status = [one for one in frame.columns if names.plain(one).endswith("taxonomicstatus")]
    if there & {REPLACED_BY, *OBSOLETE} or not (named or status):
        return frame, []
    ids = tables.text_of(frame, columns["child"]).fill_null("")
    own = tables.text_of(frame, named[0]).fill_null("") if named else ids
    own = own.set(own.is_in(["0", *names.NOTHING]), "")
    said = tables.text_of(frame, status[0]).fill_null("") if status else pl.Series(ids.len() * [""])
    gone = ((own != ids) & (own != "")) | said.str.to_lowercase().str.contains(_SYNONYM.pattern)
    if not gone.any():
        return frame, []
    successors = pl.Series(REPLACED_BY, own).set(~gone | (own == ids), "")
    flags = pl.Series(OBSOLETE[0], gone)
    reading = Reading(
        "ids of synonyms are no nodes; labels at them count at the ids that are accepted",
        f"{(named or status)[0]!r} says so", int(gone.sum()), f"rename {(named or status)[0]!r}",
    )  # fmt: skip
    return frame.with_columns(successors, flags), [reading]


def _table(path: Path, frame: pl.DataFrame, found: dict[str, str]) -> pl.DataFrame:
    """``child, parent`` and all that a table may have beside them, as text; nothing is empty."""
    there = {column.lower() for column in frame.columns}
    found |= {n: column_named(frame, n, path) for n in (REPLACED_BY, CONSIDER) if n in there}
    flags = {name: column_named(frame, name, path) for name in OBSOLETE if name in there}
    if len(flags) > 1:
        raise SchemaError("one column may say what is obsolete", found=first_cases(flags.values()))
    found |= flags
    for name in found.keys() - {"child", "parent", "title"}:
        _refuse_other_than_text(frame[found[name]], flag=name in flags)
    table = pl.DataFrame(
        {
            name: tables.text_of(frame, column, trimmed=name != "title").fill_null("")
            for name, column in found.items()
        }
    )
    table = table if "title" in found else table.with_columns(title=pl.lit(""))
    ids = set(table["child"])
    table = _last_of_ways(table, ids)
    parents = table["parent"].unique()
    split = names.parts_of((one for one in parents if not names.is_nothing(one, ids)), ids)
    if all(parts == [cell] for cell, parts in split.items()) and len(split) == len(parents):
        return table
    lists = pl.Series([split.get(one, [""]) for one in table["parent"]], dtype=pl.List(pl.String))
    return table.with_columns(parent=lists).explode("parent")


def _last_of_ways(table: pl.DataFrame, ids: Collection[str]) -> pl.DataFrame:
    """The table with the last on each way from the top to a parent, where all parents are such."""
    cells = table.select("child", "parent").unique().rows()
    for sign in "/.|>":
        ways = {child: names.way_of(cell.strip(), sign) for child, cell in cells}
        ways = {child: way[:-1] if way[-1:] == (child,) else way for child, way in ways.items()}
        long = [way for way in ways.values() if len(way) > 1]
        if long and all(way[-1] in ids and ways[way[-1]] == way[:-1] for way in long):
            last = {child: way[-1] if way else "" for child, way in ways.items()}
            return table.with_columns(parent=pl.col("child").replace_strict(last))
    return table


def _stated(table: pl.DataFrame) -> Iterable[Mapping[str, Any]]:
    """What each row says of an obsolete child."""
    if not set(OBSOLETE) & set(table.columns):
        return repeat({})
    return table.select(pl.exclude("child", "parent", "title")).iter_rows(named=True)


def _of_whole_numbers(table: pl.DataFrame) -> pl.DataFrame:
    """The table with ids that became decimals in one of both columns as whole numbers."""
    child, parent = (set(table[name]) - {""} for name in ("child", "parent"))
    for name, own, other in (("child", child, parent), ("parent", parent, child)):
        plain = {names.whole(one) for one in own}
        if plain.isdisjoint(own) and not own & other and plain & other:
            return table.with_columns(pl.col(name).str.replace(r"^([0-9]+)\.0$", "$1"))
    return table


_MANY = 1_000
"""Number of parents without a row from which on they are told of any table."""


def _undeclared(table: pl.DataFrame) -> list[str]:
    """Parents without a row, where rows declare the tops, or there are many of them.

    Where all rows have a parent and some a title, several parents without a row are told of too,
    if others have rows.
    """
    own = (pl.col("parent") == "") | (pl.col("parent") == pl.col("child"))
    declared = {*table["child"], ""}
    parents = table["parent"].unique(maintain_order=True)
    lacking = [one for one in parents if one not in declared]
    some = any(table["title"]) and 1 < len(lacking) < len(parents)
    some |= all(map(str.isdigit, lacking)) and not any(map(str.isdigit, table["child"]))
    return lacking if table.select(own.any()).item() or some or len(lacking) >= _MANY else []


def _told(lacking: Sequence[str]) -> list[Reading]:
    said = "parents without a row of their own are nodes without a parent"
    evidence = f"nothing is above {first_cases(lacking)}"
    option = "leave them blank"
    return [Reading(said, evidence, len(lacking), option, "nodes")] if lacking else []


def _refuse_other_than_text(column: pl.Series, *, flag: bool = False) -> None:
    text = column.dtype in (pl.String, pl.Categorical, pl.Enum) or column.dtype.is_integer()
    if column.dtype.is_float():
        text = bool((column.drop_nulls().drop_nans() % 1 == 0).all())
    if not text and not (flag and column.dtype == pl.Boolean):
        raise SchemaError(f"the column {column.name!r} must hold text", found=str(column.dtype))


def _refuse_blank_child(path: Path, frame: pl.DataFrame, table: pl.DataFrame) -> None:
    blank = table.with_row_index().filter(_blank("child") & ~_blank("parent", "title"))
    if len(blank):
        row, parent = blank["index"][0], blank["parent"][0]
        raise SchemaError(
            "every row must name a child",
            found=f"{len(blank):,} without, the first with parent {parent!r}",
            where=path if tables.is_parquet(path) else f"{path}:{_line(path, frame, row)}",
        )


def _blank(*columns: str) -> pl.Expr:
    return pl.all_horizontal(pl.col(*columns).str.strip_chars() == "")


def _line(path: Path, frame: pl.DataFrame, row: int) -> int:
    """The line on which a row of a text table starts, where fields may hold line breaks."""
    notes = tables.preamble_in(read_text(path).split("\n"))
    text = notes.of_text(read_text(path))
    header = notes.before + len(text) - len(text.lstrip("\n")) + 1
    within = frame.head(row).select(pl.all().str.count_matches("\n", literal=True).sum())
    return header + row + 1 + sum(count or 0 for count in within.row(0))
