"""How sentences write a node: its title, and its code after it."""

from __future__ import annotations


def title_and_code(node: str, title: str | None) -> str:
    """The title of a node and its code; the code alone if no title says more.

    >>> title_and_code("401.9", "Unspecified essential hypertension")
    'Unspecified essential hypertension (401.9)'
    >>> title_and_code("401.9", ""), title_and_code("horse", "horse")
    ('401.9', 'horse')
    """
    return f"{title} ({node})" if title and title != node else node
