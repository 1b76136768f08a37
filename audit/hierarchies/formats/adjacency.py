"""Adjacency lists: a node and those below it on a line, as taxonomies of text classification."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from audit.base.files import read_lines
from audit.hierarchies.formats.format import HierarchyFormat, Shape, head_lines, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy


def matches(_: Path, head: bytes) -> bool:
    """Whether the first name on each line but the first stands behind one on a line before.

    Each node stands below one, and one line at least has two behind its first: else these are edges
    or paths. No line is a comment.
    """
    if b"\n#" in head:
        return False
    lines = _names(head_lines(head))
    below = [name for _, *names in lines for name in names]
    known = {name for name, *_ in lines[:1]}
    for node, *names in lines:
        if node not in known:
            return False
        known |= {*names}
    return len(lines) > 1 and max(map(len, lines)) > 2 and len(known) == len(below) + 1


def read(path: Path, _: Shape) -> Hierarchy:
    """Read lines of a node and those below it, which tabs part; a name is declared by appearing.

    A node is assignable if it is a leaf, and may stand below several.
    """
    lines = _names(line for _, line in read_lines(path))
    edges = [(child, node) for node, *below in lines for child in below]
    nodes = dict.fromkeys(name for line in lines for name in line)
    rows = [(node, None, None) for node in nodes]
    return hierarchy_of(path, edges, rows)


def _names(lines: Iterable[str]) -> list[list[str]]:
    parts = ([name.strip() for name in line.split("\t") if name.strip()] for line in lines)
    return [names for names in parts if names]


FORMAT = HierarchyFormat(
    "adjacency", "a line a node: the node, and behind tabs those below it", matches, read
)
