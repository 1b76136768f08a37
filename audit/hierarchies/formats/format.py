"""The records that register hierarchies, and helpers shared by readers of hierarchy files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar

import polars as pl

from audit.base.dag import EDGE_SCHEMA, NODE_SCHEMA
from audit.base.errors import AuditError, SchemaError
from audit.base.readings import Reading
from audit.base.settings import WITH_POLICY
from audit.hierarchies.coding import Entry, retired_ids
from audit.hierarchies.hierarchy import Hierarchy

EdgeRow: TypeAlias = tuple[str, str]
"""``child, parent``."""
_T = TypeVar("_T")
WITH_IDS = "write a table of child,parent,title with ids"
"""What decides otherwise where names are all that a file has of its nodes."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What the user says of a hierarchy file.

    Args:
        relations: Edge types that count besides the format's own.
        child: Column or key of a node's id.
        parent: Column or key of its parents.
        title: Column or key of its title.
        levels: Columns of a table with a column a level, from the top down; one: of paths.
        sep: What joins the names of a path, or the parents in a cell.
        children: Key of the nodes below a node, in JSON.
        vocabulary: The vocabulary, where there are several.
    """

    relations: tuple[str, ...] = ()
    child: str | None = None
    parent: str | None = None
    title: str | None = None
    levels: tuple[str, ...] = ()
    sep: str | None = None
    children: str | None = None
    vocabulary: str | None = None


@dataclass(frozen=True)
class HierarchyFormat:
    """One format of hierarchy files.

    Args:
        name: What ``--hierarchy-format`` and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a file is of this format, from its path and its first bytes.
        read: Reads a file, in the shape that is stated.
        takes: Fields of a `Shape` that say something of such files.
    """

    name: str
    title: str
    matches: Callable[[Path, bytes], bool]
    read: Callable[[Path, Shape], Hierarchy]
    takes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class BuiltInHierarchy:
    """One hierarchy that comes with the package."""

    name: str
    title: str
    load: Callable[[], Hierarchy]


def head_text(head: bytes) -> str:
    """The first bytes of a file as text, without byte order mark and leading whitespace.

    Bytes that cannot be decoded are replaced; the reader of the format refuses them later.
    """
    wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    return head.decode("utf-16" if wide else "utf-8-sig", errors="replace").lstrip()


def begins(pattern: str) -> Callable[[Path, bytes], bool]:
    """A function of a path and first bytes: whether the text of these begins by a pattern."""
    begin = re.compile(pattern, re.DOTALL)
    return lambda _, head: begin.match(head_text(head)) is not None


def shaped(held: Any, read: Callable[[Any], _T], required: str) -> _T:
    """What a function reads of JSON; SchemaError, with what is required, of anything else."""
    try:
        return read(held)
    except (AttributeError, KeyError, TypeError):
        raise SchemaError(required, found=str(held)[:80]) from None


def text(value: Any) -> str:
    """A text that is not empty; TypeError of anything else."""
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def items(value: Any) -> list[Any]:
    """A list; TypeError of anything else."""
    if not isinstance(value, list):
        raise TypeError
    return value


@contextmanager
def reading_of(path: Path) -> Iterator[None]:
    """Name the file in errors that do not say where they are; refuse half a surrogate pair."""
    try:
        yield
    except AuditError as error:
        error.where = error.where or str(path)
        raise
    except UnicodeEncodeError as error:
        raise SchemaError(
            "ids and titles must be whole characters", found=ascii(error.object), where=path
        ) from None


def titles_of(said: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """The title of each node, said at one place or several; raises SchemaError where it has two."""
    titles: dict[str, str | None] = {}
    for node, title in said:
        known = titles.setdefault(node, title) or title
        if title and title != known:
            found = f"several for {node!r}: {known!r} and {title!r}"
            hint = "keep one row of each edge, that of the preferred title; others are synonyms"
            raise SchemaError("a node has one title", found=found, hint=hint)
        titles[node] = known
    return titles


def hierarchy_of(
    path: Path,
    entries: Sequence[Entry],
    edges: Iterable[EdgeRow] = (),
    *,
    declared: Literal["once", "anywhere"] | None = None,
    same: Mapping[str, str] = MappingProxyType({}),
    readings: Sequence[Reading] = (),
    related: Iterable[EdgeRow] = (),
) -> Hierarchy:
    """Build the hierarchy of what a file states, named after the file, without what is obsolete.

    Ids are read without blanks around. A parent that is obsolete is dangling. A node that is its
    own parent is a group with the name of its member: both are one node, which may be a label. A
    file called as a built-in classification keeps its ending in the name, as the rules that are
    built in are of the whole classification and not of what a file has of it.

    Args:
        path: The file.
        entries: What it states of nodes.
        edges: ``child, parent`` that it states besides.
        declared: Whether both ends of an edge must have an entry, one or any number; None: they are
            nodes by being named.
        same: As in `RetiredIds`.
        readings: What the file was taken to mean, where it touches any rows.
        related: Pairs of ids that it relates otherwise; those of nodes are kept.

    Raises what `Hierarchy.build` raises, and SchemaError on a node with two titles, or one that is
    declared twice.
    """
    gone = {one.node for one in entries if one.obsolete}
    kept = [one for one in entries if one.node not in gone]
    titles = titles_of((one.node, one.title) for one in kept)
    every = [(one.node, parent) for one in kept for parent in one.parents]
    every += [edge for edge in edges if edge[0] not in gone]
    if declared is None:
        titles |= {end: None for e in every for end in e if not (end in titles or end in gone)}
    groups = sorted({child for child, parent in every if child == parent})
    may = {one.node: one.assignable for one in kept if one.assignable is not None}
    may |= dict.fromkeys(groups, True)
    decision = "a class that has the name of its group is one node with it"
    own = repr(groups[0]) if groups else ""
    told = Reading(decision, f"the file puts {own} below {own}", len(groups), WITH_IDS, "edges")
    listed = [one.node for one in kept] if declared == "once" else titles
    nodes = [(node.strip(), titles[node] or None, may.get(node)) for node in listed]
    apart = [(child.strip(), parent.strip()) for child, parent in every if child != parent]
    file = Path(path.name.removesuffix(".gz"))
    built = Hierarchy.build(
        pl.DataFrame(apart, EDGE_SCHEMA, orient="row"),
        pl.DataFrame(nodes, NODE_SCHEMA, orient="row"),
        name=file.name if file.stem in WITH_POLICY else file.stem,
        coding=retired_ids(titles, entries, same),
        readings=tuple(one for one in (*readings, told) if one.rows),
    )
    pairs = {pair for pair in related if pair[0] in built and pair[1] in built}
    return replace(built, related=tuple(sorted(pairs)))
