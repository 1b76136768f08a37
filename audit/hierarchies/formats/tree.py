"""JSON: nodes with children or with parents, names within names, pairs; and the same in Python."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import first_bytes, once, read_json, read_lines
from audit.base.readings import Reading, asked
from audit.base.streams import bare_suffix
from audit.hierarchies.coding import CONSIDER, OBSOLETE, REPLACED_BY
from audit.hierarchies.formats.edges import (
    IDS,
    TITLES,
    first_of,
    is_parent,
    keyed,
    listed,
    of_pairs,
    several_told,
)
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Record,
    Shape,
    head_text,
    hierarchy_of_records,
)
from audit.hierarchies.hierarchy import Hierarchy

_KNOWN = (*OBSOLETE, REPLACED_BY, CONSIDER, *IDS, *TITLES, "inscheme", "topconceptof", "related")
"""Keys that may name other nodes, and neither those above nor those below."""
_LISTS = (list, tuple, set, frozenset)


def is_json(path: Path, head: bytes) -> bool:
    """Whether the file starts as JSON."""
    return head_text(head).startswith(("{", "["))


def document(path: Path) -> Any:
    """What a JSON file holds; of JSON lines the list of it."""
    if bare_suffix(path) not in (".jsonl", ".ndjson"):
        return read_json(path)
    try:
        return [json.loads(line, object_pairs_hook=once) for _, line in read_lines(path)]
    except ValueError as error:
        raise SchemaError("JSON lines are required", found=str(error)) from None


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read a tree, as `of_object`; JSON lines are a list."""
    return of_object(path, document(path), shape)


def of_object(path: Path, tree: Any, shape: Shape, role: str | None = None) -> Hierarchy:
    """Read a tree; an id that occurs at two places is one node with two parents.

    These spellings may be mixed:

    - ``{"id": "dog", "title": "Dog", "children": [...]}``; ``name`` is the id if there is no
      ``id``, else the title.
    - ``{"id": "dog", "parent": "animal"}``, in a list, or by its id.
    - ``{"animal": {"dog": {}, "cat": {}}}``
    - ``{"dog": "animal"}``, the parent of a name; where each name has a list it is asked whether of
      ``parents`` or of ``children``, the ``role``.
    - ``{"nodes": [{"id": "dog"}], "links": [{"source": "dog", "target": "animal"}]}``, as networkx
      writes graphs, or pairs, ``[["dog", "animal"]]``.

    A node is assignable if it is a leaf; its title is the first one given. One of `OBSOLETE`, if
    true, makes an id obsolete: no node, whose ``replaced_by`` and ``consider`` are its successors.
    """
    if isinstance(tree, Mapping) and "nodes" in tree and ("links" in tree or "edges" in tree):
        return _of_graph(path, tree, shape, role)
    if (found := _pairs_of(tree, shape)) is not None:
        pairs, names = found
        if stated := [name for name, value in vars(shape).items() if value]:
            required = "nothing but --hierarchy-format can be stated of pairs of names"
            raise InputError(required, found=first_cases(stated))
        alone = isinstance(tree, Mapping) and any(map(_is_id, tree.values()))
        lists = isinstance(tree, Mapping) and bool(pairs) and not alone
        known, above = {name for name, *_ in names}, {parent for _, parent in pairs}
        joined = len(above) < max(2, len(pairs)) or not known.isdisjoint(above)
        upward = "parents" if alone and joined else None
        return of_pairs(path, pairs, role or upward, names, lists=lists)
    nodes = [*_mentions(_records(tree), shape)]
    own = [_parents(node.stated, shape) for node in nodes]
    ids, key, told = [node.id for node in nodes], None, list[Reading]()
    if nodes and all(node.key for node in nodes):
        keys = {str(nodes[0].key): ids} | {
            name: [_id(node.stated[name]) for node in nodes]
            for name in nodes[0].stated
            if name != nodes[0].key and not is_parent(name)
            and all(_is_id(node.stated.get(name)) for node in nodes)
        }  # fmt: skip
        key, own, told = keyed(keys, own, shape.child)
        ids = keys[key]
    edges = [
        (id, above)
        for id, up, node in zip(ids, own, nodes, strict=True)
        for above in (*up, *([ids[node.above]] if node.above is not None else []))
    ]
    _refuse_unknown(nodes, {*ids}, key, shape)
    records = [
        (id, _title(node, key, shape), {k.lower(): v for k, v in node.stated.items()})
        for node, id in zip(nodes, ids, strict=True)
    ]
    by_name = {node.id for node in nodes if node.key is None or node.key.lower() in TITLES}
    told += several_told(edges, by_name - {one for one, up in zip(ids, own, strict=True) if up})
    return hierarchy_of_records(path, dict.fromkeys(edges), records, told)


