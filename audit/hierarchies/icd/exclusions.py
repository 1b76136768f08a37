"""Excludes1 notes of ICD-10-CM: from their sentences to the nodes that they exclude."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from audit.hierarchies.icd.icd10 import CATEGORY
from audit.hierarchies.notes import Exclusion, Exclusions

_WRITTEN = rf"{CATEGORY}(?:\.[0-9A-Z]{{0,4}})?"
_CODE = re.compile(rf"(?<![0-9A-Za-z]){_WRITTEN}(?![0-9A-Za-z])")
_OPEN_END = r"\.?-?"
"""``E11.-`` and ``M50.1.-`` are all codes that begin so, as is every code without it."""
_ITEM = re.compile(rf"({_WRITTEN}){_OPEN_END}(?:\s*(?:-|to)\s*({_WRITTEN}){_OPEN_END})?")
_BETWEEN = re.compile(r"[,;]|\b(?:and|or)\b")
_LAST_BRACKET = re.compile(r"\(([^()]*)\)*\s*$")


@dataclass(frozen=True, slots=True)
class Reference:
    """Codes from ``first`` to ``last`` in tabular order, each with its descendants."""

    first: str
    last: str


def references(text: str) -> tuple[Reference, ...]:
    """The codes and ranges that a note lists at its end, usually in brackets.

    Empty if the note names no code, or qualifies its codes ("E08-E13 with .44", "unless"), since it
    then excludes fewer codes than it names.

    >>> references("diabetes in pregnancy (E10.-, O24.0-O24.3)")
    (Reference(first='E10', last='E10'), Reference(first='O24.0', last='O24.3'))
    >>> references("diabetes (E08-E13 with .44)")
    ()
    """
    items = [item for part in _BETWEEN.split(_listing(text)) if (item := part.strip())]
    matches = [_ITEM.fullmatch(item) for item in items]
    return tuple(_reference(match) for match in matches if match) if all(matches) else ()


def _listing(text: str) -> str:
    """What should be nothing but a list of codes; empty where there is no code."""
    bracket = _LAST_BRACKET.search(text)
    if bracket and _CODE.search(bracket.group(1)):
        return bracket.group(1)
    first = _CODE.search(text)
    return text[first.start() :] if first else ""


def _reference(match: re.Match[str]) -> Reference:
    first, last = match.groups()
    return Reference(first.rstrip("."), (last or first).rstrip("."))


class Tabular:
    """A classification in its printed (tabular) order, in which ranges of codes are defined.

    Tabular order differs from alphabetical order: C4A comes between C43 and C44.

    Args:
        parents: The parent of each node, null for the root, in depth-first order: every node comes
            after its parent and after its earlier siblings with their descendants. Nodes with a
            dash are ranges, all others are codes.
    """

    def __init__(self, parents: dict[str, str | None]) -> None:
        self._parents = parents
        self._children: dict[str, list[str]] = {node: [] for node in parents}
        self._first: dict[str, int] = {}
        codes = 0
        for node, parent in parents.items():
            if parent is not None:
                self._children[parent].append(node)
            self._first[node] = codes
            codes += not is_range(node)
        self._last = dict(self._first)
        for node, parent in reversed(parents.items()):
            if parent is not None:
                self._last[parent] = max(self._last[parent], self._last[node])

    def __contains__(self, named: Reference) -> bool:
        """Whether both ends are codes of the classification."""
        return named.first in self._parents and named.last in self._parents

    def ranges(self, nodes: Iterable[str]) -> int:
        """Number of ranges among nodes and their children."""
        return sum(is_range(near) for node in nodes for near in (node, *self._children[node]))

    def covering(self, named: Reference, noted: str) -> Iterator[str]:
        """The smallest set of nodes that covers a reference, without the noted node.

        The noted node, its descendants and its ancestors are left out. Time grows with the number
        of nodes visited on the way down.
        """
        start, end = self._first[named.first], self._last[named.last]
        path = set(self._upwards(noted))
        waiting = [next(iter(self._parents))]
        while waiting:
            node = waiting.pop()
            first, last = self._first[node], self._last[node]
            if node == noted or last < start or first > end:
                continue
            if start <= first and last <= end and node not in path and not self._doubles(node):
                yield node
            else:
                waiting.extend(self._children[node])

    def _upwards(self, node: str) -> Iterator[str]:
        above: str | None = node
        while above is not None:
            yield above
            above = self._parents[above]

    def _doubles(self, node: str) -> bool:
        """Whether a node is a range of a single category, which stands for it."""
        return is_range(node) and len(self._children[node]) == 1


def is_range(node: str) -> bool:
    """Whether a node is a chapter or a block, not a code."""
    return "-" in node


def exclusions(tabular: Tabular, notes: Iterable[tuple[str, str]], *, release: str) -> Exclusions:
    """Parse the exclusion notes of a classification, given as ``node, text``, one note each.

    A note that names a code which the classification lacks is counted as not understood.
    """
    understood, unparsed = [], []
    for node, text in notes:
        named = references(text)
        if named and all(one in tabular for one in named):
            understood.append(_exclusion(tabular, node, text, named))
        else:
            unparsed.append((node, text))
    return Exclusions(release, tuple(understood), tuple(unparsed))


def _exclusion(tabular: Tabular, node: str, text: str, named: tuple[Reference, ...]) -> Exclusion:
    excluded = sorted({found for one in named for found in tabular.covering(one, node)})
    wide = is_range(node) or tabular.ranges(excluded) > 1
    return Exclusion(node, tuple(excluded), text, wide)
