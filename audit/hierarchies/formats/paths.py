"""Nodes as all names on the way to them: a path a line, or a table with a column a level."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import polars as pl
import polars.selectors as cs

from audit.base.errors import SchemaError, first_cases
from audit.base.files import column_named, first_bytes, read_lines, read_table
from audit.base.limits import PARTS
from audit.base.readings import Reading
from audit.hierarchies.formats import (
    caml,
    clinical,
    edges,
    implied,
    names,
    obo,
    tables,
)
from audit.hierarchies.formats.format import (
    PATH_SIGN,
    HierarchyFormat,
    Names,
    Shape,
    bare_suffix,
    head_lines,
    head_text,
    hierarchy_of_paths,
)
from audit.hierarchies.hierarchy import Hierarchy


def has_levels(path: Path, head: bytes, *, instances: bool = False) -> bool:
    """Whether the columns of a table, in its first rows, are levels, and none holds parents, which
    a row of ``instances`` has in no case."""
    if not tables.columns_of(path, head) or (edges.matches(path, head) and not instances):
        return False
    if clinical.is_codes(path, head):
        return False
    if tables.is_parquet(path):
        return bool(implied.levels_of(read_table(path).select(~cs.nested())))
    header, *rows = [row for row in tables.rows_of(head) if any(row)] or [[]]
    if any(len(row) != len(header) for row in rows) or len({*header}) < len(header):
        return False
    schema = dict.fromkeys(map(tables.bare, header), pl.String)
    return bool(implied.levels_of(pl.DataFrame(rows, schema=schema, orient="row")))


def read_levels(path: Path, shape: Shape) -> Hierarchy:
    """Read a table with a row a node and a column a level, from the top down.

    Levels are the columns that are stated, else those that differ in one running number, else those
    side by side of which each has more values than the one before, and nearly each value one value
    before it. A column that has another value in each row is the node itself. ``X LABEL`` and the
    like hold the titles of ``X``. Empty levels are passed over, those above others told.
    Where each row fills one level, or cells are merged, so that the first level is blank in some
    rows and each of its names stands once, a row stands below the last one of each level above.
    """
    return of_levels(path, tables.table_of(path, shape), shape)


def of_levels(path: Path, frame: pl.DataFrame, shape: Shape) -> Hierarchy:
    """The hierarchy of a table of levels, as `read_levels` describes it."""
    if shape.instances:
        alone = [name for name in frame.columns if tables.text_of(frame, name).is_unique().all()]
        frame = frame.drop(alone)
    stated = [column_named(frame, name, path) for name in shape.levels]
    levels = stated or implied.levels_of(frame)
    if not levels:
        raise SchemaError(
            "columns of levels are required, each with fewer values than the next",
            found=f"the columns {first_cases(frame.columns)}",
            hint="--hierarchy-levels COL names them, from the top down, one at a time",
        )
    if len(levels) == 1:
        return _of_paths(path, frame, levels[0], shape)
    outline = implied.staggered(frame.select(levels)) == levels
    leaf = shape.child or (None if stated or outline else implied.own_column(frame, levels))
    columns = [*levels, *([column_named(frame, leaf, path)] if leaf else [])]
    others = names.titles_among([name for name in frame.columns if name not in columns])
    shared = next(iter(others), None) if outline and not shape.title else None
    titled = [shared or implied.title_of(frame, name, shape.title) for name in columns]
    cells = [tables.text_of(frame, name).fill_null("") for name in columns]
    labels = [iter(tables.text_of(frame, n).fill_null("")) if n else repeat("") for n in titled]
    written = [*zip(*cells, strict=True)]
    filled = {tuple(map(bool, row)) for row in written}
    one_each = len(filled) > 1 and {*map(sum, filled)} == {1} and bool(written[0][0])
    merged = not one_each and implied.are_merged(written)
    whole = [*implied.below_the_last(written)] if one_each or merged else written
    rows, titles = list[tuple[Names, None]](), dict[Names, str]()
    for own, row in zip(written, whole, strict=True):
        said = [next(label) for label in labels]
        there = [number for number, name in enumerate(row) if name]
        place = tuple(row[number] for number in there)
        titles |= {
            place[:n]: said[number]
            for n, number in enumerate(there, 1)
            if said[number] and own[number]
        }
        rows += [(place, None)] if place else []
    evidence = "each row fills one" if one_each else "each has fewer values than the next"
    told = Reading(
        f"the columns {', '.join(columns)} are levels from the top down"
        + ", a row below the last one of each level above" * one_each,
        evidence, len(frame), "--hierarchy-levels COL",
    )  # fmt: skip
    readings = [told] if one_each or not stated else []
    readings += [] if one_each else _of_blanks(written, levels, merged=merged)
    return hierarchy_of_paths(path, rows, by_name=True, titles=titles, readings=readings)


def _of_blanks(rows: Sequence[Names], levels: Sequence[str], *, merged: bool) -> list[Reading]:
    """What blank cells above filled ones are taken to be."""
    tops = sum(not row[0] and any(row) for row in rows)
    filled = ("".join(" x"[bool(one)] for one in row[: len(levels)]) for row in rows if row[0])
    between = sum(" " in row.rstrip() for row in filled)
    said = [
        (f"cells of {levels[0]!r} that are left blank, and those beside them, mean as above",
         "each of its names stands once, as in merged cells", tops * merged),
        (f"rows without {levels[0]!r} begin at the first level that they fill",
         "no cells are merged where its names stand in several rows", tops * (not merged)),
        ("levels that are left blank between others are passed over", "the rows have no name there",
         between),
    ]  # fmt: skip
    return [Reading(one, why, n, "--hierarchy-levels COL") for one, why, n in said if n]


def _of_paths(path: Path, frame: pl.DataFrame, column: str, shape: Shape) -> Hierarchy:
    """The hierarchy of a column of paths, whose nodes go by the ids beside them."""
    bare = tables.text_of(frame, column).str.replace(_ONE, "$1$2")
    cells = bare.fill_null("").to_list()
    sign = names.sign_of([cell for cell in cells if cell]) or names.way_sign(cells) or PATH_SIGN
    stated = column_named(frame, shape.child, path) if shape.child else None
    own = stated or implied.own_column(frame, [column])
    ids = tables.text_of(frame, own).to_list() if own else [None] * len(cells)
    told = Reading(
        f"{sign.strip()!r} joins the names of paths in {column!r}", "half of its cells have it",
        len(cells), "--hierarchy-levels COL",
    )  # fmt: skip
    ways = {cell: names.way_of(cell, sign) for cell in cells}
    below = own is not None and len({*ways.values()}) < len(cells)
    rows = [
        ((*ways[cell], str(node)) if below else ways[cell], node)
        for cell, node in zip(cells, ids, strict=False)
        if ways[cell]
    ]
    readings = () if shape.levels else (told,)
    return hierarchy_of_paths(path, rows, sign, readings=readings)


_ONE = r"""^\[\s*(?:"([^"]*)"|'([^']*)')\s*\]$"""
"""A list of one text, as JSON or Python writes it."""


