"""Words that are stated in the files of ``audit/_reports/words/data``, by table and key."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeVar

T = TypeVar("T")


def tables(name: str) -> Mapping[str, Any]:
    """The tables of ``<name>.toml``, each in the order in which a report shows its lines."""
    return tomllib.loads(_text(f"{name}.toml"))


def rows(name: str) -> list[dict[str, str]]:
    """The lines of ``<name>.csv`` by the names of its columns."""
    return list(csv.DictReader(_text(f"{name}.csv").splitlines()))


def pairs(table: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """A table of two texts a line."""
    return {name: (first, second) for name, (first, second) in table.items()}


def records(table: Mapping[str, Sequence[str]], record: Callable[..., T]) -> dict[str, T]:
    """A table of several texts a line as records that are made of them."""
    return {name: record(*texts) for name, texts in table.items()}


def _text(name: str) -> str:
    return files("audit._reports.words").joinpath("data", name).read_text("utf-8")
