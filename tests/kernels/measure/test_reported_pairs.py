"""Which finds matter, and for which parent they are told, at the limits of both rules."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from audit.counting.counts import PairRecords
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.scan import FINDS, Rules
from audit.engine.pairs.sums import Sums
from audit.engine.statistics.grouped import Grouped
from audit.measure.measure import measure
from audit.measure.reported_pairs import that_matter
from audit.policy.policy import Policy
from fixtures.labelled import labelled, repeated, tree

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


NINE = range(9)


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
