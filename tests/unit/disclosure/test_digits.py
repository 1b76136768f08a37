"""Numbers beside counts in steps, held against every size and count that would read the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import pytest

from audit.disclosure import in_digits, left_by_steps, shown_in_steps, to_step
from audit.engine.statistics.intervals import wilson

FIRST = (1, 2, 5)
STEPS = [float(f"{first}e{place}") for place in (-3, -2, -1) for first in FIRST]
SIDES = {"low": -1, "value": 0, "high": 1}


def left(n: int, total: int, m: int) -> list[int]:
    """Sizes that read as n does."""
    told = shown_in_steps(n, total, m)
    return [n] if n == total else [i for i in range(total) if shown_in_steps(i, total, m) == told]


def rounded(value: float, step: float, side: int = 0) -> int:
    """In steps, ends outwards."""
    if side:
        return side * math.ceil(side * value / step - 1e-9)
    return round(value / step)


def reading_the_same(
    numbers: Mapping[str, float], step: float, own: int, sizes: list[int]
) -> Iterator[tuple[int, int]]:
    """Sizes and counts whose share, and ends as far from it as n lets them be, read the same."""
    value, cells = numbers["value"], {k: rounded(v, step, SIDES[k]) for k, v in numbers.items()}
    for n in sizes:
        first, last = ((rounded(value, step) + i) * step * n for i in (-1, 1))
        for k in range(math.floor(first), math.ceil(last) + 1):
            ends = {
                name: k / n + (end - value) * math.sqrt(own / n) for name, end in numbers.items()
            }
            same = all(rounded(end, step, SIDES[name]) == cells[name] for name, end in ends.items())
            if same and (0 <= k <= n or not 0 <= value <= 1):
                yield n, k


def expected(numbers: Mapping[str, float], n: int, total: int, m: int, least: int) -> list[float]:
    """Numbers in the finest step, at least m of the least n, that leaves m sizes or counts."""
    scale = next(s for s in (1.0, 10.0, 100.0) if abs(numbers["value"]) <= s)
    sizes = [size for size in left(n, total, m) if size >= m]
    must = min(m, n + 1 if len(sizes) == 1 else len(sizes))
    step = scale
    for one in (s * scale for s in STEPS):
        if one >= min(m / least, STEPS[-1]) * scale * (1 - 1e-9):
            found = set(reading_the_same(numbers, one, n, sizes))
            if len(found if len(sizes) == 1 else {size for size, _ in found}) >= must:
                step = one
                break
    own = min(step, STEPS[-1] * scale)
    return [
        rounded(v, one, SIDES[k]) * one
        for k, v in numbers.items()
        for one in [step if SIDES[k] else own]
    ]


def drawn(seed: int) -> tuple[dict[str, float], int, int, int]:
    """A share or a mean, of every second one with its ends; n, its total and `min_cell`."""
    draw = np.random.default_rng(seed)
    m = int(draw.integers(2, 7))
    total = int(draw.integers(m, 9 * m))
    n = int(draw.choice([total, draw.integers(m, total + 1)]))
    few = int(draw.integers(min(n, m)))
    counts = [few, n - few, draw.integers(n + 1), draw.integers(-3 * n, 3 * n)]
    value = float(draw.choice(counts)) / n
    width = float(draw.choice([0.01, 0.4])) * draw.random()
    ends = {"low": value - width, "high": value + width} if seed % 2 else {}
    return {"value": value, **ends}, n, total, m


@pytest.mark.parametrize("apart", [False, True])
def test_a_number_is_told_in_the_finest_step_that_leaves_what_it_must(apart: bool) -> None:
    """Apart from n it is told as if of the smaller side, and of a small one not at all."""
    for seed in range(150):
        numbers, n, total, m = drawn(seed)
        sizes = [size for size in left(n, total, m) if size >= m]
        least = min(sizes[0], total - sizes[-1]) if apart and n < total else sizes[0]
        told = in_digits(numbers, [(n, total)], m, ["value"] if apart else ())
        assert told.keys() == numbers.keys()
        if apart and 0 < total - n < m:
            assert set(told.values()) == {None}, seed
        else:
            by_hand = expected(numbers, n, total, m, least)
            assert [*told.values()] == pytest.approx(by_hand, abs=1e-9), seed


def test_numbers_with_their_ends_are_told_as_each_alone() -> None:
    """Ends are those of the number before them, and what is not finite is told of none."""
    ends = {"value": 0.41, "low": 0.352, "high": 0.477}
    other = {"lift": 1.9, "lift_low": math.inf, "lift_high": 2.1}
    more = {"gain": 0.03, "low_90": -0.012, "high_90": 0.07, "none": None, "p": 0.032}
    alone: dict[str, float | None] = {}
    for numbers in (ends, other, {"gain": 0.03, "low_90": -0.012, "high_90": 0.07}):
        alone |= in_digits(numbers, [(60, 90)], 5)
    together = in_digits({**ends, **other, **more}, [(60, 90)], 5)

    assert together == {**alone, "none": None, "p": 0.05}
    assert together["lift_low"] is None
    assert in_digits({**ends, **other}, [(60, 90)], 1) == {**ends, **other, "lift_low": None}


def test_no_number_is_told_as_less_than_nothing() -> None:
    told = in_digits({"value": -0.001, "low": -0.002, "high": -0.0001}, [(60, 90)], 5)

    assert [*map(str, told.values())] == ["0.0", "-0.1", "0.0"]


@pytest.mark.parametrize("name", ["p", "q", "p_t", "p_value", "p_of", "q_of", "of_p", "of_q"])
def test_a_chance_is_told_as_the_next_step_above(name: str) -> None:
    def told(chance: float) -> float | None:
        return in_digits({name: chance}, [(50, 90)], 11)[name]

    for step, after in zip(STEPS, [*STEPS[1:], 1.0], strict=True):
        assert told(step) == told(step * (1 + 1e-12)) == told(step * 0.999) == step
        assert told(step * 1.001) == after
    assert (told(0.0), told(1.0)) == (STEPS[0], 1.0)


@pytest.mark.parametrize("name", ["share", "of_rate"])
def test_a_share_of_two_counts_tells_no_more_than_their_bounds(name: str) -> None:
    """The middle of all shares, and ends that hold those of all counts; or none."""
    ends_told = 0
    for seed in range(150):
        draw = np.random.default_rng(seed)
        m = int(draw.integers(2, 6))
        n = int(draw.integers(m, 12 * m))
        k = int(draw.choice([0, draw.integers(n + 1), n]))
        of_k, of_n = (i + int(draw.choice([0, draw.integers(12 * m)])) for i in (k, n))
        whole, part = [size for size in left(n, of_n, m) if size >= m], left(k, of_k, m)
        low, high = wilson(k, n)
        far = int(draw.integers(4)) - 1
        own = {name: k / n, "low": low - max(far, 0), "high": high + max(-far, 0)}
        counts = [(k, of_k), (n, of_n)][:: -1 if k < n and draw.random() < 0.2 else 1]
        told = in_digits(own, counts, m, (), wilson)
        if k == of_k and n == of_n:
            as_mean = {"mean": k / n, "low": own["low"], "high": own["high"]}
            assert [*told.values()] == [*in_digits(as_mean, counts, m).values()], seed
            continue
        shares = part[0] / whole[-1], min(part[-1] / whole[0], 1.0)
        step = min((s for s in STEPS if s >= 2 * (shares[1] - shares[0])), default=STEPS[-1])
        assert told[name] == pytest.approx(rounded(sum(shares) / 2, step) * step, abs=1e-9), seed
        every = [wilson(a, b) for a, b in product(part, whole) if a <= b]
        wide = min(low for low, _ in every), max(high for _, high in every)
        by_hand = [
            rounded(end, 0.001, side) * 0.001 for end, side in zip(wide, (-1, 1), strict=True)
        ]
        if by_hand[0] <= own["low"] and own["high"] <= by_hand[1]:
            ends_told += 1
            assert [told["low"], told["high"]] == pytest.approx(by_hand, abs=1e-9), seed
        else:
            assert (told["low"], told["high"]) == (None, None), seed
        assert in_digits(own, counts, m)["low"] is None
    assert ends_told > 20


def test_a_share_of_other_counts_is_told_as_any_number() -> None:
    counts = [(20, 90), (50, 90)]

    assert in_digits({"share": 0.41}, counts, 5)["share"] == in_digits({"x": 0.41}, counts, 5)["x"]


def test_what_steps_leave_of_a_count_is_all_that_reads_the_same() -> None:
    for m, total in product(range(2, 6), range(1, 30)):
        for n in range(total + 1):
            assert left_by_steps(n, total, m) == (left(n, total, m)[0], left(n, total, m)[-1])


def test_a_step_is_the_first_that_is_as_wide_as_asked() -> None:
    every = sorted(first * 10.0**place for place in range(-6, 7) for first in FIRST)
    draw = np.random.default_rng(1)
    for value, least in zip(
        draw.uniform(-9, 9, 200), 10.0 ** draw.uniform(-5, 5, 200), strict=True
    ):
        step = next(one for one in every if one >= least)
        assert to_step(value, least) == pytest.approx(round(value / step) * step, rel=1e-8)
    assert [to_step(3.14159, step) for step in (0.01, 0.02, 0.05, 0.1)] == [3.14, 3.14, 3.15, 3.1]