def _of_graph(path: Path, graph: Mapping[str, Any], shape: Shape, role: str | None) -> Hierarchy:
    """The hierarchy of nodes and edges one by one."""
    nodes, edges = graph["nodes"], graph["links"] if "links" in graph else graph["edges"]
    for held in (nodes, edges):
        if not isinstance(held, list) or not all(isinstance(one, Mapping) for one in held):
            raise SchemaError("lists of nodes and of edges are required", found=str(held)[:60])
    known = [(shape.child, shape.parent), ("child", "parent"), ("source", "target")]
    ends = [pair for pair in known if all(_is_id(e.get(end)) for e in edges for end in pair)]
    if not ends:
        keys = [key for key in edges[0] if all(_is_id(one.get(key)) for one in edges)]
        ways = [Reading(f"{b!r} is the parent of {a!r}", "", len(edges),
                        f"--hierarchy-child {a} --hierarchy-parent {b}", "edges")
                for a, b in permutations(keys[:3], 2)]  # fmt: skip
        if not ways:
            required = "every edge must name its two ends, as source and target"
            raise SchemaError(required, found=str(edges)[:60])
        raise asked("it must be stated which end of an edge is the parent", ways)
    child, parent = ends[0]
    records: list[Record] = [
        (_id(one["id"]), one.get(shape.title or first_of(one, TITLES) or ""), {})
        for one in nodes
        if _is_id(one.get("id"))
    ]
    pairs = [(_id(edge[child]), _id(edge[parent])) for edge in edges]
    return of_pairs(path, pairs, role or ("parents" if child != "source" else None), records)


def _pairs_of(tree: Any, shape: Shape) -> tuple[list[EdgeRow], list[Record]] | None:
    """Pairs of names, or each name of a mapping with those in its list, and all of the first ones;
    None of what is neither."""
    if isinstance(tree, _LISTS) and tree and all(map(_is_pair, tree)):
        return [(_id(a), _id(b)) for a, b in tree], []
    if not isinstance(tree, Mapping) or _own_key(tree, shape):
        return None
    lists = {name: [] if one is None else _several(one) for name, one in tree.items()}
    if not all(_is_id(one) for own in lists.values() for one in own):
        return None
    pairs = [(_id(name), _id(one)) for name, own in lists.items() for one in own]
    return pairs, [(_id(name), None, {}) for name in tree]


def _records(tree: Any) -> Any:
    """The list of records with parents that an object is around; anything else as it is."""
    if not isinstance(tree, Mapping):
        return tree
    upward = [
        value
        for value in tree.values()
        if isinstance(value, list)
        and any(isinstance(one, Mapping) and any(map(is_parent, one)) for one in value)
    ]
    if len(upward) == 1:
        return upward[0]
    ids = {_id(name) for name in tree}
    if tree and all(isinstance(one, Mapping) for one in tree.values()):
        links = (v for one in tree.values() for k, v in one.items()
                 if is_parent(k) or k.lower() == "children")  # fmt: skip
        if any(other in ids for value in links for other in _ids(value)):
            return [{"id": name, **{k: v for k, v in one.items() if k != "id"}}
                    for name, one in tree.items()]  # fmt: skip
    return tree


class _Node(NamedTuple):
    """One mention of a node.

    Args:
        id: Its name, or the value of the first key of ids.
        above: Place of the mention that it lies within; None at the top.
        stated: Its record; empty of a name alone.
        key: The key of its id; None of a name alone.
    """

    id: str
    above: int | None
    stated: Mapping[str, Any]
    key: str | None


def _mentions(tree: Any, shape: Shape) -> Iterator[_Node]:
    """Every mention of a node, in document order; without recursion, as it may have any depth."""
    waiting: list[tuple[Any, Any, int | None]] = [(None, tree, None)]
    place = 0
    while waiting:
        name, value, above = waiting.pop()
        key = _own_key(value, shape) if name is None and isinstance(value, Mapping) else None
        below: list[Any] = []
        if name is not None:
            yield _Node(_id(name), above, {}, None)
            below = [] if value in (None, "") else [value]
            if below and not isinstance(value, (Mapping, *_LISTS)):
                raise _no_node(value)
        elif key:
            yield _Node(_id(value[key]), above, value, key)
            below = [one for other, one in value.items() if _is_children(other, one, shape)]
        elif isinstance(value, Mapping):
            waiting += [(one, held, above) for one, held in reversed([*value.items()])]
            continue
        elif isinstance(value, _LISTS) and not any(isinstance(one, _LISTS) for one in value):
            waiting += [(None, one, above) for one in reversed([*value])]
            continue
        elif _is_id(value):
            yield _Node(_id(value), above, {}, None)
        else:
            raise _no_node(value)
        waiting += [(None, one, place) for one in reversed(below)]
        place += 1


