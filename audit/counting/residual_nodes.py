"""Residual nodes: which assignable nodes are catch-alls among specific siblings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
    """That a node is residual, and the rule that says so."""

    kind: Kind
    rule: str

    @property
    def leaves_open(self) -> bool:
        """Whether it may mean what a sibling names: it is for what was not specified, too."""
        return self.kind == "unspecified" or "unspecified" in self.rule.partition("title: ")[2]


def residual_nodes(hierarchy: Hierarchy, policy: Policy) -> dict[int, Residual]:
    """The residual nodes by index. Only assignable nodes are; headings and ranges never.

    A title decides where there is one, against the titles around it; of ICD-9-CM the reviewed
    decisions overrule it, and digits decide for a code without a title; the policy's own lists
    overrule all.
    """
    by_digits = hierarchy.coding is not None and hierarchy.coding.name.startswith("icd9")
    catch_alls, decided = CatchAlls(hierarchy), reviewed(hierarchy)
    stated, overruled = set(policy.residual_nodes), set(policy.specific_nodes)
    found = {}
    for index in np.flatnonzero(hierarchy.assignable).tolist():
        node, residual = hierarchy.nodes[index], None
        if node in overruled:
            continue
        if node in stated:
            residual = Residual("other", "policy")
        elif index in decided:
            residual = _by_review(decided[index])
        elif hierarchy.titles[index]:
            residual = _by_title(catch_alls, index)
        elif by_digits:
            residual = _by_digits(node)
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
    """Of each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,).

    Args:
        residual: From `residual_nodes`.
        n_nodes: How many nodes the hierarchy has.
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
