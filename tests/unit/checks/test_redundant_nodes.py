"""redundant_nodes: what is told as one label, and what chance explains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.base.plurals import filled
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.policy.rules import Companion, Expected
from audit.policy.statements import Threshold
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.counted import counted_of
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree
from fixtures.strategies import hierarchies

CHECK = CHECK_OF["redundant_nodes"]

PAGE = Path(__file__).parents[3] / "docs" / "checks" / "redundant_nodes.md"
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


def test_two_nodes_used_as_one_label_are_told() -> None:
    """The worked example of docs/checks/redundant_nodes.md."""
    found = CHECK.run(measured(USED_AS_ONE))
    (finding,) = found.findings
    values, statement = finding.evidence, filled(finding.statement, finding.evidence)

    assert finding.key == ("asthma", "wheeze", "redundant")
    assert (finding.severity, found.status, finding.touched) == ("note", "note", 60)
    assert values["both_share"] == 60 / 80
    assert values["least_share"] == pytest.approx(0.645, abs=0.0005)
    assert values["chance_share"] == pytest.approx(0.0394, abs=0.0005)
    assert finding.strength == values["least_share"]
    assert statement == (
        "60 of 500 instances have both asthma and wheeze: 75.0% of those with at least one of the "
        "two, where chance would give 3.9%."
    )
    assert statement in PAGE.read_text("utf-8")


def test_pairs_of_frequent_nodes_are_the_denominator() -> None:
    rare = [*ALONE, (10, ["cough"])]

    assert CHECK.run(measured(rare)).denominator == 3
    assert CHECK.run(measured([*rare, (1, ["cough"])])).denominator == 6


def test_chapters_that_every_record_has_a_code_of_are_not_one_label() -> None:
    counts = [(50, [one, other]) for one in ("asthma", "flu") for other in ("left", "right")]

    assert told(CHECK.run(measured([*counts, (50, ["cough"])], NESTED))) == []


def test_only_siblings_are_used_as_one_label() -> None:
    counts = [*ALONE[:3], (120, ["left"])]
    (finding,) = CHECK.run(measured(among_others(counts), NESTED)).findings
    statement = filled(finding.statement, finding.evidence)

    assert re.search(r"where chance would give [\d.]+%\.$", statement)
    assert "count" in finding.data_user.lower()
    assert "one label" not in finding.statement + finding.curator


def test_of_two_that_come_together_the_one_that_hardly_stands_alone_is_named() -> None:
    counts = [(98, ["asthma", "wheeze"]), (2, ["wheeze"]), (60, ["asthma"]), (120, ["left"])]
    (finding,) = CHECK.run(measured(among_others(counts), NESTED)).findings

    assert filled(finding.statement, finding.evidence).endswith(
        "; wheeze hardly occurs without asthma (98.0% of its instances have that too)."
    )


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


def test_the_share_is_the_policy_s() -> None:
    high = Policy(redundant_jaccard=Threshold(value=0.65, reason="ours"))

    assert told(CHECK.run(measured(USED_AS_ONE, policy=high))) == []


def test_what_stands_on_most_records_stands_beside_everything() -> None:
    everywhere = [(100, ["asthma", "wheeze"]), (870, ["fever", "wheeze"]), (30, ["fever"])]

    assert told(CHECK.run(measured(everywhere))) == []


def test_parents_that_inherit_it_are_not_told() -> None:
    counts = [*USED_AS_ONE[:3], (5, ["flu", "left"]), (5, ["cough"]), (120, ["left", "right"])]

    assert [key for key in found_in(counts, NESTED) if "left" not in key] == [
        ("asthma", "wheeze", "redundant")
    ]


SHARING = tree(REST, "lung sound hand rest < body", "asthma both < lung", "wheeze both < sound")
SIBLINGS = tree(
    REST, "lung hand rest < body", "asthma wheeze < lung", "both < asthma", "both < wheeze"
)


@pytest.mark.parametrize(
    ("hierarchy", "pair"), [(SHARING, ("lung", "sound")), (SIBLINGS, ("asthma", "wheeze"))]
)
def test_nodes_that_share_a_label_in_use_are_not_judged(
    hierarchy: Hierarchy, pair: tuple[str, str]
) -> None:
    counts = [(60, pair), (10, [pair[0]]), (10, [pair[1]]), (200, ["hand"])]
    used = [*counts, (1, ["both"])]

    assert found_in(counts, hierarchy) == [(*pair, "redundant")]
    assert found_in(used, hierarchy) == []
    assert CHECK.run(measured(used, hierarchy)).denominator < (
        CHECK.run(measured(counts, hierarchy)).denominator
    )


def test_pairs_that_the_policy_expects_are_left_out_with_what_follows() -> None:
    counts = [*USED_AS_ONE[:3], (5, ["flu", "left"]), (5, ["cough"]), (120, ["left", "right"])]
    before = CHECK.run(measured(counts, NESTED))
    known = Expected(nodes=("wheeze", "asthma"), source="the guide")
    found = CHECK.run(measured(counts, NESTED, Policy(expected=(known,))))
    asked = {"if": "wheeze", "needs": "asthma", "source": "the guide"}
    by_rule = Policy(companions=(Companion.model_validate(asked),))

    assert told(found) == [key for key in told(before) if "asthma" not in key]
    assert found.denominator == before.denominator - 1
    assert CHECK.run(measured(counts, NESTED, by_rule)) == found


def test_it_names_the_instances_with_both() -> None:
    own = measured([(3, ["fever"]), *USED_AS_ONE])
    (finding,) = CHECK.run(own).findings

    assert CHECK.cases(own, finding).tolist() == list(range(3, 63))


@pytest.mark.parametrize(
    "counts", [[(50, ["asthma"]), (50, ["wheeze"])], [(9, ["asthma", "wheeze"])], [(9, [])]]
)
def test_it_passes_where_nothing_can_be_judged(counts: Counts) -> None:
    assert CHECK.run(measured(counts)).status == "pass"


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


@given(releases())
@examples(40)
def test_counts_alone_tell_the_same(own: Measurements) -> None:
    assert CHECK.run(counted_of(own)) == CHECK.run(own)
