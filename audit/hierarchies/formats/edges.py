"""Edges: a table with a row for each node or edge, or a list of pairs; which end is the lower."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import polars as pl

from audit.base.dag import refuse_unused
from audit.base.errors import AuditError, SchemaError, first_cases
from audit.base.readings import Reading, as_typed, asked
from audit.base.table import Table
from audit.base.tables import TextShape, open_table
from audit.hierarchies.coding import Entry
from audit.hierarchies.formats.format import (
    WITH_IDS,
    EdgeRow,
    HierarchyFormat,
    Shape,
    hierarchy_of,
)
from audit.hierarchies.hierarchy import Hierarchy

_PARENT = re.compile(r"parents?[ _]?(ids?|codes?|keys?)?", re.IGNORECASE)
IDS, TITLES = ("child", "id", "code", "key", "uri", "name", "title"), ("title", "name", "label")
"""Names of keys of ids and of titles, the first that is there before others."""
_RELATIONS = ("relation", "relationship", "relationship_id", "predicate", "typeid", "edge_type")
NOTHING = ("", "-1", "0", "none", "null", "nan")
"""What stands for a parent where there is none, if no node is called so."""
_SIGNS = "|;,"
_WHOLE = re.compile(r"-?\d+(\.0)?")


def is_parent(name: str) -> bool:
    """Whether what is called so holds parents: ``parent``, ``parent_id``, ``Parents``."""
    return _PARENT.fullmatch(name.strip()) is not None


def first_of(names: Iterable[str], wanted: Sequence[str]) -> str | None:
    """The first name that is one of those wanted, in the order of these; case is ignored."""
    own = {name.strip(" '").lower(): name for name in reversed([*names])}
    return next((own[one] for one in wanted if one in own), None)


def keyed(
    keys: Mapping[str, Sequence[str]], above: Sequence[Sequence[str]], stated: str | None
) -> tuple[str, list[list[str]], list[Reading]]:
    """The key by which nodes go, the parents of each by that key, and what is told of it.

    It is the one that most of the parents are values of, of equals the usual one. Where another one
    is stated, parents are found by the key that they are values of.

    Args:
        keys: Values of each possible key, a value a node; empty where a node has none.
        above: The parents of each node as written.
        stated: The key that is stated.
    """
    named = {one for row in above for one in row if one}
    found = {key: _matching_parents(values, above, named) for key, values in keys.items()}
    usual = first_of(keys, IDS) or next(iter(keys))
    best = max(keys, key=lambda key: (found[key], key == usual))
    for values in [keys[best]] if found[best] else keys.values():
        own = {*values, *named} - {""}
        if all(map(_WHOLE.fullmatch, own)) and len({one[-2:] == ".0" for one in own}) > 1:
            required, hint = "ids and parents must be written alike", "write both as text"
            raise SchemaError(required, found="whole numbers and such as 7.0", hint=hint)
    if named and not found[best] and not stated and usual.lower() not in IDS and len(keys) > 1:
        ways = [Reading(f"nodes go by {k!r}", "", len(above), as_typed({"hierarchy_child": k}))
                for k in keys if "" not in keys[k]][:4]  # fmt: skip
        raise asked("it must be stated by which key nodes go: no parent is a value of any", ways)
    key, ids = stated or best, {*keys[best]}
    real = {one for one in named if one in ids or one.lower() not in NOTHING}
    parents = [[one for one in row if one in real] for row in above]
    share = f"{found[best]:,} of {len(real):,} parents are values of {best!r}"
    told = Reading(f"nodes go by {key!r}", share, len(above), "--hierarchy-child COL")
    if key != best and real <= ids and real.isdisjoint(keys[key]):
        called = dict(zip(keys[best], keys[key], strict=True))
        return key, [[called[one] for one in row] for row in parents], [told]
    readings = [told] if key not in (usual, stated) else []
    lacking = sorted(real - ids)
    if lacking and (not all(parents) or (len(lacking) > 1 and key.lower() != "child")):
        decision = "parents without a row of their own are nodes without a parent"
        why = f"{share}; not {first_cases(lacking)}"
        readings.append(Reading(decision, why, len(lacking), "give each a row", "nodes"))
    return key, parents, readings


def _matching_parents(
    values: Sequence[str], above: Sequence[Sequence[str]], named: set[str]
) -> int:
    """How many parents are values of a key; none where most nodes would be their own parents."""
    own = sum(one in up for one, up in zip(values, above, strict=True))
    return 0 if 2 * own > sum(map(bool, above)) else len(named.intersection(values))


def one_node_reading(edges: Iterable[EdgeRow], names: Collection[str]) -> Reading:
    """The reading that a name below several parents is one node, where names are the only ids."""
    above = Counter(child for child, parent in {*edges} if child in names and child != parent)
    several = [node for node, n in above.items() if n > 1]
    why = f"only its name says what it is, as of {min(several)!r}" if several else ""
    return Reading("a name below several others is one node", why, len(several), WITH_IDS, "names")


def directed(
    pairs: Sequence[EdgeRow], role: str | None, *, documented: bool = False
) -> Sequence[EdgeRow]:
    """Pairs as edges ``child, parent``.

    ``role`` says whether ``parents`` or ``children`` stand behind a name. Where it is not stated it
    is asked, of pairs whose order is ``documented``, the child first, only if more of the names
    have several parents in that way than in the other.
    """
    flipped = [(second, first) for first, second in pairs]
    if role is not None or not pairs:
        return flipped if role == "children" else pairs
    up, down = _several(pairs), _several(flipped)
    if up > down or not documented:
        ways = [
            Reading(
                f"{way} stand behind a name", "", len(pairs), f"--hierarchy-format {way}", "pairs"
            )
            for way in (("children", "parents") if up > down else ("parents", "children"))
        ]
        raise asked("it must be stated whether parents or children stand behind a name", ways)
    return pairs


def _several(pairs: Iterable[EdgeRow]) -> float:
    """The share of first names that stand beside several second ones."""
    counts = Counter(first for first, _ in {*pairs})
    return sum(n > 1 for n in counts.values()) / max(1, len(counts))


def of_pairs(
    path: Path, pairs: Sequence[EdgeRow], role: str | None, names: Iterable[str] = ()
) -> Hierarchy:
    """The hierarchy of pairs of names, child first unless ``role`` is ``children``, and further
    names; `directed` asks where no role is stated."""
    edges = dict.fromkeys(directed(pairs, role))
    return hierarchy_of(path, [*map(Entry, names)], edges)


def pairs_in(path: Path) -> list[EdgeRow] | None:
    """The pairs of a list of names without a header; None of what is none.

    Each line has two names, of which one of the first line stands in others too, or, where blanks
    part them, one of any at either end.
    """
    try:
        frame = open_table(path, text=TextShape(header=False)).frame().cast(pl.String)
    except (AuditError, pl.exceptions.PolarsError):
        return None
    rows = [[*filter(None, map(str.strip, filter(None, row)))] for row in frame.rows()]
    if blanks := frame.width == 1:
        rows = [cell.split() for (cell,) in frame.drop_nulls().rows()]
    if len(rows) < 2 or {*map(len, rows)} != {2} or any(map(is_parent, rows[0])):
        return None
    ends = ({row[end] for row in rows} for end in (0, 1))
    again = {*rows[0]} & {name for row in rows[1:] for name in row}
    return [(a, b) for a, b in rows] if (set.intersection(*ends) if blanks else again) else None


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read a table of edges, or a list of pairs without a header."""
    if not (shape.child or shape.parent) and (pairs := pairs_in(path)):
        return of_pairs(path, pairs, None)
    return of_table(path, open_table(path), shape)


