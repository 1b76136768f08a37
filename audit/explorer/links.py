"""Addresses of the application's pages, and records of a report that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

from audit._reports.words.parts import Node

T = TypeVar("T")


def address(path: str, **asked: str) -> str:
    """An address of the application."""
    kept = {name: value for name, value in asked.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def node_address(node: str) -> str:
    """Address of a node's page."""
    return address("/node", id=node)


def pair_address(a: str, b: str) -> str:
    """Address of the page of two nodes."""
    return address("/pair", a=a, b=b)


def finding_address(finding: str) -> str:
    """Address of a finding's page."""
    return address("/finding", id=finding)


def instance_address(instance: str, **query: str) -> str:
    """Address of an instance's page, with the query that led there."""
    return address("/instance", id=instance, **query)


def with_node_links(part: T, page: Callable[[str], str]) -> T:
    """The same record, every node in it with the address of its page."""
    if isinstance(part, Node):
        return cast(T, replace(part, page=page(part.id)))
    return rebuilt(part, lambda inner: with_node_links(inner, page))


def rebuilt(part: T, change: Callable[[Any], Any]) -> T:
    """The same record or tuple, each of its parts changed."""
    made: Any = part
    if isinstance(part, tuple):
        made = tuple(map(change, part))
    elif is_dataclass(part) and not isinstance(part, type):
        inner = {field.name: getattr(part, field.name) for field in fields(part)}
        changed = {name: change(value) for name, value in inner.items()}
        if any(changed[name] is not value for name, value in inner.items()):
            made = replace(part, **changed)
    return cast(T, made)
