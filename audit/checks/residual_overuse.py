"""residual_overuse: parents whose instances carry mostly catch-alls, and nothing specific."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from audit.checks.check import TOP_PARTS, Check
from audit.dag import BoolArray, row
from audit.disclosure import Quantity, count, derived
from audit.measure import Measurements, residual_share
from audit.result import CheckResult, Finding, Part

_NAME = "residual_overuse"
_TITLE = "Are catch-all nodes used where the hierarchy has specific ones?"


def run(measured: Measurements) -> CheckResult:
    """Report parents whose residual share lies above the policy's limit, deepest first.

    A parent is reported where the lower bound of its share is above the limit. One that falls
    below it without the instances that its flagged descendants explain is folded into them.
    """
    judged = _judged(measured)
    high = _high(measured, judged)
    standing = standing_parents(measured)
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=len(judged),
        denominator_unit="parents with residual and specific nodes below and enough instances",
        findings=tuple(_finding(measured, i, counted) for i, counted in standing.items()),
        folded=len(high) - len(standing),
        not_applicable="" if len(judged) else _why_not(measured),
    )


def _why_not(measured: Measurements) -> str:
    if not measured.residual:
        return "no assignable node of this hierarchy is residual"
    return "no parent with residual and specific nodes below has enough instances"


def _judged(measured: Measurements) -> pl.DataFrame:
    enough = pl.col("n") >= measured.policy.residual_instances.value
    return measured.residuals.filter((pl.col("residual") == "all") & enough)


def _high(measured: Measurements, judged: pl.DataFrame) -> pl.DataFrame:
    return judged.filter(pl.col("low") > measured.policy.residual_share.value)


def standing_parents(measured: Measurements) -> dict[int, dict[str, Any]]:
    """Line of the residual table of each parent that is reported, by its index, deepest first."""
    high = {row["parent"]: row for row in _high(measured, _judged(measured)).iter_rows(named=True)}
    standing = _standing(measured, [measured.hierarchy.index(parent) for parent in high])
    return {i: high[measured.hierarchy.nodes[i]] for i in standing}


def _standing(measured: Measurements, parents: list[int]) -> list[int]:
    """Parents that are high on their own account, not through flagged descendants."""
    hierarchy, standing = measured.hierarchy, list[int]()
    for parent in sorted(parents, key=lambda i: (hierarchy.height[i], i)):
        below = set(row(hierarchy.below, parent).tolist())
        explained = np.zeros(len(measured.dataset), np.bool_)
        for flagged in standing:
            if flagged in below:
                explained[measured.below.labelled(flagged)] = True
        if not explained.any() or _high_without(measured, parent, explained):
            standing.append(parent)
    return standing


def _high_without(measured: Measurements, parent: int, explained: BoolArray) -> bool:
    labelled = measured.below.labelled(parent)
    only = measured.below.only_residual(parent)
    labelled, only = labelled[~explained[labelled]], only[~explained[only]]
    _, low, _ = residual_share(labelled, only, measured.group_of)
    policy = measured.policy
    return len(labelled) >= policy.residual_instances.value and low > policy.residual_share.value


def _finding(measured: Measurements, parent: int, counted: dict[str, Any]) -> Finding:
    node = measured.hierarchy.nodes[parent]
    k, n, at_parent = (int(counted[name]) for name in ("k", "n", "at_parent"))
    share, low, high = (float(counted[name]) for name in ("share", "low", "high"))
    return Finding(
        check=_NAME,
        severity="warning",
        nodes=(node,),
        statement=f"Below {measured.hierarchy.describe(parent)}, {{instances}} of {{of}} instances "
        "({share}) carry only residual labels: the residual share is high, above {limit}.",
        evidence={
            "instances": count(k, n),
            "of": count(n, len(measured.dataset)),
            "share": derived(share, "instances", "of"),
            "low": derived(low, "instances", "of"),
            "high": derived(high, "instances", "of"),
            "limit": Quantity(measured.policy.residual_share.value),
            "labelled_at_parent": count(at_parent, len(measured.dataset)),
        },
        curator="Review a sample of these records: was a specific node known and not used? Say in "
        "the release notes that this part of the hierarchy is coded coarsely.",
        data_user="Do not read the absence of the specific nodes as their absence in the instance; "
        "consider the parent as the label.",
        touched=k,
        parts=_parts(measured, parent, n),
    )


def _parts(measured: Measurements, parent: int, labelled: int) -> tuple[Part, ...]:
    """The residual nodes below a parent, most used first."""
    hierarchy, total = measured.hierarchy, len(measured.dataset)
    used = [
        (int(measured.direct_support[i]), hierarchy.nodes[i])
        for i in row(hierarchy.below, parent).tolist()
        if i in measured.residual and i != parent and measured.direct_support[i]
    ]
    used.sort(key=lambda found: (-found[0], found[1]))
    return tuple(
        Part((node,), {"instances": count(n, total, labelled)}) for n, node in used[:TOP_PARTS]
    )


CHECK = Check(_NAME, _TITLE, run)
