"""Facets from depths, classes, slices and splits, against plain searches."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts import facets as of_facets
from audit.analyses.concepts.facets import FACETS, Described, describe, facets_from_depths
from audit.base.errors import InputError
from fixtures.examples import examples
from fixtures.labelled import tree

WORLD = [*product("hvr", "rop", "cf")]
ROWS = [("".join(one), str(place), one[place], False) for one in WORLD for place in range(3)]
CROSSED = pl.DataFrame(ROWS, FACETS, orient="row")
"""The classes of the paper: three layouts, three shapes, two strokes."""
SITES = [f"{site}-{end}-{kind}" for site in ("femur", "tibia") for end in "us" for kind in "co"]
TREE = tree(f"{' '.join(SITES[:4])} < femur", f"{' '.join(SITES[4:])} < tibia",
            "femur tibia < injuries")  # fmt: skip


def described(labels: list[list[str]], facets: pl.DataFrame = CROSSED) -> Described:
    return describe(pl.Series(labels, dtype=pl.List(pl.String)), facets)


def test_depths_give_nested_dimensions() -> None:
    facets = facets_from_depths(TREE, [0, 1, 2])
    diamond = facets_from_depths(tree("c d < a", "c < b", "a b < r"), [1])

    assert {*facets.select("dimension", "nested").rows()} == {("depth 1", True), ("depth 2", True)}
    assert facets.filter(node="tibia-s-o")["concept"].to_list() == ["tibia", "tibia-s-o"]
    assert "c" not in diamond["node"], "a node below two nodes of a depth has no concept there"


@given(st.sets(st.sampled_from(WORLD), min_size=3))
def test_classes_of_a_slice_differ_in_its_dimension_alone(present: set[tuple[str, ...]]) -> None:
    found = described([["".join(one)] for one in sorted(present) for _ in range(2)])
    codes = found.class_codes
    for place in range(3):
        together = {
            frozenset((a, b)) for part in found.parts(place, 0) for a in part for b in part if a < b
        }
        assert together == {
            frozenset((a, b))
            for a in range(len(codes))
            for b in range(a)
            if np.array_equal(np.flatnonzero(codes[a] != codes[b]), [place])
        }


def test_folds_of_a_nested_dimension_hold_some_of_each_concept_once() -> None:
    leaves = [[leaf] for leaf in SITES[:7] for _ in range(2)]
    found = described(leaves, facets_from_depths(TREE, [1]))
    dealt = found.parts(0, seed=3)

    assert len(dealt) == 3
    assert sorted(np.concatenate(dealt).tolist()) == list(range(7))
    assert all(set(found.class_codes[fold, 0]) == {0, 1} for fold in dealt)


def test_what_is_in_no_class_is_counted() -> None:
    labels = [["hrc"], ["hrc"], ["hrc", "hrf"], ["vrc"], ["vrc"], [], ["rpf"], ["elsewhere"]]
    found = described(labels)
    stroke = found.frame(0).row(by_predicate=pl.col("dimension") == "2", named=True)

    assert found.ledger == {"used": 4, "labels_without_concepts": 2,
                            "labels_of_several_concepts": 1, "class_too_small": 1}  # fmt: skip
    assert (stroke["several_concepts"], stroke["without_concept"]) == (1, 2)
    assert found.classes["labels"].to_list() == [["hrc"], ["vrc"]]
    with pytest.raises(InputError):
        described([["elsewhere"], ["elsewhere"]])


@examples(10)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_a_split_depends_on_ids_and_seed_alone(random: Any, seed: int) -> None:
    labels, order = [["".join(one)] for one in WORLD for _ in range(8)], np.arange(144)
    random.shuffle(order)
    whole, other = described(labels), described([labels[row] for row in order])
    rows, quarter = whole.draw([str(row) for row in range(144)], seed)
    again, same = other.draw([str(row) for row in order], seed)

    assert np.array_equal(rows, order[again])
    assert np.array_equal(quarter, same)
    for one in range(4):
        assert np.bincount(whole.class_of[rows[quarter == one]]).tolist() == [2] * 18


@given(st.lists(st.integers(2, 40), min_size=2, max_size=8))
def test_the_most_frequent_classes_are_cut_first(counts: list[int]) -> None:
    most, of_facets.MOST_ROWS = of_facets.MOST_ROWS, 60
    try:
        names = ["".join(one) for one in WORLD]
        found = described([[names[k]] for k, n in enumerate(counts) for _ in range(n)])
        rows, _ = found.draw([str(row) for row in range(sum(counts))], 0)
    finally:
        of_facets.MOST_ROWS = most
    left = np.bincount(found.class_of[rows]).tolist()
    cut = max(left)

    assert left == [min(n, cut) for n in np.bincount(found.class_of)]
    assert sum(left) <= max(60, 4 * len(counts))
    if sum(left) < sum(counts):
        assert sum(min(n, cut + 1) for n in counts) > 60
