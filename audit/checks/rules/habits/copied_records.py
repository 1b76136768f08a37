"""copied_records: records with exactly the labels of others, where hardly any differ by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.base.declared import NONE, Columns, chance, count
from audit.checks.check import Check, Outcome
from audit.checks.rules.duplicate_instance import LEAST_LABELS
from audit.checks.shared.evidence import OF_SOME
from audit.engine.statistics.intervals import wilson, wilson_at_limit
from audit.measure.measure import Measurements, once
from audit.results.findings import Finding, share_evidence, times_limit
from audit.sharing.told import Rounding

_NAME = "copied_records"
LEAST_COPIES = 5
"""Least number of copies to be reported."""
LEAST_SHARE = 0.5
"""Share of copies, among them and the pairs that differ a little, above which they are reported."""


@dataclass(frozen=True, eq=False)
class Copies:
    """How many records repeat each other exactly, and how many nearly.

    Args:
        equal: Whether a record of another group has the same labels, shape (n_records,).
        copied: Whether more others have them than differ from them by one label, same shape.
        copies: Records beyond the first of such sets, less those of sets that are near.
        near: Pairs of sets that are near each other, each on one record and near no other.
    """

    equal: BoolArray
    copied: BoolArray
    copies: int
    near: int

    @property
    def low(self) -> float:
        """Lower end of the interval of the copies' share."""
        return wilson(self.copies, self.copies + self.near)[0]

    def stand(self, rounding: Rounding) -> bool:
        """Whether there are many copies, and more than nearly equal records let expect."""
        copies, near = rounding.bins(NONE).at_limit(rounding.count(self.copies) or 0, self.near)
        low, _ = wilson_at_limit(copies, copies + near, rounding.width, LEAST_SHARE)
        return bool(copies >= LEAST_COPIES and low > LEAST_SHARE)


def run(measured: Measurements) -> Outcome:
    """Report that records repeat the labels of others, where near misses are rarer than repeats.

    What makes records alike by nature, such as usual sets of labels or short records, makes nearly
    equal sets first.
    """
    long = int((np.diff(measured.loaded.dataset.direct.indptr) >= LEAST_LABELS).sum())
    found = _copies(measured)
    return Outcome(
        denominator=long,
        denominator_unit=f"instances with {LEAST_LABELS} or more different labels",
        findings=(_finding(measured, found, long),) if found.stand(measured.rounding) else (),
    )


@once
def _copies(measured: Measurements) -> Copies:
    dataset, groups = measured.loaded.dataset, measured.loaded.group_of
    return copies_of(dataset.direct, np.arange(len(dataset)) if groups is None else groups)


def copies_of(direct: Sparse, group: IntArray) -> Copies:
    """Copies among records of different groups; a group has each set of labels once.

    Two sets are near if one is the other less a label, or both become equal by taking a label from
    each. Sets are compared by the sum of random numbers of their labels, so that time grows with
    the number of labels.

    Args:
        direct: Labels of each record, shape (n_records, n_nodes), one stored value a label.
        group: Group of each record, shape (n_records,).
    """
    number = np.random.default_rng(0).integers(1 << 64, size=direct.shape[1], dtype=np.uint64)
    record = np.repeat(np.arange(direct.shape[0]), np.diff(direct.indptr))
    key = np.zeros(direct.shape[0], np.uint64)
    np.add.at(key, record, number[direct.indices])
    sets, first, place = np.unique(key, return_index=True, return_inverse=True)
    once = np.unique(np.stack([place, group]), axis=1)[0]
    records, length = np.bincount(once), np.diff(direct.indptr)[first]

    of_set = np.repeat(np.arange(len(sets)), length)
    less_one = sets[of_set] - number[direct[first].indices]
    whole, part = length >= LEAST_LABELS - 1, length[of_set] >= LEAST_LABELS
    member = np.concatenate([np.flatnonzero(whole), of_set[part]])
    shared = np.unique(np.concatenate([sets[whole], less_one[part]]), return_inverse=True)[1]
    sizes, weights = np.bincount(shared), np.bincount(shared, weights=records[member])
    near = np.bincount(member, sizes[shared] - 1, len(sets)).astype(np.int64)
    near_records = np.bincount(member, weights[shared] - records[member], len(sets))

    long = length >= LEAST_LABELS
    copies = np.where(long, np.maximum(records - 1 - near_records, 0), 0).astype(np.int64)
    alone = (records == 1) & (near == 1)
    pairs = (sizes == 2) & (np.bincount(shared, weights=alone[member]) == 2)
    equal = long & (records > 1)
    return Copies(equal[place], copies[place] > 0, int(copies.sum()), int(pairs.sum()))


def _finding(measured: Measurements, found: Copies, long: int) -> Finding:
    touched, every = int(found.copied.sum()), found.copies + found.near
    whose = "" if measured.loaded.group_of is None else " of another group"
    return Finding(
        check=_NAME,
        severity="note",
        nodes=(measured.hierarchy.nodes[measured.hierarchy.root],),
        statement=f"{{instances}} of {{of}} instances with {LEAST_LABELS} or more different labels "
        f"({{share}}) {{instances|has|have}} exactly the labels of others{whose}, as copies and "
        "templates do. Records alike by nature would more often differ by one label[: {near} pairs "
        "{near|does|do}, where {copies} {copies|repeats|repeat} another exactly].",
        evidence={
            **share_evidence(touched, long),
            "equal": int(found.equal.sum()),
            "copies": found.copies,
            "near": found.near,
            "copied_share": found.copies / every,
            "low_share": found.low,
            "family": 1,
        },
        curator="Find out whether records were copied to other ids on the way, or filled from a "
        "template; remove copies, and say in the release notes what a template ticks.",
        data_user="Keep equal records in one split, and count them once.",
        touched=touched,
        beyond=times_limit(found.low, LEAST_SHARE),
        key=("sets",),
        asks=True,
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The records whose labels are those of others."""
    return np.flatnonzero(_copies(measured).copied)


CHECK = Check(
    _NAME,
    "Are records copies of each other under different ids?",
    run,
    needs="instances",
    cases=cases,
    evidence=Columns(
        OF_SOME,
        count("equal copies"),
        count("near", of=NONE),
        chance("copied_share low_share family"),
    ),
)
