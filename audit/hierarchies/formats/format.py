"""The records that register hierarchies, and helpers shared by readers of hierarchy files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import polars as pl

from audit.base.errors import AuditError, SchemaError, first_cases
from audit.base.readings import Reading
from audit.base.settings import WITH_POLICY
from audit.hierarchies.building import EDGE_SCHEMA, NODE_SCHEMA
from audit.hierarchies.coding import CONSIDER, OBSOLETE, REPLACED_BY, Coding, Obsolete, retired_ids
from audit.hierarchies.hierarchy import Hierarchy

EdgeRow: TypeAlias = tuple[str, str]
"""``child, parent``."""
NodeRow: TypeAlias = tuple[str, str | None, bool | None]
"""``node, title, assignable``; null where the file does not say."""
Record: TypeAlias = tuple[str, str | None, Mapping[str, Any]]
"""Id and title of a node, and what its record states."""

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
    edges: Iterable[EdgeRow],
    nodes: Iterable[NodeRow],
    *,
    coding: Coding | None = None,
    readings: Sequence[Reading] = (),
    related: Iterable[EdgeRow] = (),
) -> Hierarchy:
    """Build the hierarchy of a file, named after the file; ids are read without blanks around.

    A file called as a built-in classification keeps its ending in the name, as the rules that are
    built in are of the whole classification and not of what a file has of it.

    Raises what `Hierarchy.build` raises. Of ``related`` those are kept that are nodes.
    """
    table = pl.DataFrame(list(edges), schema=EDGE_SCHEMA, orient="row")
    named = pl.DataFrame(list(nodes), schema=NODE_SCHEMA, orient="row")
    table = table.select(pl.col(*EDGE_SCHEMA).str.strip_chars())
    named = named.with_columns(pl.col("node").str.strip_chars())
    file = Path(path.name.removesuffix(".gz"))
    name = file.name if file.stem in WITH_POLICY else file.stem
    built = Hierarchy.build(table, named, name=name, coding=coding)
    kept = tuple(sorted({pair for pair in related if pair[0] in built and pair[1] in built}))
    return replace(built, readings=tuple(readings), related=kept)


def hierarchy_of_records(
    path: Path, edges: Iterable[EdgeRow], records: Sequence[Record], readings: Sequence[Reading]
) -> Hierarchy:
    """Build the hierarchy of records, in which leaves are assignable, without what is obsolete.

    A parent without a record is a node; one that is obsolete is dangling. A node that is its own
    parent is a group with the name of its member: both are one node, which may be a label.
    """
    obsolete = _obsolete(records)
    gone = {one.id for one in obsolete}
    titles = titles_of(((node, title) for node, title, _ in records if node not in gone))
    kept = [(child, parent) for child, parent in edges if child not in gone]
    for _, parent in kept:
        if parent not in gone:
            titles.setdefault(parent, None)
    groups = {child for child, parent in kept if child == parent}
    own = sorted(groups)
    told = [Reading(
        "a class that has the name of its group is one node with it",
        f"the file puts {own[0]!r} below {own[0]!r}", len(own), WITH_IDS, "edges",
    )] if own else []  # fmt: skip
    built = hierarchy_of(
        path,
        [(child, parent) for child, parent in kept if child != parent],
        [(node, title or None, node in groups or None) for node, title in titles.items()],
        coding=retired_ids(titles, obsolete),
        readings=[*readings, *told],
    )
    return replace(built, faults={"member_named_alike": tuple((o,) for o in own)} if own else {})


_FLAGS = {"true": True, "1": True, "false": False, "0": False, "none": None, "": None}


def _obsolete(records: Sequence[Record]) -> list[Obsolete]:
    """What all records of obsolete ids say of their successors."""
    flags = defaultdict[str, set[bool | None]](set)
    for node, _, stated in records:
        for name in filter(OBSOLETE.__contains__, stated):
            word = str(stated[name]).strip().lower()
            if word not in _FLAGS:
                found = f"{stated[name]!r} at {node!r}"
                raise SchemaError(f"{name!r} must be true or false, or 1 or 0", found=found)
            flags[node].add(_FLAGS[word])
    if torn := sorted(node for node, said in flags.items() if {True, False} <= said):
        required = "a node is obsolete in all of its records or in none"
        raise SchemaError(required, found=f"both for {first_cases(torn)}")
    return [
        Obsolete(node, *(_ids_at(node, one, stated.get(one)) for one in (REPLACED_BY, CONSIDER)))
        for node, _, stated in records
        if True in flags.get(node, ())
    ]


def _ids_at(node: str, name: str, stated: Any) -> tuple[str, ...]:
    """The ids under a name: one, a list of them, or none."""
    ids = stated if isinstance(stated, list) else [] if stated in (None, "") else [stated]
    if not all(isinstance(one, str | int) and not isinstance(one, bool) for one in ids):
        found = f"{stated!r} at {node!r}"
        raise SchemaError(f"{name!r} must be an id or a list of ids", found=found)
    return tuple(str(one).strip() for one in ids)
