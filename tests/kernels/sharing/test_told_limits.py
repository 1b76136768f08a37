"""Limits on shares of persons read told counts alone, and what is clear of them is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.dag import IntArray
from audit.base.declared import NONE
from audit.checks.rules.drift import LEAST_EXCHANGE
from audit.checks.rules.duplicates import Copies
from audit.checks.rules.nodes import held
from audit.checks.rules.records import pile_of
from audit.engine.pairs.redundancy import Together
from audit.engine.statistics.two_rates import TwoSides
from audit.measure.drift import surely_apart
from audit.measure.residual_differences import apart
from audit.sharing.told import Rounding
from fixtures.moved_worlds import moved

TOTAL = 2_000
EXACT, PERSONS = Rounding(), Rounding(10, {"instances": TOTAL})
INSTANCES, FREE = (PERSONS.bins(total).all_told for total in ("instances", NONE))


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
    pair = Together(np.array([0]), np.array([1]), *numbers)
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
    assert reader.reads(PERSONS, *first) == reader.reads(PERSONS, *second)


@pytest.mark.parametrize(
    ("reads", "counts", "exact", "told"),
    [
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
    ],
)
def test_what_is_clear_of_a_limit_is_found(
    reads: Callable[..., Any], counts: Sequence[int], exact: Any, told: Any
) -> None:
    assert (reads(EXACT, *counts), reads(PERSONS, *counts)) == (exact, told)


def test_where_no_count_is_told_none_is_beyond_a_limit() -> None:
    few = Rounding(10, {"instances": 49})
    for reads, counts in ((copied, (40, 0)), (shifted, (20, 0, 0, 20)), (as_one, (40, 0, 0))):
        assert reads(EXACT, *counts)
        assert not reads(few, *counts)
