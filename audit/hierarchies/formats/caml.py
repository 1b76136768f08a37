"""CAML's ``ICD9_descriptions``: each line has a code, a tab and a title; ranges are inner nodes."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from audit.base.errors import HierarchyError, SchemaError, first_cases
from audit.base.files import read_lines
from audit.hierarchies.building import EDGE_SCHEMA, NODE_SCHEMA
from audit.hierarchies.formats.format import HierarchyFormat, Shape, head_text
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9Coding, nearest_prefix

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


FORMAT = HierarchyFormat(
    "caml", "ICD9_descriptions of CAML: a code, a tab and a title per line, '@' the root",
    _matches, _read,
)  # fmt: skip
