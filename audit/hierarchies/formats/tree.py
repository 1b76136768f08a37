"""JSON: nodes with children or with parents, names within names; and the same in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import bare_suffix, first_bytes, once, read_json, read_lines, read_text
from audit.base.tables import open_table
from audit.hierarchies.coding import Entry
from audit.hierarchies.formats.edges import (
    IDS,
    NOTHING,
    TITLES,
    first_of,
    is_parent,
    of_pairs,
    of_table,
    one_node_reading,
    pairs_in,
)
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Shape,
    begins,
    hierarchy_of,
)
from audit.hierarchies.hierarchy import Hierarchy

_Mention: TypeAlias = tuple[str, str | None, Mapping[str, Any]]
"""A node, the one that it lies within, and its record, which is empty of a name alone."""


is_json = begins(r"[{\[]")
"""Whether a file starts as JSON."""


def read(path: Path, shape: Shape, role: str | None = None) -> Hierarchy:
    """Read a tree, as `of_object`; JSON lines are a list."""
    if bare_suffix(path) not in (".jsonl", ".ndjson"):
        return of_object(path, read_json(path), shape, role)
    try:
        lines = [json.loads(line, object_pairs_hook=once) for _, line in read_lines(path)]
    except ValueError as error:
        raise SchemaError("JSON lines are required", found=str(error)) from None
    return of_object(path, lines, shape, role)


def of_object(path: Path, tree: Any, shape: Shape, role: str | None = None) -> Hierarchy:
    """Read a tree; an id that occurs at two places is one node with two parents.

    - ``[{"id": "dog", "parent": "animal"}]``, a table of edges.
    - ``{"id": "dog", "title": "Dog", "children": [...]}``; ``name`` is the id if there is no
      ``id``, else the title.
    - ``{"animal": {"dog": {}, "cat": {}}}``
    - ``{"dog": "animal"}``, the parent of a name; where each name has a list it is asked whether of
      ``parents`` or of ``children``, the ``role``.

    A node is assignable if it is a leaf; its title is the first one given.
    """
    if (pairs := _pairs_of(tree, shape)) is not None:
        return _of_mapping(path, tree, pairs, shape, role)
    if isinstance(tree, list) and all(isinstance(one, Mapping) for one in tree):
        held = [(name, value) for one in tree for name, value in one.items()]
        nested = any(_is_children(name, value, shape) for name, value in held)
        if not nested and any(_is_parent(name, shape) for name, _ in held):
            frame = pl.DataFrame([_column(name, tree) for name, _ in dict(held).items()])
            return of_table(path, open_table(frame), shape)
    mentions = [*_mentions(tree, shape)]
    entries, by_name, edges = list[Entry](), set[str](), dict[EdgeRow, None]()
    ids = {node for node, *_ in mentions}
    for node, above, record in mentions:
        stated = [up for up in _parents(record, shape) if up in ids or up.lower() not in NOTHING]
        within = [] if above is None else [above]
        edges |= dict.fromkeys((node, up) for up in (*stated, *within))
        entries.append(Entry(node, _title(node, record, shape)))
        if not (stated or (record and str(_own_key(record, shape)).lower() not in TITLES)):
            by_name.add(node)
    if not edges:
        _refuse_unread([record for *_, record in mentions if record], shape)
    return hierarchy_of(path, entries, edges, readings=[one_node_reading(edges, by_name)])


def _of_mapping(
    path: Path, tree: Any, pairs: list[EdgeRow], shape: Shape, role: str | None
) -> Hierarchy:
    """The hierarchy of a flat mapping of names; asked for the role unless stated or evident."""
    if stated := [name for name, value in vars(shape).items() if value]:
        required = "nothing but --hierarchy-format can be stated of pairs of names"
        raise InputError(required, found=first_cases(stated))
    names, parents = {*map(_id, tree)}, {parent for _, parent in pairs}
    joined = len(parents) < max(2, len(pairs)) or not names.isdisjoint(parents)
    upward = "parents" if joined and any(map(_is_id, tree.values())) else None
    return of_pairs(path, pairs, role or upward, names)


def _pairs_of(tree: Any, shape: Shape) -> list[EdgeRow] | None:
    """Each key of a mapping with each name that its value is or lists; None of a record."""
    if not isinstance(tree, Mapping) or _own_key(tree, shape):
        return None
    lists = {name: [] if one is None else _as_list(one) for name, one in tree.items()}
    if not all(_is_id(one) for own in lists.values() for one in own):
        return None
    return [(_id(name), _id(one)) for name, own in lists.items() for one in own]


def _is_parent(name: str, shape: Shape) -> bool:
    return name == shape.parent if shape.parent else is_parent(name)


def _is_children(key: str, value: Any, shape: Shape) -> bool:
    """Whether a key is that of children (stated, else ``children``), with a list or a mapping."""
    named = key == shape.children if shape.children else key.lower() == "children"
    return named and isinstance(value, Mapping | list)


def _parents(record: Mapping[str, Any], shape: Shape) -> list[str]:
    held = (value for name, value in record.items() if _is_parent(name, shape))
    return [one for value in held for one in _ids(value)]


def _column(name: str, records: Sequence[Mapping[str, Any]]) -> pl.Series:
    """A key of records as a column of text, or of lists of it."""
    values = [one.get(name) for one in records]
    if any(isinstance(one, list | Mapping) for one in values):
        return pl.Series(name, [*map(_ids, values)], pl.List(pl.String))
    cells = [one if isinstance(one, str | None) else _id(one) for one in values]
    return pl.Series(name, cells, pl.String)


def _mentions(tree: Any, shape: Shape) -> Iterator[_Mention]:
    """Every mention of a node; without recursion, as a tree may have any depth."""
    waiting: list[tuple[Any, str | None]] = [(tree, None)]
    while waiting:
        value, above = waiting.pop()
        if _is_id(value):
            yield _id(value), above, {}
        elif isinstance(value, list) and not any(isinstance(one, list) for one in value):
            waiting += [(one, above) for one in value]
        elif not isinstance(value, Mapping):
            raise _no_node(value)
        elif key := _own_key(value, shape):
            node = _id(value[key])
            yield node, above, value
            below = (one for name, one in value.items() if _is_children(name, one, shape))
            waiting += [(one, node) for one in below]
        else:
            for name, held in value.items():
                yield _id(name), above, {}
                records = [one for one in _as_list(held) if isinstance(one, Mapping)]
                own = isinstance(held, Mapping) and _own_key(held, shape)
                other = held and not isinstance(held, Mapping | list)
                if own or other or any(_parents(one, shape) for one in records):
                    raise _no_node(held)
                waiting += [(held, _id(name))] if held else []


def _own_key(item: Mapping[str, Any], shape: Shape) -> str | None:
    """The key of a record's id; None of what is no record."""
    keys = [shape.child, *IDS, shape.title, *TITLES]
    return first_of([key for key in item if _is_id(item[key])], [k.lower() for k in keys if k])


