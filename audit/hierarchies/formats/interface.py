"""The graph file of the interface published with *Abstraction Alignment*."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.base.errors import SchemaError, first_cases
from audit.base.files import read_json
from audit.base.readings import Reading
from audit.hierarchies.formats.format import HierarchyFormat, Shape, head_text, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy

GRAPH = "abstraction_graph.json"
"""Name of the graph among the interface's files."""

_RECORD = re.compile(r'\[\s*\{\s*"id":\s*\d+,\s*"name":')
_BELOW = re.compile(r'"parents?":\s*(\d|\[)')


@dataclass(frozen=True)
class GraphNode:
    """A node of the graph.

    Args:
        name: What the interface shows, and labels are written as.
        node: Its id in the hierarchy; the name where the file has no other.
        assignable: Whether it may be a label; None where the file does not say.
    """

    number: int
    name: str
    node: str
    title: str
    parents: tuple[int, ...]
    assignable: bool | None = None


def read_nodes(path: Path) -> tuple[GraphNode, ...]:
    """Read the nodes: a list of ``{"id": number, "name": text, "parent": number}``.

    ``parents``, a list of numbers, may be given besides ``parent`` or instead of it; ``node``,
    ``title`` and ``assignable`` are what ``audit export`` adds.
    """
    stated = read_json(path)
    listed = isinstance(stated, list) and stated
    wrong = [record for record in stated if not _is_node(record)] if listed else ["?"]
    if wrong:
        raise SchemaError(
            "a list of nodes is required, each with 'id', a number, 'name', a text, and 'parent'",
            found=first_cases(str(record)[:60] for record in wrong),
            where=path,
        )
    nodes = tuple(map(_node, stated))
    _refuse_ambiguous(nodes, path)
    return nodes


def matches(path: Path, head: bytes) -> bool:
    """Whether the first record has a number and a name, and a parent follows somewhere."""
    text = head_text(head)
    return _RECORD.match(text) is not None and _BELOW.search(text) is not None


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read the graph as a hierarchy; a node is assignable if it says so, else if it is a leaf.

    A parent that is not a node goes by ``number 7`` in messages and among the dropped edges.
    """
    nodes = read_nodes(path)
    node_of = {one.number: one.node for one in nodes}
    by_name = Reading(
        "nodes go by 'name'", f"{GRAPH} has such numbers as ids", len(nodes),
        "--hierarchy-format tree", "nodes",
    )  # fmt: skip
    return hierarchy_of(
        path,
        [
            (one.node, node_of.get(parent) or _no_node(parent, node_of.values()))
            for one in nodes
            for parent in one.parents
        ],
        [(one.node, one.title or None, one.assignable) for one in nodes],
        dangling=shape.dangling,
        readings=() if path.name == GRAPH or any(one.title for one in nodes) else (by_name,),
    )


FORMAT = HierarchyFormat(
    "interface", f"the {GRAPH} of the paper's interface: nodes with id, name and parent", matches,
    read,
)  # fmt: skip


def _is_node(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and _is_number(record.get("id"))
        and all(isinstance(record.get(key, ""), str) for key in ("name", "node", "title"))
        and bool(record.get("name"))
        and record.get("node") != ""
        and isinstance(record.get("assignable"), bool | None)
        and isinstance(record.get("parents", []), list)
        and all(map(_is_number, record.get("parents", [])))
        and (record.get("parent") is None or _is_number(record["parent"]))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _parents(record: dict[str, Any]) -> list[Any]:
    single = record.get("parent")
    return list(dict.fromkeys([*record.get("parents", []), *([] if single is None else [single])]))


def _node(record: dict[str, Any]) -> GraphNode:
    return GraphNode(
        number=record["id"],
        name=record["name"],
        node=record.get("node", record["name"]),
        title=record.get("title", ""),
        parents=tuple(_parents(record)),
        assignable=record.get("assignable"),
    )


def _refuse_ambiguous(nodes: tuple[GraphNode, ...], path: Path) -> None:
    for what in ("number", "name", "node"):
        seen = [getattr(one, what) for one in nodes]
        repeated = [value for value, times in Counter(seen).items() if times > 1]
        if repeated:
            raise SchemaError(
                f"every node must have a {what} of its own", found=first_cases(repeated), where=path
            )


def _no_node(number: int, nodes: Collection[str]) -> str:
    """A name for a number that no node has, which is the id of none either."""
    name = f"number {number}"
    while name in nodes:
        name = f"{name}?"
    return name
