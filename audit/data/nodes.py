"""Nodes: which texts are nodes of a hierarchy, and how many of a column's values are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from audit.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some values, counted as often as they occur, are nodes.

    Args:
        n: Number of values.
        nodes: Number of those that are nodes.
        complete: Number of those that are complete codes; all nodes where nodes are no codes.
    """

    n: int = 0
    nodes: int = 0
    complete: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.n + other.n, self.nodes + other.nodes, self.complete + other.complete)

    @property
    def of_complete(self) -> float:
        """Share of complete codes, by which columns are known; 0 of no values."""
        return self.complete / self.n if self.n else 0.0

    @property
    def of_headings(self) -> float:
        """Share of nodes that are no complete codes; 0 of no values."""
        return (self.nodes - self.complete) / self.n if self.n else 0.0


class Nodes:
    """The nodes of a hierarchy, asked of by texts as they are written.

    Of the built-in classifications nearly every number from 10 to 999 is a heading, so that columns
    are known by complete codes: those that are assignable, or were in an earlier edition.
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.coded = hierarchy.integrity is not None
        self.tables = hierarchy.integrity.tables if hierarchy.integrity else ()
        self._known: dict[tuple[str, str | None], tuple[str | None, bool]] = {}

    def node(self, text: str, table: str | None = None) -> str | None:
        """The node that a text is, of a code set if one is named; None if it is none."""
        return self._looked_up(text, table)[0]

    def is_node(self, text: str, table: str | None = None) -> bool:
        """Whether a text is a node, of a code set if one is named."""
        return self._looked_up(text, table)[0] is not None

    def is_complete(self, text: str, table: str | None = None) -> bool:
        """Whether a text is a complete code; where nodes are no codes, a node."""
        return self._looked_up(text, table)[1]

    def share(self, values: Mapping[str, int], table: str | None = None) -> Share:
        """Of values with the number of times that each occurs, those that are nodes.

        Codes without dots count in the code set, if none is named, of which most are: a number may
        be one of each.
        """
        sets = self.sets(values) if table is None else dict.fromkeys(values, table)
        nodes = sum(n for text, n in values.items() if self.is_node(text, sets[text]))
        complete = sum(n for text, n in values.items() if self.is_complete(text, sets[text]))
        return Share(sum(values.values()), nodes, complete)

    def sets(self, values: Mapping[str, int]) -> Mapping[str, str | None]:
        """The code set in which each value counts: None, which is any, of those with dots; of
        others the one of which most are."""
        if len(self.tables) < 2:
            return dict.fromkeys(values)
        others = [text for text in values if "." not in text.rstrip(".")]

        def n_complete(table: str) -> int:
            return sum(values[text] for text in others if self.is_complete(text, table))

        best = max(self.tables, key=n_complete)
        return {**dict.fromkeys(values), **dict.fromkeys(others, best)}

    @cached_property
    def have_digits(self) -> bool:
        """Whether nine in ten nodes have a digit, so that a word without one is hardly a node."""
        nodes = self.hierarchy.nodes
        return 10 * sum(any(map(str.isdigit, one)) for one in nodes) >= 9 * len(nodes)

    def _looked_up(self, text: str, table: str | None) -> tuple[str | None, bool]:
        """The node that a text is, and whether it is a complete code."""
        if (text, table) not in self._known:
            own, integrity = self.hierarchy, self.hierarchy.integrity
            bare = text.rstrip(".") if self.coded else text
            placed = own.place(bare, table)
            node = placed.node if placed.listed else None
            codes = integrity.readings(bare, table) if integrity else ()
            years = (integrity.years if integrity else None) or {}
            complete = node is not None and not self.coded
            for one in codes:
                complete |= one in years or (one in own and bool(own.assignable[own.index(one)]))
            self._known[text, table] = node, complete
        return self._known[text, table]
