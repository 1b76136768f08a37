"""record_cap: piles at a greatest length, planted and not, on lengths of many shapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from audit.checks.rules.records import LEAST_RATIO, pile_of
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from audit.sharing.bins import Bins
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["record_cap"]

EXACT = Bins(0, None)
WIDE = tree(" ".join(f"n{i:02}" for i in range(30)) + " < top")
Draw = Callable[[np.random.Generator], NDArray[np.int64]]
N = 1_500
SMOOTH: dict[str, Draw] = {
    "Poisson of 2": lambda chance: chance.poisson(2, N),
    "Poisson of 12": lambda chance: chance.poisson(12, N),
    "geometric": lambda chance: chance.geometric(0.12, N),
    "negative binomial": lambda chance: chance.negative_binomial(2, 0.2, N),
    "Zipf": lambda chance: (drawn := chance.zipf(1.7, N))[drawn < 5_000],
    "uniform": lambda chance: chance.integers(1, 21, N),
    "binomial": lambda chance: chance.binomial(9, 0.9, N),
    "mixture": lambda chance: np.where(
        chance.random(N) < 0.5, chance.poisson(2, N), chance.poisson(20, N)
    ),
}


def counts_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(lengths[lengths > 0])


def capped(lengths: NDArray[np.int64], rate: float = 0.05) -> int | None:
    pile = pile_of(counts_of(lengths), EXACT)
    high = pile is not None and pile.at >= LEAST_RATIO * pile.expected and pile.p_value <= rate
    return pile.length if pile and high else None


@pytest.mark.parametrize("name", SMOOTH)
def test_lengths_without_a_cap_give_few_false_findings(name: str) -> None:
    found = [capped(SMOOTH[name](np.random.default_rng(seed))) for seed in range(200)]

    assert sum(length is not None for length in found) <= 10


@pytest.mark.parametrize("cap", [9, 15])
@pytest.mark.parametrize("name", ["Poisson of 12", "geometric", "negative binomial"])
def test_a_planted_cap_is_found_at_its_length(name: str, cap: int) -> None:
    found = [capped(np.minimum(SMOOTH[name](np.random.default_rng(s)), cap)) for s in range(40)]

    assert found.count(cap) >= 38


@pytest.mark.parametrize(
    "counts",
    [
        [0, 500],
        [0, 300, 300],
        [0, 3, 2, 500],
        [0, 100, 80, 60, 19],
        [0, 100, 80, 60, 40, 30, 20],
        [0],
        [],
    ],
)
def test_fixed_short_few_or_falling_lengths_are_no_cap(counts: list[int]) -> None:
    pile = pile_of(np.array(counts, np.int64), EXACT)

    assert pile is None or pile.at < LEAST_RATIO * pile.expected


def test_the_example_of_the_page() -> None:
    pile = pile_of(np.array([0, 0, 0, 0, 0, 0, 90, 80, 70, 400]), EXACT)

    assert pile is not None
    assert (pile.length, pile.at, pile.longer, pile.expected) == (9, 400, 0, 70)


def test_a_rise_may_go_on_by_the_same_factor() -> None:
    pile = pile_of(np.array([0, 9, 19, 39, 80]), EXACT)

    assert pile is not None
    assert pile.expected == 39 * 40 / 20


def checked(
    lengths: list[int], site: list[str] | None = None, *, positions: bool = False
) -> CheckResult:
    labels = {f"i{i:04}": list(WIDE.nodes[:n]) for i, n in enumerate(lengths)}
    strata = {"site": dict(zip(labels, site, strict=True))} if site else None
    return CHECK.run(measure(labelled(WIDE, labels, positions=positions, strata=strata), Policy()))


CUT = [1] * 20 + [2] * 40 + [3] * 45 + [4] * 40 + [5] * 160


def test_a_cap_of_one_site_is_found_where_the_policy_names_the_column() -> None:
    longer = np.random.default_rng(1).poisson(10, 300).clip(1, 29).tolist()
    sites = ["a"] * len(CUT) + ["b"] * len(longer)

    assert checked([*CUT, *longer]).status == "pass"
    assert [f.id for f in checked([*CUT, *longer], sites).findings] == ["record_cap:site:a:5"]


def test_the_last_position_counts_where_a_label_before_it_was_refused() -> None:
    labels = {f"i{i:04}": [*WIDE.nodes[: n - 1], "nothing"][:n] for i, n in enumerate(CUT)}
    labels = {i: [own[-1], *own[:-1]] for i, own in labels.items()}
    dataset = labelled(WIDE, labels, positions=True)

    assert [f.id for f in CHECK.run(measure(dataset, Policy())).findings] == ["record_cap:5"]