def of_table(path: Path, table: Table, shape: Shape) -> Hierarchy:
    """The hierarchy of a table with a row for each node or edge; a name is declared by appearing.

    Parents stand in the column that is stated, else in the only one that is called so, and nodes go
    by the column of which most of them are values. A row without a parent only declares its child.
    The title is the child's, in one of its rows or in all. A node is assignable if it is a leaf.
    """
    frame = _of_relations(table.frame(), shape)
    texts = texts_of(frame)
    parent = named(frame.columns, shape.parent or _parent_of(frame.columns))
    child = named(texts, shape.child) if shape.child else first_of(texts, ["child"])
    keys = {
        n: own for n, own in texts.items() if n != parent and (shape.child or child in (n, None))
    }
    if not keys:
        raise SchemaError("a column of ids beside the parents is required", found=f"{parent!r}")
    above = _parents(frame[parent], texts.get(parent), keys, shape.sep)
    key, parents, told = keyed(keys, above, child)
    others = [name for name in texts if name not in (key, parent)]
    title = named(texts, shape.title) if shape.title else first_of(others, TITLES)
    titles = frame[title].cast(pl.String).fill_null("") if title else [""] * len(frame)
    rows = [*zip(keys[key], parents, titles, strict=True)]
    if blank := [up for id, up, label in rows if not id and (up or label)]:
        found = f"{len(blank):,} without, the first with parent {' '.join(blank[0])!r}"
        raise SchemaError("every row must name a child", found=found)
    entries = [Entry(id, label, up) for id, up, label in rows if id]
    edges = [(one.node, up) for one in entries for up in one.parents]
    several = one_node_reading(edges, {*keys[key]} if key.lower() in TITLES else ())
    return hierarchy_of(path, entries, readings=[*told, several])


