"""Residual nodes: which assignable nodes are catch-alls among specific siblings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from audit.base.dag import IntArray
from audit.hierarchies.catch_alls import KINDS, CatchAlls, Kind
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.reviewed_residuals import Review, reviewed
from audit.policy.policy import Policy

_DIAGNOSIS = re.compile(r"(?:E\d{3}|V\d\d|\d{3})\.(\d)(\d?)")
_PROCEDURE = re.compile(r"\d\d\.\d(\d)")


@dataclass(frozen=True, slots=True)
class Residual:
    """The kind of a residual node, and the rule by which it is residual."""

    kind: Kind
    rule: str

    @property
    def leaves_open(self) -> bool:
        """Whether it may mean what a sibling names, because it includes unspecified cases."""
        return self.kind == "unspecified" or "unspecified" in self.rule.partition("title: ")[2]


def residual_nodes(hierarchy: Hierarchy, policy: Policy) -> dict[int, Residual]:
    """The residual nodes by index. Only assignable nodes can be residual, not headings or ranges.

    A node's title, compared with the titles around it, decides. For ICD-9-CM the reviewed decisions
    take precedence over titles, and the digits of a code without a title decide. The policy's own
    lists take precedence over all of these.
    """
    stated = {
        index: Residual("other", "policy")
        for index in map(hierarchy.index, filter(hierarchy.__contains__, policy.residual_nodes))
        if hierarchy.assignable[index]
    }
    overruled = set(map(hierarchy.index, filter(hierarchy.__contains__, policy.specific_nodes)))
    every = _by_hierarchy(hierarchy) | stated
    return {index: every[index] for index in sorted(every) if index not in overruled}


@lru_cache(maxsize=1)
def _by_hierarchy(hierarchy: Hierarchy) -> dict[int, Residual]:
    """The residual nodes where no policy says otherwise; kept, as it takes long for many titles."""
    by_digits = hierarchy.coding is not None and hierarchy.coding.name.startswith("icd9")
    catch_alls, decided = CatchAlls(hierarchy), reviewed(hierarchy)
    found = {}
    for index in np.flatnonzero(hierarchy.assignable).tolist():
        residual = None
        if index in decided:
            residual = _by_review(decided[index])
        elif hierarchy.titles[index]:
            residual = _by_title(catch_alls, index)
        elif by_digits:
            residual = _by_digits(hierarchy.nodes[index])
        if residual:
            found[index] = residual
    return found


def _by_review(review: Review) -> Residual | None:
    if review.decision == "specific":
        return None
    return Residual(review.decision, f"reviewed: {review.reason}")


def _by_title(catch_alls: CatchAlls, index: int) -> Residual | None:
    kind = catch_alls.kind(index)
    return Residual(kind, f"title: {catch_alls.mark(index, kind)}") if kind else None


def residual_kinds(residual: Mapping[int, Residual], n_nodes: int) -> IntArray:
    """For each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).

    Args:
        residual: From `residual_nodes`.
        n_nodes: Number of nodes of the hierarchy.
    """
    kinds = np.zeros(n_nodes, np.int64)
    for index, found in residual.items():
        kinds[index] = 1 + KINDS.index(found.kind)
    return kinds


def _by_digits(code: str) -> Residual | None:
    if match := _DIAGNOSIS.fullmatch(code):
        fourth, fifth = match.groups()
        if fourth == "8":
            return Residual("other", "digit: the fourth is 8")
        if fourth == "9":
            return Residual("unspecified", "digit: the fourth is 9")
        if fifth == "9":
            return Residual("unspecified", "digit: the fifth is 9")
    elif (match := _PROCEDURE.fullmatch(code)) and match.group(1) == "9":
        return Residual("other", "digit: the fourth is 9")
    return None
