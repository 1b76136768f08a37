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
    """Codes from ``first`` to ``last`` in tabular order, both with all below them."""

    first: str
    last: str


def references(text: str) -> tuple[Reference, ...]:
    """The codes that a note names: a list of codes and ranges in the bracket that ends it.

    The list may stand at the end without a bracket. Empty where the note names no code, or says
    more of its codes than which they are ("E08-E13 with .44", "unless"): then it excludes fewer
    than those it names.

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
    """A classification in the order in which it is printed, where ranges of codes have a meaning.

    That order is not the order of the characters: C4A stands between C43 and C44.

    Args:
        parents: The parent of each node, the root's null, every node after its parent and its
            elder siblings with all below them. Nodes with a dash are ranges, all others codes.
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
        """How many ranges there are among nodes and their children."""
        return sum(is_range(near) for node in nodes for near in (node, *self._children[node]))

    def covering(self, named: Reference, noted: str) -> Iterator[str]:
        """The fewest nodes that have below them what is named, but nothing of the noted node.

        Left out are the noted node, all below it, and its ancestors. Time grows with the number
        of nodes met on the way down to those that are found.
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
    """Read the notes of a classification's nodes, given as ``node, text``, a row a note.

    A note that names a code which the classification lacks counts as not understood.
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
