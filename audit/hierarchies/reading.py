"""Built-in hierarchies and readers of hierarchy files, one format a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn, TypeAlias

import polars as pl

from audit.base.choices import Dangling, Unlisted
from audit.base.errors import FormatError, InputError
from audit.base.files import first_bytes, refuse_pickle
from audit.hierarchies.building import EDGE_SCHEMA
from audit.hierarchies.formats import (
    audioset,
    caml,
    dotted,
    edges,
    interface,
    obo,
    obographs,
    tree,
    wordnet,
)
from audit.hierarchies.formats.format import BuiltInHierarchy, HierarchyFormat
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd import icd9cm, icd10cm

FORMATS: tuple[HierarchyFormat, ...] = (
    edges.FORMAT,
    caml.FORMAT,
    obo.FORMAT,
    obographs.FORMAT,
    audioset.FORMAT,
    interface.FORMAT,
    tree.FORMAT,
    dotted.FORMAT,
)
FOLDERS: tuple[HierarchyFormat, ...] = (wordnet.FORMAT,)
"""Formats of hierarchies that are stored in folders."""

BUILT_IN: tuple[BuiltInHierarchy, ...] = (icd9cm.BUILT_IN, icd10cm.BUILT_IN)


HierarchyName: TypeAlias = str | Path | Mapping[str, str | Sequence[str] | None]
"""The name or path of a hierarchy; or the parent, or list of parents, of each child."""


def load_hierarchy(
    source: HierarchyName,
    *,
    format: str | None = None,
    relations: tuple[str, ...] = (),
    unlisted: Unlisted | None = None,
    dangling: Dangling | None = None,
) -> Hierarchy:
    """Load a built-in hierarchy by its name, or read one from a file or a folder.

    Args:
        source: A name from `BUILT_IN`, in any case, a path, or a dictionary of the parent, or list
            of parents, of each child.
        format: A name from `FORMATS` or `FOLDERS`; None: detected from the file.
        relations: For OBO and OBO Graphs, relationship types to use as edges besides ``is_a``; for
            WordNet, the single relation to use: ``hypernym`` or ``holonym``.
        unlisted: Treatment of labels that the hierarchy lacks; None: a hierarchy from a file
            refuses them, a built-in classification adds them where their digits place them.
        dangling: Treatment of edges with an end that is not a node; None: they are refused. Those
            that are dropped are kept as `Hierarchy.dropped`.

    Raises:
        FormatError: If not exactly one format matches the file.
        HierarchyError: On a cycle, or a dangling edge that is not to be dropped.
        InputError: If the file cannot be read.
    """
    if isinstance(source, Mapping):
        return _of_parents(source)
    if (built_in := built_in_named(source)) is not None:
        if relations:
            _refuse_relations(built_in.name)
        known = built_in.load()
        return replace(known, unlisted="refuse") if unlisted == "refuse" else known
    path = Path(source)
    for folder in FOLDERS:
        if folder.matches(path, b"") and format in (None, folder.name):
            return _of_file(
                folder.read(path, relations, dangling or "refuse"), unlisted or "refuse"
            )
    if path.is_dir() or not path.exists():
        raise InputError(
            "a built-in hierarchy or a hierarchy file is required",
            found=repr(str(source)),
            hint=_near(path),
        )
    head = first_bytes(path)
    refuse_pickle(path, head)
    chosen = _format_of(path, head, format)
    if relations and chosen not in (obo.FORMAT, obographs.FORMAT):
        _refuse_relations(chosen.name)
    return _of_file(chosen.read(path, relations, dangling or "refuse"), unlisted or "refuse")


def _of_parents(given: Mapping[str, str | Sequence[str] | None]) -> Hierarchy:
    edges = [
        (child, parent)
        for child, parents in given.items()
        for parent in ([parents] if isinstance(parents, str) else parents or [])
    ]
    frame = pl.DataFrame(edges, schema=EDGE_SCHEMA, orient="row")
    return Hierarchy.build(frame, name="given")


def built_in_named(name: str | Path) -> BuiltInHierarchy | None:
    """The built-in hierarchy of a name, case, dashes and blanks ignored; None if it is none."""
    plain = _PLAIN.sub("", str(name)).lower()
    return next((known for known in BUILT_IN if known.name == plain), None)


_PLAIN = re.compile(r"[-_ ]")


def _near(path: Path) -> str:
    """The names nearest to one that is neither built in nor there."""
    names = [known.name for known in BUILT_IN]
    plain = _PLAIN.sub("", path.name).lower()
    meant = get_close_matches(plain, names, n=1)
    beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    meant += [str(path.parent / name) for name in get_close_matches(path.name, beside, n=1)]
    guess = f"did you mean {' or '.join(meant)}? " if meant else ""
    return f"{guess}built in: {', '.join(names)}"


def _of_file(hierarchy: Hierarchy, unlisted: Unlisted) -> Hierarchy:
    """The hierarchy that a file states completely, unless labels that it lacks are to hang."""
    coding = hierarchy.coding
    if unlisted == "hang" and coding is None:
        raise InputError(
            "labels can be hung only where a classification says what their digits mean",
            found=f"no such rules for {hierarchy.name}",
            hint="leave --unlisted out: labels that the file lacks are then refused and counted",
        )
    if unlisted == "hang" or coding is None or coding.integrity is None:
        return replace(hierarchy, unlisted=unlisted)
    tables = frozenset(filter(None, map(coding.integrity.table_of, hierarchy.nodes)))
    return replace(hierarchy, unlisted=unlisted, complete_tables=tables)


def _refuse_relations(name: str) -> NoReturn:
    raise InputError(
        "relations can be chosen only in OBO files, OBO Graphs and WordNet",
        found=f"relations for {name}",
        hint="leave --relations out",
    )


def _format_of(path: Path, head: bytes, name: str | None) -> HierarchyFormat:
    if not head.strip():
        raise InputError("a hierarchy file with content is required", found="nothing", where=path)
    matching = [
        known for known in FORMATS if (known.name == name if name else known.matches(path, head))
    ]
    if len(matching) != 1:
        raise FormatError(
            "exactly one hierarchy format must match",
            found=", ".join(known.name for known in matching) or "none that matches",
            where=path,
            hint="; ".join(f"{known.name}: {known.title}" for known in matching or FORMATS),
        )
    return matching[0]
