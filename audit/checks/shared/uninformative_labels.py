"""Instances whose labels are all roots or other uninformative nodes."""

from __future__ import annotations

import numpy as np

from audit.base.dag import IntArray
from audit.checks.check import TOP_PARTS
from audit.disclosure import Quantity, count, derived
from audit.engine.pairs.record_counts import only_among
from audit.measure.measure import Measurements
from audit.results.findings import Finding, Part

UNINFORMATIVE = "uninformative"
"""Key of the finding on such instances."""


def cases_uninformative(measured: Measurements) -> IntArray:
    """The instances with uninformative labels only, ascending."""
    return np.flatnonzero(
        only_among(measured.loaded.dataset.direct, measured.hierarchy.uninformative)
    )


def finding_of_instances(measured: Measurements, check: str) -> tuple[Finding, ...]:
    """A note on instances with uninformative labels only, with the nodes concerned."""
    touched = measured.counts.records.total("uninformative")
    if not touched:
        return ()
    support, labelled = measured.direct_support, measured.labelled
    used = np.flatnonzero(measured.hierarchy.uninformative & (support > 0))
    used = used[np.lexsort((used, -support[used]))]
    labels, of_labels = int(support[used].sum()), int(support.sum())
    ids = measured.hierarchy.nodes
    return (
        Finding(
            check=check,
            severity="note",
            nodes=tuple(ids[node] for node in used[:TOP_PARTS].tolist()),
            statement="{instances} of {of} instances with labels ({share}) {instances|has|have} "
            "no labels but roots and nodes that are above more than half of the "
            "hierarchy; {labels} of {of_labels} labels ({label_share}) {labels|is such "
            "a node|are such nodes}.",
            evidence={
                "instances": count(touched, labelled),
                "of": Quantity(labelled),
                "share": derived(touched / labelled, "instances"),
                "labels": count(labels, of_labels),
                "of_labels": Quantity(of_labels),
                "label_share": derived(labels / of_labels, "labels"),
            },
            curator="Find out what such a label means (often that nothing is known), and say so "
            "in the release notes; or leave the instance without a label.",
            data_user="Do not count these instances as described: nothing more specific is known "
            "about them, and a model that answers with a root is right about them "
            "without saying anything.",
            touched=touched,
            parts=tuple(
                Part((ids[node],), {"instances": count(int(support[node]), labelled)})
                for node in used[:TOP_PARTS].tolist()
            ),
            key=(UNINFORMATIVE,),
        ),
    )
