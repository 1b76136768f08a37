"""JSON: nodes with children, nodes with parents, or names within names; and the same in Python."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from audit.base.errors import SchemaError, first_cases
from audit.base.files import once, read_json, read_lines
from audit.base.readings import Reading
from audit.hierarchies.formats import (
    audioset,
    clinical,
    names,
    obo,
    rdf,
)
from audit.hierarchies.formats.format import (
    WITH_IDS,
    HierarchyFormat,
    Shape,
    bare_suffix,
    head_text,
    hierarchy_of_records,
)
from audit.hierarchies.hierarchy import Hierarchy


def matches(path: Path, head: bytes) -> bool:
    """Whether the file starts as JSON that no other format takes."""
    opens_as_json = head_text(head).startswith(("{", "["))
    others = (audioset.FORMAT, clinical.CODE_SYSTEM, obo, obo.GRAPHS, rdf)
    return opens_as_json and not any(other.matches(path, head) for other in others)


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read a tree, as `of_object`; JSON lines are a list."""
    return of_object(path, _document(path), shape)


def of_object(path: Path, tree: Any, shape: Shape) -> Hierarchy:
    """Read a tree; an id that occurs at two places is one node with two parents.

    These spellings may be mixed, with keys as people call them:

    - ``{"id": "dog", "title": "Dog", "children": [...]}``; ``name`` is the id if there is no
      ``id``, else the title.
    - ``{"id": "dog", "parent": "animal"}``, in a list, or by its id.
    - ``{"animal": {"dog": {}, "cat": {}}}``
    - ``{"animal": ["dog", "cat"]}``, or ``{"dog": "animal"}``, the parent of a name.
    - ``{"nodes": [{"id": "dog"}], "links": [{"source": "dog", "target": "animal"}]}``, or pairs
      ``[["dog", "animal"]]``, with either end above: stated, named so, or found by the names.

    Of an object around such a list the rest is passed over. A node is assignable if it is a leaf;
    its title is the first one given. One of `OBSOLETE`, if true, makes an id obsolete: no node,
    whose ``replaced_by`` and ``consider`` are its successors.
    A node right below an obsolete id is dangling; no other parent is missing.

    Args:
        path: The file, or what names the object in messages.
        tree: What it holds.
        shape: ``relations`` are further keys that hold nodes below.
    """
    plain, readings = _graph(path, tree, shape) or _plain(path, tree)
    places = list(_Walk(shape).places(plain))
    places, said = _by_what_parents_name(places, shape)
    readings += [*said, *_several(places), *_by_language(places, shape)]
    _refuse_unknown(places, shape)
    edges = dict.fromkeys((place.node, parent) for place in places for parent in place.parents)
    records = [(place.node, place.title, place.stated) for place in places]
    return hierarchy_of_records(path, edges, records, readings)


_TAKES = frozenset({"relations", "child", "parent", "title"})
FORMAT = HierarchyFormat(
    "tree", "JSON: nodes with children or with parents, or names within names", matches, read,
    _TAKES,
)  # fmt: skip


def _mapping(role: str) -> HierarchyFormat:
    def read_mapping(path: Path, shape: Shape) -> Hierarchy:
        return of_object(path, related(_document(path), role), shape)

    title = f"JSON: the {role} of each name, where that is asked"
    return HierarchyFormat(role, title, lambda *_: False, read_mapping, _TAKES)


PARENTS, CHILDREN = _mapping("parents"), _mapping("children")


def related(given: Any, role: str) -> list[dict[str, Any]]:
    """A mapping of the ``parents`` or ``children`` of each name as nodes that have such."""
    if not isinstance(given, Mapping):
        raise _no_node(given, None)
    return [{"id": name, role: _listed(others)} for name, others in given.items()]


def _listed(value: Any) -> Any:
    """A value, or several, as JSON holds them."""
    return list(value) if isinstance(value, tuple | set | frozenset) else value


def _document(path: Path) -> Any:
    if bare_suffix(path) not in (".jsonl", ".ndjson"):
        return read_json(path)
    try:
        return [json.loads(line, object_pairs_hook=once) for _, line in read_lines(path)]
    except ValueError as error:
        raise SchemaError("JSON lines are required", found=str(error)) from None


