"""A report whose nodes lead to their pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from reports.words.parts import Node

T = TypeVar("T")


def led(part: T, page: Callable[[str], str]) -> T:
    """The same record, every node in it with the address of its page.

    Args:
        part: A report, or anything in one.
        page: Gives the address of the page of a node; empty if it has none.
    """
    made: Any = part
    if isinstance(part, Node):
        made = replace(part, page=page(part.id))
    elif isinstance(part, tuple):
        made = tuple(led(one, page) for one in part)
    elif is_dataclass(part) and not isinstance(part, type):
        inner = {field.name: led(getattr(part, field.name), page) for field in fields(part)}
        made = replace(part, **inner)
    return cast(T, made)
