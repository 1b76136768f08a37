"""The records that register hierarchies, and helpers shared by readers of hierarchy files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import polars as pl

from audit.base.choices import Dangling
from audit.base.errors import AuditError, SchemaError
from audit.hierarchies.building import EDGE_SCHEMA, NODE_SCHEMA
from audit.hierarchies.coding import Coding
from audit.hierarchies.hierarchy import Hierarchy

EdgeRow: TypeAlias = tuple[str, str]
"""``child, parent``."""

NodeRow: TypeAlias = tuple[str, str | None, bool | None]
"""``node, title, assignable``; null where the file does not say."""


@dataclass(frozen=True)
class HierarchyFormat:
    """One format of hierarchy files.

    Args:
        name: What ``--format`` and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a file is of this format, from its path and its first bytes.
        read: Reads a file; ``relations`` names edge types in addition to the format's own, if
            files of the format may have others; ``dangling`` says how dangling edges are treated.
    """

    name: str
    title: str
    matches: Callable[[Path, bytes], bool]
    read: Callable[[Path, tuple[str, ...], Dangling], Hierarchy]


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


def bare_suffix(path: Path) -> str:
    """The suffix in lower case, without that of gzip: ``.obo`` of ``GO.OBO.gz``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def hierarchy_of(
    path: Path,
    edges: Iterable[EdgeRow],
    nodes: Iterable[NodeRow],
    *,
    coding: Coding | None = None,
    dangling: Dangling = "refuse",
) -> Hierarchy:
    """Build the hierarchy of a file, named after the file.

    Raises:
        HierarchyError: As in `Hierarchy.build`, naming the file.
        SchemaError: As in `Hierarchy.build`, naming the file; or on half a surrogate pair.
    """
    try:
        return Hierarchy.build(
            pl.DataFrame(list(edges), schema=EDGE_SCHEMA, orient="row"),
            pl.DataFrame(list(nodes), schema=NODE_SCHEMA, orient="row"),
            name=Path(path.name.removesuffix(".gz")).stem,
            coding=coding,
            dangling=dangling,
        )
    except AuditError as error:
        error.where = error.where or str(path)
        raise
    except UnicodeEncodeError as error:
        raise SchemaError(
            "ids and titles must be whole characters", found=ascii(error.object), where=path
        ) from None