def _as_list(value: Any) -> list[Any]:
    """A list as it is; anything else, None too, as the only item of one."""
    return value if isinstance(value, list) else [value]


def _ids(value: Any) -> list[str]:
    """The ids in a value: one, a list, or the records of them."""
    keys = ((one, isinstance(one, Mapping) and _own_key(one, Shape())) for one in _as_list(value))
    inner = [one[key] if key else one for one, key in keys]
    return [_id(one) for one in inner if _is_id(one)]


def _title(node: str, record: Mapping[str, Any], shape: Shape) -> str | None:
    """The title in a record, by the stated key or a usual one; SchemaError if it is no text."""
    own = _own_key(record, shape)
    title = record.get(shape.title or first_of([key for key in record if key != own], TITLES) or "")
    if not isinstance(title, str | None):
        hint = "--hierarchy-title KEY names another key"
        raise SchemaError("a title must be text", found=f"{title!r} at {node!r}", hint=hint)
    return title


def _refuse_unread(records: Sequence[Mapping[str, Any]], shape: Shape) -> None:
    """SchemaError if records have further keys, but none that holds parents or children."""
    held = {name: value for one in records for name, value in one.items()}
    known = {shape.child, shape.title, *IDS, *TITLES}
    read = (_is_parent(one, shape) or _is_children(one, held[one], shape) for one in held)
    if not any(read) and any({name, name.lower()}.isdisjoint(known) for name in held):
        key = next((one for one in held if isinstance(held[one], list | Mapping)), "KEY")
        raise SchemaError(
            "a key of children or of parents is required",
            found=f"the keys {first_cases(held)}",
            hint=f"--hierarchy-children {key} or --hierarchy-parent {key} names it",
        )


def _is_id(value: Any) -> bool:
    """Whether a value can be an id: a text, or a whole number, which may be written as 7.0."""
    whole = isinstance(value, float) and value.is_integer()
    return whole or (isinstance(value, str | int) and not isinstance(value, bool))


def _id(value: Any) -> str:
    """Any value as the text of an id: 7.0 as 7, all else by ``str`` without blanks around it."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()


def _no_node(value: Any) -> SchemaError:
    return SchemaError(
        "JSON of a hierarchy is a list of records with parents, nodes with children, or names "
        "within names",
        found=f"{str(value)[:40]!r}",
        hint='for example {"animal": {"dog": {}, "cat": {}}}; audit.load_hierarchy takes graphs of '
        "networkx",
    )


_TAKES = frozenset({"child", "parent", "title", "children"})
FORMAT = HierarchyFormat(
    "tree",
    "JSON: nodes with children or with parents, or names within names",
    is_json,
    read,
    _TAKES,
)


def _read_names(path: Path, shape: Shape, role: str) -> Hierarchy:
    """Read JSON, or lines of two names; ``role`` says what stands behind a name."""
    if is_json(path, first_bytes(path)):
        return read(path, shape, role)
    if (pairs := pairs_in(path)) is None:
        raise SchemaError("lines of two names are required", found=repr(read_text(path)[:60]))
    return of_pairs(path, pairs, role)


PARENTS, CHILDREN = (
    HierarchyFormat(
        role, f"JSON or pairs of names: the {role} of each name, where that is asked",
        lambda *_: False, partial(_read_names, role=role), _TAKES,
    )
    for role in ("parents", "children")
)  # fmt: skip
