"""The ICD-10-CM classification, from the library simple-icd-10-cm."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple

import polars as pl

from audit.base.errors import InputError
from audit.hierarchies.formats.format import BuiltInHierarchy
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd10 import DIAGNOSES, INTEGRITY, ICD10Coding
from audit.hierarchies.icd.icd10cm_notes import Tabular, companions, exclusions, is_range
from audit.hierarchies.icd.once_valid import once_valid

ROOT = "ICD-10-CM"

_CODE_LIST = re.compile(r"code-list-(.+)\.txt")
_TITLED_RANGE = re.compile(r"(.+) \((\S+)\)")


class _Node(NamedTuple):
    node: str
    parent: str | None
    title: str
    excludes1: list[str]
    code_first: str = ""
    use_additional: str = ""


def _load() -> Hierarchy:
    library = _library()
    release = _release()
    nodes = [_Node(ROOT, None, f"ICD-10-CM, release {release}", []), *_nodes(library)]
    frame = pl.DataFrame(
        [node[:3] for node in nodes], schema=["node", "parent", "title"], orient="row"
    )
    hierarchy = Hierarchy.build(
        frame.select(pl.col("node").alias("child"), "parent").drop_nulls(),
        frame.select("node", "title"),
        name="icd10cm",
        labelled_ancestors="fault",
        coding=ICD10Coding(
            integrity=replace(
                INTEGRITY,
                editions={DIAGNOSES: f"release {release}"},
                years=once_valid(DIAGNOSES),
            )
        ),
        complete_tables=frozenset({DIAGNOSES}),
    )
    tabular = Tabular({node.node: node.parent for node in nodes})
    notes = ((node.node, text) for node in nodes for text in node.excludes1)
    return replace(
        hierarchy,
        exclusions=exclusions(tabular, notes, release=release),
        companions=companions(
            tabular,
            [(node.node, node.code_first) for node in nodes if node.code_first],
            [(node.node, node.use_additional) for node in nodes if node.use_additional],
            release=release,
        ),
    )


def _library() -> Any:
    """The library, which reads its files at import in a way that Python 3.11 warns of."""
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            import simple_icd_10_cm
    except ImportError:
        raise InputError(
            "ICD-10-CM is read from the library simple-icd-10-cm",
            found="no simple-icd-10-cm",
            hint="pip install 'hierarchy-audit[icd10]'",
        ) from None
    return simple_icd_10_cm


def _release() -> str:
    """The release that the library's files are named after: ``April 2026``."""
    names = (entry.name for entry in files("simple_icd_10_cm.data").iterdir())
    found = [match.group(1) for name in names if (match := _CODE_LIST.fullmatch(name))]
    if len(found) != 1:
        raise InputError(
            "simple-icd-10-cm must hold one release of ICD-10-CM",
            found=f"{len(found)} lists of codes",
            hint="pip install 'simple-icd-10-cm==1.5.0'",
        )
    return found[0].replace("-", " ")


def _nodes(library: Any) -> Iterator[_Node]:
    """Every node but the root, in tabular order.

    Chapters are called after their range, and a block of a single category too (``B20-B20``): the
    library lists both under the category's name, the block first. A block that is only a heading
    (``C00-C75``) has no children in the library; here the blocks within its range hang under it.
    """
    headings: list[str] = []
    seen: set[str] = set()
    for name in library.get_all_codes(True):
        range_first = name not in seen
        seen.add(name)
        title = library.get_description(name, range_first)
        parent = library.get_parent(name, range_first)
        notes = (
            library.get_excludes1(name, range_first),
            library.get_code_first(name, prioritize_blocks=range_first),
            library.get_use_additional_code(name, prioritize_blocks=range_first),
        )
        if "." in name:
            yield _Node(name, parent, title, *notes)
        elif library.is_chapter(name):
            title, chapter = _titled_range(title)
            headings = [chapter]
            yield _Node(chapter, ROOT, title, *notes)
        elif range_first and library.is_block(name):
            block = _range(name)
            while not _reaches(headings[-1], block):
                headings.pop()
            yield _Node(block, headings[-1], _titled_range(title)[0], *notes)
            if library.is_leaf(name, range_first):
                headings.append(block)
        else:
            yield _Node(name, _range(parent), title, *notes)


def _reaches(outer: str, inner: str) -> bool:
    """Whether a range goes at least as far as one that does not begin before it."""
    return outer.partition("-")[2] >= inner.partition("-")[2]


def _titled_range(title: str) -> tuple[str, str]:
    """A title and the range in the bracket that ends it."""
    match = _TITLED_RANGE.fullmatch(title)
    return (match.group(1), match.group(2)) if match else (title, "")


def _range(name: str) -> str:
    return name if is_range(name) else f"{name}-{name}"


BUILT_IN = BuiltInHierarchy(
    name="icd10cm",
    title="ICD-10-CM, April 2026: all diagnoses, with notes on other codes (extra icd10)",
    load=_load,
)