LEVELS = HierarchyFormat(
    "levels", "a table with a row a node and a column a level", has_levels, read_levels,
    frozenset({"child", "title", "levels"}),
)  # fmt: skip


def _implied(path: Path, head: bytes) -> tuple[str, bool]:
    """By what parents are known that no column of a table names, and whether it has a header."""
    table = not tables.is_parquet(path) and len(tables.columns_of(path, head)) > 1
    if not table or edges.matches(path, head) or has_levels(path, head):
        return "", True
    if caml.FORMAT.matches(path, head):
        return "", True
    return implied.kind_of([row for row in tables.rows_of(head) if any(row)])


def _read_implied(path: Path, shape: Shape, kind: str) -> Hierarchy:
    """Read a table in which no column names parents, by its levels or by what its codes begin with.

    Without a header columns go by their numbers.
    """
    named = tables.is_parquet(path) or _implied(path, first_bytes(path))[1]
    frame = tables.table_of(path, shape if named else Shape(child="1"))
    filled = [tables.text_of(frame, n).fill_null("") != "" for n in frame.columns]
    frame = frame.filter(pl.any_horizontal(filled))
    cells = {n: tables.text_of(frame, n).fill_null("").to_list() for n in frame.columns}
    outline = implied.outline_of(cells, named=named) if kind == "outline" else None
    headed = [one for one in implied.possible_ids(cells) if implied.headings_of(cells[one])][:1]
    found: Sequence[str | None] = outline or headed or [implied.prefixed_ids(cells)]
    ids = shape.child or found[0]
    if ids is None or (kind == "outline" and outline is None):
        required = {"outline": "a column of levels, each row at most one below the one before,",
                    "prefixes": "codes of which half begin with another one"}  # fmt: skip
        raise SchemaError(f"{required[kind]} is required", found=first_cases(cells), where=path)
    codes = cells[column_named(frame, ids, path)]
    if outline:
        above = implied.above_by_level(codes, cells[outline[1]])
        said = f"rows are below the last one before them of a lower {outline[1]!r}"
        why, option = "levels go down one at a time, and up again", "--hierarchy-format prefixes"
    elif above := implied.headings_of(codes):
        said, option = "codes are below what stands before their dots", "--hierarchy-parent COL"
        why = "the list has no headings, and most codes share what stands there"
    else:
        above = implied.above_by_prefix(codes)
        said = "codes are below the longest that they begin with"
        tops = [code for code, up in zip(codes, above, strict=True) if not up]
        why = f"most begin with another; at the top are {first_cases(tops)}"
        option = "--hierarchy-parent COL"
    column = next(one for one in ("parent", "code above") if one not in cells)
    every = frame.with_columns(pl.Series(column, above)).drop(outline[1] if outline else [])
    first = every[column_named(frame, ids, path)].is_first_distinct()
    table, again = every.filter(first), every.filter(~first)
    others = [one for one in table.columns if one not in (ids, column)]
    worded = (one for one in others if any(map(str.isalpha, "".join(cells[one]))))
    title = shape.title or (None if named else next(worded, None))
    built = edges.of_table(path, table, replace(shape, child=ids, parent=column, title=title))
    told = [Reading(said, why, sum(map(bool, above)), option)]
    if len(again):
        said = f"further rows of a code are passed over, as {', '.join(filter(None, again.row(0)))}"
        pairs = {n: {*zip(codes, cells[n], strict=True)} for n in others}
        apart = [n for n, own in pairs.items() if len(own) > len(table)]
        why = (
            f"they say another {' or '.join(map(repr, apart))} of it" if apart else "they are alike"
        )
        option = "put the row that is meant before the others"
        told.append(Reading(said, why, len(again), option))
    return replace(built, readings=(*told, *built.readings))


