"""Columns of tables with their types, as measured tables declare them."""

from __future__ import annotations

from typing import Any


def schema(*groups: tuple[str, Any]) -> dict[str, Any]:
    """Columns with their types, in order, from names between blanks that share a type.

    >>> schema(("node parent", str), ("support", int))
    {'node': <class 'str'>, 'parent': <class 'str'>, 'support': <class 'int'>}
    """
    return {name: kind for names, kind in groups for name in names.split()}
