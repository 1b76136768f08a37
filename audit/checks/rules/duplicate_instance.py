"""duplicate_instance: one record entered twice, under the same id or two ids of one group."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import Columns, count, exact
from audit.checks.check import Check, Outcome
from audit.checks.shared.carriers import distinct
from audit.checks.shared.evidence import OF_SOME
from audit.measure.measure import Measurements
from audit.results.findings import Finding, share_evidence

_NAME = "duplicate_instance"
_PLACES = ("places",)
"""Key of the finding on instances that occur in two places of the data."""
LEAST_LABELS = 5
"""Least number of labels for two equal sets within a group not to be a coincidence."""


def run(measured: Measurements) -> Outcome:
    """Report ids that occur twice with equal labels, and equal long label sets within a group.

    Equal sets of different groups are not a finding: two patients may have the same conditions.
    """
    labelled = measured.n_instances - measured.ledger.instances_without_labels
    return Outcome(
        denominator=labelled,
        denominator_unit="instances with labels",
        findings=(*_places_finding(measured, labelled), *_group_finding(measured, labelled)),
    )


def met_twice(measured: Measurements) -> IntArray:
    """Instances that occur in two places with equal labels, at least one label kept; ascending."""
    dataset = measured.loaded.dataset
    places = dataset.places.filter(pl.col("labels").list.len() > 0)
    equal = places.group_by("instance", "labels").len().filter(pl.col("len") > 1)
    met = equal["instance"].unique().to_numpy().astype(np.int64)
    return np.intersect1d(met, dataset.assertions["instance"].to_numpy())


def _places_finding(measured: Measurements, labelled: int) -> Iterator[Finding]:
    twice = met_twice(measured)
    if len(twice):
        yield Finding(
            check=_NAME,
            severity="warning",
            nodes=(_root(measured),),
            statement="{instances} of {of} instances with labels ({share}) {instances|is|are} in "
            "two places (records or splits) with equal labels; {instances|it|each} counts once.",
            evidence=share_evidence(len(twice), labelled),
            curator="Keep one record of each id; where the places are splits, choose one split.",
            data_user="Remove repeated ids before counting or training.",
            touched=len(twice),
            key=_PLACES,
        )


def _group_finding(measured: Measurements, labelled: int) -> Iterator[Finding]:
    equal = _equal_sets(measured)
    if equal.is_empty():
        return
    instances, sets = len(equal), len(equal.unique(["group", "set"]))
    groups, all_groups = equal["group"].n_unique(), int(measured.ledger.groups or 0)
    yield Finding(
        check=_NAME,
        severity="warning",
        nodes=(_root(measured),),
        statement="{instances} of {of} instances with labels ({share}) {instances|has|have} the "
        f"labels ({LEAST_LABELS} or more) of another instance of {{instances|its|their}} group, in "
        "{groups} of {of_groups} groups[; without the repeats {distinct} would be left].",
        evidence={
            **share_evidence(instances, labelled),
            "groups": groups,
            "of_groups": all_groups,
            "distinct": sets,
        },
        curator="Compare these records: a stay may have been entered twice, or labels copied from "
        "the stay before.",
        data_user="Keep the instances of a group in one split, and weight groups, not instances.",
        touched=instances,
        key=("group",),
    )


def _equal_sets(measured: Measurements) -> pl.DataFrame:
    """``instance, group, set``: instances with equal sets of labels as another of their group."""
    direct, groups = measured.loaded.dataset.direct, measured.loaded.dataset.instances["group"]
    lengths = np.diff(direct.indptr)
    long = np.flatnonzero((lengths >= LEAST_LABELS) & groups.is_not_null().to_numpy())
    digests = [
        hashlib.sha256(direct.indices[direct.indptr[i] : direct.indptr[i + 1]].tobytes()).digest()
        for i in long.tolist()
    ]
    sets = pl.Series(digests, dtype=pl.Binary)
    frame = pl.DataFrame({"instance": long, "group": groups.gather(long), "set": sets})
    return frame.filter(pl.len().over("group", "set") > 1)


def _root(measured: Measurements) -> str:
    return measured.hierarchy.nodes[measured.hierarchy.root]


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that occur in two places, or those equal to another of their group."""
    if finding.key == _PLACES:
        return met_twice(measured)
    return distinct(_equal_sets(measured))


CHECK = Check(
    _NAME,
    "Is any record in the data twice?",
    run,
    needs="instances",
    cases=cases,
    evidence=Columns(
        OF_SOME,
        count("groups", of="groups", under="instances"),
        exact("of_groups", of="groups", reason="all groups audited"),
        count("distinct", under="instances"),
    ),
)
