"""Instances that carry the nodes of a policy's rule, their labels, and names for sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS
from audit.checks.shared.carriers import carrying
from audit.disclosure import count
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.results.findings import Part

MOST_NAMED = 3
"""Largest number of nodes of a side of a rule that a sentence names in full."""


def carrying_any(measured: Measurements, nodes: Sequence[str]) -> IntArray:
    """Instances that carry at least one of the nodes, ascending."""
    each = (carrying(measured, node) for node in nodes)
    return np.unique(np.concatenate([np.empty(0, np.int64), *each]))


def named(hierarchy: Hierarchy, nodes: Sequence[str]) -> str:
    """The nodes of a side of a rule; of many the first, and the number of others."""
    few = nodes if len(nodes) <= MOST_NAMED else nodes[: MOST_NAMED - 1]
    others = len(nodes) - len(few)
    names = [hierarchy.describe(hierarchy.index(node)) for node in few]
    *first, last = [*names, *([f"{others} others"] if others else [])]
    return f"{', '.join(first)} or {last}" if first else last


def parts_of(measured: Measurements, nodes: Sequence[str], instances: IntArray) -> tuple[Part, ...]:
    """Breakdown of instances by their labels at or below the nodes, the most frequent first."""
    labels = np.flatnonzero(at_or_below(measured.hierarchy, nodes))
    labelled = np.asarray(
        measured.loaded.dataset.direct[instances][:, labels].sum(axis=0), np.int64
    )
    order = np.lexsort((labels, -labelled))[:TOP_PARTS]
    ids, everywhere = measured.hierarchy.nodes, measured.direct_support
    return tuple(
        Part(
            (ids[labels[place]],),
            {"instances": count(labelled[place], len(instances), everywhere[labels[place]])},
        )
        for place in order.tolist()
        if labelled[place]
    )
