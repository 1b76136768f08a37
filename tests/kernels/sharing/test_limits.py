"""Classes of told counts by counting them out; limits hold told counts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.dag import IntArray
from audit.base.declared import NONE
from audit.checks.rules.drift import LEAST_EXCHANGE
from audit.checks.rules.duplicates import Copies
from audit.checks.rules.nodes import held
from audit.checks.rules.records import pile_of
from audit.engine.pairs.redundancy import NodePairs
from audit.engine.statistics.two_rates import TwoSides
from audit.measure.drift import surely_apart
from audit.measure.residual_differences import apart
from audit.sharing.bins import FEWEST_BINS, Bins, width_of
from audit.sharing.told import Rounding
from fixtures.labelled import labelled, repeated, tree
from fixtures.moved_worlds import moved

WIDTHS = (4, 10, 49)


def classes(bins: Bins, most: int) -> list[tuple[int, list[int]]]:
    """Told numbers with the counts from 0 to the most that are told so, in order."""
    found: list[tuple[int, list[int]]] = []
    for n in range(most + 1):
        told = bins.told(n)
        assert told is not None
        if found and found[-1][0] == told:
            found[-1][1].append(n)
        else:
            found.append((told, [n]))
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_classes_are_a_partition_in_order_each_of_a_width_at_least(width: int) -> None:
    least = FEWEST_BINS * width
    for total in (0, 1, width, *range(least - 1, least + 2 * width + 2), 700):
        bins = Bins(width, total)
        assert bins.tells == (total >= FEWEST_BINS * width)
        if not bins.tells:
            assert {bins.told(n) for n in range(total + 1)} == {None}
            continue
        found = classes(bins, total)
        told = [number for number, _ in found]
        assert told == sorted(set(told))
        first, *between, last = (members for _, members in found)
        assert first == [*range(width + 1)]
        assert last == [*range(total - width, total + 1)]
        assert [len(members) for members in between[:-1]] == [width] * (len(between) - 1)
        assert not between or width <= len(between[-1]) < 2 * width
        assert told == [(members[0] + members[-1]) // 2 for _, members in found]


@pytest.mark.parametrize("width", WIDTHS)
def test_told_numbers_say_their_class(width: int) -> None:
    for total in (FEWEST_BINS * width, 333, 700):
        bins = Bins(width, total)
        for told, members in classes(bins, total):
            assert bins.ends(told) == (members[0], members[-1])
            assert bins.told(told) == told
            assert bins.few(told) == (0 in members)
            assert bins.all_but_few(told) == (total in members)


@pytest.mark.parametrize("width", WIDTHS)
def test_without_a_total_there_is_no_last_class(width: int) -> None:
    found = classes(Bins(width, None), 500)
    assert [len(members) for _, members in found[:-1]] == [width + 1] + [width] * (len(found) - 2)
    assert not any(Bins(width, None).all_but_few(told) for told, _ in found)


def test_a_width_of_none_tells_each_count_as_it_is() -> None:
    bins = Bins(0, 60)
    assert [bins.told(n) for n in range(61)] == [*range(61)]
    assert not any(bins.few(n) or bins.all_but_few(n) for n in range(61))
    assert bins.ends(7) == (7, 7)


def test_arrays_and_expressions_tell_what_single_counts_do() -> None:
    for total in [300, None]:
        for width in [0, *WIDTHS]:
            bins, counts = Bins(width, total), np.arange(301)
            alone = [bins.told(int(n)) for n in counts]
            assert np.asarray(bins.all_told(counts)).tolist() == alone
            frame = pl.DataFrame({"n": counts}).select(bins.all_told(pl.col("n")))
            assert frame.to_series().to_list() == alone


def test_the_width_follows_from_the_smallest_count() -> None:
    for cell, width in [(1, 0), (2, 4), (5, 4), (6, 5), (11, 10), (51, 50)]:
        assert width_of(cell) == width


PERSONS = 500
BINS = Bins(10, PERSONS)
UP = {"asthma": "lung", "wheeze": "lung", "vague": "lung", "saw": "tool", "hammer": "tool"}
TREE = tree(
    *(f"{node} < {parent}" for node, parent in UP.items()), "lung tool < top",
    titles={"vague": "Lung disease, unspecified"},
)  # fmt: skip
REST = ("hammer",)
SETS = (
    ("asthma", "saw"), ("asthma",), ("saw",), ("vague",), ("wheeze", "lung"), ("wheeze",),
    ("asthma", "wheeze", "vague", "saw", "lung"),
)  # fmt: skip
"""Labels of records; those of the last are long enough to be copies."""
OF_LIMITS = ("parent_and_child", "residual_overuse", "duplicates", "redundant_nodes")
Times: TypeAlias = dict[tuple[str, ...], int]


def counted(labels: tuple[str, ...]) -> Iterator[object]:
    """What a record counts for: nodes and pairs, as labels and with all above them; vague alone."""
    carried = sorted({*labels, *(UP[one] for one in labels if one in UP)})
    for n in (1, 2):
        yield from combinations(carried, n)
        yield from (("label", *one) for one in combinations(sorted(labels), n))
    if labels == ("vague",):
        yield "vague alone"


def told(sets: list[tuple[str, ...]], times: IntArray) -> list[IntArray]:
    """All that is told of how often some sets of labels occur, and REST on all other records."""
    every = [*times, PERSONS - times.sum(axis=0)]
    by_name = dict[object, IntArray]()
    for labels, number in zip([*sets, REST], every, strict=True):
        for name in counted(labels):
            by_name[name] = by_name.get(name, 0) + number
    copies = (number - 1 for labels, number in zip(sets, times, strict=True) if len(labels) > 4)
    return [BINS.all_told(one) for one in (*by_name.values(), *(n.clip(0) for n in copies))]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Times, Times]:
    """Numbers of records of two or three sets of labels, twice, in the same classes."""
    sets = draw(st.lists(st.sampled_from(SETS), min_size=2, max_size=3, unique=True))
    first = [draw(st.integers(1, 130)) for _ in sets]
    second = moved(draw, first, lambda times: told(sets, times))
    return dict(zip(sets, first, strict=True)), dict(zip(sets, second, strict=True))


def audited(times: Times) -> audit.AuditResult:
    sets = [(n, labels) for labels, n in {**times, REST: PERSONS - sum(times.values())}.items()]
    return audit.run_audit(labelled(TREE, repeated(sets), persons=True))


def found(result: audit.AuditResult) -> dict[str, list[str]]:
    told = {check.name: sorted(one.id for one in check.findings) for check in result.checks}
    return {name: told[name] for name in OF_LIMITS}


@pytest.mark.slow
@given(worlds())
def test_counts_in_the_same_classes_give_the_same_findings_of_limits(
    both: tuple[Times, Times],
) -> None:
    one, other = map(audited, both)
    assert found(one) == found(other)


TOTAL = 2_000
EXACT, OF_PERSONS = Rounding(), Rounding(10, {"instances": TOTAL})
INSTANCES, FREE = (OF_PERSONS.bins(total).all_told for total in ("instances", NONE))


def copied(rounding: Rounding, copies: int, near: int) -> bool:
    nothing = np.zeros(0, np.bool_)
    return Copies(nothing, nothing, copies, near).stand(rounding)


def shifted(rounding: Rounding, *cells: int) -> bool:
    """Persons with the first sibling at a site and elsewhere, then those with the second."""
    k = np.array(cells).reshape(2, 2).T
    n = np.tile(k.sum(axis=1, keepdims=True), 2)
    found = TwoSides(k, n, n, n, np.zeros(2), np.zeros(2))
    ends = [surely_apart(found, place, rounding) for place in (0, 1)]
    return bool(found.difference[0] > 0 and min(ends) >= LEAST_EXCHANGE)


def as_one(rounding: Rounding, both: int, a: int, b: int) -> bool:
    numbers = (np.array([float(one)]) for one in (both, both + a, both + b, TOTAL, 1, 1))
    pair = NodePairs(np.array([0]), np.array([1]), *numbers)
    return bool(held(pair, rounding.bins("instances")).as_one(0.5)[0])


def cut(rounding: Rounding, *counts: int) -> bool:
    """Records of one label, two, and so on."""
    return pile_of(np.array([0, *counts]), rounding.bins("instances")) is not None


def far(rounding: Rounding, k: int, rest: int, other: int, others: int) -> bool:
    return apart((k, k + rest), (other, other + others), rounding) > 0.1


class Reader(NamedTuple):
    """What holds counts against limits, how many it takes, and all that is told of them."""

    reads: Callable[..., Any]
    cells: int
    told: Callable[[IntArray], Sequence[Any]]


READERS = [
    Reader(copied, 2, lambda n: [INSTANCES(n[0]), FREE(n[1])]),
    Reader(shifted, 4, lambda n: [*INSTANCES(n), *FREE(n[:2] + n[2:])]),
    Reader(as_one, 3, lambda n: [*INSTANCES(np.stack([n[0], n[0] + n[1], n[0] + n[2]]))]),
    Reader(cut, 4, lambda n: [*INSTANCES(n), *INSTANCES(n[::-1].cumsum(axis=0))]),
    Reader(far, 4, lambda n: [*INSTANCES(np.stack([n[0], n[0] + n[1]])), *FREE(n[2] + n[2:])]),
]


@pytest.mark.parametrize("reader", READERS, ids=[one.reads.__name__ for one in READERS])
@given(st.data())
def test_counts_in_the_same_classes_are_held_alike_against_limits(
    reader: Reader, data: st.DataObject
) -> None:
    first = [data.draw(st.integers(0, 150)) for _ in range(reader.cells)]
    second = data.draw(st.composite(lambda draw: moved(draw, first, reader.told, 4))())
    assert reader.reads(OF_PERSONS, *first) == reader.reads(OF_PERSONS, *second)


def test_what_is_clear_of_a_limit_is_found() -> None:
    for reads, counts, exact, told in [
        (copied, (20, 0), True, False),
        (copied, (20, 10), False, False),
        (copied, (40, 10), True, True),
        (shifted, (300, 100, 100, 300), True, True),
        (shifted, (24, 12, 12, 24), True, False),
        (shifted, (300, 0, 10, 300), True, True),
        (as_one, (11, 6, 6), False, False),
        (as_one, (20, 0, 0), True, False),
        (as_one, (51, 9, 9), True, True),
        (as_one, (300, 100, 100), True, True),
        (cut, (90, 80, 400, 4), True, False),
        (cut, (90, 80, 1_010, 9), True, True),
        (cut, (90, 80, 1_000, 11), False, False),
        (cut, (40, 40, 1_100, 0), True, True),
        (cut, (30, 20, 1_100, 0), False, False),
        (far, (16, 44, 6, 54), True, False),
        (far, (45, 15, 15, 45), True, True),
        (far, (5, 60, 0, 60), False, False),
    ]:
        assert (reads(EXACT, *counts), reads(OF_PERSONS, *counts)) == (exact, told)


def test_where_no_count_is_told_none_is_beyond_a_limit() -> None:
    few = Rounding(10, {"instances": 49})
    for reads, counts in ((copied, (40, 0)), (shifted, (20, 0, 0, 20)), (as_one, (40, 0, 0))):
        assert reads(EXACT, *counts)
        assert not reads(few, *counts)
