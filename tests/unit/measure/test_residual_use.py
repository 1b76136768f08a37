"""Residual use from counts alone is that of instances which each stand alone."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.counting.dataset import Instances
from audit.counting.residual_nodes import Residual
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.residual_use import residual_use
from audit.policy.policy import Policy
from fixtures.labelled import labelled, tree
from fixtures.strategies import hierarchies, label_sets

FOUND = {kind: Residual(kind, "drawn") for kind in ("other", "unspecified")}
KINDS = st.sampled_from(list(FOUND.values()))


def same(dataset: LabelDataset, residual: dict[int, Residual]) -> pl.DataFrame:
    instances = Instances(dataset, Policy(), residual)
    counted = residual_use(instances, residual)
    assert counted.equals(residual_use(instances, residual, instances))
    return counted


Release: TypeAlias = tuple[Hierarchy, list[frozenset[str]], dict[int, Residual]]


@st.composite
def drawn(draw: st.DrawFn) -> Release:
    """Labels of a hierarchy some of whose leaves are residual."""
    hierarchy = draw(hierarchies(max_parents=2).filter(lambda drawn: len(drawn) > 5))
    leaves = np.flatnonzero(hierarchy.assignable).tolist()
    residual = dict(zip(leaves[::2], draw(st.tuples(*[KINDS] * len(leaves[::2]))), strict=True))
    return hierarchy, draw(label_sets(hierarchy, max_instances=12)), residual


@given(drawn())
def test_counts_tell_the_same_table(release: Release) -> None:
    hierarchy, sets, residual = release
    labels = {f"i{n}": sorted(own) for n, own in enumerate(sets)}

    same(labelled(hierarchy, labels), residual)


def test_without_instances_there_is_no_row() -> None:
    lung = tree("asthma other < lung")

    assert same(labelled(lung, {}), {lung.index("other"): FOUND["other"]}).is_empty()
