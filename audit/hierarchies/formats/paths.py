"""Nodes as all names on the way to them: a path a line, or a table with a column a level."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import bare_suffix, read_lines
from audit.base.readings import Reading
from audit.base.table import Table
from audit.base.tables import open_table
from audit.hierarchies.coding import Entry
from audit.hierarchies.formats.edges import is_parent, named, texts_of
from audit.hierarchies.formats.format import (
    WITH_IDS,
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
)
from audit.hierarchies.hierarchy import Hierarchy

Names: TypeAlias = tuple[str, ...]
"""The names on the way from the top to a node, that of the node last."""
SIGN = " > "
"""What joins names on the way to a node where nothing else is stated."""
_DEEPEST = 1_000
"""Number of names on a path: each adds a node, whose id repeats all names before it."""
_LEVEL = re.compile(r"(?:level|lvl|l)[ _]?(\d+)", re.IGNORECASE)


def levels_in(names: Iterable[str]) -> list[str]:
    """Columns ``level1``, ``level2`` ... in order, if there are two or more and none is lacking."""
    found = {int(own[1]): name for name in names if (own := _LEVEL.fullmatch(name.strip()))}
    numbers = sorted(found)
    there = len(found) > 1 and numbers == [*range(numbers[0], numbers[0] + len(numbers))]
    return [found[number] for number in numbers] if there else []


def of_levels(path: Path, table: Table, shape: Shape) -> Hierarchy:
    """The hierarchy of a table with a row a node and a column a level, from the top down.

    Levels are the columns that are stated, else those that are numbered. Where one is stated, its
    cells are whole paths, or lists of them. Levels that are blank between others are passed over.
    The table may be that of the data, whose rows have the deepest node that they fill. A column of
    ids may be stated for the ends of the rows.
    """
    levels = [named(table.schema, one) for one in shape.levels] or levels_in(table.schema)
    if not levels:
        hint = "--hierarchy-levels COL,COL names them, from the top down"
        found = f"the columns {first_cases(table.schema)}"
        raise SchemaError("columns of levels are required", found=found, hint=hint)
    child, title = ([named(table.schema, one)] if one else [] for one in (shape.child, shape.title))
    frame = table.frame([*dict.fromkeys([*levels, *child, *title])])
    while len(levels) == 1 and isinstance(frame.schema[levels[0]], pl.List):
        frame = frame.explode(levels)
    texts = texts_of(frame)
    ids, labels = (
        texts[named(texts, one[0])] if one else [""] * len(frame) for one in (child, title)
    )
    columns = [texts[named(texts, name)] for name in levels]
    sign, told = SIGN, list[Reading]()
    if len(levels) == 1:
        sign = shape.sep or SIGN
        ways = [_names_in(cell, sign) if cell else () for cell in columns[0]]
    else:
        cells = [*zip(*columns, strict=True)]
        if headless := [" ".join(row).strip() for row in cells if any(row) and not row[0]]:
            raise SchemaError(
                f"every row must fill the first level, {levels[0]!r}",
                found=f"{len(headless):,} that do not, as that of {headless[0]!r}",
                hint="fill cells that were merged, as by frame.fill_null(strategy='forward') in "
                "Polars",
            )
        ways = [tuple(filter(None, row)) for row in cells]
        between = sum("" in row[: len(way)] for row, way in zip(cells, ways, strict=True))
        decision = "levels that are left blank between others are passed over"
        told = [Reading(decision, "they have no name there", between, "--hierarchy-levels COL")]
    ways = _to_ids(ways, ids, whole=len(levels) > 1)
    rows = [(way, id or None) for way, id in zip(ways, ids, strict=True) if way]
    titles = {way: label for way, label in zip(ways, labels, strict=True) if label}
    made = of_ways(path, rows, _joined(sign), by_name=len(levels) > 1, titles=titles, readings=told)
    return replace(made, levels=tuple(levels) if len(levels) > 1 else ())


def _to_ids(ways: list[Names], ids: Sequence[str], *, whole: bool) -> list[Names]:
    """The ways, all with their ids as last names if any has several; SchemaError if unclear."""
    of_way = defaultdict[Names, set[str]](set)
    for way, id in zip(ways, ids, strict=True):
        of_way[way].add(id)
    torn = [way for way, own in of_way.items() if len(own) > 1]
    if not torn:
        return ways
    below = [(*way, id) if id else way for way, id in zip(ways, ids, strict=True)]
    above = {way[:n] for way in of_way for n in range(1, len(way))}
    if not whole and above & of_way.keys() and not {*filter(None, of_way)} <= {*below}:
        found = f"{len(of_way[torn[0]]):,} ids at {SIGN.join(torn[0])!r}"
        raise SchemaError("each way from the top must lead to one id", found=found)
    return below


def of_ways(
    path: Path,
    rows: Iterable[tuple[Names, str | None]],
    sign: str,
    *,
    by_name: bool = False,
    titles: Mapping[Names, str] = MappingProxyType({}),
    readings: Sequence[Reading] = (),
) -> Hierarchy:
    """Build the hierarchy of ways from the top, each with the id of its end where it has any.

    Ways that are listed are assignable, and so is what nothing lies below. A name that stands at
    several places is several nodes. Nodes without an id go by their ways, which ``sign`` joins;
    with ``by_name`` the only node of a name, or the only leaf of it, goes by that name instead. A
    label may be the whole way to a node too, joined by ``sign``.
    """
    listed = dict[Names, str | None]()
    for place, node in rows:
        listed[place] = node or listed.get(place)
    places = list(dict.fromkeys(p[:n] for p in sorted(listed) for n in range(1, len(p) + 1)))
    inner = {place[:-1] for place in places}
    of_name = defaultdict[str, list[Names]](list)
    for place in places:
        of_name[place[-1]].append(place)

    def called(place: Names) -> str:
        alike = of_name[place[-1]]
        if by_name and [place] in (alike, [one for one in alike if one not in inner]):
            return place[-1]
        return sign.lstrip() * (by_name and len(place) == 1) + sign.join(place)

    node_of = {place: listed.get(place) or called(place) for place in places}
    nodes = {*node_of.values()}
    same = {sign.join(place): node for place, node in node_of.items()}
    several = sum(len(alike) > 1 for alike in of_name.values()) if by_name else 0
    decision = "names at several places of the hierarchy are several nodes"
    why = "they have other names above them; those that are not the only leaf go by their paths"
    told = Reading(decision, why, several, WITH_IDS, "names")
    entries = [
        Entry(
            node,
            titles.get(place) or (None if node == place[-1] and by_name else place[-1]),
            [node_of[place[:-1]]] if len(place) > 1 else [],
            assignable=place in listed or place not in inner,
        )
        for place, node in node_of.items()
    ]
    same = {way: node for way, node in same.items() if way not in nodes}
    return hierarchy_of(path, entries, declared="once", same=same, readings=[*readings, told])


def matches(path: Path, head: bytes) -> bool:
    """Whether half of the lines of a text are paths, and it is no table by its name or its tabs."""
    lines = [line for line in head_text(head).split("\n") if line.strip() and line[0] != "#"]
    plain = bare_suffix(path) in ("", ".txt", ".paths", ".bin") and "\t" not in "".join(lines[:1])
    return plain and 2 * sum(SIGN in line for line in lines) >= len(lines) > 0


def may_be(path: Path, head: bytes) -> bool:
    """Whether the lines of a file may be paths: a text whose first line names no parents."""
    names = re.split(r"[\t,;|]", head_text(head).partition("\n")[0])
    text = bare_suffix(path) in ("", ".txt", ".paths", ".csv", ".tsv")
    return text and not any(map(is_parent, names))


_NUMBERED = re.compile(r"(?:(\S*\d\S*) - |(\S+)\s+: )(.+)")
"""An id before a path, as Google and Shopify write it."""


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read paths, one a line, perhaps behind ids; else a node's id is its path.

    Paths that have a line of their own are assignable, their ancestors without one are not. Lines
    that start with ``#`` are ignored. A path declares all nodes above it.
    """
    sign = shape.sep or SIGN
    lines = [(n, line.strip()) for n, line in read_lines(path) if not line.startswith("#")]
    numbered = [_NUMBERED.fullmatch(line) for _, line in lines]
    rows = [
        (_names_in(own[3], sign, f"{path}:{n}"), own[1] or own[2])
        if own and all(numbered)
        else (_names_in(line, sign, f"{path}:{n}"), None)
        for (n, line), own in zip(lines, numbered, strict=True)
    ]
    return of_ways(path, rows, _joined(sign))


def _joined(sign: str) -> str:
    """How the names of a path are joined in an id: as stated, a blank on either side of ``>``."""
    return SIGN if sign.strip() == SIGN.strip() else sign


def _names_in(cell: str, sign: str, where: str = "") -> Names:
    inner = cell.removeprefix(sign).removesuffix(sign)
    place = tuple(part.strip() for part in inner.split(sign))
    if not all(place) or len(place) > _DEEPEST:
        required = f"every part between {sign.strip()!r} must have a name, of at most {_DEEPEST:,}"
        raise SchemaError(required, found=repr(cell[:60]), where=where)
    return place


LEVELS = HierarchyFormat(
    "levels",
    "a table with a row a node and a column a level, or one of paths",
    lambda *_: False,
    lambda path, shape: of_levels(path, open_table(path), shape),
    frozenset({"child", "title", "levels", "sep"}),
)
FORMAT = HierarchyFormat(
    "paths", "paths, one per line: Animals > Dogs > Poodle", matches, read, frozenset({"sep"})
)
