"""Dotted paths, one a line: ``rec.sport.hockey`` is below ``rec.sport``, that below ``rec``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from audit.base.choices import Dangling
from audit.base.errors import SchemaError
from audit.base.files import read_lines
from audit.base.limits import PARTS
from audit.hierarchies.formats.format import HierarchyFormat, bare_suffix, head_text, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy


def matches(path: Path, head: bytes) -> bool:
    """Whether the file is plain text with one word on each line, at least one with a dot."""
    text = head_text(head)
    lines = [line.strip() for line in text.split("\n") if not line.startswith("#")]
    return (
        bare_suffix(path) in ("", ".txt", ".dotted")
        and not text.startswith(("{", "["))
        and any("." in line for line in lines)
        and not any(blank in line for line in lines for blank in "\t, ")
    )


def read(path: Path, relations: tuple[str, ...] = (), dangling: Dangling = "refuse") -> Hierarchy:
    """Read dotted paths; a node's id is its whole path, its title the last part.

    Paths that have a line of their own are assignable, their ancestors without one are not. Blank
    lines and lines that start with ``#`` are ignored.

    Nothing is dangling: a path declares all nodes above it.

    Raises:
        HierarchyError: If there is no path.
        SchemaError: On an empty part, as in ``a..b``.
        InputError: If the file cannot be read, or a path has very many parts.
    """
    listed = set(_paths(path))
    nodes = dict.fromkeys(prefix for line in sorted(listed) for prefix in _prefixes(line))
    return hierarchy_of(
        path,
        [(node, node.rpartition(".")[0]) for node in nodes if "." in node],
        [(node, node.rpartition(".")[2], node in listed) for node in nodes],
    )


FORMAT = HierarchyFormat("dotted", "dotted paths, one per line: rec.sport.hockey", matches, read)


def _paths(path: Path) -> Iterator[str]:
    for number, line in read_lines(path):
        line = line.strip()
        if line.startswith("#"):
            continue
        parts = line.split(".")
        PARTS.refuse_beyond(len(parts), f"{path}:{number}")
        if not all(part.strip() for part in parts):
            raise SchemaError(
                "every part between dots must have a name",
                found=repr(line),
                where=f"{path}:{number}",
            )
        yield line


def _prefixes(line: str) -> Iterator[str]:
    """``a``, ``a.b`` and ``a.b.c`` of ``a.b.c``."""
    parts = line.split(".")
    return (".".join(parts[:n]) for n in range(1, len(parts) + 1))
