"""Cuts of the toy hierarchy and of a chain, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from audit.base.errors import SchemaError
from audit.engine.scores.cuts import (
    Cut,
    atom_values,
    cut_at,
    depth_cut,
    entropy,
    level_cut,
    normalised,
)
from audit.hierarchies.hierarchy import Hierarchy


def names(hierarchy: Hierarchy, indices: np.ndarray) -> list[str]:
    return [hierarchy.nodes[i] for i in indices]


def at(hierarchy: Hierarchy, depth: int) -> Cut:
    return depth_cut(hierarchy.closure, hierarchy.depth, hierarchy.leaf, depth)


@pytest.mark.parametrize(
    ("depth", "nodes"),
    [
        (0, ["object"]),
        (1, ["animal", "pet", "tool"]),
        (2, ["bird", "mammal", "tool"]),
        (3, ["bird", "cow", "dog", "tool"]),
        (9, ["bird", "cow", "dog", "tool"]),
    ],
)
def test_depth_cuts(toy_hierarchy: Hierarchy, depth: int, nodes: list[str]) -> None:
    assert names(toy_hierarchy, at(toy_hierarchy, depth).nodes) == nodes


def test_a_node_below_two_cut_nodes_is_an_atom_of_its_own(toy_hierarchy: Hierarchy) -> None:
    cut = at(toy_hierarchy, 1)
    sets = [
        names(toy_hierarchy, cut.atoms[[cut.atom_of[toy_hierarchy.index(node)]]].indices)
        for node in ("dog", "cow", "pet", "tool", "object")
    ]

    assert sets == [["animal", "pet"], ["animal"], ["pet"], ["tool"], []]
    assert cut.residual == cut.atom_of[toy_hierarchy.index("object")]


def test_levels_that_nest_give_their_top_nodes(toy_hierarchy: Hierarchy) -> None:
    two = level_cut(toy_hierarchy.closure, toy_hierarchy.level, 2)
    one = level_cut(toy_hierarchy.closure, toy_hierarchy.level, 1)

    assert names(toy_hierarchy, two.nodes) == ["object"]
    assert two.residual == -1
    assert names(toy_hierarchy, one.nodes) == ["bird", "cow", "dog", "tool"]


def test_a_cut_without_nodes_is_refused(toy_hierarchy: Hierarchy) -> None:
    with pytest.raises(SchemaError, match="a cut needs a node"):
        at(toy_hierarchy, -1)
    with pytest.raises(SchemaError, match="a cut needs a node"):
        level_cut(toy_hierarchy.closure, toy_hierarchy.level, 3)


def test_mass_is_split_once(toy_hierarchy: Hierarchy) -> None:
    values = np.zeros((1, 8))
    for node, value in {"dog": 0.5, "cow": 0.25, "pet": 0.125, "object": 0.125}.items():
        values[0, toy_hierarchy.index(node)] = value
    cut = at(toy_hierarchy, 1)
    mass = normalised(atom_values(csr_array(values * 3), cut)).toarray()[0]

    by_node = {node: mass[cut.atom_of[toy_hierarchy.index(node)]] for node in ("dog", "cow", "pet")}
    assert by_node == {"dog": 0.5, "cow": 0.25, "pet": 0.125}
    assert mass[cut.residual] == 0.125


def test_no_mass_is_a_row_of_zeros_without_entropy() -> None:
    cut = cut_at(csr_array(np.eye(2, dtype=np.int64)), np.array([0, 1]))
    explicit = csr_array((np.zeros(1), [0], [0, 1, 1]), shape=(2, 2))
    mass = normalised(atom_values(explicit, cut))

    assert mass.toarray().tolist() == [[0, 0], [0, 0]]
    assert entropy(mass).tolist() == [0, 0]


def test_entropy_is_in_bits() -> None:
    mass = csr_array([[0.25] * 4, [0.5, 0.5, 0, 0], [1.0, 0, 0, 0], [0.5, 0.25, 0.25, 0]])

    assert entropy(mass).tolist() == [2, 1, 0, 1.5]


def test_one_atom_is_certain_to_the_last_bit() -> None:
    shares = normalised(csr_array([[0.1 + 0.2, 0.0], [0.7, 0.0]]))

    assert entropy(shares).tolist() == [0, 0]


def test_no_instances_have_no_rows(toy_hierarchy: Hierarchy) -> None:
    cut = at(toy_hierarchy, 2)

    assert atom_values(csr_array((0, 8)), cut).shape == (0, cut.atoms.shape[0])
    assert entropy(csr_array((0, 3))).tolist() == []