OUTLINE = HierarchyFormat(
    "outline", "a table with ids, and in a column the level of each, in the order of an outline",
    lambda path, head: _implied(path, head)[0] == "outline",
    lambda path, shape: _read_implied(path, shape, "outline"), frozenset({"child", "title"}),
)  # fmt: skip
PREFIXES = HierarchyFormat(
    "prefixes", "a table of codes and titles: A10A is below A10, and this below A",
    lambda path, head: _implied(path, head)[0] == "prefixes",
    lambda path, shape: _read_implied(path, shape, "prefixes"), frozenset({"child", "title"}),
)  # fmt: skip


_NUMBERED = re.compile(r"(?:([\w:.-]*\d[\w:.-]*)(?: - |\t|,|;)|(\S+)\s+:\s)\s*(.+)")


def matches(path: Path, head: bytes) -> bool:
    """Whether the lines of a text file are paths whose names a sign of `SIGNS` joins."""
    others = (edges, LEVELS, OUTLINE, PREFIXES, obo, caml.FORMAT)
    if not _is_text(path, head) or any(one.matches(path, head) for one in others):
        return False
    if _is_dotted(path, head):
        return False
    return names.sign_of(head_lines(head)) is not None


def read(path: Path, _: Shape) -> Hierarchy:
    """Read paths, one a line, perhaps behind an id; a node's id is its whole path, if it has none.

    Paths that have a line of their own are assignable, their ancestors without one are not. Blank
    lines and lines that start with ``#`` are ignored.

    Nothing is dangling: a path declares all nodes above it.
    """
    rows = _rows(path)
    sign = names.sign_of([line for *_, line in rows]) or PATH_SIGN
    split = [(_split(path, number, line, sign), node) for number, node, line in rows]
    listed = {place for place, *_ in split}
    certain = all(place[:-1] in listed for place in listed if len(place) > 1)
    told = Reading(
        f"{sign.strip()!r} joins the names of a path", "half of the lines have it, or more",
        sum(len(place) > 1 for place, *_ in split), "--hierarchy-format dotted", "lines",
    )  # fmt: skip
    return hierarchy_of_paths(path, split, sign, readings=() if certain else (told,))


def read_dotted(path: Path, _: Shape) -> Hierarchy:
    """Read paths whose names dots join, one a line, as `read`."""
    rows = [(number, line.strip()) for number, line in read_lines(path) if line[0] != "#"]
    listed = ((_split(path, number, line, "."), None) for number, line in rows)
    return hierarchy_of_paths(path, listed, ".")


def _rows(path: Path) -> list[tuple[int, str | None, str]]:
    """Number, what stands before the path where that is so in all lines, and path of each line."""
    lines = [(n, line.strip()) for n, line in read_lines(path) if not line.startswith("#")]
    found = [_NUMBERED.fullmatch(line) for _, line in lines]
    if all(found):
        whole = zip(lines, filter(None, found), strict=True)
        return [(n, one[1] or one[2], one[3]) for (n, _), one in whole]
    return [(n, None, line) for n, line in lines]


def _split(path: Path, number: int, line: str, sign: str) -> Names:
    inner = line if sign == "." else line.strip(sign)
    place = tuple(part.strip() for part in inner.split(sign))
    PARTS.refuse_beyond(len(place), f"{path}:{number}")
    if not all(place):
        raise SchemaError(
            f"every part between {'dots' if sign == '.' else repr(sign.strip())} must have a name",
            found=repr(line),
            where=f"{path}:{number}",
        )
    return place


def _is_dotted(path: Path, head: bytes) -> bool:
    """Whether the file is plain text with one word on each line, at least one with a dot."""
    lines = head_lines(head)
    words = not any(blank in line for line in lines for blank in "\t, ;|") and _is_text(path, head)
    return words and any("." in line for line in lines)


FORMAT = HierarchyFormat("paths", "paths, one per line: Animals > Dogs > Poodle", matches, read)
DOTTED = HierarchyFormat(
    "dotted", "dotted paths, one per line: rec.sport.hockey", _is_dotted, read_dotted
)


def _is_text(path: Path, head: bytes) -> bool:
    named = bare_suffix(path) in ("", ".txt", ".dotted", ".paths", ".bin")
    return named and not head_text(head).startswith(("{", "[", "@", "<"))
