"""cross_branch, excludes1: nodes that the policy, or a note of the classification, keeps apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import BoolArray, IntArray, Sparse, row
from audit.base.declared import Columns, count, text
from audit.checks.check import TOP_PARTS, first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import (
    carrying_apart,
    distinct,
    label_part,
    labels_apart,
    parts_of,
)
from audit.checks.shared.evidence import OF_ALL, OF_SOME, PARTS
from audit.hierarchies.coding import Exclusion, Exclusions
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.measure.rule_book import at_or_below
from audit.policy.statements import BranchRule
from audit.results.findings import Part, share_evidence


@dataclass(frozen=True)
class _Meeting:
    """Two branches, the rule about them, and the number of instances that carry both, without a
    label that is in both."""

    a: int
    b: int
    rule: BranchRule
    instances: int


def _branches(measured: Measurements) -> Rows:
    """Report each pair of branches that instances combine against the policy, broken down.

    Only pairs of branches with a rule are reported. An instance counts if it carries both branches
    and none of its labels is in both, since such a label combines the branches by itself. A branch
    below another one cannot exclude it. Rules on the first position need instances; counts do not
    hold positions.
    """
    hierarchy, policy = measured.hierarchy, measured.policy
    used = [int(i) for i in hierarchy.branches if measured.support[i]]
    ruled = [
        (a, b, rule)
        for a, b in combinations(used, 2)
        if b not in row(hierarchy.below, a) and a not in row(hierarchy.below, b)
        if (rule := policy.rule_for(hierarchy.nodes[a], hierarchy.nodes[b]))
    ]
    return Rows(
        len(ruled),
        "pairs of branches in use that a rule of the policy covers",
        (one for meeting in _meetings(measured, ruled) for one in _of_meeting(measured, meeting)),
        first_unmet((policy.branch_rules, "the policy has no rule on two branches")),
    )


def _meetings(
    measured: Measurements, ruled: list[tuple[int, int, BranchRule]]
) -> Iterator[_Meeting]:
    names, asked = measured.hierarchy.nodes, [one for one in ruled if one[2].rule != "expected"]
    branches = sorted({branch for a, b, _ in asked for branch in (a, b)})
    counted = _met_apart(measured, pl.col("a").is_in(branches) & pl.col("b").is_in(branches))
    met = {(a, b): n for a, b, n in counted.iter_rows()}
    for a, b, rule in asked:
        if instances := met.get((a, b), 0):
            in_order = rule.fits_in_order(names[a], names[b])
            yield _Meeting(*((a, b) if in_order else (b, a)), rule, instances)


def _met_apart(measured: Measurements, some: pl.Expr) -> pl.DataFrame:
    """``a, b`` (indices) and ``instances``: how many carry both without a label below both."""
    pairs = measured.pairs.counted.with_columns(pl.col("a", "b").cast(pl.Int64)).filter(some)
    apart = pl.col("joint") - pl.col("joint_entailed")
    return pairs.select("a", "b", instances=apart).collect(engine="streaming")


def _of_meeting(measured: Measurements, meeting: _Meeting) -> Iterator[Row]:
    hierarchy, rule = measured.hierarchy, meeting.rule
    a, b = (hierarchy.describe(i) for i in (meeting.a, meeting.b))
    nodes = hierarchy.nodes[meeting.a], hierarchy.nodes[meeting.b]
    instances = None if measured.instances is None else carrying_apart(measured, *nodes)
    disjoint = rule.rule == "disjoint"
    verb = "keeps apart" if disjoint else "watches"
    beside = {
        "beside": b,
        "support_a": int(measured.support[meeting.a]),
        "support_b": int(measured.support[meeting.b]),
    }
    yield Row(
        severity="error" if disjoint else "note",
        nodes=nodes,
        sentence="{instances} of {of} instances ({share}) {instances|has|have} both "
        f"{a} and {b}{labels_apart(hierarchy, meeting.a, meeting.b)}, which the policy {verb}. "
        f"{rule.reason}",
        evidence={
            "label": a,
            **beside,
            **share_evidence(meeting.instances, measured.n_instances),
        },
        curator="Decide for each line of the breakdown whether the two belong on one record, and "
        "write the decision into the policy as expected or disjoint.",
        data_user="Do not treat the two branches as alternatives to each other.",
        parts=_by_label(measured, meeting, instances)
        if rule.break_down_depth is None
        else _at_depth(measured, meeting, instances),
        aside=not disjoint,
        cases=partial(carrying_apart, measured, *nodes),
    )
    alone = [node for node in rule.alone_or_first if node in hierarchy]
    misplaced = np.empty(0, np.int64)
    if instances is not None and alone:
        misplaced = instances[_never_first(measured, alone)[instances]]
    if not len(misplaced):
        return
    parts = parts_of(measured, alone, misplaced)
    code, mostly = f"a code of {', '.join(alone)}", "[, {mostly},]"
    if len(parts) == 1:
        code, mostly = hierarchy.describe(hierarchy.index(parts[0].nodes[0])), ""
    yield Row(
        severity="warning",
        nodes=nodes,
        sentence="{instances} of {of} instances ({share}) {instances|has|have} "
        f"{code}{mostly} beside {b}, and not first; it should be the only code or the first.",
        evidence={
            "label": code,
            **beside,
            **share_evidence(len(misplaced), measured.n_instances),
        },
        curator="Check these records: either the code is wrong, or it belongs in first place.",
        data_user="Do not read these codes as the reason for the encounter.",
        parts=parts,
        key=(*nodes, "first"),
        cases=lambda: misplaced,
    )


def _at_depth(
    measured: Measurements, meeting: _Meeting, instances: IntArray | None
) -> tuple[Part, ...]:
    """Break a meeting down by the nodes of a depth below the first branch, most instances first."""
    below, names = row(measured.hierarchy.below, meeting.a), measured.hierarchy.nodes
    nodes = below[measured.hierarchy.depth[below] == meeting.rule.break_down_depth]
    counts = np.zeros(len(measured.hierarchy), np.int64)
    if instances is None:
        met = _met_apart(measured, (pl.col("a") == meeting.b) | (pl.col("b") == meeting.b))
        others = met.select(pl.col("a") + pl.col("b") - meeting.b).to_series().to_numpy()
        counts[others] = met["instances"].to_numpy()
    else:
        carried = measured.loaded.aggregated[instances]
        counts += np.bincount(carried.indices, minlength=len(counts))
    parts = [(-int(counts[i]), names[i], i) for i in nodes.tolist() if counts[i]]
    return tuple(
        label_part(measured.hierarchy, (i,), -less) for less, _, i in sorted(parts)[:TOP_PARTS]
    )


def _by_label(
    measured: Measurements, meeting: _Meeting, instances: IntArray | None
) -> tuple[Part, ...]:
    """Break a meeting down by pairs of labels, most instances first.

    Of counts, labels are those that instances carry only as labels, and that have no label below
    them: of others, counts do not say how many instances are labelled with both.
    """
    left, right = (row(measured.hierarchy.below, i) for i in (meeting.a, meeting.b))
    if instances is None:
        labels = (measured.direct_support > 0).astype(np.int64)
        at_or_below = measured.hierarchy.below @ labels
        lowest = np.flatnonzero((labels == 1) & (at_or_below == 1))
        left, right = np.intersect1d(left, lowest), np.intersect1d(right, lowest)
        forward, backward = (
            pl.col("a").is_in(one.tolist()) & pl.col("b").is_in(other.tolist())
            for one, other in ((left, right), (right, left))
        )
        pairs = measured.pairs.counted.select(pl.col("a", "b").cast(pl.Int64), "joint")
        met = pairs.filter(forward | backward).with_columns(forward=forward)
        found = met.collect(engine="streaming")
        first, second, joint, ahead = (one.to_numpy() for one in found.iter_columns())
        a, b = np.where(ahead, (first, second), (second, first))
    else:
        direct = measured.loaded.dataset.direct[instances]
        together = csr_array(direct[:, left].T @ direct[:, right]).tocoo()
        a, b, joint = left[together.row], right[together.col], together.data
        nested = np.isin(a, right) & np.isin(b, left)
        different = (a != b) & ~(nested & (a > b))
        a, b, joint = a[different], b[different], joint[different]
    top = np.lexsort((b, a, -joint))[:TOP_PARTS]
    return tuple(
        label_part(measured.hierarchy, (one, other), n)
        for one, other, n in np.stack([a, b, joint])[:, top].T.tolist()
    )


def _never_first(measured: Measurements, nodes: Sequence[str]) -> BoolArray:
    """Whether each instance has a label of some nodes, and none that may be first, (n_instances,).

    A label without a position may be.
    """
    assertions = measured.loaded.dataset.assertions
    of_them = at_or_below(measured.hierarchy, nodes)[assertions["node"].to_numpy()]
    first = (assertions["position"] == 1).fill_null(True).to_numpy()
    instances = assertions["instance"].to_numpy()
    found = np.zeros(measured.n_instances, np.bool_)
    found[instances[of_them]] = True
    found[instances[of_them & first]] = False
    return found


_INSTANCES = "instances with at least two labels"


def _notes(measured: Measurements) -> Rows:
    """Report each violated note once, with its most frequent pairs of labels.

    A note applies to all codes at or below its node. A pair of labels that several notes exclude is
    reported for the most specific note; a note without pairs of its own is folded into those.
    """
    exclusions = measured.hierarchy.exclusions
    several = int((measured.loaded.dataset.direct.sum(axis=1) > 1).sum())
    if exclusions is None:
        return Rows(several, _INSTANCES, why_not="this hierarchy has no Excludes1 notes")
    notes, read = _by_breadth(exclusions, measured.hierarchy), len(exclusions.notes)
    said = (
        f"{read:,} of {read + len(exclusions.unparsed):,} notes of release {exclusions.release} "
        "name only codes"
    )
    conflicts = _conflicts(measured, notes).sort("note")
    return Rows(
        several,
        f"{_INSTANCES} ({said})",
        (
            _of_note(measured, notes, rows, several, exclusions.release)
            for rows in conflicts.partition_by("note", maintain_order=True)
        ),
    )


def _by_breadth(exclusions: Exclusions, hierarchy: Hierarchy) -> list[Exclusion]:
    """The notes that exclude something, the most specific first; those of a node that exclude the
    same are one."""
    texts: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    for note in exclusions.notes:
        if note.excluded:
            texts.setdefault((note.node, note.excluded, note.wide), []).append(note.text)

    def breadth(note: Exclusion) -> tuple[bool, int, str, tuple[str, ...]]:
        noted, *others = (
            int(hierarchy.depth[hierarchy.index(node)]) for node in (note.node, *note.excluded)
        )
        return note.wide, -noted - min(others), note.node, note.excluded

    merged = (
        Exclusion(node, excluded, "”, “".join(said), wide)
        for (node, excluded, wide), said in texts.items()
    )
    return sorted(merged, key=breadth)


def _conflicts(measured: Measurements, notes: Sequence[Exclusion]) -> pl.DataFrame:
    """``note, instance, label, other, told_by``: a row for two labels that a note keeps apart.

    ``label`` is on the note's side, ``other`` excluded; ``told_by`` is the most specific of the
    notes that keep the two apart.
    """
    hierarchy, carriers = measured.hierarchy, measured.loaded.carriers
    noted = _indicator(hierarchy, [(note.node,) for note in notes])
    excluded = _indicator(hierarchy, [note.excluded for note in notes])
    meetings = csr_array((noted @ carriers).multiply(excluded @ carriers))
    labels = _places(meetings, "note", "instance").join(
        _places(measured.loaded.dataset.direct, "instance", "label"), on="instance"
    )
    used = np.flatnonzero(measured.direct_support)
    below = csr_array(hierarchy.below[:, used])

    def of_side(side: Sparse) -> pl.DataFrame:
        found = _places(csr_array(side @ below), "note", "place")
        own = found.select("note", label=pl.Series(used).gather(found["place"]))
        return labels.join(own, on=["note", "label"], how="semi")

    others = of_side(excluded).rename({"label": "other"})
    pair = (pl.min_horizontal("label", "other"), pl.max_horizontal("label", "other"))
    found = of_side(noted).join(others, on=["note", "instance"])
    return found.with_columns(told_by=pl.col("note").min().over(pair))


def _indicator(hierarchy: Hierarchy, nodes: Sequence[tuple[str, ...]]) -> Sparse:
    """1 at the nodes of each row, shape (n_rows, n_nodes)."""
    indptr = np.cumsum([0, *(len(some) for some in nodes)])
    columns = np.array([hierarchy.index(node) for some in nodes for node in some], np.int64)
    ones = np.ones(len(columns), np.int64)
    return csr_array((ones, columns, indptr), shape=(len(nodes), len(hierarchy)))


def _places(matrix: Sparse, row: str, column: str) -> pl.DataFrame:
    """Row and column of each stored value."""
    stored = matrix.tocoo()
    return pl.DataFrame({row: stored.row.astype(np.int64), column: stored.col.astype(np.int64)})


def _of_note(
    measured: Measurements,
    notes: Sequence[Exclusion],
    rows: pl.DataFrame,
    several: int,
    release: str,
) -> Row:
    hierarchy, number, cases = measured.hierarchy, rows["note"][0], distinct(rows)
    note, tellers = notes[number], sorted(set(rows["told_by"]))
    pairs = rows.group_by("label", "other").len()
    most = pairs.sort("len", "label", "other", descending=[True, False, False]).head(TOP_PARTS)
    return Row(
        severity="note" if note.wide else "warning",
        nodes=(note.node, *note.excluded),
        sentence="{instances} of {of} instances with at least two labels ({share}) "
        f"{{instances|has|have}} {hierarchy.describe(hierarchy.index(note.node))} beside a code "
        f"that its Excludes1 note rules out. The note (release {release}): “{note.text}”. Two "
        "unrelated conditions are allowed.",
        evidence=share_evidence(len(cases), several),
        curator="Keep the code that describes the condition, or confirm that the two conditions "
        "are unrelated (guideline I.A.12.a) and waive the pair.",
        data_user="Do not count the two codes as two conditions of one patient without a look at "
        "the record.",
        parts=tuple(label_part(hierarchy, (a, b), n) for a, b, n in most.iter_rows()),
        folded_into=()
        if number in tellers
        else tuple((notes[one].node, *notes[one].excluded) for one in tellers),
        cases=lambda: cases,
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
