"""Residual nodes that were reviewed by hand: a table of decisions, each with its reason."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias, cast

from audit.base.dag import row
from audit.hierarchies.hierarchy import Hierarchy

Decision: TypeAlias = Literal["other", "unspecified", "specific"]

DATA = Path(__file__).parent / "data" / "icd9cm_residuals.csv"
"""Table ``nodes, title, decision, reason``: nodes with their descendants (empty: any), a pattern
that their titles match (empty: any), the decision, and why."""


@dataclass(frozen=True, slots=True)
class Review:
    """One decision of the table."""

    nodes: tuple[str, ...]
    title: re.Pattern[str]
    decision: Decision
    reason: str


@cache
def reviews() -> tuple[Review, ...]:
    """The decisions on ICD-9-CM, in order; the first that matches a node applies."""
    with DATA.open(encoding="utf-8", newline="") as stream:
        return tuple(
            Review(
                nodes=tuple(line["nodes"].split()),
                title=re.compile(line["title"]),
                decision=cast(Decision, line["decision"]),
                reason=line["reason"],
            )
            for line in csv.DictReader(stream)
        )


@lru_cache(maxsize=1)
def reviewed(hierarchy: Hierarchy) -> Mapping[int, Review]:
    """The decision on each assignable node that has one, by index; empty outside ICD-9."""
    if hierarchy.coding is None or not hierarchy.coding.name.startswith("icd9"):
        return {}
    found = dict[int, Review]()
    titles, every = [title.lower() for title in hierarchy.titles], range(len(hierarchy))
    for review in reviews():
        for index in _below(hierarchy, review.nodes) if review.nodes else every:
            if hierarchy.assignable[index] and titles[index] and review.title.search(titles[index]):
                found.setdefault(index, review)
    return found


def _below(hierarchy: Hierarchy, nodes: tuple[str, ...]) -> Iterator[int]:
    """The nodes at or below those of some nodes that the hierarchy has."""
    for node in filter(hierarchy.__contains__, nodes):
        yield from row(hierarchy.below, hierarchy.index(node)).tolist()
