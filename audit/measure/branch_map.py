"""The map of branches: reported pairs between each two branches and within each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.engine.statistics.expectation import LabelPairs
from audit.measure.reported_pairs import Finds

BRANCHES: dict[str, Any] = {
    "a": pl.Int64,
    "b": pl.Int64,
    "found": pl.Int64,
    "excess": pl.Float64,
    "label_pairs": pl.Float64,
    "label_pairs_expected": pl.Float64,
}
"""Columns of the map, one row per pair of branches (by index; equal indices: within one branch):
the reported pairs, their records in excess, and the observed and expected number of label pairs,
null where one of the branches has a single label in use."""


def branch_map(finds: Finds, labels: LabelPairs, first_branch: IntArray) -> pl.DataFrame:
    """Make the map: columns `BRANCHES`, a row for two branches with label pairs or reported pairs.

    Args:
        finds: The reported pairs.
        labels: The label pairs of each stratum.
        first_branch: The branch of each node, shape (n_nodes,).
    """
    first, second = np.sort(np.array([first_branch[end] for end in finds.ends]), axis=0)
    excess = finds.observed - finds.explained
    reported = pl.DataFrame({"a": first, "b": second, "excess": excess}).group_by("a", "b")
    counted = reported.agg(found=pl.len(), excess=pl.col("excess").sum())
    columns = ("a", "b", "label_pairs", "label_pairs_expected")
    schema = {name: BRANCHES[name] for name in columns}
    between = pl.DataFrame(list(_between(labels)), schema=schema, orient="row")
    joined = counted.join(between, on=["a", "b"], how="full", coalesce=True)
    return (
        joined.with_columns(pl.col("found", "excess").fill_null(0))
        .select(pl.col(name).cast(kind) for name, kind in BRANCHES.items())
        .sort("a", "b")
    )


def _between(labels: LabelPairs) -> Iterator[tuple[int, int, float, float]]:
    """Both branches, their label pairs and those expected, where each has a facet of its own."""
    observed = labels.observed.sum(axis=0)
    expected = (labels.drawn * labels.competing[:, None, None]).sum(axis=0)
    for (a, first), (b, second) in combinations_with_replacement(_facets(labels), 2):
        if observed[first, second] or expected[first, second] >= 1:
            yield a, b, float(observed[first, second]), float(expected[first, second])


def _facets(labels: LabelPairs) -> list[tuple[int, int]]:
    """Each branch that shares its facet with no other, and the facet, in order of branches."""
    branches = np.flatnonzero(labels.facets.of_branch >= 0)
    facets = labels.facets.of_branch[branches]
    several = np.bincount(facets, minlength=labels.facets.count) > 1
    pairs = zip(branches.tolist(), facets.tolist(), strict=True)
    return [(branch, facet) for branch, facet in pairs if not several[facet]]
