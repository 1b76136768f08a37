"""Kinds of behaviour, found in instances made to show them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from audit.alignment.metrics.queries import QUERIES, SpreadOverParents
from audit.base.dag import Sparse
from audit.hierarchies.hierarchy import Hierarchy

SHOWN = {
    "confident_in_one_leaf": [{"cow": 0.9, "dog": 0.1}, {"dog": 0.2}],
    "contained_in_one_parent": [{"cow": 0.5, "dog": 0.45, "tool": 0.05}, {"mammal": 1.0}],
    "spread_over_parents": [{"bird": 0.25, "cow": 0.25, "dog": 0.25, "tool": 0.25}],
    "split_between_branches": [
        {"bird": 0.5, "tool": 0.5},
        {"cow": 0.375, "tool": 0.5625, "dog": 0.0625},
    ],
    None: [
        {},
        {"cow": 0.0},
        {"dog": 0.5, "tool": 0.5},  # a dog is of two branches
        {"bird": 0.75, "tool": 0.15, "cow": 0.1},
        {"bird": 0.375, "tool": 0.375, "pet": 0.25},  # three branches
        {"object": 1.0},  # the root contains everything and tells nothing
    ],
}


@pytest.mark.parametrize(
    ("name", "line"), [(name, line) for name, lines in SHOWN.items() for line in lines]
)
def test_an_instance_shows_the_behaviour_it_was_made_for(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse], name: str | None, line: dict[str, float]
) -> None:
    values = array([line])
    shown = {query.name for query in QUERIES if query.matches(values, toy_hierarchy)[0]}

    assert shown == ({name} if name else set())


def test_thresholds_are_told_and_can_be_set(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    two = SpreadOverParents(more_than=1, each=0.4)

    assert two.words.format(**two.parameters) == "Spread over more than 1 parents"
    assert two.matches(array([{"bird": 0.5, "tool": 0.5}]), toy_hierarchy).tolist() == [True]
    assert two.matches(array([{"bird": 0.7, "tool": 0.3}]), toy_hierarchy).tolist() == [False]
