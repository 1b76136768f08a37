"""Pairs that a model has more often than the data: counts and strength against plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import binomtest

from audit.engine.pairs.amplified import Carried, Together

PARENTS = {1: (0,), 2: (0,), 3: (1,), 4: (1, 2), 5: (2,)}
NODES = range(6)
Labels = list[tuple[set[int], set[int]]]


def above(node: int) -> set[int]:
    return {node}.union(*(above(parent) for parent in PARENTS.get(node, ())))


CLOSURE = csr_array([[int(a in above(i)) for a in NODES] for i in NODES])


def rows(labels: list[set[int]]) -> csr_array:
    return csr_array(np.array([[int(i in one) for i in NODES] for one in labels], np.int64))


def carried(both: Labels) -> Carried:
    return Carried.of(rows([x for x, _ in both]), rows([y for _, y in both]), CLOSURE)


some = st.sets(st.sampled_from(list(NODES)), max_size=3)


@given(st.lists(st.tuples(some, some), min_size=1, max_size=12), st.integers(1, 3))
def test_pairs_are_counted_by_what_lies_at_or_below_their_nodes(both: Labels, least: int) -> None:
    found = carried(both).together(least)
    up = [[set().union(*map(above, part)) for part in one] for one in both]
    expected = {}
    for a in NODES:
        for b in NODES:
            here = [({a, b} <= x, {a, b} <= y) for x, y in up]
            labelled, predicted = (sum(side) for side in zip(*here, strict=True))
            if a < b and labelled >= least:
                expected[a, b] = (labelled, predicted, sum(x and y for x, y in here))
    counted = zip(
        *(part.tolist() for part in (found.labelled, found.predicted, found.kept)), strict=True
    )

    pairs = zip(found.a.tolist(), found.b.tolist(), strict=True)
    assert dict(zip(pairs, counted, strict=True)) == expected


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_a_pair_is_tested_on_the_instances_that_differ(kept: int, added: int, dropped: int) -> None:
    one = Together(*(np.array([n]) for n in (0, 1, kept + dropped, kept + added, kept)))
    low = kept + added < 1.5 * (kept + dropped) or not added
    whole = binomtest(added, added + dropped, 0.5, "greater").pvalue if added else 1.0

    assert one.p_value(1.5)[0] == pytest.approx(1.0 if low else whole)
    mean = (added + dropped) / 2
    terms = [n * math.log(n / mean) for n in (added, dropped) if n]
    assert one.strength[0] == pytest.approx(sum(terms), abs=1e-12)
