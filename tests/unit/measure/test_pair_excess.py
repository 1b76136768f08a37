"""The rules around the scan: what is reported, told for a parent, expected, or between branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from audit.engine.pairs.scan import Finds
from audit.engine.statistics.expectation import Facets, LabelPairs
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.measure.pair_excess import BRANCHES, Excess, branch_map
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
    assert others.branches.equals(
        every.branches.with_columns(
            pl.when(pl.col("found") > 0).then(1).otherwise(0).cast(pl.Int64).alias("found"),
            excess=others.branches["excess"],
        )
    )


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


def test_branches_tell_reported_pairs_and_labels_between_them() -> None:
    excess = judged(repeated(TOGETHER))
    ends = (
        [BODY.nodes[i] for i in excess.branches["a"]],
        [BODY.nodes[i] for i in excess.branches["b"]],
    )
    told = dict(zip(zip(*ends, strict=True), excess.branches.iter_rows(named=True), strict=True))
    heart_lung = told["heart", "lung"]
    beyond = excess.found["observed"] - excess.found["explained"]

    assert dict(excess.branches.schema) == BRANCHES
    assert heart_lung["found"] == 2
    assert heart_lung["excess"] == pytest.approx(float(beyond.sum()))
    assert heart_lung["label_pairs"] == sum(
        times for times, (a, b) in TOGETHER if not {a[0], b[0]} & {"s"}
    )
    assert told["heart", "skin"]["found"] == 0


def test_branches_that_nothing_links_are_told_from_one_expected_pair_of_labels_on() -> None:
    """Of three branches with facets; half of what is drawn is expected."""
    facets = Facets(np.array([0, 1, 2]), 3)
    observed = np.zeros((1, 3, 3), np.int64)
    observed[0, 0, 0] = 1
    drawn = np.array([[[0.0, 1.98, 2.0], [1.98, 0.0, 2.02], [2.0, 2.02, 0.0]]])
    labels = LabelPairs(facets, observed, drawn, np.array([0.5]))
    nothing = SimpleNamespace(ends=np.zeros((2, 0), np.int64), observed=[], explained=np.zeros(0))
    told = branch_map(cast(Finds, nothing), labels, np.arange(3))

    assert told.select("a", "b", "label_pairs", "label_pairs_expected").rows() == [
        (0, 0, 1, 0), (0, 2, 0, 1), (1, 2, 0, 1.01),
    ]  # fmt: skip