def _own_key(item: Mapping[str, Any], shape: Shape) -> str | None:
    """The key of a record's id; None of what is no record."""
    keys = [shape.child, *IDS, shape.title, *TITLES]
    return first_of([key for key in item if _is_id(item[key])], [k.lower() for k in keys if k])


def _is_children(key: str, value: Any, shape: Shape) -> bool:
    named = key == shape.children if shape.children else key.lower() == "children"
    return named and isinstance(value, (Mapping, *_LISTS))


def _parents(item: Mapping[str, Any], shape: Shape) -> list[str]:
    keys = [shape.parent] if shape.parent else [key for key in item if is_parent(key)]
    return [one for key in keys for one in _ids(item.get(key))]


def _several(value: Any) -> list[Any]:
    return [*value] if isinstance(value, _LISTS) else [value]


def _ids(value: Any) -> list[str]:
    """The ids in a value: one, a list, or the records of them."""
    keys = ((one, isinstance(one, Mapping) and _own_key(one, Shape())) for one in _several(value))
    inner = [one[key] if key else one for one, key in keys]
    return [_id(one) for one in inner if _is_id(one)]


def _title(node: _Node, own: str | None, shape: Shape) -> str | None:
    keys = [key for key in node.stated if key != (own if own in node.stated else node.key)]
    title = node.stated.get(shape.title or first_of(keys, TITLES) or "")
    if not isinstance(title, str | None):
        hint = "--hierarchy-title KEY names another key"
        raise SchemaError("a title must be text", found=f"{title!r} at {node.id!r}", hint=hint)
    return title


def _refuse_unknown(
    nodes: Sequence[_Node], ids: set[str], chosen: str | None, shape: Shape
) -> None:
    """Ask of further keys that hold nodes or their ids whether these are above or below."""
    values = defaultdict[str, list[tuple[_Node, Any]]](list)
    for node in nodes:
        for key, value in node.stated.items():
            known = key in (shape.title, shape.parent, node.key, chosen) or key.lower() in _KNOWN
            role = is_parent(key) or _is_children(key, value, shape)
            if not (known or role) and value not in (None, "", [], {}):
                values[key].append((node, value))
    for key, held in values.items():
        if all(_refers(value, node, ids) for node, value in held):
            said = (("children", f"--hierarchy-children {key}"),
                    ("parents", f"--hierarchy-parent {key}"),
                    ("something else", "take it out of the file"))  # fmt: skip
            ways = [Reading(f"{key!r} holds {what}", "", len(held), option, "nodes")
                    for what, option in said]  # fmt: skip
            raise asked(f"it must be stated what the key {key!r} holds", ways)


def _refers(value: Any, node: _Node, ids: set[str]) -> bool:
    """Whether a value names other nodes; a number does so only in a list."""
    if not isinstance(value, _LISTS):
        return isinstance(value, str) and value in ids and value != node.id
    if all(isinstance(one, Mapping) for one in value):
        return all(node.key in one for one in value)
    return all(_is_id(one) and _id(one) in ids for one in value)


def _is_pair(item: Any) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2 and all(map(_is_id, item))


def _is_id(value: Any) -> bool:
    """Whether a value can be an id: a text, or a whole number, which may be written as 7.0."""
    whole = isinstance(value, float) and value.is_integer()
    return whole or (isinstance(value, str | int) and not isinstance(value, bool))


def _id(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) else str(value).strip()


def _no_node(value: Any) -> SchemaError:
    return SchemaError(
        "a tree is made of nodes with children, or of names within names",
        found=f"{str(value)[:40]!r}",
        hint='for example {"animal": {"dog": {}, "cat": {}}}',
    )


_TAKES = frozenset({"child", "parent", "title", "children"})
FORMAT = HierarchyFormat(
    "tree", "JSON: nodes with children or with parents, or names within names", is_json, read,
    _TAKES,
)  # fmt: skip


def _mapping(role: str) -> HierarchyFormat:
    def read_mapping(path: Path, shape: Shape) -> Hierarchy:
        if is_json(path, first_bytes(path)):
            return of_object(path, document(path), shape, role)
        pairs = [(first, one) for first, *others in listed(path)[1] for one in others]
        return of_pairs(path, pairs, role)

    title = f"JSON or lines of names: the {role} of each name, where that is asked"
    return HierarchyFormat(role, title, lambda *_: False, read_mapping, _TAKES)


PARENTS, CHILDREN = _mapping("parents"), _mapping("children")
