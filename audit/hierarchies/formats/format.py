"""The records that register hierarchies, and helpers shared by readers of hierarchy files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import polars as pl

from audit.base.errors import AuditError, SchemaError, first_cases
from audit.base.files import SNIFFED_BYTES
from audit.base.readings import Reading
from audit.base.settings import WITH_POLICY
from audit.hierarchies.building import EDGE_SCHEMA, NODE_SCHEMA
from audit.hierarchies.coding import CONSIDER, OBSOLETE, REPLACED_BY, Coding, Obsolete, retired_ids
from audit.hierarchies.formats import names
from audit.hierarchies.hierarchy import Hierarchy

EdgeRow: TypeAlias = tuple[str, str]
"""``child, parent``."""

NodeRow: TypeAlias = tuple[str, str | None, bool | None]
"""``node, title, assignable``; null where the file does not say."""


Names: TypeAlias = tuple[str, ...]
"""The names on the way from the top to a node, that of the node last."""
PATH_SIGN = " > "
"""What joins them in an id."""
WITH_IDS = "write a table of child,parent,title with ids"
"""What decides otherwise where names are all that a file has of its nodes."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What the user says of a hierarchy file.

    Args:
        relations: Edge types that count besides the format's own.
        child: Column or key of a node's id; of a table without a header the number of the column.
        parent: Column or key of its parents.
        title: Column or key of its title.
        levels: Columns of a table with a column a level, from the top down.
        vocabulary: The vocabulary, where there are several.
        instances: Whether the rows are instances, so that what each row alone has is no node.
    """

    relations: tuple[str, ...] = ()
    child: str | None = None
    parent: str | None = None
    title: str | None = None
    levels: tuple[str, ...] = ()
    vocabulary: str | None = None
    instances: bool = False


@dataclass(frozen=True)
class HierarchyFormat:
    """One format of hierarchy files.

    Args:
        name: What ``--format`` and ``audit list formats`` call it.
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

    Bytes that are not UTF-8 are replaced; the reader of the detected format refuses them later.
    """
    return head.decode("utf-8-sig", errors="replace").lstrip()


def head_lines(head: bytes) -> list[str]:
    """The first lines that are no comments, but the last one, which may be cut off."""
    lines = head_text(head).rstrip("\n").split("\n")
    lines = lines if len(head) < SNIFFED_BYTES else lines[:-1]
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def bare_suffix(path: Path) -> str:
    """The suffix in lower case, without that of gzip: ``.obo`` of ``GO.OBO.gz``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


@contextmanager
def reading_of(path: Path, copy: Path | None = None) -> Iterator[None]:
    """Name the file in errors that do not say where they are, or name the copy that is read; refuse
    half a surrogate pair."""
    try:
        yield
    except AuditError as error:
        error.where = error.where.replace(str(copy or path), str(path)) or str(path)
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


def hierarchy_of_paths(
    path: Path,
    rows: Iterable[tuple[Names, str | None]],
    sign: str = PATH_SIGN,
    *,
    by_name: bool = False,
    titles: Mapping[Names, str] = MappingProxyType({}),
    readings: Sequence[Reading] = (),
) -> Hierarchy:
    """Build the hierarchy of paths, each with the id of its end where it has any.

    Paths that are listed are assignable, and so is what nothing lies below. Nodes without an id go
    by their paths, which ``sign`` joins, or ``by_name``. A name that stands at several places is
    several nodes: a leaf keeps it if it is the only leaf of that name, others go by their paths.
    ``titles`` are those of any nodes, by their paths.
    """
    listed = dict[Names, str | None]()
    for place, node in rows:
        listed[place] = node or listed.get(place)
    places = list(dict.fromkeys(p[:n] for p in sorted(listed) for n in range(1, len(p) + 1)))
    inner = {place[:-1] for place in places}
    of_name = defaultdict[str, list[Names]](list)
    for place in places:
        of_name[place[-1]].append(place)

    def named(place: Names) -> str:
        alike = of_name[place[-1]]
        if by_name and [place] in (alike, [one for one in alike if one not in inner]):
            return place[-1]
        return sign.lstrip() * (by_name and len(place) == 1) + sign.join(place)

    node_of = {place: listed.get(place) or named(place) for place in places}

    def titled(place: Names) -> str | None:
        own = None if by_name and node_of[place] == place[-1] else place[-1]
        return titles.get(place) or own

    several = sum(len(alike) > 1 for alike in of_name.values()) if by_name else 0
    told = Reading(
        "names at several places of the hierarchy are several nodes",
        "they have other names above them; those that are not the only leaf go by their paths",
        several, WITH_IDS, "names",
    )  # fmt: skip
    return hierarchy_of(
        path,
        [(node_of[place], node_of[place[:-1]]) for place in places if len(place) > 1],
        [(node_of[p], titled(p), p in listed or p not in inner) for p in places],
        readings=[*readings, *([told] if several else [])],
    )


Record: TypeAlias = tuple[str, str | None, Mapping[str, Any]]
"""Id and title of a node, and what its record states."""


def hierarchy_of_records(
    path: Path,
    edges: Iterable[EdgeRow],
    records: Sequence[Record],
    readings: Sequence[Reading],
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
    groups = {child.strip() for child, parent in kept if child.strip() == parent.strip()}
    own = sorted(groups)
    told = [Reading(
        "a class that has the name of its group is one node with it",
        f"the file puts {own[0]!r} below {own[0]!r}", len(own), WITH_IDS, "edges",
    )] if own else []  # fmt: skip
    built = hierarchy_of(
        path,
        [(child, parent) for child, parent in kept if child.strip() != parent.strip()],
        [(node, title or None, node.strip() in groups or None) for node, title in titles.items()],
        coding=retired_ids(titles, obsolete),
        readings=[*readings, *told],
    )
    return replace(built, faults={"member_named_alike": tuple((o,) for o in own)} if own else {})


def _obsolete(records: Sequence[Record]) -> list[Obsolete]:
    """What all records of obsolete ids say of their successors."""
    gone, there = set[str](), set[str]()
    for node, _, stated in records:
        flags = [_flag(node, name, stated[name]) for name in OBSOLETE if name in stated]
        if any(flags):
            gone.add(node)
        elif False in flags:
            there.add(node)
    if torn := sorted(gone & there):
        raise SchemaError(
            "a node is obsolete in all of its records or in none",
            found=f"both for {first_cases(torn)}",
        )
    return [
        Obsolete(node, *(_successors(node, n, stated.get(n)) for n in (REPLACED_BY, CONSIDER)))
        for node, _, stated in records
        if node in gone
    ]


_FLAGS = {"true": True, "1": True, "false": False, "0": False, "none": None, "": None}


def _flag(node: str, name: str, stated: Any) -> bool | None:
    """Whether a value says true or false; None if it says nothing."""
    word = str(stated).strip().lower()
    if word not in _FLAGS:
        raise SchemaError(
            f"{name!r} must be true or false, or 1 or 0",
            found=f"{stated!r} at {node!r}",
            hint="give it another name if it says something else",
        )
    return _FLAGS[word]


def _successors(node: str, name: str, stated: Any) -> tuple[str, ...]:
    """The ids under a name: one, a list of them, or none."""
    ids = stated if isinstance(stated, list) else [] if stated in (None, "") else [stated]
    if not all(map(names.is_id, ids)):
        raise SchemaError(
            f"{name!r} must be an id or a list of ids",
            found=f"{stated!r} at {node!r}",
        )
    return tuple(map(names.id_of, ids))
