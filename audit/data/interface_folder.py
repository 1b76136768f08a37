"""A folder of the interface published with *Abstraction Alignment*: its graph, and lists beside it.

``labels.json`` and ``scores.json`` are lists with an entry for each instance; ``instances.json``,
which ``audit export`` adds, holds their ids, else they are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import read_json
from audit.data.sources import File, Folder, Source
from audit.hierarchies.formats.interface import GRAPH, GraphNode, read_nodes

LABELS, SCORES, CONFUSION, INSTANCES = (
    "labels.json",
    "scores.json",
    "coconfusion.json",
    "instances.json",
)


class InterfaceFolder:
    """The files of such a folder.

    Args:
        source: The folder, or one of its files.

    Raises:
        InputError: If it is not in a file or folder, or lacks the graph.
    """

    def __init__(self, source: Source) -> None:
        self.path = folder_of(source)
        if self.path is None or not (self.path / GRAPH).is_file():
            raise InputError(
                f"a folder with {GRAPH} is required", found=_instead(source), where=source
            )

    def file(self, name: str) -> Path:
        """Path of one of its files."""
        assert self.path is not None
        return self.path / name

    def sources(self, name: str) -> tuple[Path, ...]:
        """The files that are read for a list: the graph, the list, and the ids if there are any."""
        names = (GRAPH, name, INSTANCES)
        return tuple(self.file(one) for one in sorted(names) if self.file(one).is_file())

    def nodes(self) -> tuple[GraphNode, ...]:
        """The nodes of the graph."""
        return read_nodes(self.file(GRAPH))

    def entries(self, name: str, kind: type) -> list[Any]:
        """A list of the folder whose entries are of a kind; raises SchemaError if it is not so."""
        path = self.file(name)
        stated = read_json(path)
        wrong = (
            [one for one in stated if not isinstance(one, kind)] if _filled(stated) else [stated]
        )
        if wrong:
            raise SchemaError(
                f"a list with {_KINDS[kind]} for each instance is required",
                found=first_cases(str(one)[:40] for one in wrong),
                where=path,
            )
        return list(stated)

    def instances(self, n: int) -> tuple[str, ...]:
        """The ids of n instances; raises SchemaError if the folder holds others."""
        path = self.file(INSTANCES)
        if not path.is_file():
            return tuple(map(str, range(n)))
        ids = self.entries(INSTANCES, str)
        if len(ids) != n or len(set(ids)) != n:
            raise SchemaError(
                f"a different id for each of the {n:,} instances is required",
                found=f"{len(ids):,} ids, {len(set(ids)):,} of them different",
                where=path,
            )
        return tuple(ids)


_KINDS: Mapping[type, str] = {list: "a list", dict: "an object", str: "a text"}


def folder_of(source: Source) -> Path | None:
    """The folder that a source is, or that its file is in; None for what is in no file."""
    if isinstance(source, Folder):
        return source.path
    return source.path.parent if isinstance(source, File) else None


def holds(source: Source, name: str) -> bool:
    """Whether a source is a folder with the graph and a list, or that list beside the graph."""
    folder = folder_of(source)
    if folder is None or (isinstance(source, File) and source.path.name != name):
        return False
    return (folder / GRAPH).is_file() and (folder / name).is_file()


def _instead(source: Source) -> str:
    if isinstance(source, Folder):
        names = first_cases(entry.path.name for entry in source.entries)
        return names or "an empty folder"
    return (
        "none beside it" if isinstance(source, File) and source.path.exists() else "nothing there"
    )


def _filled(stated: Any) -> bool:
    return isinstance(stated, list) and bool(stated)