def texts_of(frame: pl.DataFrame) -> dict[str, list[str]]:
    """The columns that hold text, whole numbers or flags, as text without blanks around it, or
    without single quotes where the column and all of its cells stand in some."""
    texts = dict[str, list[str]]()
    for values in frame:
        if values.dtype.is_float() and (values.drop_nans().drop_nulls() % 1 == 0).all():
            values = values.fill_nan(None).cast(pl.Int64)
        if not (values.dtype.is_nested() or values.dtype.is_float() or values.dtype.is_temporal()):
            cells = values.cast(pl.String).fill_null("").str.strip_chars()
            quoted = values.name[:1] == "'" and cells.str.contains("^('.*')?$").all()
            texts[values.name] = (cells.str.strip_chars("' ") if quoted else cells).to_list()
    return texts


def named(columns: Collection[str], name: str) -> str:
    """The column of a name, case and blanks around it ignored; SchemaError if there is none."""
    found = name if name in columns else first_of(columns, [name.strip(" '").lower()])
    if found is None:
        there = f"the columns {first_cases(columns)}"
        raise SchemaError(f"a column of text named {name!r} is required", found=there)
    return found


def _parent_of(columns: Sequence[str]) -> str:
    """The one column called as parents are, ``parent`` if none is; SchemaError if several are."""
    found = [*filter(is_parent, columns)] or ["parent"]
    if len(found) > 1:
        hint = f"{as_typed({'hierarchy_parent': found[0]})} names the one that is meant"
        raise SchemaError("one column of parents is required", found=first_cases(found), hint=hint)
    return found[0]


def _of_relations(frame: pl.DataFrame, shape: Shape) -> pl.DataFrame:
    """The rows of the relations that are stated; asked where the rows are of several."""
    name = first_of(frame.columns, _RELATIONS)
    said = frame[name].cast(pl.String).fill_null("").str.strip_chars() if name else pl.Series([""])
    counts = Counter(said)
    if not shape.relations and len(counts) > 1:
        ways = [Reading(f"rows of {one!r} are edges", "", n, as_typed({"relations": one}))
                for one, n in counts.most_common(4)]  # fmt: skip
        raise asked(f"it must be stated which of the relations in {name!r} count", ways)
    refuse_unused(shape.relations, counts, "rows")
    return frame.filter(said.is_in(shape.relations)) if shape.relations else frame


def _parents(
    column: pl.Series, cells: Sequence[str] | None, keys: Mapping[str, Sequence[str]],
    sep: str | None,
) -> list[list[str]]:  # fmt: skip
    """The parents in each row, of a list or parted by ``sep``; asked if a cell may hold several."""
    if cells is None and not isinstance(column.dtype, pl.List):
        raise SchemaError(f"the column {column.name!r} must hold text", found=str(column.dtype))
    if cells is None or sep:
        rows = column.to_list() if cells is None else [cell.split(sep) for cell in cells]
        return [[one for part in row or () if (one := str(part or "").strip())] for row in rows]
    for one, ids in product(dict.fromkeys(cells), map(set, keys.values())):
        joins = [sign for sign in _SIGNS if sign in one and one not in ids]
        if joined := [sign for sign in joins if ids.issuperset(map(str.strip, one.split(sign)))]:
            option = as_typed({"hierarchy_sep": joined[0]})
            meant = (("several ids", option), ("one id", "give it a row of its own"))
            ways = [Reading(f"{one!r} is {what}", "", 1, how, "cells") for what, how in meant]
            raise asked(f"it must be stated what parents in {column.name!r} are", ways)
    return [[cell] if cell else [] for cell in cells]


FORMAT = HierarchyFormat(
    "edges", "a table with columns child, parent and optionally title, or named by options",
    lambda *_: False, read, frozenset({"child", "parent", "title", "relations", "sep"}),
)  # fmt: skip
