"""Which texts are nodes of a hierarchy, so far as the choice of columns asks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from audit.data.joined_cells import SEPARATORS
from audit.hierarchies.hierarchy import Hierarchy

LEAST_SHARE = 0.5
"""Share of the cells of a column that are nodes from which it is one of labels."""
_HEADING = 0.25
"""What a heading counts where codes are digits: numbers of other things are headings too often."""


class KnownNodes:
    """The nodes of a hierarchy, asked of by the texts of cells and the names of columns."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self._weights: dict[str, float] = {}

    def weight(self, text: str) -> float:
        """1 for a node as it is written, but for dots; less for a heading of codes; else 0."""
        if text not in self._weights:
            self._weights[text] = self._weight(text.strip())
        return self._weights[text]

    def _weight(self, text: str) -> float:
        node = self._hierarchy.place(text, None).node
        if node is None or node not in self._hierarchy or _plain(node) != _plain(text):
            return 0.0
        coded = self._hierarchy.coding is not None
        heading = coded and not self._hierarchy.assignable[self._hierarchy.index(node)]
        return _HEADING if heading else 1.0

    def means(self, text: str) -> bool:
        """Whether a text is a node, or the title of one, blanks written as they are or as _."""
        return self.weight(text) > 0 or _title(text) in self._titles

    @cached_property
    def _titles(self) -> frozenset[str]:
        return frozenset(map(_title, filter(None, self._hierarchy.titles)))

    def share(self, cells: Iterable[str]) -> float | None:
        """Share of the cells that are nodes, or hold some joined by a sign; None of blank ones."""
        weights = [max(map(self.weight, _parts(cell))) for cell in cells if cell.strip()]
        return sum(weights) / len(weights) if weights else None


def _parts(cell: str) -> list[str]:
    return [cell, *(part for sign in SEPARATORS if sign in cell for part in cell.split(sign))]


def _title(text: str) -> str:
    return text.strip().replace("_", " ").casefold()


def _plain(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())
