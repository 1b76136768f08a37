"""sibling_exclusive: instances that carry two nodes of a group declared mutually exclusive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array, triu

from audit.base.dag import BoolArray, IntArray, row
from audit.base.declared import NONE, Columns, count
from audit.checks.check import TOP_PARTS, Check, Outcome, first_unmet
from audit.checks.shared.carriers import label_part, named
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.checks.shared.proposals import carried_as, proposals
from audit.measure.measure import Measurements
from audit.policy.rules import Exclusive
from audit.results.findings import Finding, share_evidence

_NAME = "sibling_exclusive"


@dataclass(frozen=True)
class _Group:
    """A declared group and the instances with a label at or below one of its nodes."""

    declared: Exclusive
    side: IntArray
    """Number of the side that each node is below, shape (n_nodes,); -1: none, -2: several."""
    carrying: IntArray


def run(measured: Measurements) -> Outcome:
    """Report each violated group once, with its most frequent pairs of labels.

    An instance counts if it has two different labels on different sides; a single label below two
    sides does not count.
    """
    groups = [_group(measured, declared) for declared in measured.policy.exclusive]
    carrying = {int(i) for group in groups for i in group.carrying}
    found = (_finding(measured, group) for group in groups)
    return Outcome(
        denominator=len(carrying),
        denominator_unit="instances with a node that excludes others",
        findings=tuple(finding for finding in found if finding is not None),
        not_applicable=first_unmet((groups, "the policy declares no nodes mutually exclusive")),
    )


def _group(measured: Measurements, declared: Exclusive) -> _Group:
    hierarchy = measured.hierarchy
    side = np.full(len(hierarchy), -1, np.int64)
    for number, nodes in enumerate(declared.sides):
        below = np.unique(np.concatenate([row(hierarchy.below, hierarchy.index(n)) for n in nodes]))
        side[below] = np.where(side[below] == -1, number, -2)
    labels = np.flatnonzero(side != -1)
    carrying = np.flatnonzero(np.asarray(measured.loaded.dataset.direct[:, labels].sum(axis=1)))
    return _Group(declared, side, carrying)


def _finding(measured: Measurements, group: _Group) -> Finding | None:
    """The finding on a group; None where no instance has labels on two sides."""
    labels, instances = np.flatnonzero(group.side >= 0), _against(measured, group)
    if len(instances) == 0:
        return None
    against = csr_array(measured.loaded.dataset.direct[instances][:, labels])
    touched = len(instances)
    pairs = _pairs(against, labels, group.side)
    parts = tuple(label_part(measured.hierarchy, (a, b), n) for a, b, n in pairs[:TOP_PARTS])
    return Finding(
        check=_NAME,
        severity=group.declared.severity,
        nodes=parts[0].nodes,
        statement=f"{{instances}} of {{of}} instances with {_sides(measured, group.declared)} "
        f"({{share}}) {{instances|has|have}} {_against_words(group.declared)}"
        f", in {{pairs}} different pairs: {group.declared.reason}",
        evidence={**share_evidence(touched, len(group.carrying)), "pairs": len(pairs)},
        curator="Look at these records and keep or join the two as the rule says and the record "
        "supports; where both are right, take the rule out of the policy.",
        data_user="Do not count these instances on either side.",
        touched=touched,
        parts=parts,
        key=_key(group.declared),
    )


def _sides(measured: Measurements, declared: Exclusive) -> str:
    """The nodes of a group; those of a side in a row."""
    return named(measured.hierarchy, [node for side in declared.sides for node in side])


def _against_words(declared: Exclusive) -> str:
    both = [len(side) for side in declared.sides] == [1, 1]
    return f"{'both' if both else 'two of them'}, which exclude each other"


def _key(declared: Exclusive) -> tuple[str, ...]:
    return tuple(sorted(",".join(sorted(side)) for side in declared.sides))


def _against(measured: Measurements, group: _Group) -> IntArray:
    """Instances with labels on two sides, ascending."""
    labels = np.flatnonzero(group.side >= 0)
    direct = csr_array(measured.loaded.dataset.direct[group.carrying][:, labels])
    return group.carrying[_on_two_sides(direct, group.side[labels])]


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances with labels on two sides of the group."""
    return _against(measured, _group_of(measured, finding))


def _group_of(measured: Measurements, finding: Finding) -> _Group:
    declared = next(one for one in measured.policy.exclusive if _key(one) == finding.key)
    return _group(measured, declared)


def proposes(measured: Measurements, finding: Finding) -> pl.DataFrame:
    """A look at each label of the group: which of them is wrong, the record must say."""
    group = _group_of(measured, finding)
    labels = np.flatnonzero(group.side >= 0)
    found = carried_as(measured, _against(measured, group), labels)
    said = "the record carries another label that excludes it; one of them must be removed"
    return proposals(found, "review", "review", said)


def _on_two_sides(direct: csr_array, side: IntArray) -> BoolArray:
    """Whether each instance has labels on two sides, shape (n_instances,)."""
    sides = np.zeros((len(side), int(side.max(initial=0)) + 1), np.int64)
    sides[np.arange(len(side)), side] = 1
    on: IntArray = np.asarray(direct @ sides, np.int64)
    return np.asarray((on > 0).sum(axis=1) > 1)


def _pairs(direct: csr_array, labels: IntArray, side: IntArray) -> list[tuple[int, int, int]]:
    """Two labels of different sides and the instances with both, the most frequent first."""
    together = triu(csr_array(direct.T @ direct), k=1).tocoo()
    a, b = labels[together.row], labels[together.col]
    apart = side[a] != side[b]
    found = zip(a[apart].tolist(), b[apart].tolist(), together.data[apart].tolist(), strict=True)
    return sorted(found, key=lambda pair: (-pair[2], pair[:2]))


CHECK = Check(
    _NAME,
    "Do records carry labels that exclude each other?",
    run,
    needs="instances",
    cases=cases,
    proposes=proposes,
    nodes="Such as|Beside",
    evidence=Columns(OF_SOME, count("pairs", of=NONE)),
    of_parts=PARTS,
)
