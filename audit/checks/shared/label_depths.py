"""The loss of depth of the labels since the reference run."""

from __future__ import annotations

import numpy as np

from audit.base.dag import FloatArray, IntArray
from audit.disclosure import BESIDE, Quantity, derived
from audit.engine.statistics.mean_loss import MeanLoss, mean_loss
from audit.measure.measure import Measurements
from audit.results.findings import Finding
from audit.results.reference_changes import SHALLOWER


def shallower(measured: Measurements) -> tuple[Finding, ...]:
    """A note where labels are less deep than in the reference; none without one to compare with.

    It is found where the loss of mean depth is above the policy's limit and its p value at most the
    policy's rate: a family of one comparison.
    """
    policy, found = measured.policy, _depth_loss(measured)
    if found is None or found.lost <= policy.depth_loss.value:
        return ()
    if found.p_value > policy.false_discovery_rate.value:
        return ()
    return (_finding(measured, found),)


def _depth_loss(measured: Measurements) -> MeanLoss | None:
    before = None if measured.reference is None else measured.reference.depths
    if measured.instances is None or before is None:
        return None
    sums, sizes = _by_instance(measured)
    group_of = measured.instances.group_of
    if group_of is not None:
        sums = np.bincount(group_of, weights=sums).astype(np.float64)
        sizes = np.bincount(group_of, weights=sizes).astype(np.float64)
    here = np.bincount(measured.hierarchy.depth, weights=measured.direct_support)
    there = sizes > 0
    return mean_loss(sums[there], sizes[there], here.astype(np.int64), before.labels, before.units)


def _by_instance(measured: Measurements) -> tuple[FloatArray, FloatArray]:
    """Sum of the depths of the labels of each instance, and their number."""
    direct = measured.loaded.dataset.direct.astype(np.float64)
    return direct @ measured.hierarchy.depth, direct @ np.ones(len(measured.hierarchy))


def _finding(measured: Measurements, found: MeanLoss) -> Finding:
    check, key = SHALLOWER
    numbers = {
        "depth": found.mean,
        "depth_before": found.before,
        "lost": found.lost,
        "lost_low": found.low,
        "lost_high": found.high,
        "p_value": found.p_value,
    }
    return Finding(
        check=check,
        severity="note",
        nodes=(measured.hierarchy.nodes[measured.hierarchy.root],),
        statement="Labels are less deep than in the reference[: at a mean depth of {depth}, there "
        "at {depth_before}][, a loss of {lost}][ (95% interval {lost_low} to "
        "{lost_high})].",
        evidence={
            **{name: derived(value, BESIDE) for name, value in numbers.items()},
            "family": Quantity(1),
            "limit": Quantity(measured.policy.depth_loss.value),
        },
        curator="Look at the nodes whose labels became fewer: if labels were cut or left open, "
        "code them again; if the mix of instances changed, say so in the release notes.",
        data_user="Do not compare the specific nodes of the two releases: some of their labels "
        "may now be at the parents.",
        touched=measured.labelled,
        key=key,
    )


def cases_shallower(measured: Measurements, finding: Finding) -> IntArray:
    """The instances whose labels are less deep on average than those of the reference."""
    before = float(finding.evidence["depth_before"].value or 0)
    sums, sizes = _by_instance(measured)
    return np.flatnonzero((sizes > 0) & (sums < before * sizes))
