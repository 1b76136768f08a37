"""Built-in hierarchies and readers of hierarchy files, one format a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from audit.base.errors import FormatError, InputError
from audit.base.files import first_bytes, refuse_pickle
from audit.hierarchies.coding import Unlisted
from audit.hierarchies.formats import audioset, caml, dotted, edges, obo, tree, wordnet
from audit.hierarchies.formats.format import BuiltInHierarchy, HierarchyFormat
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd import icd9cm, icd10cm

FORMATS: tuple[HierarchyFormat, ...] = (
    edges.FORMAT,
    caml.FORMAT,
    obo.FORMAT,
    audioset.FORMAT,
    tree.FORMAT,
    dotted.FORMAT,
)
FOLDERS: tuple[HierarchyFormat, ...] = (wordnet.FORMAT,)
"""Formats of hierarchies that are stored in folders."""

BUILT_IN: tuple[BuiltInHierarchy, ...] = (icd9cm.BUILT_IN, icd10cm.BUILT_IN)


def load_hierarchy(
    source: str | Path,
    *,
    format: str | None = None,
    relations: tuple[str, ...] = (),
    unlisted: Unlisted | None = None,
) -> Hierarchy:
    """Load a built-in hierarchy by its name, or read one from a file or a folder.

    Args:
        source: A name from `BUILT_IN`, or a path.
        format: A name from `FORMATS` or `FOLDERS`; None: detected from the file.
        relations: For OBO, relationship types to use as edges besides ``is_a``; for WordNet, the
            single relation to use: ``hypernym`` or ``holonym``.
        unlisted: Treatment of labels that the hierarchy lacks; None: a hierarchy from a file
            refuses them, a built-in classification adds them where their digits place them.

    Raises:
        FormatError: If not exactly one format matches the file.
        HierarchyError: On a cycle or an undeclared parent.
        InputError: If the file cannot be read.
    """
    for built_in in BUILT_IN:
        if source == built_in.name:
            if relations:
                _refuse_relations(built_in.name)
            known = built_in.load()
            return replace(known, unlisted="refuse") if unlisted == "refuse" else known
    path = Path(source)
    for folder in FOLDERS:
        if folder.matches(path, b"") and format in (None, folder.name):
            return _of_file(folder.read(path, relations), unlisted or "refuse")
    if path.is_dir() or not path.exists():
        raise InputError(
            "a built-in hierarchy or a hierarchy file is required",
            found=repr(str(source)),
            hint=f"built in: {', '.join(built_in.name for built_in in BUILT_IN)}",
        )
    head = first_bytes(path)
    refuse_pickle(path, head)
    chosen = _format_of(path, head, format)
    if relations and chosen is not obo.FORMAT:
        _refuse_relations(chosen.name)
    return _of_file(chosen.read(path, relations), unlisted or "refuse")


def _of_file(hierarchy: Hierarchy, unlisted: Unlisted) -> Hierarchy:
    """The hierarchy that a file states completely, unless labels that it lacks are to hang."""
    coding = hierarchy.coding
    if unlisted == "hang" and coding is None:
        raise InputError(
            "labels can be hung only where a classification says what their digits mean",
            found=f"no such rules for {hierarchy.name}",
            hint="leave --unlisted out: labels that the file lacks are refused and told",
        )
    if unlisted == "hang" or coding is None or coding.integrity is None:
        return replace(hierarchy, unlisted=unlisted)
    tables = frozenset(filter(None, map(coding.integrity.table_of, hierarchy.nodes)))
    return replace(hierarchy, unlisted=unlisted, complete_tables=tables)


def _refuse_relations(name: str) -> NoReturn:
    raise InputError(
        "relations are chosen in OBO files and WordNet alone",
        found=f"relations asked of {name}",
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
