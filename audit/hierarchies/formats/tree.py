"""Nested JSON trees: nodes with ``children``, or names within names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.base.choices import Dangling
from audit.base.errors import SchemaError
from audit.base.files import read_json
from audit.hierarchies.formats import audioset, interface, obo, obographs
from audit.hierarchies.formats.format import HierarchyFormat, head_text, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.retired import CONSIDER, OBSOLETE, REPLACED_BY, Obsolete, retired_ids


def matches(path: Path, head: bytes) -> bool:
    """Whether the file starts as JSON that no other format takes."""
    opens_as_json = head_text(head).startswith(("{", "["))
    others = (audioset, interface, obo, obographs)
    return opens_as_json and not any(other.matches(path, head) for other in others)


def read(path: Path, relations: tuple[str, ...] = (), dangling: Dangling = "refuse") -> Hierarchy:
    """Read a nested tree; an id that occurs at two places is one node with two parents.

    Three spellings, which may be mixed:

    - ``{"id": "dog", "title": "Dog", "children": [...]}``; ``name`` is the id if there is no
      ``id``, else the title.
    - ``{"animal": {"dog": {}, "cat": {}}}``
    - ``{"animal": ["dog", "cat"]}``

    A node is assignable if it is a leaf; its title is the first one given. One of `OBSOLETE`, if
    true, makes an id obsolete: no node, whose ``replaced_by`` and ``consider`` are its successors.

    A node right below an obsolete id is dangling; no other parent is missing.

    Raises:
        HierarchyError: On a cycle, a node below an obsolete id that is not to be dropped, or a tree
            without nodes.
        SchemaError: On a value that is neither a node nor names.
        InputError: If the file cannot be read.
    """
    places = list(_places(path, read_json(path)))
    obsolete = _obsolete(path, places)
    titles: dict[str, str | None] = {}
    for place in places:
        if place.node not in obsolete:
            titles[place.node] = titles.get(place.node) or place.title
    return hierarchy_of(
        path,
        [
            (place.node, place.parent)
            for place in places
            if place.parent is not None and place.node not in obsolete
        ],
        [(node, title, None) for node, title in titles.items()],
        coding=retired_ids(titles, obsolete.values()),
        dangling=dangling,
    )


FORMAT = HierarchyFormat(
    "tree", "a nested JSON tree: nodes with children, or names within names", matches, read
)


@dataclass(frozen=True)
class _Place:
    """One mention of a node in the tree, the JSON value that holds its children, and all of it."""

    node: str
    parent: str | None
    title: str | None
    children: Any
    stated: Mapping[str, Any] = field(default_factory=dict)


def _places(path: Path, tree: Any) -> Iterator[_Place]:
    """Every mention of a node, in document order; without recursion, for trees of any depth."""
    waiting = _within(path, tree, None)[::-1]
    while waiting:
        place = waiting.pop()
        yield place
        waiting += _within(path, place.children, place.node)[::-1]


def _within(path: Path, value: Any, parent: str | None) -> list[_Place]:
    """The nodes that a JSON value holds directly."""
    if value is None:
        return []
    if isinstance(value, list):
        return [place for item in value for place in _item(path, item, parent)]
    if isinstance(value, dict):
        return _item(path, value, parent)
    raise _no_node(path, value, parent)


def _item(path: Path, item: Any, parent: str | None) -> list[_Place]:
    if _is_id(item):
        return [_Place(str(item), parent, None, None)]
    if not isinstance(item, dict):
        raise _no_node(path, item, parent)
    for key in ("id", "name"):
        if _is_id(item.get(key)):
            return [_node(path, item, key, parent)]
    return [_Place(name, parent, None, below) for name, below in item.items()]


def _node(path: Path, item: dict[str, Any], key: str, parent: str | None) -> _Place:
    title = item.get("title", item.get("name") if key == "id" else None)
    if not isinstance(title, str | None):
        raise SchemaError("a title must be text", found=f"{title!r} at {item[key]!r}", where=path)
    return _Place(str(item[key]), parent, title, item.get("children"), item)


def _obsolete(path: Path, places: list[_Place]) -> dict[str, Obsolete]:
    """The ids that a mention of them calls obsolete, with the successors of all such mentions."""
    found: dict[str, Obsolete] = {}
    for place in places:
        if any(_flag(path, place, name) for name in OBSOLETE):
            known = found.get(place.node, Obsolete(place.node))
            found[place.node] = Obsolete(
                place.node,
                (*known.replaced_by, *_ids(path, place, REPLACED_BY)),
                (*known.consider, *_ids(path, place, CONSIDER)),
            )
    return found


def _flag(path: Path, place: _Place, name: str) -> bool:
    stated = place.stated.get(name)
    if not isinstance(stated, bool | None):
        raise SchemaError(
            f"{name!r} must be true or false", found=f"{stated!r} at {place.node!r}", where=path
        )
    return bool(stated)


def _ids(path: Path, place: _Place, name: str) -> list[str]:
    """The ids under a name: one, or a list of them."""
    stated = place.stated.get(name, [])
    ids = stated if isinstance(stated, list) else [stated]
    if not all(map(_is_id, ids)):
        raise SchemaError(
            f"{name!r} must be an id or a list of ids",
            found=f"{stated!r} at {place.node!r}",
            where=path,
        )
    return list(map(str, ids))


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _no_node(path: Path, value: Any, parent: str | None) -> SchemaError:
    return SchemaError(
        "a tree is made of nodes with children, or of names within names",
        found=f"{str(value)[:40]!r} {'at the top' if parent is None else f'below {parent!r}'}",
        where=path,
        hint='for example {"animal": {"dog": {}, "cat": {}}}',
    )
