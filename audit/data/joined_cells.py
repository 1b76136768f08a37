"""Signs that join several labels in one cell, and whether they do in the cells of a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

SEPARATORS = (";", "|", ",", " ")
"""Signs that may stand between two labels of one cell, the most telling first."""
_WORD = re.compile(r"\S{1,60}")
_CODE = re.compile(r"\S{0,30}\d\S{0,30}")
_PART = {";": _WORD, "|": _WORD, ",": _CODE, " ": _CODE}
"""What each part must look like for a cell to be taken for several labels: one word; where it is a
comma or a blank that joins them, with a digit in it."""


class Meaning(Protocol):
    """What knows which texts are nodes, or titles of them."""

    def means(self, text: str) -> bool:
        """Whether a text is one."""


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
    cells: Sequence[str], nodes: Meaning | None, *, codes: bool = False
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


def _gain(sign: str, cells: Sequence[str], nodes: Meaning) -> float | None:
    """By how many cells the parts are nodes more often than the whole; None where neither are."""
    parts = whole = 0.0
    for cell in (cell.strip() for cell in cells if sign in cell.strip()):
        inside = [part for part in map(str.strip, cell.split(sign)) if part]
        parts += sum(map(nodes.means, inside)) / max(len(inside), 1)
        whole += nodes.means(cell) or nodes.means(cell.replace(",", "."))
    return parts - whole if parts or whole else None
