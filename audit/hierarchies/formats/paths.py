"""Paths: nodes as all names on the way to them, joined by a sign, or a column a level."""

from __future__ import annotations

import re
from pathlib import Path

from audit.base.errors import SchemaError
from audit.base.files import SNIFFED_BYTES, read_lines
from audit.base.limits import PARTS
from audit.base.readings import Reading
from audit.hierarchies.formats import caml, edges, levels, mesh, names, obo
from audit.hierarchies.formats.format import (
    PATH_SIGN,
    HierarchyFormat,
    Names,
    Shape,
    bare_suffix,
    head_text,
    hierarchy_of_paths,
)
from audit.hierarchies.hierarchy import Hierarchy

_NUMBERED = re.compile(r"([\w:.-]*\d[\w:.-]*)(?: - |\t|,|;)\s*(.+)")


def matches(path: Path, head: bytes) -> bool:
    """Whether the lines of a text file are paths whose names a sign of `SIGNS` joins."""
    others = (edges, levels, obo, caml.FORMAT, mesh)
    if not _is_text(path, head) or any(one.matches(path, head) for one in others):
        return False
    if _is_dotted(path, head):
        return False
    return names.sign_of(_lines(head)) is not None


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read paths, one a line, perhaps behind an id; a node's id is its whole path, if it has none.

    Paths that have a line of their own are assignable, their ancestors without one are not. Blank
    lines and lines that start with ``#`` are ignored.

    Nothing is dangling: a path declares all nodes above it.

    Raises:
        HierarchyError: If there is no path.
        SchemaError: On an empty part, as in ``a > > b``.
        InputError: If the file cannot be read, or a path has very many parts.
    """
    rows = _rows(path)
    sign = names.sign_of([line for *_, line in rows]) or PATH_SIGN
    split = [(_split(path, number, line, sign), node) for number, node, line in rows]
    listed = {place for place, *_ in split}
    certain = all(place[:-1] in listed for place in listed if len(place) > 1)
    told = Reading(
        f"{sign.strip()!r} joins the names of a path", "half of the lines have it, or more",
        sum(len(place) > 1 for place, *_ in split), "--hierarchy-format dotted", "lines",
    )  # fmt: skip
    return hierarchy_of_paths(
        path, split, shape.ids or "paths", sign, readings=() if certain else (told,)
    )


def read_dotted(path: Path, shape: Shape) -> Hierarchy:
    """Read paths whose names dots join, one a line, as `read`."""
    rows = [(number, line.strip()) for number, line in read_lines(path) if line[0] != "#"]
    listed = ((_split(path, number, line, "."), None) for number, line in rows)
    return hierarchy_of_paths(path, listed, shape.ids or "paths", ".")


def _rows(path: Path) -> list[tuple[int, str | None, str]]:
    """Number, what stands before the path where that is so in all lines, and path of each line."""
    lines = [(n, line.strip()) for n, line in read_lines(path) if not line.startswith("#")]
    found = [_NUMBERED.fullmatch(line) for _, line in lines]
    if all(found):
        return [(n, one[1], one[2]) for (n, _), one in zip(lines, found, strict=True) if one]
    return [(n, None, line) for n, line in lines]


def _split(path: Path, number: int, line: str, sign: str) -> Names:
    inner = line if sign == "." else line.strip(sign)
    place = tuple(part.strip() for part in inner.split(sign))
    PARTS.refuse_beyond(len(place), f"{path}:{number}")
    if not all(place):
        raise SchemaError(
            f"every part between {'dots' if sign == '.' else repr(sign.strip())} must have a name",
            found=repr(line),
            where=f"{path}:{number}",
        )
    return place


def _is_dotted(path: Path, head: bytes) -> bool:
    """Whether the file is plain text with one word on each line, at least one with a dot."""
    lines = _lines(head)
    words = not any(blank in line for line in lines for blank in "\t, ") and _is_text(path, head)
    return words and any("." in line for line in lines) and not mesh.matches(path, head)


FORMAT = HierarchyFormat(
    "paths", "paths, one per line: Animals > Dogs > Poodle", matches, read, frozenset({"ids"})
)
DOTTED = HierarchyFormat(
    "dotted", "dotted paths, one per line: rec.sport.hockey", _is_dotted, read_dotted,
    frozenset({"ids"}),
)  # fmt: skip


def _is_text(path: Path, head: bytes) -> bool:
    named = bare_suffix(path) in ("", ".txt", ".dotted", ".paths", ".bin")
    return named and not head_text(head).startswith(("{", "[", "@", "<"))


def _lines(head: bytes) -> list[str]:
    """The first lines, but the last one, which may be cut off."""
    lines = head_text(head).rstrip("\n").split("\n")
    lines = lines if len(head) < SNIFFED_BYTES else lines[:-1]
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
