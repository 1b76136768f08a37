"""CAML's ``ICD9_descriptions``: each line has a code, a tab and a title; ranges are inner nodes."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from audit.base.errors import HierarchyError, SchemaError, first_cases
from audit.base.files import read_lines
from audit.hierarchies.building import EDGE_SCHEMA, NODE_SCHEMA
from audit.hierarchies.formats.format import HierarchyFormat, Shape
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9Coding, nearest_prefix

ROOT = "@"
"""Id of the root in such a file."""

_BOUND = r"([VE]?)([0-9]{2,3})(?:\.([0-9]{1,2}))?"
_RANGE = re.compile(f"{_BOUND}-{_BOUND}")
_CODE = re.compile(_BOUND)
_LINE = re.compile(rf"(?:@|{_BOUND}(?:-{_BOUND})?)\t.*")
_SNIFFED_LINES = 20


@dataclass(frozen=True)
class CodeRange:
    """A range of codes such as ``001-139.99``; both bounds, in hundredths, belong to it."""

    node: str
    family: tuple[str, int]
    """Letter and number of digits before the dot; a range only contains codes of its family."""
    low: int
    high: int

    @property
    def width(self) -> int:
        """Difference of the bounds in hundredths."""
        return self.high - self.low

    def holds(self, low: int, high: int) -> bool:
        """Whether both given bounds lie within the range."""
        return self.low <= low and high <= self.high


@dataclass(frozen=True)
class CamlCoding(ICD9Coding):
    """ICD-9-CM codes that are added under their nearest prefix, else under the narrowest range."""

    name: str = "caml-icd9/1"
    reason_without_place: str = "no_place"
    ranges: tuple[CodeRange, ...] = ()

    def parent_of(self, code: str, nodes: Container[str]) -> str | None:
        """The nearest prefix of a code that is a node, else the narrowest range around it."""
        return nearest_prefix(code, nodes) or self.range_of(code)

    def range_of(self, code: str) -> str | None:
        """The narrowest range that contains a code, ties by file order; None if none does."""
        found = _CODE.fullmatch(code)
        if found is None:
            return None
        at = _hundredths(found[2], found[3])
        candidates = self._by_family.get((found[1], len(found[2])), ())
        return next((one.node for one in candidates if one.holds(at, at)), None)

    def range_above(self, inner: CodeRange) -> str | None:
        """The narrowest strictly wider range that contains a range, ties by file order."""
        candidates = self._by_family[inner.family]
        wider = (one for one in candidates if one.width > inner.width)
        return next((one.node for one in wider if one.holds(inner.low, inner.high)), None)

    @cached_property
    def _by_family(self) -> dict[tuple[str, int], list[CodeRange]]:
        families: dict[tuple[str, int], list[CodeRange]] = {}
        for one in sorted(self.ranges, key=lambda one: one.width):
            families.setdefault(one.family, []).append(one)
        return families


def _hundredths(whole: str, decimals: str | None) -> int:
    return int(whole) * 100 + int((decimals or "0").ljust(2, "0"))


def _range(node: str) -> CodeRange | None:
    found = _RANGE.fullmatch(node)
    if found is None:
        return None
    letter, low, low_decimals, last_letter, high, high_decimals = found.groups()
    bounds = _hundredths(low, low_decimals), _hundredths(high, high_decimals)
    alike = (letter, len(low)) == (last_letter, len(high)) and bounds[0] <= bounds[1]
    return CodeRange(node, (letter, len(low)), *bounds) if alike else None


def _read(path: Path, _: Shape) -> Hierarchy:
    lines = _entries(path)
    ranges = {node: found for node in lines if (found := _range(node))}
    coding = CamlCoding(ranges=tuple(ranges.values()))
    parents = {node: coding.parent_of(node, lines) for node in lines if node != ROOT}
    parents |= {node: coding.range_above(found) or ROOT for node, found in ranges.items()}
    _refuse_unplaced(path, lines, parents)
    return Hierarchy.build(
        pl.DataFrame({"child": list(parents), "parent": list(parents.values())}, EDGE_SCHEMA),
        pl.DataFrame(
            {
                "node": list(lines),
                "title": [title for _, title in lines.values()],
                "assignable": [False if node in ranges or node == ROOT else None for node in lines],
            },
            NODE_SCHEMA,
        ),
        name=path.name,
        labelled_ancestors="fault",
        coding=coding,
    )


def _entries(path: Path) -> dict[str, tuple[int, str]]:
    """Line number and title of each node, in file order."""
    entries: dict[str, tuple[int, str]] = {}
    for number, line in read_lines(path):
        node, tab, title = line.partition("\t")
        node = node.strip()
        if not tab or not node:
            raise SchemaError(
                "each line must be a code, a tab and a title",
                found=repr(line[:60]),
                where=f"{path}:{number}",
            )
        if node in entries:
            raise SchemaError(
                "each code may be on one line only",
                found=f"{node!r} here and on line {entries[node][0]}",
                where=f"{path}:{number}",
            )
        entries[node] = number, title.strip()
    return entries


def _refuse_unplaced(
    path: Path, lines: dict[str, tuple[int, str]], parents: dict[str, str | None]
) -> None:
    if ROOT not in lines:
        raise HierarchyError("the root '@' must be on a line", found="none", where=path)
    unplaced = [node for node, parent in parents.items() if parent is None]
    if unplaced:
        raise HierarchyError(
            "each code needs a prefix or a range of the file that holds it",
            found=f"{first_cases(unplaced)} with neither",
            where=f"{path}:{lines[unplaced[0]][0]}",
            hint="add the range, or remove the line",
        )


def _matches(path: Path, head: bytes) -> bool:
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip()]
    named = path.name.lower().startswith("icd9_descriptions")
    alike = all(_LINE.fullmatch(line) for line in lines[:_SNIFFED_LINES])
    return named or (alike and bool(lines))


FORMAT = HierarchyFormat(
    name="caml",
    title="ICD9_descriptions of CAML: a code, a tab and a title per line, '@' the root",
    matches=_matches,
    read=_read,
)
