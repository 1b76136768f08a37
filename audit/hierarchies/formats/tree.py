"""Nested JSON trees: nodes with ``children``, or names within names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.base.errors import SchemaError
from audit.base.files import read_json
from audit.hierarchies.formats import audioset, obo
from audit.hierarchies.formats.format import HierarchyFormat, head_text, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy


def matches(path: Path, head: bytes) -> bool:
    """Whether the file starts as JSON that is not AudioSet's."""
    opens_as_json = head_text(head).startswith(("{", "["))
    return opens_as_json and not audioset.matches(path, head) and not obo.matches(path, head)


def read(path: Path, relations: tuple[str, ...] = ()) -> Hierarchy:
    """Read a nested tree; an id that occurs at two places is one node with two parents.

    Three spellings, which may be mixed:

    - ``{"id": "dog", "title": "Dog", "children": [...]}``; ``name`` is the id if there is no
      ``id``, else the title.
    - ``{"animal": {"dog": {}, "cat": {}}}``
    - ``{"animal": ["dog", "cat"]}``

    A node is assignable if it is a leaf; its title is the first one given.

    Args:
        path: A JSON file.
        relations: Not used: a tree has edges of one type.

    Raises:
        HierarchyError: On a cycle, or a tree without nodes.
        SchemaError: On a value that is neither a node nor names.
        InputError: If the file cannot be read.
    """
    places = list(_places(path, read_json(path)))
    titles: dict[str, str | None] = {}
    for place in places:
        titles[place.node] = titles.get(place.node) or place.title
    return hierarchy_of(
        path,
        [(place.node, place.parent) for place in places if place.parent is not None],
        [(node, title, None) for node, title in titles.items()],
    )


FORMAT = HierarchyFormat(
    "tree", "a nested JSON tree: nodes with children, or names within names", matches, read
)


@dataclass(frozen=True)
class _Place:
    """One mention of a node in the tree, and the JSON value that holds its children."""

    node: str
    parent: str | None
    title: str | None
    children: Any


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
    return _Place(str(item[key]), parent, title, item.get("children"))


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _no_node(path: Path, value: Any, parent: str | None) -> SchemaError:
    return SchemaError(
        "a tree is made of nodes with children, or of names within names",
        found=f"{str(value)[:40]!r} {'at the top' if parent is None else f'below {parent!r}'}",
        where=path,
        hint='for example {"animal": {"dog": {}, "cat": {}}}',
    )
