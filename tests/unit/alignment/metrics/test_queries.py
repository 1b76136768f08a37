"""Kinds of behaviour, found in instances made to show them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from scipy.sparse import csr_array

from audit.alignment.metrics.queries import QUERIES, SpreadOverParents, Stated
from audit.base.dag import Sparse
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.rules import PUBLISHED_NAMES, query_of
from fixtures.labelled import tree

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


WIDE = tree("a b c d < root", "a1 a2 < a", "b1 < b", "c1 < c", "d1 < d")


@pytest.mark.parametrize(
    ("name", "mass"),
    [
        ("contained", {"a1": 0.6, "a2": 0.395, "b1": 0.005}),
        ("confident", {"a1": 0.995, "a2": 0.005}),
        ("spread", {"a1": 0.96, "b1": 0.02, "c1": 0.01, "d1": 0.01}),
        ("split", {"a1": 0.5, "b1": 0.5}),
        (None, {"a1": 0.5, "a2": 0.25, "b1": 0.25}),
        (None, {"a1": 0.5, "b1": 0.3, "c1": 0.2}),
    ],
)
def test_the_four_names_of_figure_2_are_told_apart(
    name: str | None, mass: dict[str, float]
) -> None:
    values = csr_array([[mass.get(node, 0.0) for node in WIDE.nodes]])
    met = {one for one in PUBLISHED_NAMES if Stated(query_of(one)).matches(values, WIDE)[0]}

    assert met == ({name} if name else set())
    assert "leaves that count: at least 2, nodes" in Stated(query_of("contained")).words


def test_thresholds_are_told_and_can_be_set(
    toy_hierarchy: Hierarchy, array: Callable[..., Sparse]
) -> None:
    two = SpreadOverParents(more_than=1, each=0.4)

    assert two.words.format(**two.parameters) == "Spread over more than 1 parents"
    assert two.matches(array([{"bird": 0.5, "tool": 0.5}]), toy_hierarchy).tolist() == [True]
    assert two.matches(array([{"bird": 0.7, "tool": 0.3}]), toy_hierarchy).tolist() == [False]
