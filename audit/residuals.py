"""Residual nodes: which assignable nodes are catch-alls among specific siblings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from audit.dag import IntArray
from audit.hierarchy import Hierarchy
from audit.policy import Policy

Kind: TypeAlias = Literal["other", "unspecified"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_NOT_MEANT = re.compile(r"other than|type ii\b[^,;]*? or unspecified type|not stated as")
_OTHER = re.compile(r"\b(other|nec)\b|not elsewhere classified")
_UNSPECIFIED = re.compile(r"\b(unspecified|nos)\b|not specified")
_DIAGNOSIS = re.compile(r"(?:E\d{3}|V\d\d|\d{3})\.(\d)(\d?)")
_PROCEDURE = re.compile(r"\d\d\.\d(\d)")


@dataclass(frozen=True, slots=True)
class Residual:
    """That a node is residual, and the rule that says so."""

    kind: Kind
    rule: str


def residual_nodes(hierarchy: Hierarchy, policy: Policy) -> dict[int, Residual]:
    """The residual nodes by index. Only assignable nodes are; headings and ranges never.

    A title decides where there is one; digits decide for an ICD-9 code without a title; the
    policy's own lists overrule both.
    """
    by_digits = hierarchy.coding is not None and hierarchy.coding.name.startswith("icd9")
    overruled = set(policy.specific_nodes)
    found = {}
    for index in np.flatnonzero(hierarchy.assignable).tolist():
        node, title = hierarchy.nodes[index], hierarchy.titles[index]
        if node in overruled:
            continue
        if node in policy.residual_nodes:
            residual: Residual | None = Residual("other", "policy")
        elif title:
            residual = by_title(title)
        else:
            residual = _by_digits(node) if by_digits else None
        if residual:
            found[index] = residual
    return found


def residual_kinds(hierarchy: Hierarchy, policy: Policy) -> IntArray:
    """Of each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,)."""
    kinds = np.zeros(len(hierarchy), np.int64)
    for index, found in residual_nodes(hierarchy, policy).items():
        kinds[index] = 1 + KINDS.index(found.kind)
    return kinds


def by_title(title: str) -> Residual | None:
    """What a title says.

    >>> by_title("Other and unspecified hyperlipidemia")
    Residual(kind='other', rule='title: other')
    >>> by_title("Diabetes, type II or unspecified type, not stated as uncontrolled") is None
    True
    """
    text = _NOT_MEANT.sub(" ", title.lower())
    if match := _OTHER.search(text):
        return Residual("other", f"title: {match.group()}")
    if match := _UNSPECIFIED.search(text):
        return Residual("unspecified", f"title: {match.group()}")
    return None


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
