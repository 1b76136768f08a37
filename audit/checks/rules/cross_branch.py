"""cross_branch: instances that carry nodes of two branches that the policy keeps apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, row
from audit.base.declared import Columns, count
from audit.checks.check import TOP_PARTS, Check, Outcome, first_unmet
from audit.checks.shared.carriers import (
    carrying_both,
    label_part,
    labelled_below_both,
    labels_apart,
    parts_of,
)
from audit.checks.shared.evidence import OF_ALL, PARTS
from audit.measure.measure import Measurements
from audit.policy.statements import BranchRule
from audit.results.findings import (
    Evidence,
    Finding,
    Part,
    share_evidence,
)


@dataclass(frozen=True)
class Meeting:
    """Two branches, the rule about them, and the number of instances with labels in both.

    Args:
        instances: Number of instances that carry both, without a label that is in both.
    """

    a: int
    b: int
    rule: BranchRule
    instances: int


def meeting_apart(measured: Measurements) -> pl.LazyFrame:
    """``a, b`` (indices) and ``instances``: how many carry both without a label below both."""
    apart = pl.col("joint") - pl.col("joint_entailed")
    return _by_number(measured).select("a", "b", instances=apart)


def lowest_pairs(measured: Measurements) -> pl.LazyFrame:
    """``a, b`` (indices) and ``joint`` of lowest labels, which instances carry only as labels."""
    labels = (measured.direct_support > 0).astype(np.int64)
    at_or_below = measured.hierarchy.below @ labels
    lowest = np.flatnonzero((labels == 1) & (at_or_below == 1)).tolist()
    both = pl.col("a").is_in(lowest) & pl.col("b").is_in(lowest)
    return _by_number(measured).select("a", "b", "joint").filter(both)


def _by_number(measured: Measurements) -> pl.LazyFrame:
    """The table of pairs, the nodes by index."""
    return measured.pairs.counted.with_columns(pl.col("a", "b").cast(pl.Int64))


def parts_of_instances(
    measured: Measurements, meeting: Meeting, instances: IntArray
) -> tuple[Part, ...]:
    """Break a meeting down by the labels of its instances, the largest part first."""
    if meeting.rule.break_down_depth is None:
        return _label_pairs(measured, meeting, instances)
    nodes = _at_depth(measured, meeting)
    carried = measured.loaded.aggregated[instances][:, nodes]
    return _by_node(measured, nodes, np.bincount(carried.indices, minlength=len(nodes)))


def parts_of_counts(
    measured: Measurements, lowest: pl.LazyFrame, meeting: Meeting
) -> tuple[Part, ...]:
    """Break a meeting down by counts of pairs, the largest part first.

    Args:
        lowest: From `lowest_pairs`; for other labels, counts do not say how many instances are
            labelled with both.
    """
    if meeting.rule.break_down_depth is None:
        return _pairs_between(measured, lowest, meeting)
    nodes, met = _at_depth(measured, meeting), meeting_apart(measured)
    with_b = met.filter((pl.col("a") == meeting.b) | (pl.col("b") == meeting.b)).collect(
        engine="streaming"
    )
    others = with_b.select(pl.col("a") + pl.col("b") - meeting.b).to_series()
    counts = np.zeros(len(measured.hierarchy), np.int64)
    counts[others.to_numpy()] = with_b["instances"].to_numpy()
    return _by_node(measured, nodes, counts[nodes])


def _at_depth(measured: Measurements, meeting: Meeting) -> IntArray:
    below = row(measured.hierarchy.below, meeting.a)
    at_depth: BoolArray = measured.hierarchy.depth[below] == meeting.rule.break_down_depth
    return below[at_depth]


def _by_node(measured: Measurements, nodes: IntArray, counts: IntArray) -> tuple[Part, ...]:
    names = measured.hierarchy.nodes
    parts = [(-n, names[i], i) for n, i in zip(counts.tolist(), nodes.tolist(), strict=True) if n]
    return tuple(
        label_part(measured.hierarchy, (i,), -less) for less, _, i in sorted(parts)[:TOP_PARTS]
    )


def _label_pairs(measured: Measurements, meeting: Meeting, instances: IntArray) -> tuple[Part, ...]:
    left, right = (row(measured.hierarchy.below, i) for i in (meeting.a, meeting.b))
    direct = measured.loaded.dataset.direct[instances]
    together = csr_array(direct[:, left].T @ direct[:, right]).tocoo()
    nodes_a, nodes_b = left[together.row], right[together.col]
    nested = np.isin(nodes_a, right) & np.isin(nodes_b, left)
    different = (nodes_a != nodes_b) & ~(nested & (nodes_a > nodes_b))
    joint = together.data[different]
    return _largest(measured, nodes_a[different], nodes_b[different], joint)


def _pairs_between(
    measured: Measurements, lowest: pl.LazyFrame, meeting: Meeting
) -> tuple[Part, ...]:
    left, right = (row(measured.hierarchy.below, i).tolist() for i in (meeting.a, meeting.b))
    forward = pl.col("a").is_in(left) & pl.col("b").is_in(right)
    backward = pl.col("a").is_in(right) & pl.col("b").is_in(left)
    met = (
        lowest.filter(forward | backward).with_columns(forward=forward).collect(engine="streaming")
    )
    first, second, joint, ahead = (met[name].to_numpy() for name in ("a", "b", "joint", "forward"))
    nodes_a, nodes_b = np.where(ahead, (first, second), (second, first))
    return _largest(measured, nodes_a, nodes_b, joint)


def _largest(
    measured: Measurements, nodes_a: IntArray, nodes_b: IntArray, joint: IntArray
) -> tuple[Part, ...]:
    """The pairs of labels with most instances."""
    top = np.lexsort((nodes_b, nodes_a, -joint))[:TOP_PARTS]
    lines = zip(nodes_a[top].tolist(), nodes_b[top].tolist(), joint[top].tolist(), strict=True)
    return tuple(label_part(measured.hierarchy, (a, b), n) for a, b, n in lines)


_NAME = "cross_branch"


def run(measured: Measurements) -> Outcome:
    """Report each pair of branches that instances combine against the policy, broken down.

    Only pairs of branches with a rule are reported. An
    instance counts if it carries both branches and none of its labels is in both, since such a
    label combines the branches by itself. A branch below another one cannot exclude it. Rules on
    the first position need instances; counts do not hold positions.
    """
    used = [int(i) for i in measured.hierarchy.branches if measured.support[i]]
    apart = [pair for pair in combinations(used, 2) if not _nested(measured, *pair)]
    ruled = [(pair, rule) for pair in apart if (rule := _rule(measured, *pair))]
    return Outcome(
        denominator=len(ruled),
        denominator_unit="pairs of branches in use that a rule of the policy covers",
        findings=tuple(_findings(measured, ruled)),
        not_applicable=first_unmet(
            (measured.policy.branch_rules, "the policy has no rule on two branches")
        ),
    )


def _rule(measured: Measurements, a: int, b: int) -> BranchRule | None:
    names = measured.hierarchy.nodes
    return measured.policy.rule_for(names[a], names[b])


def _nested(measured: Measurements, a: int, b: int) -> bool:
    below = measured.hierarchy.below
    return b in row(below, a) or a in row(below, b)


def _meetings(
    measured: Measurements, ruled: list[tuple[tuple[int, int], BranchRule]]
) -> Iterator[Meeting]:
    names = measured.hierarchy.nodes
    branches = sorted(
        {branch for pair, rule in ruled if rule.rule != "expected" for branch in pair}
    )
    both = pl.col("a").is_in(branches) & pl.col("b").is_in(branches)
    counted = meeting_apart(measured).filter(both).collect(engine="streaming")
    met = {(a, b): n for a, b, n in counted.iter_rows()}
    for (a, b), rule in ruled:
        instances = met.get((a, b), 0)
        if rule.rule != "expected" and instances:
            in_order = rule.fits_in_order(names[a], names[b])
            yield Meeting(*((a, b) if in_order else (b, a)), rule, instances)


def _findings(
    measured: Measurements, ruled: list[tuple[tuple[int, int], BranchRule]]
) -> Iterator[Finding]:
    names, lowest = measured.hierarchy.nodes, lowest_pairs(measured)
    for meeting in _meetings(measured, ruled):
        if measured.instances is None:
            yield _finding(measured, meeting, parts_of_counts(measured, lowest, meeting))
            continue
        instances = _carrying_apart(measured, names[meeting.a], names[meeting.b])
        yield _finding(measured, meeting, parts_of_instances(measured, meeting, instances))
        if meeting.rule.alone_or_first:
            yield from _not_first(measured, meeting, instances)


def _carrying_apart(measured: Measurements, a: str, b: str) -> IntArray:
    """Instances that carry both branches, and no label that is in both."""
    both = carrying_both(measured, a, b)
    return both[~labelled_below_both(measured, a, b)[both]]


def _finding(measured: Measurements, meeting: Meeting, parts: tuple[Part, ...]) -> Finding:
    a, b = (measured.hierarchy.describe(i) for i in (meeting.a, meeting.b))
    apart = labels_apart(measured.hierarchy, meeting.a, meeting.b)
    disjoint = meeting.rule.rule == "disjoint"
    verb = "keeps apart" if disjoint else "watches"
    return Finding(
        check=_NAME,
        severity="error" if disjoint else "note",
        nodes=(measured.hierarchy.nodes[meeting.a], measured.hierarchy.nodes[meeting.b]),
        statement="{instances} of {of} instances ({share}) {instances|has|have} both "
        f"{a} and {b}{apart}, which the policy {verb}. {meeting.rule.reason}",
        evidence=_evidence(measured, meeting, meeting.instances),
        curator="Decide for each line of the breakdown whether the two belong on one record, and "
        "write the decision into the policy as expected or disjoint.",
        data_user="Do not treat the two branches as alternatives to each other.",
        touched=meeting.instances,
        parts=parts,
        aside=not disjoint,
    )


def _evidence(measured: Measurements, meeting: Meeting, instances: int) -> Evidence:
    return {
        **share_evidence(instances, measured.n_instances),
        "support_a": int(measured.support[meeting.a]),
        "support_b": int(measured.support[meeting.b]),
    }


def _not_first(measured: Measurements, meeting: Meeting, instances: IntArray) -> Iterator[Finding]:
    """A finding on nodes that should be alone or first on a record, where they are neither."""
    alone = _alone_or_first(measured, meeting.rule)
    misplaced = _misplaced_among(measured, instances, alone)
    if len(misplaced) == 0:
        return
    parts = parts_of(measured, alone, misplaced)
    code = (
        measured.hierarchy.describe(measured.hierarchy.index(parts[0].nodes[0]))
        if len(parts) == 1
        else f"a code of {', '.join(alone)}[, {{mostly}},]"
    )
    yield Finding(
        check=_NAME,
        severity="warning",
        nodes=(measured.hierarchy.nodes[meeting.a], measured.hierarchy.nodes[meeting.b]),
        statement=f"{{instances}} of {{of}} instances ({{share}}) {{instances|has|have}} {code} "
        f"beside {measured.hierarchy.describe(meeting.b)}, and not first; it should be the only "
        "code or the first.",
        evidence=_evidence(measured, meeting, len(misplaced)),
        curator="Check these records: either the code is wrong, or it belongs in first place.",
        data_user="Do not read these codes as the reason for the encounter.",
        touched=len(misplaced),
        parts=parts,
        key=(measured.hierarchy.nodes[meeting.a], measured.hierarchy.nodes[meeting.b], "first"),
    )


def _alone_or_first(measured: Measurements, rule: BranchRule) -> list[str]:
    return [node for node in rule.alone_or_first if node in measured.hierarchy]


def _misplaced_among(measured: Measurements, instances: IntArray, alone: list[str]) -> IntArray:
    return instances[_misplaced(measured, _below_any(measured, alone))[instances]]


def _below_any(measured: Measurements, nodes: list[str]) -> BoolArray:
    """Nodes at or below one of those named, shape (n_nodes,)."""
    found = np.zeros(len(measured.hierarchy), np.bool_)
    for node in nodes:
        found[row(measured.hierarchy.below, measured.hierarchy.index(node))] = True
    return found


def _misplaced(measured: Measurements, labels: BoolArray) -> BoolArray:
    """Instances with such a label, each known not to be in first place, shape (n_instances,)."""
    assertions = measured.loaded.dataset.assertions
    of_them = labels[assertions["node"].to_numpy()]
    first = (assertions["position"] == 1).fill_null(True).to_numpy()
    instances = assertions["instance"].to_numpy()
    found = np.zeros(measured.n_instances, np.bool_)
    found[instances[of_them]] = True
    found[instances[of_them & first]] = False
    return found


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that carry both branches; for codes that should be first, those with one."""
    a, b = finding.nodes
    instances = _carrying_apart(measured, a, b)
    if not finding.key:
        return instances
    rule = measured.policy.rule_for(a, b)
    return _misplaced_among(measured, instances, _alone_or_first(measured, rule) if rule else [])


CHECK = Check(
    _NAME,
    "Do records combine branches that the policy keeps apart or watches?",
    run,
    cases=cases,
    nodes="Branch|With",
    evidence=Columns(OF_ALL, count("support_a support_b")),
    of_parts=PARTS,
    denominator="untold",
)
