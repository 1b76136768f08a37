"""Limits of an excess, what a scan names and explains, and strata, by plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from audit import Hierarchy
from audit.base.dag import FloatArray
from audit.engine.pairs.margins import NO_STRATUM, length_cuts, strata_of
from audit.engine.pairs.scan import FINDS, Meets, Rules, Scan, strength_of
from audit.engine.statistics.association import poisson_p_value
from fixtures import brute_force_scan as oracle
from fixtures import brute_force_strata as plain
from fixtures.brute_force import Pair
from fixtures.examples import examples
from fixtures.labelled import tree
from fixtures.planted_pairs import planted


def tail(observed: float, expected: float) -> float:
    return float(poisson_p_value(np.array([observed]), np.array([expected]))[0])


def limits_around(p_value: float) -> tuple[float, float]:
    """A threshold that a p value passes, and the next lower one, which it does not."""
    return p_value, float(np.nextafter(p_value, 0))


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_an_excess_is_surprising_from_its_limits_on(ratio: float) -> None:
    pairs = [(float(observed), halves / 2) for observed in range(8) for halves in range(1, 13)]
    for limit in {one for pair in pairs for one in limits_around(tail(*pair))}:
        wanted = [
            observed >= 3 and observed >= min(1.1, ratio) * expected and tail(*pair) <= limit
            for pair in pairs
            for observed, expected in [pair]
        ]
        assert Rules(limit, 3, ratio).surprises(*np.array(pairs).T).tolist() == wanted


def scanned(
    hierarchy: Hierarchy,
    pairs: Sequence[tuple[int, int]],
    observed: Sequence[float],
    expected: FloatArray,
    rules: Rules,
    scale: Sequence[float] = (),
) -> Scan:
    """A scan of some pairs, in node order; every node has the same support.

    Args:
        hierarchy: The hierarchy.
        pairs: Node indices of each.
        observed: Observed records of each.
        expected: Expected records of every two nodes, shape (n_nodes, n_nodes).
        rules: The limits.
        scale: What one effective record of each counts; empty: 1.
    """
    a, b = np.array(pairs, np.int64).reshape(-1, 2).T
    above = np.diff(hierarchy.closure.indptr)
    counted, each = np.array(observed, np.float64), np.array(scale or [1.0] * len(a))
    surprising = pl.DataFrame(
        {
            "a": a,
            "b": b,
            "observed": counted,
            "expected": expected[a, b],
            "ancestors": above[a] + above[b],
            "scale": each,
        }
    )
    meets = Meets(hierarchy.closure, np.ones(len(hierarchy), np.int64))
    return Scan(surprising, meets, lambda a, b: np.asarray(expected[a, b]), rules)


@pytest.mark.parametrize("fewer", range(34, 40))
def test_a_pair_is_named_by_one_below_that_has_nearly_all_and_leaves_no_excess(fewer: int) -> None:
    """Of 40 records; the upper pair is the stronger one, so that the scan takes it first.

    Each counts twice, and so does what is expected, since one effective record weighs two.
    """
    hierarchy, rest, tried = tree("a b < root", "x < a", "y < b"), 40 - fewer, 0
    above, below = ((hierarchy.index(a), hierarchy.index(b)) for a, b in (("a", "b"), ("x", "y")))
    expected = np.zeros((5, 5))
    for unexplained, times in product((0.5, 1.0, 2.0), (8, 12, 16, 40)):
        expected[below], expected[above] = unexplained * times, unexplained * (times + 1)
        upper, lower = strength_of(
            np.array([40, fewer]), np.array([expected[above], expected[below]])
        )
        if expected[above] >= 30 or upper < lower + 1e-6:
            continue
        by_ratio = rest / unexplained
        for least, ratio, limit in product(
            (rest, rest + 1),
            (by_ratio, np.nextafter(by_ratio, 100)),
            limits_around(tail(rest, unexplained)),
        ):
            rules = Rules(limit, least, ratio)
            counted = [above, below], [80, 2 * fewer], 2 * expected
            found = scanned(hierarchy, *counted, rules, [2, 2]).run()
            excess = least == rest and ratio == by_ratio and limit == tail(rest, unexplained)
            assert found["pair"][0] == (1 if fewer >= 36 and not excess else 0)
            assert found["strength"][0] == pytest.approx(upper)
            tried += 1
    assert tried


def test_a_pair_is_not_named_by_one_that_is_below_an_earlier_find() -> None:
    """A find of b comes first; c and d meet in one record more than c and b do."""
    hierarchy = tree("a b c d e f < root")
    pairs, observed = [(0, 1), (1, 2), (2, 3), (3, 4), (3, 5)], [60, 49, 50, 9, 8]
    expected = np.zeros((7, 7))
    for pair, records in zip(pairs, (1.0, 9.9, 10.0, 1.0, 1.0), strict=True):
        expected[pair] = expected[pair[::-1]] = records
    found = scanned(hierarchy, pairs, observed, expected, Rules(0.05, 2, 1.5)).run()

    assert found["pair"].to_list() == [0, 2, 1, 3, 4]


def found_and_explained(scan: Scan) -> pl.DataFrame:
    """The finds; that earlier ones explain each, beside its own expectation, is asserted."""
    found = scan.run()
    for number, place in enumerate(found["pair"].to_list()):
        told = scan.explaining(found, number)
        records = [explained for _, explained in told]
        own = float(scan.expected[place])
        assert found["explained"][number] == pytest.approx(own + sum(records))
        assert records == sorted(records, reverse=True)
        assert min(records, default=1.0) > 0
        assert {earlier for earlier, _ in told} <= set(range(number))
    return found


@dataclass(frozen=True)
class Stated(oracle.Release):
    """A release of which it is stated what is expected of nodes: numbers at or below them."""

    stated: Mapping[str, float] = field(default_factory=dict)

    def expected(self, a: str, b: str) -> float:
        return math.fsum(
            self.stated[x] * self.stated[y] for x in self.below[a] for y in self.below[b]
        )


def with_excesses(release: oracle.Release, pairs: list[Pair], random: Random) -> dict[Pair, float]:
    """Records of pairs about as expected; some have more, and a little more some pair above."""

    def above(pair: Pair) -> list[Pair]:
        (x, y), below = pair, release.below
        return [
            (a, b)
            for a, b in pairs
            if (x in below[a] and y in below[b]) or (y in below[a] and x in below[b])
        ]

    observed = {pair: release.expected(*pair) * random.uniform(0.8, 1.2) for pair in pairs}
    for pair in random.choices(pairs, k=5):
        records, wider = random.uniform(5, 100), random.choice(above(pair))
        for own, more in ((pair, records), (wider, records * random.uniform(0.02, 0.12))):
            for holding in above(own):
                observed[holding] += more
    return observed


@given(st.integers(0, 2**32), st.booleans())
@examples(150)
def test_pairs_are_found_named_and_explained_as_in_plain_python(seed: int, tree: bool) -> None:
    random, drawn = Random(seed), planted(seed, tree=tree, nodes=20, records=30)
    stated = {node: random.uniform(0.05, 0.5) for node in drawn.nodes}
    release = Stated(drawn.parents, {}, groups={}, stated=stated)
    apart = [pair for pair in combinations(drawn.nodes, 2) if not release.comparable(*pair)]
    observed = with_excesses(release, apart, random)
    scale = {pair: random.choice((1.0, 1.6, 2.5)) for pair in apart}
    limits = oracle.Limits(random.choice((2, 4)), random.choice((1.05, 1.5, 3.0)))
    threshold = random.choice((0.3, 0.02, 1e-4))
    pairs, wanted, narrowest = oracle.finds(release, limits, threshold, observed, scale)
    assume(narrowest > 1e-9)
    hierarchy = drawn.dataset().hierarchy
    ends = [(hierarchy.index(a), hierarchy.index(b)) for a, b in pairs]
    counted, each = ([numbers[pair] for pair in pairs] for numbers in (observed, scale))
    expected = np.array([[release.expected(a, b) for b in drawn.nodes] for a in drawn.nodes])
    rules = Rules(threshold, limits.least_joint, limits.excess_ratio)
    found = found_and_explained(scanned(hierarchy, ends, counted, expected, rules, each))

    assert [pairs[place] for place in found["pair"]] == [one.pair for one in wanted]
    for name in ("strength", "explained", "delta"):
        assert found[name].to_list() == pytest.approx([getattr(one, name) for one in wanted])


@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize(
    ("of_upper", "upper_first", "explained"), [(50, True, 1.5 * 0.5), (40, False, 15 * 0.5)]
)
def test_a_find_explains_a_pair_by_what_is_expected_where_they_meet(
    crossed: bool, of_upper: int, upper_first: bool, explained: float
) -> None:
    """At the lower pair, its excess times over; whichever node is the first in node order."""
    for first in "abrxy":
        r, a, b, x, y = (f"0{name}" if name == first else name for name in "rabxy")
        if crossed:
            x, y = y, x
        hierarchy = tree(f"{a} {b} < {r}", f"{x} < {a}", f"{y} < {b}")
        above, below = (tuple(sorted(map(hierarchy.index, ends))) for ends in ((a, b), (x, y)))
        expected = np.full((5, 5), 7.0)
        expected[above] = expected[above[::-1]] = 20
        expected[below] = expected[below[::-1]] = 0.5
        pairs = sorted([above, below])
        observed = [of_upper if pair == above else 8 for pair in pairs]
        scan = scanned(hierarchy, pairs, observed, expected, Rules(0.9, 2, 1.5))

        found = found_and_explained(scan)

        assert [pairs[place] for place in found["pair"]] == (
            [above, below] if upper_first else [below, above]
        )
        assert scan.explaining(found, 1) == [(0, explained)]


def test_nothing_is_found_among_no_pairs() -> None:
    scan = scanned(tree("a b < root"), [], [], np.ones((3, 3)), Rules(0.5, 2, 1.5))

    assert scan.run().equals(pl.DataFrame(schema=FINDS))


lengths_of_records = st.one_of(
    st.lists(st.integers(0, 9), max_size=30),
    st.lists(st.integers(0, 30), min_size=70, max_size=250),
    st.lists(st.sampled_from([0, 1, 2, 2, 2, 3, 40]), min_size=70, max_size=250),
)


def whole(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.int64)


def cuts(lengths: list[int]) -> list[int]:
    found: list[int] = length_cuts(np.bincount(whole(lengths))).tolist()
    return found


def members(stratum: np.ndarray) -> list[set[int]]:
    """Records of each stratum, those of none left out."""
    return [
        set(np.flatnonzero(stratum == number).tolist())
        for number in range(int(stratum.max(initial=-1)) + 1)
    ]


@given(lengths_of_records)
def test_cut_points_are_quantiles_by_nearest_rank(lengths: list[int]) -> None:
    assert cuts(lengths) == plain.cut_points(lengths)


@given(lengths_of_records)
def test_a_stratum_ends_with_its_cut_point(lengths: list[int]) -> None:
    found = cuts(lengths)
    stratum = strata_of(whole(lengths), whole(found))

    assert members(stratum) == plain.strata(lengths, found)
    assert all(records for records in members(stratum))
    assert (stratum == NO_STRATUM).tolist() == [length < 2 for length in lengths]


@given(lengths_of_records, st.sets(st.integers(2, 12)), st.data(), st.integers(1, 2))
def test_strata_crossed_with_columns_have_ten_records(
    lengths: list[int], given: set[int], data: st.DataObject, columns: int
) -> None:
    ends = sorted(given)
    size = len(lengths)
    further = [
        data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)) for _ in range(columns)
    ]
    categories = [*zip(*further, strict=True)]

    stratum = strata_of(whole(lengths), whole(ends), [whole(column) for column in further])

    assert members(stratum) == plain.strata(lengths, ends, categories or [()])


def test_there_are_twenty_strata_at_most() -> None:
    assert cuts([*range(2, 82)] * 10) == [*range(5, 80, 4)]


def test_a_small_crossed_stratum_joins_the_next_length_of_its_category() -> None:
    lengths = [2] * 9 + [5] * 10 + [2] * 10 + [5] * 9 + [2] * 3 + [5] * 3
    site = [0] * 19 + [1] * 19 + [2] * 6
    # 9 join the next, 9 the one before, and where both are too small they are one
    assert strata_of(whole(lengths), whole([2]), [whole(site)]).tolist() == (
        [0] * 19 + [1] * 19 + [2] * 6
    )
    lengths = [2] * 10 + [5] * 9 + [7] * 10
    assert strata_of(whole(lengths), whole([2, 5]), [whole([0] * 29)]).tolist() == (
        [0] * 10 + [1] * 19
    )
