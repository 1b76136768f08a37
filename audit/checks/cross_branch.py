"""cross_branch: instances that carry nodes of two branches that were meant to be apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from audit.checks.check import TOP_PARTS, Check
from audit.dag import BoolArray, IntArray, Sparse, row
from audit.disclosure import Quantity, count, derived
from audit.measure import Measurements
from audit.policy import BranchRule
from audit.result import CheckResult, Finding, Part

_NAME = "cross_branch"
_TITLE = "Do instances carry nodes of branches that were meant to exclude each other?"


@dataclass(frozen=True)
class _Meeting:
    """Two branches, the rule about them, and the instances with a label of each."""

    a: int
    b: int
    rule: BranchRule
    instances: IntArray


def run(measured: Measurements) -> CheckResult:
    """Report each pair of branches that meets against the policy, broken down.

    An instance counts where it has two different labels, one in each branch: a single label that
    lies in both says nothing. A branch that lies below another cannot exclude it.
    """
    hierarchy = measured.hierarchy
    used = [int(i) for i in hierarchy.branches if measured.support[i]]
    pairs = [pair for pair in combinations(used, 2) if not _nested(measured, *pair)]
    unruled = not measured.policy.branch_rules
    flat = unruled and not any(hierarchy.height[i] for i in used)
    meetings = [] if flat else list(_meetings(measured, pairs))
    return CheckResult(
        name=_NAME,
        title=_TITLE,
        denominator=len(pairs),
        denominator_unit="pairs of branches in use",
        findings=tuple(f for meeting in meetings for f in _findings(measured, meeting)),
        not_applicable=_why_not(pairs, flat),
    )


def _why_not(pairs: list[tuple[int, int]], flat: bool) -> str:
    if not pairs:
        return "fewer than two separate branches are in use"
    return "every branch in use is a single node: the hierarchy sets nothing apart" if flat else ""


def _nested(measured: Measurements, a: int, b: int) -> bool:
    below = measured.hierarchy.below
    return b in row(below, a) or a in row(below, b)


def _meetings(measured: Measurements, pairs: list[tuple[int, int]]) -> Iterator[_Meeting]:
    names = measured.hierarchy.nodes
    carriers = csr_array(measured.aggregated.T)
    for a, b in pairs:
        rule = measured.policy.rule_for(names[a], names[b])
        both = np.intersect1d(row(carriers, a), row(carriers, b), assume_unique=True)
        if rule.rule != "expected" and len(both):
            if not rule.fits_in_order(names[a], names[b]):
                a, b = b, a
            instances = _with_two_labels(measured, a, b, both)
            if len(instances):
                yield _Meeting(a, b, rule, instances)


def _with_two_labels(measured: Measurements, a: int, b: int, both: IntArray) -> IntArray:
    """Instances with different labels in the branches; only a label below both can fail to be."""
    shared = np.intersect1d(row(measured.hierarchy.below, a), row(measured.hierarchy.below, b))
    if len(shared) == 0:
        return both
    values = measured.aggregated[both]
    in_both = np.asarray(measured.dataset.direct[both][:, shared].sum(axis=1))
    single: BoolArray = (_column(values, a) == 1) & (_column(values, b) == 1) & (in_both == 1)
    return both[~single]


def _column(values: Sparse, node: int) -> IntArray:
    dense = np.asarray(values[:, [node]].toarray(), np.int64)
    return dense.ravel()


def _findings(measured: Measurements, meeting: _Meeting) -> Iterator[Finding]:
    yield _meeting_finding(measured, meeting)
    if meeting.rule.alone_or_first:
        yield from _not_first(measured, meeting)


def _meeting_finding(measured: Measurements, meeting: _Meeting) -> Finding:
    a, b = (measured.hierarchy.describe(i) for i in (meeting.a, meeting.b))
    disjoint = meeting.rule.rule == "disjoint"
    verb = "although the policy keeps the two apart" if disjoint else "which the policy watches"
    return Finding(
        check=_NAME,
        severity="error" if disjoint else "note",
        nodes=(measured.hierarchy.nodes[meeting.a], measured.hierarchy.nodes[meeting.b]),
        statement=f"{{instances}} of {{of}} instances ({{share}}) carry nodes of both {a} and {b}, "
        f"{verb}. {meeting.rule.reason}",
        evidence=_evidence(measured, meeting, len(meeting.instances)),
        curator="Decide for each line of the breakdown whether the two belong on one record, and "
        "write the decision into the policy as expected or disjoint.",
        data_user="Do not treat the two branches as alternatives of each other.",
        touched=len(meeting.instances),
        parts=_parts(measured, meeting),
    )


def _evidence(
    measured: Measurements, meeting: _Meeting, instances: int, *within: int
) -> dict[str, Quantity]:
    total = len(measured.dataset)
    margins = [int(measured.support[i]) for i in (meeting.a, meeting.b)]
    return {
        "instances": count(instances, total, *margins, *within),
        "of": Quantity(total),
        "share": derived(instances / total, "instances"),
        "support_a": count(margins[0], total),
        "support_b": count(margins[1], total),
    }


def _not_first(measured: Measurements, meeting: _Meeting) -> Iterator[Finding]:
    """A finding on the nodes that should stand alone or first, where they do neither."""
    alone = [node for node in meeting.rule.alone_or_first if node in measured.hierarchy]
    labels = _below_any(measured, alone)
    misplaced = meeting.instances[_misplaced(measured, labels)[meeting.instances]]
    if len(misplaced) == 0:
        return
    direct = measured.dataset.direct[misplaced]
    parts = [(_carrying(measured, direct, node), node) for node in alone]
    names = ", ".join(alone)
    yield Finding(
        check=_NAME,
        severity="warning",
        nodes=(measured.hierarchy.nodes[meeting.a], measured.hierarchy.nodes[meeting.b]),
        statement=f"{{instances}} of {{of}} instances ({{share}}) carry a code of {names} beside "
        f"{measured.hierarchy.describe(meeting.b)}, though it should stand alone or first.",
        evidence=_evidence(measured, meeting, len(misplaced), len(meeting.instances)),
        curator="Check these records: either the code is not meant, or it belongs in first place.",
        data_user="Do not read these codes as the reason for the encounter.",
        touched=len(misplaced),
        parts=_ordered(measured, parts, len(misplaced)),
        key=(measured.hierarchy.nodes[meeting.a], measured.hierarchy.nodes[meeting.b], "first"),
    )


def _below_any(measured: Measurements, nodes: list[str]) -> BoolArray:
    """Nodes at or below one of those named, shape (n_nodes,)."""
    found = np.zeros(len(measured.hierarchy), np.bool_)
    for node in nodes:
        found[row(measured.hierarchy.below, measured.hierarchy.index(node))] = True
    return found


def _misplaced(measured: Measurements, labels: BoolArray) -> BoolArray:
    """Instances with such a label, each known not to be in first place, shape (n_instances,)."""
    assertions = measured.dataset.assertions
    of_them = labels[assertions["node"].to_numpy()]
    first = (assertions["position"] == 1).fill_null(True).to_numpy()
    instances = assertions["instance"].to_numpy()
    found = np.zeros(len(measured.dataset), np.bool_)
    found[instances[of_them]] = True
    found[instances[of_them & first]] = False
    return found


def _carrying(measured: Measurements, direct: Sparse, node: str) -> int:
    below = row(measured.hierarchy.below, measured.hierarchy.index(node))
    return int((direct[:, below].sum(axis=1) > 0).sum())


def _ordered(
    measured: Measurements, parts: list[tuple[int, str]], touched: int
) -> tuple[Part, ...]:
    total, hierarchy = len(measured.dataset), measured.hierarchy
    used = sorted(((n, node) for n, node in parts if n), key=lambda part: (-part[0], part[1]))
    return tuple(
        Part(
            (node,),
            {"instances": count(n, total, touched, int(measured.support[hierarchy.index(node)]))},
        )
        for n, node in used[:TOP_PARTS]
    )


def _parts(measured: Measurements, meeting: _Meeting) -> tuple[Part, ...]:
    """The meeting by nodes of the first branch, or by pairs of labels, the largest first."""
    depth = meeting.rule.break_down_depth
    if depth is None:
        return _label_pairs(measured, meeting)
    below = row(measured.hierarchy.below, meeting.a)
    nodes = below[measured.hierarchy.depth[below] == depth]
    carried = measured.aggregated[meeting.instances][:, nodes]
    counts = np.bincount(carried.indices, minlength=len(nodes))
    return _ordered(
        measured,
        [(int(n), measured.hierarchy.nodes[i]) for n, i in zip(counts, nodes, strict=True)],
        len(meeting.instances),
    )


def _label_pairs(measured: Measurements, meeting: _Meeting) -> tuple[Part, ...]:
    hierarchy, labelled = measured.hierarchy, measured.direct_support.tolist()
    totals = (len(measured.dataset), len(meeting.instances))
    left, right = (row(hierarchy.below, i) for i in (meeting.a, meeting.b))
    direct = measured.dataset.direct[meeting.instances]
    together = csr_array(direct[:, left].T @ direct[:, right]).tocoo()
    nodes_a, nodes_b = left[together.row], right[together.col]
    nested = np.isin(nodes_a, right) & np.isin(nodes_b, left)
    different = (nodes_a != nodes_b) & ~(nested & (nodes_a > nodes_b))
    nodes_a, nodes_b, joint = nodes_a[different], nodes_b[different], together.data[different]
    top = np.lexsort((nodes_b, nodes_a, -joint))[:TOP_PARTS]
    return tuple(
        Part(
            (hierarchy.nodes[a], hierarchy.nodes[b]),
            {"instances": count(n, *totals, labelled[a], labelled[b])},
        )
        for a, b, n in zip(nodes_a[top], nodes_b[top], joint[top].tolist(), strict=True)
    )


CHECK = Check(_NAME, _TITLE, run)
