"""The rules around the scan: what is reported, told for a parent, or expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.measure.pair_excess import Excess
from audit.measure.reported_pairs import FOUND
from audit.policy.policy import Policy
from audit.policy.rules import Expected
from audit.policy.statements import Threshold
from fixtures.labelled import labelled, repeated, tree

Rows = Mapping[str, Sequence[str]]

NINE = range(9)
BODY = tree(
    "lung heart skin < body",
    f"asthma cough flu {' '.join(f'l{k}' for k in NINE)} < lung",
    f"attack failure {' '.join(f'h{k}' for k in NINE)} < heart",
    f"{' '.join(f's{k}' for k in NINE)} < skin",
)
ELSEWHERE = [
    *[(3, [f"l{i}", f"h{j}"]) for i in NINE for j in NINE],
    *[(3, [f"{side}{i}", f"s{j}"]) for side in "lh" for i in NINE for j in NINE],
]
"""Two labels of different branches on each record, each with each other equally often."""
ALONE = [(3, [one, f"s{k}"]) for one in ("asthma", "attack", "cough", "failure") for k in NINE]


def judged(rows: Rows, policy: Policy | None = None, hierarchy: Hierarchy = BODY) -> Excess:
    return measure(labelled(hierarchy, rows), policy or Policy()).excess


def named(excess: Excess, hierarchy: Hierarchy = BODY) -> list[tuple[str, str]]:
    """Both nodes of each reported pair, in the order of their ranks."""
    names = hierarchy.nodes
    return [(names[a], names[b]) for a, b in excess.found.select("a", "b").iter_rows()]


TOGETHER = [*ELSEWHERE, *ALONE, (40, ["asthma", "attack"]), (20, ["cough", "failure"])]


def test_finds_stand_in_the_order_of_their_strength() -> None:
    excess = judged(repeated(TOGETHER))
    found = excess.found

    assert named(excess) == [("asthma", "attack"), ("cough", "failure")]
    assert found["rank"].to_list() == [1, 2]
    assert found["strength"].is_sorted(descending=True)
    assert dict(found.schema) == FOUND
    assert found["observed"].to_list() == [40, 20]
    observed, explained = found["observed"], found["explained"]
    assert found["shrunk_ratio"].to_list() == pytest.approx(
        ((observed + 0.5) / (explained + 0.5)).to_list()
    )


def test_a_find_below_the_ratio_of_the_policy_is_not_reported() -> None:
    every = judged(repeated(TOGETHER))
    ratio = (every.found["observed"] / every.found["explained"]).to_list()
    between = sum(ratio) / 2
    high = Policy(excess_ratio=Threshold(value=between, reason="ours"))
    large = [pair for pair, one in zip(named(every), ratio, strict=True) if one >= between]

    assert len(large) == 1
    assert named(judged(repeated(TOGETHER), high)) == large


def test_expected_pairs_are_left_out_and_explain_as_before() -> None:
    known = (
        Expected(nodes=("heart", "asthma"), source="A book."),
        Expected(nodes=("asthma", "attack"), source="Named above."),
    )
    every = judged(repeated(TOGETHER))
    others = judged(repeated(TOGETHER), Policy(expected=known))

    assert named(others) == [("cough", "failure")]
    assert others.as_expected == (1, 0, 0)
    assert every.as_expected == (0,)
    assert others.found["rank"].to_list() == [1]
    told = every.found.filter(pl.col("rank") == 2).select("explained", "p_value", "q_value")
    assert others.found.select("explained", "p_value", "q_value").equals(told)


@pytest.mark.parametrize("seldom", [0, 1])
def test_a_parent_is_expected_where_all_labels_in_use_below_it_are(seldom: int) -> None:
    body = tree(
        "lung heart skin < body",
        "airway < lung",
        "asthma cough flu < airway",
        f"{' '.join(f'l{k}' for k in NINE)} < lung",
        f"attack failure {' '.join(f'h{k}' for k in NINE)} < heart",
        f"{' '.join(f's{k}' for k in NINE)} < skin",
    )
    known = (Expected(nodes=(one, "attack"), source="A book.") for one in ("asthma", "cough"))
    rows = [*ELSEWHERE, *ALONE, (30, ["asthma", "attack"]), (30, ["cough", "attack"])]
    excess = judged(repeated([*rows, (seldom, ["flu", "s0"])]), Policy(expected=tuple(known)), body)

    assert named(excess, body) == [("airway", "attack")] * seldom
