"""Verdicts on pairs in blocks and at the threshold itself; which finds matter, at both limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from audit import Policy
from audit.counting import pair_table
from audit.counting.counts import PairRecords
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.scan import FINDS, Rules
from audit.engine.pairs.sums import Sums
from audit.engine.statistics.grouped import Grouped
from audit.measure import pair_excess
from audit.measure.measure import Measurements, measure
from audit.measure.reported_pairs import that_matter
from audit.policy.statements import Threshold
from fixtures.labelled import labelled, repeated, tree
from fixtures.planted_pairs import planted

NINE = range(9)
BODY = tree(
    "lung heart skin < body",
    f"asthma {' '.join(f'l{k}' for k in NINE)} < lung",
    f"attack {' '.join(f'h{k}' for k in NINE)} < heart",
    f"{' '.join(f's{k}' for k in NINE)} < skin",
)
ELSEWHERE = [
    *[(3, [f"l{i}", f"h{j}"]) for i in NINE for j in NINE],
    *[(3, [f"{side}{i}", f"s{j}"]) for side in "lh" for i in NINE for j in NINE],
    *[(3, [one, f"s{k}"]) for one in ("asthma", "attack") for k in NINE],
]
TOGETHER = ["asthma", "attack"]


def stated(**values: float) -> Policy:
    return Policy(**{name: Threshold(value=value, reason="") for name, value in values.items()})  # type: ignore[arg-type]


def whole(measured: Measurements) -> pl.DataFrame:
    return measured.pairs.frame.collect()


def test_blocks_change_nothing_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = planted(0, tree=False, grouped=True).dataset()
    policy = stated(least_joint=2, false_discovery_rate=0.9)
    at_once = measure(dataset, policy)
    monkeypatch.setattr(pair_table, "PAIRS_AT_ONCE", 53)
    told: list[tuple[object, ...]] = []
    in_blocks = measure(dataset, policy, progress=lambda *step: told.append(step))
    lines = len(whole(at_once))
    blocks = [("judging pairs", done, None, "pairs") for done in range(53, lines, 53)]

    assert whole(in_blocks).equals(whole(at_once))
    assert len(in_blocks.pairs.frame.head(54).collect()) == 54
    assert in_blocks.excess.found.equals(at_once.excess.found)
    assert told[-len(blocks) - 3 :] == [
        ("judging pairs",),
        *blocks,
        ("judging pairs", lines, None, "pairs"),
        ("scanning pairs",),
    ]


@pytest.fixture
def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair is reported with the p value by which it is found first."""
    monkeypatch.setattr(pair_excess, "MOST_ROUNDS", 1)


def at_the_threshold() -> tuple[dict[str, Sequence[str]], float, Policy]:
    """Labels, the least p value of their pairs, and a policy that makes it the threshold."""
    for times in range(20, 60):
        rows = repeated([*ELSEWHERE, (times, TOGETHER)])
        excess = measure(labelled(BODY, rows), Policy()).excess
        p_value = min(excess.found["p_value"].to_list())
        if (rate := p_value * excess.family) / excess.family == p_value:
            return rows, p_value, stated(false_discovery_rate=rate)
    raise AssertionError("no rate is that p value times the family")


@pytest.mark.usefixtures("one_round")
def test_a_pair_whose_p_value_is_the_threshold_is_reported() -> None:
    rows, p_value, policy = at_the_threshold()
    excess = measure(labelled(BODY, rows), policy).excess

    assert excess.threshold == p_value
    assert excess.found["p_value"].to_list() == [p_value]


@pytest.mark.usefixtures("one_round")
def test_a_pair_whose_p_value_is_the_threshold_is_tested_between_groups() -> None:
    """Two records of a group that share no label weigh what they did, and vary a little more."""
    rows, p_value, policy = at_the_threshold()
    unlike = next(name for name, labels in rows.items() if not {*labels} & {*rows["i0000"]})
    groups = dict.fromkeys(["i0000", unlike], "one")
    measured = measure(labelled(BODY, rows, groups=groups), policy)

    assert measured.excess.threshold == 0
    assert measured.excess.found.is_empty()
    assert measured.pairs.frame.select(pl.col("p_value").min()).collect().item() > p_value


def together_in(measured: Measurements) -> dict[str, float]:
    """The line of the pair."""
    both = (pl.col("a") == "asthma") & (pl.col("b") == "attack")
    return whole(measured).row(by_predicate=both, named=True)