def _plain(path: Path, tree: Any) -> tuple[Any, list[Reading]]:
    """The tree without what is around it, and a mapping of names as what it means."""
    if not isinstance(tree, Mapping):
        return tree, []
    within = [value for key, value in tree.items() if not names.is_children(key)]
    upward = [value for value in within if isinstance(value, list) and any(map(_names_one, value))]
    if _own_key(tree, Shape()):
        return (upward[0] if len(upward) == 1 else tree), []
    if len(tree) == 1 and names.plain(next(iter(tree))) in names.AROUND:
        return next(iter(tree.values())), []
    lists = [value for value in tree.values() if isinstance(value, list)]
    wrapped = [value for value in lists if any(map(_linked, value))]
    if len(wrapped) == 1:
        return wrapped[0], []
    keyed = [one for one in tree.values() if isinstance(one, Mapping)]
    ids = {names.id_of(name) for name in tree}
    if keyed and len(keyed) == len(tree) and any(_links_to(one, ids) for one in keyed):
        return [{**_without_id(one), "id": name} for name, one in tree.items()], []
    flat = list(map(_listed, tree.values()))
    if any(names.is_id(one) for one in flat) and not any(isinstance(one, Mapping) for one in flat):
        return related(tree, "parents"), []
    pairs = [
        (names.id_of(name), names.id_of(item))
        for name, items in zip(tree, flat, strict=True)
        for item in (items if isinstance(items, list) else [])
        if names.is_id(item)
    ]
    if sum(len(one) for one in flat if isinstance(one, list)) > len(pairs) or not pairs or keyed:
        return tree, []
    doors = "load_hierarchy(parents=...)", "load_hierarchy(children=...)"
    files = "--hierarchy-format parents", "--hierarchy-format children"
    lower, told = names.lower_end(
        pairs, path, ("the names", "the names listed for them"), files if path.suffix else doors
    )
    return related(tree, "children" if lower else "parents"), [told]


def _graph(path: Path, tree: Any, shape: Shape) -> tuple[Any, list[Reading]] | None:
    """Nodes and edges one by one, as networkx writes them, or pairs, as nodes with parents."""
    links = next((key for key in ("links", "edges") if key in tree and "nodes" in tree), None)
    if isinstance(tree, Mapping) and links:
        nodes, edges = tree["nodes"], tree[links]
    elif isinstance(tree, list) and tree and all(map(_is_pair, tree)):
        nodes, edges = [], [{"1": one, "2": two} for one, two in tree]
    else:
        return None
    if not (isinstance(edges, list) and all(isinstance(edge, Mapping) for edge in edges)):
        raise SchemaError("a list of edges with two ends is required", found=f"{str(edges)[:40]!r}")
    if not isinstance(nodes, list):
        raise SchemaError("a list of nodes is required", found=f"{str(nodes)[:40]!r}")
    if not edges:
        return nodes, []
    ends = [key for key in edges[0] if all(names.is_id(edge.get(key)) for edge in edges)]
    usual = [key for key in ends if names.plain(key) in _ENDS or names.is_parent(key)][:2]
    if len(usual) < 2:
        found = f"the keys {first_cases(edges[0])}"
        raise SchemaError(
            "every edge must name its two ends, such as source and target", found=found
        )
    said = [shape.parent == key or (shape.child in usual and shape.child != key) for key in usual]
    above = said if any(said) else [names.is_parent(key) for key in usual]
    told = list[Reading]()
    if above[0] == above[1]:
        first, second = usual
        pairs = [(names.id_of(edge[first]), names.id_of(edge[second])) for edge in edges]
        called = f"the names in {first!r}", f"the names in {second!r}"
        options = [f"--hierarchy-child {a} --hierarchy-parent {b}" for a, b in (usual, usual[::-1])]
        lower, reading = names.lower_end(pairs, path, called, (options[0], options[1]))
        above, told = [lower == 1, lower == 0], [reading]
    child, parent = usual[above[0]], usual[above[1]]
    own, up = shape.child or "id", shape.parent or "parent"
    return [*nodes, *({own: edge[child], up: edge[parent]} for edge in edges)], told


_ENDS = ("1", "2", "source", "target", "from", "to", "start", "end", "child")
"""What the ends of edges are called, besides the names of parents."""


def _is_pair(item: Any) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2 and all(map(names.is_id, item))


