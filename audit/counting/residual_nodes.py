"""Residual nodes: which assignable nodes are catch-alls among specific siblings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.progress import Progress, silent
from audit.hierarchies.catch_alls import (
    KINDS,
    WORDS,
    CatchAlls,
    Kind,
    Review,
    is_icd9,
    named,
    reviewed,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy

COMPILED = Path(__file__).parents[1] / "hierarchies" / "icd" / "data" / "catch_alls.parquet"
"""``sha256, index, kind, rule`` of the nodes of built-in hierarchies that are catch-alls by their
titles, by the digest of the hierarchy, compiled by ``scripts/compile_catch_alls.py``."""

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

    @property
    def word(self) -> str:
        """The word of a catch-all that nobody has reviewed; empty for other rules."""
        return self.rule.partition("word: ")[2]

    @property
    def why_usual(self) -> str:
        """Why it is the code to use where a record says no more; empty where nothing says so."""
        return self.rule.partition("usual: ")[2]


def residual_nodes(
    hierarchy: Hierarchy, policy: Policy, progress: Progress = silent
) -> dict[int, Residual]:
    """The residual nodes by index. Only assignable nodes can be residual, not headings or ranges.

    A node's title, or its name in a hierarchy without titles, compared with those around it,
    decides. For ICD-9-CM the reviewed decisions take precedence over titles, and the digits of a
    code without a title decide, unless it stands below a code that is complete without them;
    elsewhere words such as "misc", and the policy's own `residual_words`, make catch-alls that
    nobody has reviewed. The policy's own lists of nodes take precedence over all of these.
    """
    words, decided = catch_all_words(hierarchy, policy), reviewed(hierarchy)
    titles = named(hierarchy)
    titled = _titled(hierarchy, words, progress)
    below_code = hierarchy.edges @ hierarchy.assignable.astype(np.int64)
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
        elif titles[index]:
            residual = titled.get(index)
        elif is_icd9(hierarchy) and not below_code[index]:
            residual = _by_digits(node)
        if residual:
            found[index] = residual
    return found


def _by_review(review: Review) -> Residual | None:
    if review.decision == "specific":
        return None
    if review.decision == "usual":
        return Residual("unspecified", f"usual: {review.reason}")
    return Residual(review.decision, f"reviewed: {review.reason}")


def catch_all_words(hierarchy: Hierarchy, policy: Policy) -> tuple[str, ...]:
    """Words that make catch-alls of titles that nobody has reviewed; none for ICD-9-CM."""
    return () if is_icd9(hierarchy) else (*policy.residual_words, *WORDS)


def _titled(
    hierarchy: Hierarchy, words: tuple[str, ...], progress: Progress
) -> dict[int, Residual]:
    """The nodes that are residual by their titles; looked up for an unchanged built-in one."""
    known = _compiled().get((hierarchy.sha256,))
    if known is None or words != catch_all_words(hierarchy, Policy()):
        progress("comparing titles of nodes")
        return by_title(hierarchy, words)
    return {index: Residual(kind, rule) for index, kind, rule in known.iter_rows()}


@cache
def _compiled() -> dict[tuple[Any, ...], pl.DataFrame]:
    """The rows of `COMPILED` for each hierarchy, by its digest (a tuple of one)."""
    return pl.read_parquet(COMPILED).partition_by("sha256", include_key=False, as_dict=True)


@lru_cache(maxsize=1)
def by_title(hierarchy: Hierarchy, words: tuple[str, ...]) -> dict[int, Residual]:
    """The nodes that are residual by their titles, or by further words of catch-alls; kept."""
    found = CatchAlls(hierarchy).found(words)
    return {index: Residual(kind, rule) for index, kind, rule in found}


def residual_kinds(residual: Mapping[int, Residual], n_nodes: int) -> IntArray:
    """For each node 0 specific, 1 other, 2 unspecified, shape (n_nodes,)."""
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
