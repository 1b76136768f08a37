"""Short labels of nodes and pairs for figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.words.words import columns_of, shortened

PAIR_SIDE = 23
"""Greatest width in columns of a node in a pair's label."""


def node_label(node: str, title: str | None, width: int) -> str:
    """Label of a node within a width in columns: id and title, else the title, else both cut.

    >>> node_label("428", "Heart failure", 20), node_label("390-459", "Heart and vessels", 20)
    ('428 Heart failure', 'Heart and vessels')
    >>> node_label("428.0", "Congestive heart failure", 20)
    '428.0 Congestive he…'
    """
    both = f"{node} {title or ''}".strip()
    fits_alone = title and columns_of(title) <= width < columns_of(both)
    return title if title and fits_alone else shortened(both, width)


def pair_label(row: Mapping[str, Any]) -> str:
    """Label of a pair of nodes, from ids in ``a, b`` and titles in ``title_a, title_b``."""
    sides = (node_label(row[side], row[f"title_{side}"], PAIR_SIDE) for side in ("a", "b"))
    return " × ".join(sides)
