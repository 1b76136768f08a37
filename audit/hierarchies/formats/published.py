"""Hierarchies whose publishers fixed the form: AudioSet, Open Images, COCO, and CAML's titles of
codes."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from audit.base.errors import FormatError, HierarchyError, SchemaError, first_cases
from audit.base.files import read_json, read_lines
from audit.base.readings import Reading
from audit.hierarchies.building import EDGE_SCHEMA, NODE_SCHEMA
from audit.hierarchies.coding import Entry
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Shape,
    begins,
    head_text,
    hierarchy_of,
    items,
    shaped,
    text,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9Coding, nearest_prefix


def _read_audioset(path: Path, _: Shape) -> Hierarchy:
    """Read ``id, name, child_ids`` of each node, and ``restrictions``: may it be a label?"""
    held = shaped(read_json(path), items, "a list of nodes is required")
    nodes = [shaped(one, _audioset_node, _AUDIOSET) for one in held]
    edges = [(child, one.node) for one, below in nodes for child in below]
    return hierarchy_of(path, [one for one, _ in nodes], edges, declared="once")


_AUDIOSET = (
    "a node needs a text 'id', and may have a text 'name' and lists of texts 'child_ids' and "
    "'restrictions'"
)


def _audioset_node(one: Any) -> tuple[Entry, list[str]]:
    below, own = (
        [text(part) for part in items(one.get(key) or [])] for key in ("child_ids", "restrictions")
    )
    title = text(one["name"]) if one.get("name") else None
    return Entry(text(one["id"]), title, assignable="abstract" not in own), below


AUDIOSET = HierarchyFormat(
    "audioset", "a JSON list of nodes with id, name, child_ids",
    begins(r'\[.*"child_ids"'), _read_audioset,
)  # fmt: skip


def _read_open_images(path: Path, shape: Shape) -> Hierarchy:
    """Read the classes by what ``Subcategory`` holds, and by ``Part`` if it is among relations."""
    keys, parts = ["Subcategory", *shape.relations], 0
    edges, nodes = dict[EdgeRow, None](), list[Entry]()
    waiting: list[tuple[Any, str | None]] = [(read_json(path), None)]
    required = "objects with a text 'LabelName', and lists of such, are required"
    while waiting:
        one, above = waiting.pop()
        name = shaped(one, lambda one: text(one["LabelName"]), required)
        nodes.append(Entry(name))
        edges |= {} if above is None else {(name, above): None}
        parts += len(one.get("Part", ())) * ("Part" not in keys)
        waiting += [(below, name) for key in keys for below in items(one.get(key) or [])]
    decision, why = "parts of a class are not below it", "a part is no kind of it"
    told = Reading(decision, why, parts, "--relations Part", "classes")
    return hierarchy_of(path, nodes, edges, readings=[told])


OPEN_IMAGES = HierarchyFormat(
    "openimages", "the JSON of classes of Open Images: LabelName and Subcategory",
    begins(r'\{\s*"LabelName"'), _read_open_images, frozenset({"relations"}),
)  # fmt: skip


def _read_coco(path: Path, _: Shape) -> Hierarchy:
    """Read the categories by name, each below its ``supercategory``, unless that is ``none``."""
    required = "'categories', a list of objects with a text 'name', is required"
    pairs = shaped(read_json(path), lambda held: [*map(_category, held["categories"])], required)
    if not any(above for _, above in pairs):
        raise SchemaError(
            "categories with a 'supercategory' are required", found="none that has it"
        )
    parents = {name: [above] * (above not in ("", "none")) for name, above in pairs}
    return hierarchy_of(path, [Entry(name, parents=above) for name, above in parents.items()])


def _category(one: Any) -> tuple[str, str]:
    if "kingdom" in one:
        raise FormatError(
            "a file of a kind that is read here is required",
            found="categories of iNaturalist, with their ranks",
            hint="the page of recipes in the documentation makes a table of edges of them",
        )
    above = one.get("supercategory")
    return text(one["name"]), text(above) if above else ""


COCO = HierarchyFormat(
    "coco", "the categories of a file of COCO, below their supercategories",
    begins(r'\{.*?"(images|categories|annotations)"\s*:\s*\['), _read_coco,
)  # fmt: skip


ROOT = "@"
"""Id of the root in such a file."""
_BOUND = r"([VE]?)([0-9]{2,3})(?:\.([0-9]{1,2}))?"
_SPAN = re.compile(f"{_BOUND}(?:-{_BOUND})?")
_LINE = re.compile(rf"(?:@|{_SPAN.pattern})\t.*")
_SNIFFED_LINES = 20


class Span(NamedTuple):
    """A range of codes such as ``001-139.99``, or one code, with both bounds in hundredths.

    It holds codes of its family alone: of its letter, and of as many digits before the dot.
    """

    node: str
    family: tuple[str, int]
    low: int
    high: int


@dataclass(frozen=True)
class CamlCoding(ICD9Coding):
    """ICD-9-CM codes that are added under their nearest prefix, else under the narrowest range."""

    name: str = "caml-icd9/1"
    reason_without_place: str = "no_place"
    ranges: tuple[Span, ...] = ()

    def parent_of(self, code: str, nodes: Container[str]) -> str | None:
        """The nearest prefix of a code that is a node, else the narrowest range around it."""
        return nearest_prefix(code, nodes) or self.around(code)

    def around(self, node: str) -> str | None:
        """The narrowest range that holds a code, or a narrower range; the first of equals."""
        if (own := _span(node)) is None:
            return None
        width = own.high - own.low if "-" in node else -1
        alike = (one for one in self.ranges if one.family == own.family)
        holding = (one for one in alike if one.low <= own.low and own.high <= one.high)
        wider = [one for one in holding if one.high - one.low > width]
        return min(wider, key=lambda one: one.high - one.low).node if wider else None


def _span(node: str) -> Span | None:
    found = _SPAN.fullmatch(node)
    if found is None:
        return None
    letter, whole, decimals, *upper = found.groups()
    last, high, high_decimals = upper if upper[1] else (letter, whole, decimals)
    low_at, high_at = (
        int(one) * 100 + int((part or "0").ljust(2, "0"))
        for one, part in ((whole, decimals), (high, high_decimals))
    )
    alike = (letter, len(whole)) == (last, len(high)) and low_at <= high_at
    return Span(node, (letter, len(whole)), low_at, high_at) if alike else None


def _read(path: Path, _: Shape) -> Hierarchy:
    lines = dict[str, tuple[int, str]]()
    for number, line in read_lines(path):
        node, tab, title = line.partition("\t")
        if not tab or not node.strip() or node.strip() in lines:
            required = "each line must be a code of its own, a tab and a title"
            raise SchemaError(required, found=repr(line[:60]), where=f"{path}:{number}")
        lines[node.strip()] = number, title.strip()
    ranges = {node: found for node in lines if "-" in node and (found := _span(node))}
    coding = CamlCoding(ranges=tuple(ranges.values()))
    parents = {
        node: coding.around(node) or ROOT if node in ranges else coding.parent_of(node, lines)
        for node in lines
        if node != ROOT
    }
    if unplaced := [node for node, parent in parents.items() if parent is None]:
        raise HierarchyError(
            "each code needs a prefix or a range of the file that holds it",
            found=f"{first_cases(unplaced)} with neither",
            where=f"{path}:{lines[unplaced[0]][0]}",
            hint="add the range, or remove the line",
        )
    inner = {ROOT, *ranges}
    nodes = [(node, title, False if node in inner else None) for node, (_, title) in lines.items()]
    return Hierarchy.build(
        pl.DataFrame([*parents.items()], EDGE_SCHEMA, orient="row"),
        pl.DataFrame(nodes, NODE_SCHEMA, orient="row"),
        name=path.name,
        labelled_ancestors="fault",
        coding=coding,
    )


def _matches(path: Path, head: bytes) -> bool:
    lines = [line for line in head_text(head).splitlines() if line.strip()][:_SNIFFED_LINES]
    alike = bool(lines) and all(_LINE.fullmatch(line) for line in lines)
    return alike or path.name.lower().startswith("icd9_descriptions")


CAML = HierarchyFormat(
    "caml", "ICD9_descriptions of CAML: a code, a tab and a title per line, '@' the root",
    _matches, _read,
)  # fmt: skip
