"""Records of nodes, rows of tables and objects of JSON: their titles, and what is obsolete."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from audit.base.errors import SchemaError, first_cases
from audit.base.readings import Reading
from audit.hierarchies.formats import names
from audit.hierarchies.formats.format import EdgeRow, Shape, hierarchy_of, titles_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.retired import CONSIDER, OBSOLETE, REPLACED_BY, Obsolete, retired_ids

Record: TypeAlias = tuple[str, str | None, Mapping[str, Any]]
"""Id and title of a node, and what its record states."""


def hierarchy_of_records(
    path: Path,
    edges: Iterable[EdgeRow],
    records: Sequence[Record],
    shape: Shape,
    readings: Sequence[Reading],
    missing: Collection[str] = (),
) -> Hierarchy:
    """Build the hierarchy of records, in which leaves are assignable, without what is obsolete.

    A parent without a record is a node; one that is obsolete, or ``missing``, is dangling.

    Raises:
        SchemaError: On a node of two titles, a flag that is neither true nor false, an id that is
            obsolete in some of its records alone, or a successor that is no id.
    """
    obsolete = _obsolete(records)
    gone = {one.id for one in obsolete}
    titles = titles_of(((node, title) for node, title, _ in records if node not in gone))
    kept = [(child, parent) for child, parent in edges if child not in gone]
    for _, parent in kept:
        if parent not in gone and parent not in missing:
            titles.setdefault(parent, None)
    return hierarchy_of(
        path,
        kept,
        [(node, title or None, None) for node, title in titles.items()],
        coding=retired_ids(titles, obsolete),
        dangling=shape.dangling,
        members=shape.ids or "names",
        readings=readings,
    )


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
