"""Which texts are nodes of a hierarchy, and which sign joins several of them in one cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

import polars as pl

from audit.hierarchies.formats.names import whole
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.code_sets import HOLDING
from audit.hierarchies.icd.column import column_readings
from audit.hierarchies.label_words import Words
from audit.hierarchies.titles import nodes_by_title, title_key

SEPARATORS = (";", "|", ",", " ")
"""Signs that may stand between two labels of one cell, the most telling first."""
_WORD = re.compile(r"\S{1,60}")
_CODE = re.compile(r"\S{0,30}\d\S{0,30}")
_PART = {";": _WORD, "|": _WORD, ",": _CODE, " ": _CODE}
"""What each part must look like for a cell to be taken for several labels: one word; where it is a
comma or a blank that joins them, with a digit in it."""
LEAST_SHARE = 0.5
"""Share of the cells of a column that are nodes from which it is one of labels."""
_MARKS = " '\"[]()"
_WORDS = Words()
_HEADING = 0.25
"""What a heading counts where codes are digits: numbers of other things are headings too often."""


class KnownNodes:
    """The nodes of a hierarchy, asked of by the texts of cells and the names of columns."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self._weights: dict[str, float] = {}

    @property
    def name(self) -> str:
        """The name of the hierarchy."""
        return self._hierarchy.name

    def weight(self, text: str) -> float:
        """1 for a node as it is written, but for dots, dashes that fill a code up and decimals of
        an id; less for a heading of codes; else 0."""
        if text not in self._weights:
            bare = text.strip()
            core = whole(bare) if self._hierarchy.coding is None else bare.rstrip("-")
            self._weights[text] = self._weight(bare) or (core and self._weight(core)) or 0.0
        return self._weights[text]

    def _weight(self, text: str) -> float:
        node = self._hierarchy.place(text, None).node
        if node is None or node not in self._hierarchy or alphanumeric(node) != alphanumeric(text):
            return 0.0
        coded = self._hierarchy.coding is not None
        heading = coded and not self._hierarchy.assignable[self._hierarchy.index(node)]
        return _HEADING if heading else 1.0

    def lack_zeros(self, cells: Iterable[str]) -> bool:
        """Whether cells that are no nodes are some behind a zero, so that others may be wrong."""
        others = (cell.strip() for cell in cells if cell.strip() and not self.weight(cell))
        return self._hierarchy.coding is None and any(self.weight(f"0{one}") for one in others)

    def means(self, text: str) -> bool:
        """Whether a text is a node, or the title of one, perhaps behind those above it."""
        return self.weight(text) > 0 or title_key(text) in self._titles

    @cached_property
    def _titles(self) -> dict[str, str | None]:
        return nodes_by_title(self._hierarchy)

    def code_set(self, cells: Iterable[str]) -> str | None:
        """The only code set that cells are of; None if that is unclear."""
        coding = self._hierarchy.coding
        own = [one for one, name in HOLDING.items() if name == self._hierarchy.name]
        if coding is None or coding.integrity is None or not own:
            return None
        rows = Counter(cell.strip() for cell in cells if cell.strip())
        labels = pl.DataFrame([*rows.items()], {"label": pl.String, "rows": pl.Int64}, orient="row")
        found = column_readings(labels, own)
        known = found and len(found[0].sets) == 1 and found[0].sets[0] in coding.integrity.tables
        return found[0].sets[0] if known else None

    def share(self, cells: Iterable[str]) -> float | None:
        """Share of the cells that are nodes, or hold some joined by a sign; None where all are
        blank, or words for no code."""
        weights = [max(map(self.weight, _parts(cell))) for cell in filter(self._is_filled, cells)]
        return sum(weights) / len(weights) if weights else None

    def _is_filled(self, cell: str) -> bool:
        return bool(cell.strip()) and (self.weight(cell) > 0 or not _WORDS.mean_nothing(cell))


def _parts(cell: str) -> list[str]:
    """What of a cell may be a node: all of it, without marks of a list, or what signs part."""
    bare = cell.strip(_MARKS)
    signs = [sign for sign in SEPARATORS if sign in bare]
    parts = [part.strip(_MARKS) for sign in signs for part in bare.split(sign)]
    return [cell, bare, bare.replace(",", "."), *parts]


def alphanumeric(text: str) -> str:
    """A text without case, dots, blanks and other signs, by which codes are compared."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def separator_of(cells: Sequence[str]) -> str | None:
    """The first sign of `SEPARATORS` that stands between labels of cells; None where none does.

    >>> separator_of(["401.9;250.00", "428.0", ""]), separator_of(["dog cat", "dog"])
    (';', ' ')
    """
    inside = [cell.strip() for cell in cells]
    return next((sign for sign in SEPARATORS if any(sign in cell for cell in inside)), None)


def hold_several(cells: Sequence[str], *, codes: bool = False) -> bool:
    """Whether cells hold several labels each, by their shape: not texts that are one label.

    Args:
        cells: The first cells of a column.
        codes: Whether each label must have a digit, whatever joins them.

    >>> hold_several(["401.9;250.00", "428.0"]), hold_several(["heart failure, acute"])
    (True, False)
    """
    sign = separator_of(cells)
    if sign is None:
        return False
    parts = [part.strip() for cell in cells for part in cell.split(sign)]
    shape = _CODE if codes else _PART[sign]
    return all(shape.fullmatch(part) for part in parts if part)


def sign_between(
    cells: Sequence[str], nodes: KnownNodes | None, *, codes: bool = False
) -> tuple[str | None, bool]:
    """The sign that joins the labels of cells, None where each is one label, and if nodes say so.

    Cells are split where their parts are nodes more often than the whole cells, in which a comma
    may be that of a decimal. Where neither are nodes, or none are known, their shape decides.

    Args:
        cells: The first cells of a column.
        nodes: What knows the nodes.
        codes: As in `hold_several`.
    """
    gains = {sign: _gain(sign, cells, nodes) for sign in SEPARATORS} if nodes else {}
    told = {sign: gain for sign, gain in gains.items() if gain is not None}
    if told:
        best = max(told, key=lambda sign: told[sign])
        return (best, True) if told[best] > 0 else (None, True)
    return (separator_of(cells) if hold_several(cells, codes=codes) else None), False


def _gain(sign: str, cells: Sequence[str], nodes: KnownNodes) -> float | None:
    """By how many cells the parts are nodes more often than the whole; None where neither are.

    Parts most of which are no nodes, as a code before its title, tell nothing.
    """
    parts = whole = 0.0
    held = [cell.strip() for cell in cells if sign in cell.strip()]
    for cell in held:
        inside = [part for part in map(str.strip, cell.split(sign)) if part]
        parts += sum(map(nodes.means, inside)) / max(len(inside), 1)
        whole += nodes.means(cell) or nodes.means(cell.replace(",", "."))
    most = 2 * parts > len(held) or (sign != " " and 2 * parts == len(held) > 0)
    return parts - whole if most or whole else None
