"""Residual use from counts alone is that of instances which each stand alone."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.counting.dataset import Instances
from audit.counting.residual_nodes import Residual
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.residual_use import ResidualUse, residual_use
from audit.policy.policy import Policy
from fixtures.labelled import labelled, repeated, tree
from fixtures.strategies import hierarchies, label_sets

FOUND = {kind: Residual(kind, "drawn") for kind in ("other", "unspecified")}
KINDS = st.sampled_from(list(FOUND.values()))


def same(dataset: LabelDataset, residual: dict[int, Residual], least: float) -> ResidualUse:
    instances = Instances(dataset, Policy(), residual)
    counted = residual_use(instances, residual, least)
    measured = residual_use(instances, residual, least, instances)
    assert counted.table.equals(measured.table)
    assert counted.prior == measured.prior
    return counted


Release: TypeAlias = tuple[Hierarchy, list[frozenset[str]], dict[int, Residual]]


@st.composite
def drawn(draw: st.DrawFn) -> Release:
    """Labels of a hierarchy some of whose leaves are residual."""
    hierarchy = draw(hierarchies(max_parents=2).filter(lambda drawn: len(drawn) > 5))
    leaves = np.flatnonzero(hierarchy.assignable).tolist()
    residual = dict(zip(leaves[::2], draw(st.tuples(*[KINDS] * len(leaves[::2]))), strict=True))
    return hierarchy, draw(label_sets(hierarchy, max_instances=12)), residual


@given(drawn(), st.sampled_from([1.0, 2.0, 30.0]))
def test_counts_tell_the_same_table(release: Release, least: float) -> None:
    hierarchy, sets, residual = release
    labels = {f"i{n}": sorted(own) for n, own in enumerate(sets)}

    same(labelled(hierarchy, labels), residual, least)


def test_counts_are_drawn_toward_the_same_prior() -> None:
    parents = [f"p{n:02}" for n in range(12)]
    wide = tree(" ".join(parents) + " < top", *(f"{p}_a {p}_other < {p}" for p in parents))
    residual = {wide.index(f"{parent}_other"): FOUND["other"] for parent in parents}
    counts = [
        (often, [f"{parent}_{label}"])
        for n, parent in enumerate(parents)
        for often, label in ((5 * n + 1, "other"), (60 - 5 * n, "a"))
    ]

    assert same(labelled(wide, repeated(counts)), residual, 30.0).prior is not None


def test_without_instances_there_is_no_row() -> None:
    lung = tree("asthma other < lung")

    assert same(labelled(lung, {}), {lung.index("other"): FOUND["other"]}, 1.0).table.is_empty()