def _names_one(item: Any) -> bool:
    """Whether an item is a node that names nodes above it."""
    return isinstance(item, Mapping) and any(map(names.is_parent, item))


def _linked(item: Any) -> bool:
    """Whether an item is a node that names nodes above it, or holds nodes below it."""
    holds = isinstance(item, Mapping) and any(
        names.is_children(key) and isinstance(value, list) for key, value in item.items()
    )
    return holds or _names_one(item)


def _links_to(item: Mapping[str, Any], ids: set[str]) -> bool:
    """Whether a record names some of the ids as its parents or children."""
    named = [v for k, v in item.items() if names.is_parent(k) or names.is_children(k)]
    return any(one in ids for value in named for one in _ids(value))


def _without_id(item: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose id is outside of it; its name is its title then."""
    key = _own_key(item, Shape())
    named = key is not None and names.plain(key) in names.TITLES
    return {("title" if named and k == key else k): v for k, v in item.items() if k != "id"}


def _own_key(item: Mapping[str, Any], shape: Shape) -> str | None:
    """The key of a record's id; None of what is no record."""
    own = [key for key in item if not (names.is_parent(key) or names.is_children(key))]
    usual = names.ids_among(own), names.among(own, names.TITLES)
    keys = [shape.child or "", *usual[0], shape.title or "", *usual[1]]
    return next((key for key in keys if key in item and names.is_id(item[key])), None)


@dataclass(frozen=True)
class _Place:
    """One mention of a node, what its record states, and whether it is named for want of an id."""

    node: str
    parents: tuple[str, ...]
    title: str | None = None
    stated: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    named: bool = True


@dataclass(frozen=True)
class _Walk:
    """Goes through a tree without recursion, so that it may have any depth."""

    shape: Shape

    def places(self, tree: Any) -> Iterator[_Place]:
        """Every mention of a node, in document order."""
        waiting = self._within(tree, None)[::-1]
        while waiting:
            place, below = waiting.pop()
            yield place
            within = [one for part in below for one in self._within(part, place.node)]
            by_id = [(replace(one, named=one.named and place.named), on) for one, on in within]
            waiting += by_id[::-1]

    def _within(self, value: Any, parent: str | None) -> list[tuple[_Place, list[Any]]]:
        """The nodes that a value holds directly, each with what holds those below it."""
        if names.is_nothing(value):
            return []
        if isinstance(value, list):
            return [place for item in value for place in self._item(item, parent)]
        if isinstance(value, Mapping):
            return self._item(value, parent)
        raise _no_node(value, parent)

    def _item(self, item: Any, parent: str | None) -> list[tuple[_Place, list[Any]]]:
        if names.is_id(item):
            return [(self._named(item, parent), [])]
        if not isinstance(item, Mapping):
            raise _no_node(item, parent)
        if key := _own_key(item, self.shape):
            return [self._record(item, key, parent)]
        return [(self._named(name, parent), [below]) for name, below in item.items()]

    def _named(self, name: Any, parent: str | None, *, named: bool = True) -> _Place:
        above, node = () if parent is None else (parent,), names.id_of(name)
        return _Place(node, above, named=named)

    def _record(
        self, item: Mapping[str, Any], key: str, parent: str | None
    ) -> tuple[_Place, list[Any]]:
        rest = {name: value for name, value in item.items() if name != key}
        titled = [self.shape.title] if self.shape.title else names.among(rest, names.TITLES)
        title = next((rest[one] for one in titled if rest.get(one)), None)
        title = names.spoken(title)
        if not isinstance(title, str | None):
            raise SchemaError("a title must be text", found=f"{title!r} at {item[key]!r}")
        parents = [self.shape.parent] if self.shape.parent else names.parents_among(rest)
        above = [one for name in parents for one in _ids(rest.get(name))]
        below = [value for k, value in rest.items() if self._is_children(k, value)]
        place = self._named(item[key], parent, named=names.plain(key) in names.TITLES)
        above = list(dict.fromkeys([*place.parents, *above]))
        return replace(place, parents=tuple(above), title=title, stated=rest, key=key), below

    def _is_children(self, key: str, value: Any) -> bool:
        usual = names.is_children(key) and isinstance(value, list | Mapping)
        return key in self.shape.relations or usual


def _by_language(places: Sequence[_Place], shape: Shape) -> list[Reading]:
    """What is told of titles that are given by language."""
    stated = (item for place in places for item in place.stated.items())
    titles = [v for k, v in stated if k == shape.title or names.plain(k) in names.TITLES]
    return names.languages_told([v for v in titles if isinstance(v, Mapping)])


def _ids(value: Any) -> list[str]:
    """The ids of parents: one, a list, or the records of them."""
    found = list[str]()
    for one in value if isinstance(value, list) else [value]:
        key = _own_key(one, Shape()) if isinstance(one, Mapping) else None
        inner = one[key] if key else one
        found += [names.id_of(inner)] if names.is_id(inner) and not names.is_nothing(inner) else []
    return found


def _by_what_parents_name(places: list[_Place], shape: Shape) -> tuple[list[_Place], list[Reading]]:
    """The places by another key, a title or what most parents are, where parents are no ids."""
    ids = {place.node for place in places}
    above = {parent for place in places for parent in place.parents} - ids
    if shape.child or not above or any(place.key is None for place in places):
        return places, []
    columns, stated = {str(places[0].key): [place.node for place in places]}, places[0].stated
    titles = [shape.title or "", *names.among(stated, names.TITLES)]
    others = {shape.parent, *shape.relations}
    own = [n for n in stated if not (n in others or names.is_parent(n) or names.is_children(n))]
    for key in sorted(own, key=lambda one: one not in titles):
        said = [names.spoken(place.stated.get(key)) for place in places]
        texts = [one.strip() if isinstance(one, str) else "" for one in said]
        named = key in titles or 2 * len(above.intersection(texts)) > len(above)
        if named and all(texts) and len({*texts}) >= len(ids):
            columns[key] = texts
    found, told = names.named_by(above, columns, len(places), "nodes")
    if not told:
        return places, []
    called = [one.title or (one.node if one.named else None) for one in places]
    by_key = zip(places, columns[found], called, strict=True)
    return [replace(one, node=n, title=None if n == t else t) for one, n, t in by_key], told


def _several(places: Sequence[_Place]) -> list[Reading]:
    """What is told of names below several others: each is one node."""
    above = defaultdict[str, set[str]](set)
    for place in places:
        if place.named and not (place.stated and any(map(names.is_parent, place.stated))):
            above[place.node].update(set(place.parents) - {place.node})
    several = [node for node, parents in above.items() if len(parents) > 1]
    if not several:
        return []
    decision = "a name below several others is one node"
    evidence = f"only its name says what it is, as of {several[0]!r}"
    return [Reading(decision, evidence, len(several), WITH_IDS, "names")]


def _refuse_unknown(places: Sequence[_Place], shape: Shape) -> None:
    """Refuse keys of which nobody knows what they are, and that hold nodes or their ids."""
    ids = {place.node for place in places}
    known = {shape.title, shape.parent, *names.BESIDE, *shape.relations}
    values = defaultdict[str, list[tuple[_Place, Any]]](list)
    for place in places:
        for key, value in place.stated.items():
            role = names.is_parent(key) or (names.is_children(key) and isinstance(value, list))
            if key not in known and not role and value not in (None, "", [], {}):
                values[key].append((place, value))
    for key, held in values.items():
        if names.plain(key) not in (*names.TITLES, *names.IDS) and all(
            _refers(value, place, ids) for place, value in held
        ):
            raise SchemaError(
                "a key that holds nodes or their ids must say whether they are above or below",
                found=f"{key!r} at {held[0][0].node!r}: {str(held[0][1])[:40]}",
                hint=f"--hierarchy-parent {key} if they are parents, --relations {key} if they lie "
                "below; else take the key out of the file",
            )


def _refers(value: Any, place: _Place, ids: set[str]) -> bool:
    """Whether a value names other nodes; a number does so only in a list."""
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return all(place.key in one for one in value)
    if isinstance(value, list):
        return all(names.is_id(one) and names.id_of(one) in ids for one in value)
    return isinstance(value, str) and value in ids and value != place.node


def _no_node(value: Any, parent: str | None) -> SchemaError:
    return SchemaError(
        "a tree is made of nodes with children, or of names within names",
        found=f"{str(value)[:40]!r} {'at the top' if parent is None else f'below {parent!r}'}",
        hint='for example {"animal": {"dog": {}, "cat": {}}}',
    )