def test_a_pair_that_groups_carry_is_no_excess_below_the_least_records() -> None:
    rows = repeated([*ELSEWHERE, (40, TOGETHER)])
    groups = {name: str(place // 2) for place, name in enumerate(rows)}
    measured = [measure(labelled(BODY, rows, groups=groups), stated(least_joint=5))]
    effective = together_in(measured[0])["effective"]
    for least in (effective, math.nextafter(effective, 99)):
        measured.append(measure(labelled(BODY, rows, groups=groups), stated(least_joint=least)))
    free, at_least, below = (together_in(one)["p_value"] for one in measured)

    assert 5 < effective < 40
    assert at_least == free < 1e-3
    assert below == 1


def test_a_pair_of_a_single_group_is_told_with_it() -> None:
    rows = repeated([*ELSEWHERE, (8, TOGETHER)])
    groups = {
        name: "one" if labels == TOGETHER else str(place % 50)
        for place, (name, labels) in enumerate(rows.items())
    }
    line = together_in(measure(labelled(BODY, rows, groups=groups), Policy()))

    assert (line["groups"], line["explained"]) == (1, None)


def test_a_find_is_taken_out_of_what_others_expect_from_its_limit_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = labelled(BODY, repeated([*ELSEWHERE, (40, TOGETHER)]))

    def expected(rounds: int, limit: float) -> float:
        monkeypatch.setattr(pair_excess, "MOST_ROUNDS", rounds)
        monkeypatch.setattr(pair_excess, "LARGE_FIND", limit)
        return together_in(measure(dataset, Policy()))["expected_length"]

    once = expected(1, 1.5)
    limit = next(one for one in around(40 / once) if one * once == 40)

    assert expected(10, limit) < expected(10, limit * (1 + 1e-12)) == once


def around(value: float) -> tuple[float, ...]:
    """A number and the two beside it."""
    return math.nextafter(value, 0), value, math.nextafter(value, math.inf)


def test_a_pair_of_which_nothing_is_expected_has_no_ratio() -> None:
    """All that carry both have one label below both, and records as long have never either."""
    hierarchy = tree(
        "left right skin < body",
        "both < left",
        "both < right",
        f"{' '.join(f's{k}' for k in NINE)} < skin",
    )
    rows = [(9, ["left", f"s{k}"]) for k in NINE]
    rows += [(9, ["right", f"s{k}", f"s{(k + 1) % 9}"]) for k in NINE]
    pairs = whole(measure(labelled(hierarchy, repeated([*rows, (5, ["both"])])), Policy()))
    row = pairs.row(by_predicate=(pl.col("a") == "left") & (pl.col("b") == "right"), named=True)

    assert (row["joint"], row["joint_entailed"]) == (5, 5)
    assert (row["expected_length"], row["ratio"], row["p_value"]) == (0.0, None, 1.0)


def test_what_is_observed_as_often_as_expected_is_an_excess_by_a_ratio_of_one() -> None:
    """All records carry one node, so that both are expected wherever the other is."""
    rows = repeated([(8, ["asthma", f"{side}{k}"]) for side in "hs" for k in range(8)])
    pairs = whole(measure(labelled(BODY, rows), stated(excess_ratio=1)))
    row = pairs.row(by_predicate=(pl.col("a") == "asthma") & (pl.col("b") == "h0"), named=True)

    assert (row["joint"], row["expected_length"]) == (8, 8.0)
    assert row["p_value"] < 1


RULES = Rules(0.05, 2, 1.5)
NUMBERS = [
    (first, second, both, explained / 2)
    for first, second in product((4, 5, 6, 7), repeat=2)
    for both in range(2, min(first, second) + 1)
    for explained in range(1, 15)
]
"""Of ten records, those that carry each node and both, and how many both are explained."""


@pytest.mark.parametrize("records", [10, 12])
def test_a_find_matters_by_its_ratio_or_where_a_node_is_frequent_by_its_odds(records: int) -> None:
    wanted = [
        both >= 1.5 * explained
        or (
            2 * max(first, second) > records
            and both * (records - first - second + both) >= 3 * (first - both) * (second - both)
        )
        for first, second, both, explained in NUMBERS
    ]

    assert [matters(records, *numbers) for numbers in NUMBERS] == wanted


def matters(records: int, first: int, second: int, both: float, explained: float) -> bool:
    """Whether the only find matters, of two branches of a root; weights are whole, in quarters."""
    carried = np.array([[first, second, records]])
    nothing = Sums(np.empty(0, np.int64), np.empty(0, np.int64))
    strata = Strata(np.empty(0, np.int64), np.array([records]), carried, carried, nothing)
    find = (0, 0, 1, 1.0, float(both), explained, explained, 1.0)
    found = pl.DataFrame([find], schema=FINDS, orient="row")
    weighed = Strata(strata.cuts, 4 * strata.size, 4 * carried, 4 * carried, nothing, unit=4)
    grouped = cast(Grouped, SimpleNamespace(strata=weighed))
    own = PairRecords(strata, nothing, np.zeros(3, np.int64), grouped)
    return len(that_matter(found, own, RULES)) == 1


@pytest.mark.parametrize(
    ("children", "together", "told"), [(3, 3, True), (4, 3, False), (5, 4, True)]
)
def test_a_parent_is_told_where_more_than_half_of_the_pairs_of_its_children_are(
    children: int, together: int, told: bool
) -> None:
    """Three of three pairs, three of six, which is half, and six of ten."""
    names = ["asthma", "cough", "flu", "sneeze", "wheeze"][:children]
    pairs = list(combinations(names[:together], 2))
    hierarchy = tree(
        "lung skin < body",
        "airway < lung",
        f"{' '.join(names)} < airway",
        f"{' '.join(f'l{k}' for k in NINE)} < lung",
        f"{' '.join(f's{k}' for k in NINE)} < skin",
    )
    rows = [(6, [f"l{i}", f"s{j}"]) for i in NINE for j in NINE]
    rows += [(2, [name, f"s{k}"]) for name in names for k in NINE]
    rows += [(15, list(pair)) for pair in pairs]
    found = measure(labelled(hierarchy, repeated(rows)), Policy()).excess.found

    assert len(found) == len(pairs)
    assert found["parent"].to_list() == [hierarchy.index("airway") if told else None] * len(pairs)
    assert found.schema["parent"] == pl.Int64
