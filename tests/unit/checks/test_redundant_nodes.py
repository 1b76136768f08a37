"""redundant_nodes: what is told as one label, and what chance explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree
from fixtures.strategies import hierarchies

CHECK = CHECK_OF["redundant_nodes"]

OTHERS = ("o1", "o2", "o3", "o4", "o5", "o6")
REST = f"{' '.join(OTHERS)} < rest"
FLAT = tree("asthma wheeze cough fever rest < body", REST)
NESTED = tree(
    REST,
    "lung sound hand rest < body",
    "asthma flu < lung",
    "wheeze cough < sound",
    "left right < hand",
)
CHAINED = tree(
    REST, "lung sound hand rest < body", "airway < lung", "asthma < airway", "wheeze < sound"
)
Counts = Sequence[tuple[int, Sequence[str]]]


def measured(
    counts: Counts, hierarchy: Hierarchy = FLAT, policy: Policy | None = None
) -> Measurements:
    return measure(labelled(hierarchy, repeated(counts), persons=True), policy or Policy())


def among_others(counts: Counts) -> Counts:
    """With one and a half times as many records of two labels each that go their own ways.

    Where all records of two labels carry the same two, their length lets expect just that.
    """
    each = sum(n for n, _ in counts) // 10
    return [*counts, *((each, pair) for pair in combinations(OTHERS, 2))]


def told(found: CheckResult) -> list[tuple[str, ...]]:
    return sorted(finding.key for finding in found.findings)


def found_in(counts: Counts, hierarchy: Hierarchy = FLAT) -> list[tuple[str, ...]]:
    return told(CHECK.run(measured(among_others(counts), hierarchy)))


ALONE = [(60, ["asthma", "wheeze"]), (10, ["asthma"]), (10, ["wheeze"]), (120, ["fever"])]
USED_AS_ONE = among_others(ALONE)


ONE = ("asthma", "wheeze", "redundant")
FEW = [(10, ["asthma", "wheeze"]), (90, ["fever", "cough"]), (90, ["fever"]), (90, ["cough"])]
EACH_ALONE = [(3, [node]) for node in ("asthma", "wheeze", "flu", "cough")]
ACROSS = [
    (n, list(pair))
    for n, pair in zip(
        (60, 30, 30, 15), product(("asthma", "flu"), ("wheeze", "cough")), strict=True
    )
]


@pytest.mark.parametrize(
    ("hierarchy", "counts", "expected"),
    [
        # each on 60% of the records: 43% of those with either have both, with 41% for sure
        (FLAT, [(3600, ["asthma", "wheeze"]), (2400, ["asthma"]), (2400, ["wheeze"]),
                (1600, ["fever"])], []),
        (FLAT, [(540, ["asthma", "wheeze"]), (60, ["asthma"]), (60, ["wheeze"]),
                (340, ["fever"])], [ONE]),
        (FLAT, FEW, []),  # what a few records say is not sure
        (FLAT, [*FEW, (1, ["asthma", "wheeze"])], [ONE]),
        # a node that never stands without another is no news, where that stands without it
        (FLAT, [(100, ["wheeze", "asthma"]), (300, ["asthma"]), (600, ["fever"])], []),
        # a chain is told once, by its most specific nodes
        (CHAINED, [*USED_AS_ONE[:3], (120, ["hand"])], [ONE]),
        # children that are one each, and not their parents; and the reverse
        (NESTED, [(60, ["asthma", "wheeze"]), (60, ["flu", "cough"]), *EACH_ALONE,
                  (300, ["left"])], [ONE, ("cough", "flu", "redundant")]),
        (NESTED, [*ACROSS, (900, ["left"])], [("lung", "sound", "redundant")]),
        # one with a parent, and not with its children
        (NESTED, [(60, ["asthma", "wheeze"]), (60, ["flu", "wheeze"]), (300, ["left"])],
         [("lung", "wheeze", "redundant")]),
        # always beside the parent of a node that is one is no news
        (NESTED, [(900, ["asthma", "wheeze"]), (96, ["asthma", "cough"]), (4, ["asthma"]),
                  (100, ["wheeze"]), (3000, ["cough"]), (9000, ["left"])], [ONE]),
    ],
)  # fmt: skip
def test_each_pair_is_told_once_where_it_arises(
    hierarchy: Hierarchy, counts: Counts, expected: list[tuple[str, ...]]
) -> None:
    assert found_in(counts, hierarchy) == expected


# --- the same by loops over sets of instances ------------------------------------------------


@st.composite
def releases(draw: st.DrawFn) -> Measurements:
    hierarchy = draw(hierarchies(max_nodes=8, titled=False))
    labels = st.lists(st.sampled_from(hierarchy.nodes), max_size=3, unique=True)
    sets = st.tuples(st.sampled_from([2, 9, 30, 100, 400]), labels)
    drawn = draw(st.lists(sets, min_size=1, max_size=7))
    return measured(drawn, hierarchy)


class Loops:
    """The rules, pair by pair, from the sets of instances that carry each node."""

    def __init__(self, own: Measurements) -> None:
        hierarchy = own.hierarchy
        labels = own.loaded.dataset.direct.toarray()
        self.below = {n: {n, *hierarchy.descendants(n)} for n in hierarchy.nodes}
        self.carrying: dict[str, set[int]] = {
            node: {
                i
                for i, row in enumerate(labels)
                if any(row[hierarchy.index(n)] for n in self.below[node])
            }
            for node in hierarchy.nodes
        }
        table = own.pairs.frame.select("a", "b", "expected_length").collect()
        size = {node: len(those) for node, those in self.carrying.items()}
        labelled = int(labels.any(axis=1).sum())
        self.expected = {  # of a pair that was not judged, what the two have by themselves
            (a, b): size[a] * size[b] / labelled if length is None else length
            for a, b, length in table.iter_rows()
        }
        self.expected |= {(b, a): e for (a, b), e in self.expected.items()}

    def family(self) -> Iterator[tuple[str, str]]:
        frequent = [node for node, those in self.carrying.items() if len(those) >= 11]
        for a, b in combinations(frequent, 2):
            if not any(self.carrying[node] for node in self.below[a] & self.below[b]):
                yield a, b

    def kind(self, a: str, b: str) -> str:
        first, second = sorted((self.carrying[a], self.carrying[b]), key=len)
        both, either = len(first & second), len(first | second)
        met = min(self.expected.get((a, b), 0.0), len(first))
        if beyond(surely(both, either), met / (len(first) + len(second) - met), 0.5):
            return "redundant"
        return ""

    def comparable(self, a: str, b: str) -> bool:
        return a in self.below[b] or b in self.below[a]

    def near(self, one: tuple[str, str], other: tuple[str, str]) -> bool:
        (a, b), (x, y) = one, other
        straight = self.comparable(a, x) and self.comparable(b, y)
        return straight or (self.comparable(a, y) and self.comparable(b, x))


def beyond(low: float, chance: float, least: float) -> bool:
    return low >= least and chance < 1 and low / (1 - low) >= 3 * chance / (1 - chance)


def surely(k: int, n: int) -> float:
    """Where the score test stops to reject a smaller share, by bisection."""
    low, high = 0.0, k / n
    for _ in range(60):
        middle = (low + high) / 2
        rejected = k / n - middle > 1.959963984540054 * sqrt(middle * (1 - middle) / n)
        low, high = (middle, high) if rejected else (low, middle)
    return low


@pytest.mark.slow
@given(releases())
@examples(150)
def test_each_pair_by_the_rules_is_told_or_near_one_that_is(own: Measurements) -> None:
    loops, found = Loops(own), CHECK.run(own)
    if found.not_applicable:
        return
    kinds = {pair: loops.kind(*pair) for pair in loops.family()}
    there = {pair: kind for pair, kind in kinds.items() if kind}
    keys = {(min(key[:2]), max(key[:2])): key[2] for key in told(found)}
    reached = set(keys)
    while True:
        wider = {p for p in there if any(loops.near(p, other) for other in reached)} | reached
        if wider == reached:
            break
        reached = wider

    assert found.denominator == len(kinds)
    assert keys.items() <= there.items()
    assert reached == set(there)


@given(releases())
@examples(60)
def test_no_two_told_pairs_carry_the_same_instances_one_above_the_other(own: Measurements) -> None:
    loops = Loops(own)
    pairs = [(key[0], key[1]) for key in told(CHECK.run(own))]
    for one, other in combinations(pairs, 2):
        both = [loops.carrying[a] & loops.carrying[b] for a, b in (one, other)]
        assert both[0] != both[1] or not loops.near(one, other)


FLAT_SETS = st.lists(
    st.tuples(
        st.sampled_from([3, 12, 40, 150]),
        st.lists(st.sampled_from(["asthma", "wheeze", "cough", "fever"]), max_size=3, unique=True),
    ),
    min_size=1,
    max_size=6,
)


@given(FLAT_SETS)
@settings(deadline=None)
def test_where_no_node_is_above_another_all_pairs_by_the_rules_are_told(counts: Counts) -> None:
    own = measured(counts)
    found, loops = CHECK.run(own), Loops(own)
    expected = {(*pair, kind) for pair in loops.family() if (kind := loops.kind(*pair))}

    if not found.not_applicable:
        assert {(*sorted(key[:2]), key[2]) for key in told(found)} == expected
