"""cross_branch, excludes1: nodes that the policy, or a note of the classification, keeps apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.arrays import slices
from audit.base.dag import IntArray, Sparse, row
from audit.base.declared import Columns, count, text
from audit.checks.rows import OF_ALL, OF_SOME, PARTS, Row, Rows, check_of_rows
from audit.checks.shared.carriers import (
    RelatedLabels,
    carrying_apart,
    labels_apart,
    most_frequent,
    under_rule,
)
from audit.hierarchies.coding import Exclusion, Exclusions
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.policy.statements import BranchRule
from audit.results.findings import Part, share_evidence


def _branches(measured: Measurements) -> Rows:
    """Pairs of branches that instances combine against a rule, by labels not in both.

    A branch is a child of the root with all below it. The policy's first rule that fits a pair of
    branches in use decides: `expected` pairs are not told, `watch` pairs once, `disjoint` pairs are
    a fault. A pair without a rule is not judged: a tree does not say that two of its branches
    exclude each other.

    **Severity.** Note for watched pairs, which stand aside; error for disjoint ones (a warning
    below `error_share`); warning for nodes that should be alone or first (`alone_or_first`) and are
    neither. The policy for `icd9cm` watches V codes beside diseases, as *Abstraction Alignment*
    (section 4.3) does. **Limits.** On clinical data much co-labelling is medicine. The first place
    is known only where labels have an order. On counts alone there is no breakdown, and places are
    not judged.
    """
    hierarchy, policy, names = measured.hierarchy, measured.policy, measured.hierarchy.nodes
    used = [int(i) for i in hierarchy.branches if measured.support[i]]
    ruled = [
        (a, b, rule)
        for a, b in combinations(used, 2)
        if b not in row(hierarchy.below, a) and a not in row(hierarchy.below, b)
        if (rule := policy.rule_for(names[a], names[b]))
    ]
    apart = pl.col("joint") - pl.col("joint_entailed")
    counted = measured.pairs.counted.select(pl.col("a", "b").cast(pl.Int64), instances=apart)
    meeting = counted.filter(pl.col("a").is_in(used) & pl.col("b").is_in(used))
    met = {(a, b): n for a, b, n in meeting.collect(engine="streaming").iter_rows()}
    return Rows(
        len(ruled),
        "pairs of branches in use that a rule of the policy covers",
        (
            found
            for a, b, rule in ruled
            if rule.rule != "expected" and met.get((a, b))
            for ends in [(a, b) if rule.fits_in_order(names[a], names[b]) else (b, a)]
            for found in _of_meeting(measured, *ends, rule, met[a, b])
        ),
        "" if policy.branch_rules else "the policy has no rule on two branches",
    )


def _of_meeting(
    measured: Measurements, a: int, b: int, rule: BranchRule, met: int
) -> Iterator[Row]:
    """The row on ``met`` instances with branches a and b, and one on codes beside b, not first."""
    hierarchy, disjoint = measured.hierarchy, rule.rule == "disjoint"
    nodes = hierarchy.nodes[a], hierarchy.nodes[b]
    counted = measured.instances is None
    instances = np.empty(0, np.int64) if counted else carrying_apart(measured, *nodes)
    first, second = hierarchy.describe(a), hierarchy.describe(b)
    supports = {f"support_{n}": int(measured.support[i]) for n, i in (("a", a), ("b", b))}
    beside = {"beside": second, **supports}
    yield Row(
        severity="error" if disjoint else "note",
        nodes=nodes,
        sentence="{instances} of {of} instances ({share}) {instances|has|have} both "
        f"{first} and {second}{labels_apart(hierarchy, a, b)}, "
        f"which the policy {'keeps apart' if disjoint else 'watches'}. {rule.reason}",
        evidence={"label": first, **beside, **share_evidence(met, measured.n_instances)},
        curator="Decide for each line of the breakdown whether the two belong on one record, and "
        "write the decision into the policy as expected or disjoint.",
        data_user="Do not treat the two branches as alternatives to each other.",
        parts=() if counted else _broken_down(measured, a, b, rule.break_down_depth, instances),
        aside=not disjoint,
        cases=instances,
    )
    alone = [node for node in rule.alone_or_first if node in hierarchy]
    misplaced = _never_first(measured, alone, instances)
    if not len(misplaced):
        return
    told = under_rule(measured, alone, misplaced, measured.n_instances)
    code, mostly = f"a code of {', '.join(alone)}", "[, {mostly},]"
    if len(told["parts"]) == 1:
        code, mostly = hierarchy.describe(hierarchy.index(told["parts"][0].nodes[0])), ""
    yield Row(
        severity="warning",
        sentence="{instances} of {of} instances ({share}) {instances|has|have} "
        f"{code}{mostly} beside {second}, and not first; it should be the only code or the first.",
        curator="Check these records: either the code is wrong, or it belongs in first place.",
        data_user="Do not read these codes as the reason for the encounter.",
        key=(*nodes, "first"),
        **told | {"nodes": nodes, "evidence": {"label": code, **beside, **told["evidence"]}},
    )


def _broken_down(
    measured: Measurements, a: int, b: int, depth: int | None, instances: IntArray
) -> tuple[Part, ...]:
    """Instances by pairs of labels or, given a ``depth``, by the nodes of that depth below a."""
    hierarchy = measured.hierarchy
    left, right = (row(hierarchy.below, i) for i in (a, b))
    if depth is None:
        found = csr_array((len(left), len(right)), dtype=np.int64)
        for some in slices(len(instances)):
            direct = measured.loaded.dataset.direct[instances[some]]
            found = csr_array(found + direct[:, left].T @ direct[:, right])
        joint = found.tocoo()
        return most_frequent(hierarchy, joint.data, left[joint.row], right[joint.col])
    nodes, at = left[hierarchy.depth[left] == depth], measured.loaded.at_nodes
    met = [len(np.intersect1d(instances, at.carrying(node), assume_unique=True)) for node in nodes]
    return most_frequent(hierarchy, np.array(met, np.int64), nodes)


def _never_first(measured: Measurements, nodes: Sequence[str], instances: IntArray) -> IntArray:
    """Those of the instances with a label of some nodes, all of these placed behind others."""
    if not (len(instances) and nodes):
        return np.empty(0, np.int64)
    assertions = measured.loaded.dataset.assertions
    if not assertions["position"].count():
        return np.empty(0, np.int64)
    of_them = at_or_below(measured.hierarchy, nodes)[assertions["node"].to_numpy()]
    may_be = (pl.col("position") == 1).fill_null(value=True).any()
    behind = assertions.filter(of_them).group_by("instance").agg(may_be).filter(~pl.col("position"))
    return np.intersect1d(instances, behind["instance"].to_numpy().astype(np.int64))


_INSTANCES = "instances with at least two labels"


def _notes(measured: Measurements) -> Rows:
    """Excludes1 notes that records violate, each with its most frequent pairs of labels.

    A note at a node holds for every code at and below it. An instance conflicts where it has a
    direct label at or below the noted node and another at or below a node that the note excludes.
    Labels that several notes keep apart are told under the most specific one: one that is not wide,
    then the largest sum of depths.

    A note names codes at its end: single ones, lists, ranges in the printed order (C4A is between
    C43 and C44), dashes for "all that begin like this". Notes that name no code, an unknown one, or
    a condition ("unless") are counted and not applied: of 5,407 notes of April 2026 5,226 are read.
    Only `icd10cm` has them; they change every October.

    **Severity.** Warning; note where the note is wide: at a block or chapter, or excluding more
    than one block. **Limits.** Two unrelated conditions are allowed (guideline I.A.12.a).
    """
    exclusions = measured.hierarchy.exclusions
    several = int((measured.loaded.dataset.direct.sum(axis=1) > 1).sum())
    if exclusions is None:
        return Rows(several, _INSTANCES, why_not="this hierarchy has no Excludes1 notes")
    notes, read = _most_specific_first(exclusions, measured.hierarchy), len(exclusions.notes)
    said = (
        f"{read:,} of {read + len(exclusions.unparsed):,} notes of release {exclusions.release} "
        "name only codes"
    )
    return Rows(
        several,
        f"{_INSTANCES} ({said})",
        (
            _of_note(measured, notes, own, several, exclusions.release)
            for own in _kept_apart(measured, notes).partition_by("note", maintain_order=True)
        ),
    )


def _most_specific_first(exclusions: Exclusions, hierarchy: Hierarchy) -> list[Exclusion]:
    """Notes that exclude something, narrow and deep ones first; equal ones of a node are joined."""
    texts: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    for note in exclusions.notes:
        if note.excluded:
            texts.setdefault((note.node, note.excluded, note.wide), []).append(note.text)

    def breadth(note: Exclusion) -> tuple[bool, int, str, tuple[str, ...]]:
        noted, *others = hierarchy.depth[[*map(hierarchy.index, (note.node, *note.excluded))]]
        return note.wide, -int(noted + min(others)), note.node, note.excluded

    merged = (
        Exclusion(node, excluded, "”, “".join(said), wide)
        for (node, excluded, wide), said in texts.items()
    )
    return sorted(merged, key=breadth)


def _kept_apart(measured: Measurements, notes: Sequence[Exclusion]) -> pl.DataFrame:
    """``note, label, other, told_by`` (the most specific note) of pairs that notes exclude."""
    hierarchy, direct = measured.hierarchy, measured.loaded.dataset.direct
    used = np.flatnonzero(measured.direct_support)
    below, labels = csr_array(hierarchy.below[:, used]), csr_array(direct[:, used])
    noted, excluded = (
        _of_sides(hierarchy, side) @ below
        for side in ([(note.node,) for note in notes], [note.excluded for note in notes])
    )
    a, b, _ = RelatedLabels(labels, csr_array(noted.T @ excluded), labels).pairs
    keeping = csr_array(noted[:, a].multiply(excluded[:, b])).tocoo()
    ends = {"label": used[a[keeping.col]], "other": used[b[keeping.col]]}
    pair = (pl.min_horizontal("label", "other"), pl.max_horizontal("label", "other"))
    pairs = pl.DataFrame({"note": keeping.row.astype(np.int64), **ends})
    return pairs.with_columns(told_by=pl.col("note").min().over(pair)).sort("note")


def _of_sides(hierarchy: Hierarchy, nodes: Sequence[tuple[str, ...]]) -> Sparse:
    """1 at the nodes given for each row, not at those below, shape (n_rows, n_nodes)."""
    place = np.repeat(np.arange(len(nodes)), [len(some) for some in nodes])
    columns = np.array([hierarchy.index(node) for some in nodes for node in some], np.int64)
    ones = np.ones(len(columns), np.int64)
    return csr_array((ones, (place, columns)), shape=(len(nodes), len(hierarchy)))


def _of_note(
    measured: Measurements,
    notes: Sequence[Exclusion],
    pairs: pl.DataFrame,
    n_several: int,
    release: str,
) -> Row:
    """The row on one note's pairs of labels; ``n_several``: instances with two labels or more."""
    hierarchy, number, tellers = measured.hierarchy, pairs["note"][0], sorted({*pairs["told_by"]})
    note, at, ends = notes[number], measured.loaded.at_nodes, pairs.select("label", "other")
    both = [np.intersect1d(at.labelled(a), at.labelled(b)) for a, b in ends.iter_rows()]
    joint, cases = np.array([*map(len, both)]), np.unique(np.concatenate(both))
    nodes = [(one.node, *one.excluded) for one in (note, *(notes[i] for i in tellers))]
    return Row(
        severity="note" if note.wide else "warning",
        sentence="{instances} of {of} instances with at least two labels ({share}) "
        f"{{instances|has|have}} {hierarchy.describe(hierarchy.index(note.node))} beside a code "
        f"that its Excludes1 note rules out. The note (release {release}): “{note.text}”. Two "
        "unrelated conditions are allowed.",
        curator="Keep the code that describes the condition, or confirm that the two conditions "
        "are unrelated (guideline I.A.12.a) and waive the pair.",
        data_user="Do not count the two codes as two conditions of one patient without a look at "
        "the record.",
        nodes=nodes[0],
        evidence=share_evidence(len(cases), n_several),
        parts=most_frequent(hierarchy, joint, *ends.to_numpy().T),
        folded_into=() if number in tellers else tuple(nodes[1:]),
        cases=cases,
    )


CROSS_BRANCH = check_of_rows(
    "cross_branch",
    "Do records combine branches that the policy keeps apart or watches?",
    _branches,
    evidence=Columns(text("label beside", "Labels|Beside"), OF_ALL, count("support_a support_b")),
    of_parts=PARTS,
    denominator="untold",
)
EXCLUDES1 = check_of_rows(
    "excludes1",
    "Do records carry two codes that an Excludes1 note keeps apart?",
    _notes,
    needs="instances",
    nodes="Code|Such as beside",
    evidence=Columns(OF_SOME),
    of_parts=PARTS,
)
