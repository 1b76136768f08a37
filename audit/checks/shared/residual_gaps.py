"""Findings on residual shares that differ between the values of a column, or from a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import BoolArray
from audit.disclosure import count, derived
from audit.hierarchies.relations import relate_two
from audit.measure.measure import Measurements
from audit.measure.residual_differences import REFERENCE, difference_without, residual_differences
from audit.results.findings import Finding, finding_id

_NAME = "residual_overuse"


def differing(measured: Measurements) -> tuple[Finding, ...]:
    """A note for each share that differs between column values or from the reference."""
    policy = measured.policy
    found = residual_differences(measured).filter(
        (pl.col("q_value") <= policy.false_discovery_rate.value)
        & (pl.col("difference").abs() > policy.residual_difference.value)
    )
    rows = list(found.iter_rows(named=True))
    into = _differences_explained(measured, rows)
    return tuple(_difference(measured, row, into[_key(row)]) for row in rows)


def instances_compared(measured: Measurements, finding: Finding) -> BoolArray:
    """Whether each instance has the column value of a difference, shape (n_instances,).

    For a difference from the reference, all True.
    """
    _, column, value = finding.key
    if column == REFERENCE:
        return np.ones(measured.n_instances, np.bool_)
    inside, _ = measured.loaded.dataset.having(column, value)
    return inside


_Key = tuple[str, str, str]


def _key(row: dict[str, Any]) -> _Key:
    return row["parent"], row["column"], row["value"]


def _differences_explained(
    measured: Measurements, rows: list[dict[str, Any]]
) -> dict[_Key, tuple[str, ...]]:
    """The findings that explain each difference, the deepest parents first; none: it stands.

    Of the values of a column that differ below one parent the surest stands. A parent that no
    longer differs without the instances below standing parents of the column is folded into them;
    of a reference there are no instances to leave out.
    """
    hierarchy, explained = measured.hierarchy, dict[_Key, tuple[str, ...]]()
    floor = measured.policy.residual_difference.value

    def order(row: dict[str, Any]) -> tuple[int, int, float, str]:
        parent = hierarchy.index(row["parent"])
        return int(hierarchy.height[parent]), parent, row["p_value"], row["value"]

    for line in sorted(rows, key=order):
        parent, column, value = _key(line)
        index = hierarchy.index(parent)
        standing = [key for key, by in explained.items() if not by and key[1] == column]
        same = [key for key in standing if key[0] == parent]
        below = [
            key
            for key in standing
            if relate_two(hierarchy, hierarchy.index(key[0]), index)[0] == "ancestor"
        ]
        if not same and below and column != REFERENCE:
            left_out = np.zeros(measured.n_instances, np.bool_)
            for node, _, _ in below:
                left_out[measured.loaded.below.labelled(hierarchy.index(node))] = True
            remaining = difference_without(measured, column, value, index, left_out)
            same = below if abs(remaining) <= floor else []
        explained[_key(line)] = tuple(finding_id(_NAME, *key) for key in same)
    return explained


_DIFFERENCE = {
    "difference": "difference",
    "difference_low": "low",
    "difference_high": "high",
    "q_value": "q_value",
}
"""Column of a difference for each name of evidence."""


def _difference(measured: Measurements, row: dict[str, Any], into: tuple[str, ...]) -> Finding:
    total = measured.n_instances
    parent = measured.hierarchy.describe(measured.hierarchy.index(row["parent"]))
    to_reference = row["column"] == REFERENCE
    here = "" if to_reference else f" where {row['column']} is {row['value']}"
    there = "in the reference" if to_reference else "elsewhere"
    n = count(row["n"], total)
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(row["parent"],),
        statement=f"Below {parent}, {{instances}} of {{of}} instances ({{share}}) "
        "{instances|carries|carry} only "
        f"residual labels{here}; {there} {{elsewhere}} of {{of_elsewhere}} ({{elsewhere_share}}).",
        evidence={
            "instances": count(row["k"], row["n"]),
            "of": n,
            "share": derived(row["k"] / row["n"], "instances", "of"),
            "elsewhere": count(row["k_elsewhere"], row["n_elsewhere"]),
            "of_elsewhere": count(row["n_elsewhere"], *([] if to_reference else [total])),
            "elsewhere_share": derived(
                row["k_elsewhere"] / row["n_elsewhere"], "elsewhere", "of_elsewhere"
            ),
            **{
                name: derived(row[column], "instances", "of", "elsewhere", "of_elsewhere")
                for name, column in _DIFFERENCE.items()
            },
        },
        curator="Find out who coded, and by which rules: assume that the coding differs until the "
        "instances are shown to differ.",
        data_user="Do not compare the specific nodes below this parent between the two.",
        touched=row["n"],
        key=_key(row),
        folded_into=into,
    )
