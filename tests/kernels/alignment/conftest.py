"""Four instances of the toy hierarchy, whose metrics are worked by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import pytest
from scipy.sparse import csr_array

from audit.base.dag import Sparse
from audit.engine.scores.cuts import Cut, depth_cut
from audit.hierarchies.hierarchy import Hierarchy

Lines: TypeAlias = Sequence[Mapping[str, float]]

GOLD = ({"dog": 1.0}, {"cow": 1.0}, {"tool": 1.0}, {"bird": 1.0})
SCORES = (
    {"cow": 0.5, "dog": 0.25, "tool": 0.25},  # wrong leaf, right mammal
    {"bird": 0.625, "cow": 0.375},  # wrong leaf, no mammal, right animal
    {"cow": 0.25, "dog": 0.25, "tool": 0.5},  # right leaf; above it mammals and tools tie
    {"bird": 1.0},  # right everywhere
)


@pytest.fixture
def array(toy_hierarchy: Hierarchy) -> Callable[[Lines], Sparse]:
    def build(lines: Lines) -> Sparse:
        rows = [i for i, line in enumerate(lines) for _ in line]
        columns = [toy_hierarchy.index(node) for line in lines for node in line]
        data = [value for line in lines for value in line.values()]
        matrix = csr_array((data, (rows, columns)), shape=(len(lines), len(toy_hierarchy)))
        matrix.sum_duplicates()
        return matrix

    return build


@pytest.fixture
def gold(array: Callable[[Lines], Sparse]) -> Sparse:
    return array(GOLD)


@pytest.fixture
def scores(array: Callable[[Lines], Sparse]) -> Sparse:
    return array(SCORES)


@pytest.fixture
def at(toy_hierarchy: Hierarchy) -> Callable[[int], Cut]:
    """Depth cuts: 1 animal, pet, tool; 2 bird, mammal, tool; 3 the leaves."""
    toy = toy_hierarchy
    return lambda depth: depth_cut(toy.closure, toy.depth, toy.leaf, depth)
