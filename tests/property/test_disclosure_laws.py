"""The law of small cells: a linear program over everything published leaves each one possible.

The oracle shares no code with the suppression. Its unknowns are the instances with each set of
direct labels; it reads the shared view as JSON, and each number in it has its place in a table
here: a number without a place fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from audit.disclosure import protection, shown_change
from audit.hierarchy import Hierarchy
from audit.policy import Policy
from audit.run import run_audit
from fixtures.labelled import labelled, repeated, tree

Labels = frozenset[str]
Row = NDArray[np.float64]
Rows = list[dict[str, Any]]
OTHER = {"other_lung": "Other", "other_heart": "Other"}
BODIES = {
    "two branches": tree(
        "lung heart < body", "asthma other_lung < lung", "attack other_heart < heart", titles=OTHER
    ),
    "three siblings": tree(
        "lung heart < body", "asthma flu other_lung < lung", "attack < heart", titles=OTHER
    ),
    "flat": tree("asthma flu attack saw < body"),
    "nested": tree(
        "lung heart < body", "airways flu < lung", "asthma other_lung < airways", titles=OTHER
    ),
    "diamond": tree("lung heart < body", "asthma both < lung", "attack both < heart"),
    "labelled inside": tree(
        "lung heart < body", "asthma other_lung < lung", titles=OTHER, labelled_ancestors="allowed"
    ),
}


@dataclass
class Attack:
    """What a reader of a shared view knows, as rows over the sets of labels."""

    hierarchy: Hierarchy
    truth: dict[Labels, int]
    rows: list[tuple[Row, float, float]] = field(default_factory=list)
    totals: list[tuple[Row, float, float]] = field(default_factory=list)
    """Of them, what is exempt: totals of the release, and what is zero and what is not."""
    protected: dict[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        used = sorted(frozenset(chain.from_iterable(self.truth)))
        self.used = used
        self.sets = [
            frozenset(some) for size in range(len(used) + 1) for some in combinations(used, size)
        ]
        self.x = np.array([self.truth.get(some, 0) for some in self.sets], float)
        self.n = int(self.x.sum())
        self.any = self.where(bool)
        self.labelled = int(self.any @ self.x)
        self.below = {
            node: {node, *self.hierarchy.descendants(node)} for node in self.hierarchy.nodes
        }
        self.residual = {node for node in used if node.startswith("other")}

    def where(self, holds: Callable[[Labels], object]) -> Row:
        return np.array([float(bool(holds(some))) for some in self.sets])

    def carried(self, node: str) -> Row:
        return self.where(lambda some: some & self.below[node])

    def both(self, a: str, b: str) -> Row:
        return self.carried(a) * self.carried(b)

    def direct(self, *nodes: str) -> Row:
        return self.where(lambda some: some.issuperset(nodes))

    def under(self, node: str) -> Row:
        return self.where(lambda some: some & (self.below[node] - {node}))

    def residual_under(self, node: str) -> Row:
        inside = self.below[node] - {node}
        return self.where(lambda some: some & inside and some & inside <= self.residual)

    def met(self, a: str, b: str) -> Row:
        """Sets with two different labels, one under each."""
        return self.where(
            lambda some: any(x != y for x in some & self.below[a] for y in some & self.below[b])
        )

    def labels_at(self, depth: int) -> Row:
        at = {n for n in self.used if self.hierarchy.depth[self.hierarchy.index(n)] == depth}
        return np.array([float(len(some & at)) for some in self.sets])

    def knows(self, row: Row, shown: Any, m: int) -> None:
        """A published number: the number itself, a bound, or nothing."""
        true = float(row @ self.x)
        self.totals.append((row, min(true, 1), np.inf if true else 0))
        if shown is None:
            return
        if isinstance(shown, str):
            bound = int(shown[1:])
            low, high = (1, bound - 1) if shown[0] == "<" else (bound + 1, np.inf)
            if shown[0] == ">" and bound == self.labelled - m >= m:
                high = self.labelled - 1
        else:
            low = high = shown
        assert low - 1e-6 <= true <= high + 1e-6, f"{shown} is not {true}"
        self.rows.append((row, low, high))

    def exactly(self, *rows: Row) -> None:
        for row in rows:
            self.knows(row, float(row @ self.x), 1)

    def protect(self, name: str, row: Row) -> None:
        self.protected[name] = row

    def range(self, row: Row, rows: list[tuple[Row, float, float]]) -> tuple[float, float]:
        matrix = np.array([r for r, _, _ in rows])
        low = np.array([x for _, x, _ in rows], float)
        high = np.array([x for _, _, x in rows], float)
        exact = low == high
        above, below = ~exact & np.isfinite(low), ~exact & np.isfinite(high)
        ends = []
        for sign in (1, -1):
            solved = linprog(
                sign * row,
                A_ub=np.vstack([matrix[below], -matrix[above]]),
                b_ub=np.concatenate([high[below], -low[above]]),
                A_eq=matrix[exact],
                b_eq=low[exact],
            )
            assert solved.success, solved.message
            ends.append(sign * float(solved.fun or 0))
        return ends[0], ends[1]

    def broken(self, m: int) -> Iterator[str]:
        """Small cells that what is published narrows, beyond what the totals alone do."""
        for name, row in self.protected.items():
            true = row @ self.x
            if not 0 < true < m:
                continue
            low, high = self.range(row, self.rows)
            if low > 1 + 1e-6 or high < m - 1 - 1e-6:
                base = self.range(row, self.totals)
                if low > max(1, base[0]) + 1e-6 or high < min(m - 1, base[1]) - 1e-6:
                    yield f"{name} is {true:g} and can only be {low:g} to {high:g}"


def attack(hierarchy: Hierarchy, truth: dict[Labels, int], shared: dict[str, Any]) -> Attack:
    """Everything that a shared view tells."""
    found = Attack(hierarchy, truth)
    m = shared["policy"]["min_cell"]
    _totals(found, shared)
    _overview(found, shared["overview"], m)
    for check in shared["checks"]:
        for finding in check["findings"]:
            _finding(found, check["name"], finding, m)
    for node in hierarchy.nodes:
        support = found.carried(node)
        found.protect(node, support)
        found.protect(f"not {node}", found.any - support)
        for child in hierarchy.children(node):
            found.protect(f"{node} without {child}", support - found.carried(child))
    return found


def _totals(found: Attack, shared: dict[str, Any]) -> None:
    ledger = shared["ledger"]
    assert ledger["instances"] == found.n
    every, unlabelled = np.ones(len(found.sets)), found.where(lambda some: not some)
    lengths = np.array([float(len(some)) for some in found.sets])
    totals = (ledger[name] for name in ("instances", "instances_without_labels", "rows_mapped"))
    for row, total in zip((every, unlabelled, lengths), totals, strict=True):
        found.rows.append((row, total, total))
        found.totals.append((row, total, total))
    branches = [row["node"] for row in shared["overview"]["branches"]]
    told = {(row["a"], row["b"]) for row in shared["overview"]["branch_pairs"]}
    for a, b in combinations(sorted(branches), 2):
        if (a, b) not in told:
            found.exactly(found.both(a, b))


DERIVED = ("share", "expected", "lift", "expected_given", "ratio", "ratio_low", "ratio_high")
"""Numbers of a pair that are taken to tell both supports and the joint."""


def _pair(found: Attack, row: dict[str, Any], m: int) -> None:
    a, b = found.carried(row["a"]), found.carried(row["b"])
    joint, name = a * b, f"{row['a']}+{row['b']}"
    found.knows(joint, row["instances"], m)
    if any(row.get(derived) is not None for derived in DERIVED):
        found.exactly(a, b, joint)
    found.protect(name, joint)
    found.protect(f"{name} first alone", a - joint)
    found.protect(f"{name} second alone", b - joint)
    found.protect(f"{name} neither", found.any - a - b + joint)


def _residual(found: Attack, node: str, k: Any, of: Any, share: Any, m: int) -> None:
    only, under = found.residual_under(node), found.under(node)
    found.knows(only, k, m)
    found.knows(under, of, m)
    if share is not None:
        found.exactly(only, under)
    found.protect(f"{node} residual", only)
    found.protect(f"{node} specific", under - only)
    found.protect(f"under {node}", under)


def _overview(found: Attack, overview: dict[str, Any], m: int) -> None:
    for row in overview.pop("branches"):
        assert set(row) == {"node", "title", "instances", "share"}
        found.knows(found.carried(row["node"]), row["instances"], m)
        found.knows(found.carried(row["node"]), row["share"] and row["share"] * found.n, m)
    for row in (*overview.pop("branch_pairs"), *overview.pop("pairs")):
        assert set(row) <= {"a", "b", "title_a", "title_b", "relation", "instances", *DERIVED}
        _pair(found, row, m)
    for row in overview.pop("tree"):
        assert set(row) == {"node", "title", "parent", "depth", "instances", "residual_share"}
        found.knows(found.carried(row["node"]), row["instances"], m)
        if row["residual_share"] is not None:
            _residual(found, row["node"], None, None, row["residual_share"], m)
    for row in overview.pop("residuals"):
        assert set(row) == {"node", "title", "instances", "of", "share", "low", "high"}
        shares = [row[name] for name in ("share", "low", "high")]
        share = next((share for share in shares if share is not None), None)
        _residual(found, row["node"], row["instances"], row["of"], share, m)
    coverage = overview.pop("coverage")
    for row in coverage.pop("depths"):
        assert set(row) == {"depth", "nodes", "in_use", "labels", "share"}
        found.knows(found.labels_at(row["depth"]), row["labels"], m)
        if row["share"] is not None:
            found.exactly(found.labels_at(row["depth"]))
    for row in coverage.pop("branches"):
        assert set(row) == {"node", "title", "assignable", "in_use"}
    assert coverage.pop("tail")["most_used_share"] in (None, 1.0)
    assert set(chain.from_iterable([*overview.values(), *coverage.values()])) == set()


EXEMPT = {"of", "limit", "given", "interval_level", "pairs_judged", "pairs", "family", "length"}
"""Totals of the release, limits of the policy, and counts of pairs or of lengths."""


NOT_BY_LABELS = {"empty_instance", "record_cap"}
"""Checks whose counts are totals of the release, or lengths, which no program here covers."""


def _finding(found: Attack, check: str, finding: dict[str, Any], m: int) -> None:
    evidence, nodes = dict(finding["evidence"]), [node["id"] for node in finding["nodes"]]
    if check == "residual_overuse":
        names = ("share", "low", "high", "shrunk_share")
        shares = [evidence.pop(name) for name in names if name in evidence]
        share = next((share for share in shares if share is not None), None)
        _residual(found, nodes[0], evidence.pop("instances"), evidence.pop("of"), share, m)
        found.knows(found.direct(nodes[0]), evidence.pop("labelled_at_parent"), m)
    elif check in ("cross_branch", "unexpected_pair"):
        rows = [found.carried(node) for node in nodes]
        both = found.met(*nodes) if check == "cross_branch" else found.both(*nodes)
        counted = ("support_a", "support_b", "instances")
        for name, row in zip(counted, (*rows, both), strict=True):
            found.knows(row, evidence.pop(name), m)
        if evidence.pop("share", None) is not None:
            found.exactly(both)
        derived = [evidence.pop(name) for name in list(evidence) if name not in EXEMPT]
        if any(value is not None for value in derived):
            found.exactly(*rows, both)
        found.protect(f"{check} {nodes}", both)
    elif check in NOT_BY_LABELS:
        return
    assert set(evidence) <= EXEMPT, f"{check}: {sorted(evidence)} have no place"
    for part in finding["parts"]:
        given = [node["id"] for node in part["nodes"]]
        assert set(part["evidence"]) <= {"instances", "kind"}
        assert check in ("residual_overuse", "cross_branch"), f"parts of {check} have no place"
        found.knows(found.direct(*given), part["evidence"]["instances"], m)


@st.composite
def releases(draw: st.DrawFn) -> tuple[str, list[tuple[int, list[str]]], int]:
    name = draw(st.sampled_from(sorted(BODIES)))
    hierarchy = BODIES[name]
    inside = ["lung"] if name == "labelled inside" else []
    leaves = [n for n in hierarchy.nodes if not hierarchy.children(n)] + inside
    sizes = st.one_of(st.integers(1, 6), st.integers(1, 30))
    sets = st.lists(st.sampled_from(leaves), max_size=draw(st.integers(1, 3)), unique=True)
    counted = draw(st.lists(st.tuples(sizes, sets.map(sorted)), min_size=2, max_size=7))
    min_cell = draw(st.integers(3, 6))
    assume(sum(times for times, labels in counted if labels) >= 4 * min_cell)
    return name, counted, min_cell


def narrowed(name: str, counted: list[tuple[int, list[str]]], min_cell: int) -> list[str]:
    hierarchy, truth = BODIES[name], dict[Labels, int]()
    for times, labels in counted:
        truth[frozenset(labels)] = truth.get(frozenset(labels), 0) + times
    policy = Policy(min_cell=min_cell)
    shared = run_audit(labelled(hierarchy, repeated(counted), persons=True), policy).shared()
    return list(attack(hierarchy, truth, shared).broken(min_cell))


LAST_CHILD = ("flat", [(40, ["asthma"]), (30, ["flu"]), (20, ["attack"]), (2, ["saw"])], 5)
"""One small sibling: on single labels it is what the others leave."""
NEITHER = (
    "two branches",
    [(30, ["asthma"]), (20, ["attack"]), (2, ["asthma", "attack"]), (9, ["asthma", "other_lung"])],
    4,
)
"""A small joint that the two supports tell, as every instance has a label."""
NO_RESIDUAL = ("nested", [(30, ["other_lung"]), (3, ["asthma"]), (10, ["flu"])], 6)
"""Specific instances that two residual shares, one inside the other, tell."""

BELOW_THE_PICTURE = (
    "nested",
    [(27, ["heart"]), (3, ["heart", "other_lung"]), (2, ["asthma", "heart"]), (2, [])],
    6,
)
"""What a node too small for the picture has beyond its child."""
BELOW_NO_PICTURE = (
    "nested",
    [(11, ["heart"]), (1, ["flu", "other_lung"]), (4, ["flu"]), (31, [])],
    4,
)
"""Labels two steps below the smallest node of the picture."""
ALL_BUT_ONE_CHILD = (
    "nested",
    [
        (5, ["heart"]),
        (19, ["flu"]),
        (1, ["flu", "heart", "other_lung"]),
        (1, ["asthma", "flu", "heart"]),
        (20, []),
    ],
    5,
)
"""The same beside shown joints."""
ALL_WITH_A_LABEL = (
    "nested",
    [(1, ["heart"]), (13, ["asthma", "heart", "other_lung"]), (2, [])],
    3,
)
"""All but one instance carry a label that is not in the picture."""
NO_SHARE_OF_NONE = (
    "two branches",
    [(16, ["asthma"]), (32, ["other_heart"]), (1, ["asthma", "other_lung"]), (5, [])],
    6,
)
"""No instance of a branch has residual labels alone, which its withheld share does not tell."""
SHARE_OF_FEW = (
    "two branches",
    [(1, ["other_lung"]), (1, ["asthma", "attack"]), (25, ["attack", "other_heart"]), (3, [])],
    6,
)
"""The same where few have: the count below the root is told by a share that is withheld."""
ON_BOTH_SIDES = (
    "diamond",
    [(5, ["both"]), (30, ["attack"]), (2, ["asthma"]), (2, ["asthma", "attack"])],
    3,
)
"""Few instances with two labels under branches that share a label."""


@given(releases())
@example(LAST_CHILD)
@example(NEITHER)
@example(NO_RESIDUAL)
@example(BELOW_THE_PICTURE)
@example(BELOW_NO_PICTURE)
@example(ALL_BUT_ONE_CHILD)
@example(ALL_WITH_A_LABEL)
@example(NO_SHARE_OF_NONE)
@example(SHARE_OF_FEW)
@example(ON_BOTH_SIDES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_everything_published_leaves_each_small_cell_possible(
    release: tuple[str, list[tuple[int, list[str]]], int],
) -> None:
    assert narrowed(*release) == []


@pytest.mark.parametrize("release", [LAST_CHILD, NEITHER, NO_RESIDUAL])
def test_counts_each_protected_alone_tell_small_cells(
    release: tuple[str, list[tuple[int, list[str]]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in ("_protect", "_hide_two_at"):
        monkeypatch.setattr(protection._Protection, step, lambda *_: None)

    assert narrowed(*release) != []


def test_counts_far_from_each_other_are_all_shown() -> None:
    counted = [(30, ["asthma"]), (20, ["attack"]), (12, ["asthma", "attack"]), (25, ["flu"])]
    shared = run_audit(
        labelled(BODIES["three siblings"], repeated(counted), persons=True), Policy(min_cell=5)
    ).shared()

    assert {type(row["instances"]) for row in shared["overview"]["tree"]} == {int}
    assert [row["instances"] for row in shared["overview"]["branch_pairs"]] == [12]


@given(
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(2, 12),
)
def test_two_releases_side_by_side_leave_a_small_difference_possible(
    old: int, came: int, others: int, others_came: int, min_cell: int
) -> None:
    """Unknown: instances of the old release with and without the node, and those that came."""
    assume(min(old + others, came + others_came) >= 4 * min_cell)
    x = np.array([old, others, came, others_came], float)
    sizes = old + others, old + others + came + others_came
    counts = old, old + came
    shown = shown_change(*counts, *sizes, min_cell)
    rows = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0], [1, 0, 1, 0]], float)
    ranges: list[tuple[float, float]] = [(size, size) for size in sizes]
    for count, told, size in zip(counts, shown, sizes, strict=True):
        bound = told if isinstance(told, int) else int(told[1:])
        ranges.append(
            (bound, bound)
            if isinstance(told, int)
            else (1, bound - 1)
            if told[0] == "<"
            else (bound + 1, size)
        )
        assert ranges[-1][0] <= count <= ranges[-1][1]
    used = [(min(n, 1), size if n else 0) for n, size in zip(counts, sizes, strict=True)]
    for cell in range(4):
        if 0 < x[cell] < min_cell:
            low, high = ends(np.eye(4)[cell], rows, ranges)
            base = ends(np.eye(4)[cell], rows, [*ranges[:2], *used])
            both_small = all(isinstance(told, str) and told[0] == "<" for told in shown)
            assert low <= max(1, base[0]) + 1e-6
            assert high >= min(min_cell - 1 - both_small, base[1]) - 1e-6


def ends(row: Row, rows: Row, ranges: list[tuple[float, float]]) -> tuple[float, float]:
    """The least and the most of a sum under two-sided bounds."""
    low, high = np.array(ranges, float).T
    found = [
        linprog(sign * row, A_ub=np.vstack([rows, -rows]), b_ub=np.concatenate([high, -low]))
        for sign in (1, -1)
    ]
    assert all(solved.success for solved in found)
    return float(found[0].fun or 0), -float(found[1].fun or 0)
