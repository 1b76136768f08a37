"""Addresses of the application's pages."""

from __future__ import annotations

from urllib.parse import urlencode


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
