"""Facets from depths, classes, slices and splits, against plain searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.classes import MOST_ROWS, Described, describe, draw_split
from audit.analyses.concepts.classes import most_of_a_class as most
from audit.analyses.concepts.facets import facets_from_depths
from audit.analyses.concepts.tests_of_concepts import Scene
from audit.base.errors import InputError
from fixtures.examples import examples
from fixtures.labelled import tree
from fixtures.made_up_encoders import CLASSES, COMBINATIONS, symbolic, world_facets

SITES = [f"{site}-{end}-{kind}" for site in ("femur", "tibia") for end in "us" for kind in "co"]
CROSSED = tree(f"{' '.join(SITES[:4])} < femur", f"{' '.join(SITES[4:])} < tibia",
               "femur tibia < injuries")  # fmt: skip


def described(labels: list[list[str]], facets: pl.DataFrame | None = None) -> Described:
    given_facets = world_facets() if facets is None else facets
    return describe(pl.Series(labels, dtype=pl.List(pl.String)), given_facets)


def test_depths_give_nested_dimensions() -> None:
    facets = facets_from_depths(CROSSED, [0, 1, 2])

    assert {*facets.select("dimension", "nested").rows()} == {("depth 1", True), ("depth 2", True)}
    assert facets.filter(node="tibia-s-o")["concept"].to_list() == ["tibia", "tibia-s-o"]
    with pytest.raises(InputError, match="at least two nodes"):
        facets_from_depths(CROSSED, [0])


def test_a_node_below_two_nodes_of_a_depth_has_no_concept_there() -> None:
    diamond = tree("c d < a", "c < b", "a b < r")

    assert "c" not in facets_from_depths(diamond, [1])["node"]


def test_the_paper_has_6_6_and_9_slices_of_3_3_and_2_classes() -> None:
    found = described([[name] for name in CLASSES for _ in range(2)])
    every = [found.parts(place, 0) for place in range(3)]

    assert [len(one) for one in every] == [6, 6, 9]
    assert [{len(part) for part in one} for one in every] == [{3}, {3}, {2}]
    for one in every:
        assert sorted(np.concatenate(one).tolist()) == list(range(18))


@given(st.sets(st.sampled_from(COMBINATIONS), min_size=3))
def test_classes_of_a_slice_differ_in_its_dimension_alone(present: set[tuple[str, ...]]) -> None:
    """Brute force over pairs of classes."""
    names = [name for name, one in zip(CLASSES, COMBINATIONS, strict=True) if one in present]
    found = described([[name] for name in names for _ in range(2)])
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


@examples(30)
@given(st.sets(st.sampled_from(COMBINATIONS), min_size=4))
def test_probes_are_judged_on_unseen_classes_of_concepts_that_they_have_seen(
    present: set[tuple[str, ...]],
) -> None:
    names = [name for name, one in zip(CLASSES, COMBINATIONS, strict=True) if one in present]
    found = described([[name] for name in names for _ in range(2)])
    split = draw_split(found, [f"i{row}" for row in range(2 * len(names))], 0)
    scene = Scene(np.zeros((len(split.rows), 1)), split, found)
    for (place, *_), seen in scene.seen.items():
        codes, shown = split.codes[:, place], np.isin(split.class_of, seen)
        fitted = [row for row in range(len(codes)) if shown[row] and split.quarter[row] % 2]
        known = {codes[row] for row in fitted}
        judged = [
            row
            for row in range(len(codes))
            if not shown[row] and split.quarter[row] % 2 == 0 and codes[row] in known
        ]
        rows = scene.rows(place, seen)
        if len(known) < 2 or not judged:
            assert rows is None
        else:
            assert rows is not None
            assert [of.tolist() for of in rows] == [fitted, judged]


def test_folds_of_a_nested_dimension_hold_some_of_each_concept_once() -> None:
    found = described(
        [[leaf] for leaf in SITES for _ in range(2)], facets_from_depths(CROSSED, [1])
    )
    dealt = found.parts(0, seed=3)

    assert len(dealt) == 4
    assert sorted(np.concatenate(dealt).tolist()) == list(range(8))
    for fold in dealt:
        assert set(found.class_codes[fold, 0]) == {0, 1}


def test_labels_of_different_concepts_leave_the_dimension_and_are_counted() -> None:
    found = described([["dax"], ["dax"], ["dax", "lirp"], ["blick"], ["blick"], []])
    stroke = found.frame([], 0).row(by_predicate=pl.col("dimension") == "stroke", named=True)

    assert found.ledger["labels_of_several_concepts"] == 1
    assert found.ledger["labels_without_concepts"] == 1
    assert found.ledger["used"] == 4
    assert (stroke["several_concepts"], stroke["without_concept"]) == (1, 1)
    assert found.classes["labels"].to_list() == [["blick"], ["dax"]]


def test_a_dimension_of_which_most_instances_have_several_concepts_is_not_tested() -> None:
    half = described([["blick"], ["nost"], ["blick", "nost"], ["blick", "nost"]] * 2)
    more = described([["blick"], ["nost"], ["blick"], ["nost"], *[["blick", "nost"]] * 5])

    assert half.why_unfit(0) is None
    assert "of different concepts, more than 50%" in str(more.why_unfit(0))


def test_a_class_of_one_instance_is_refused_or_counted() -> None:
    with pytest.raises(InputError, match="one for each half"):
        described([["dax"], ["dax"], ["blick"]])
    nested = facets_from_depths(CROSSED, [1])
    few = described([[SITES[0]], [SITES[0]], [SITES[5]], ["elsewhere"]], nested)

    assert few.ledger["class_too_small"] == 1
    assert few.ledger["labels_without_concepts"] == 1


@examples(10)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_a_split_depends_on_ids_and_seed_alone(random: Any, seed: int) -> None:
    whole = symbolic(8).instances
    order = np.arange(len(whole))
    random.shuffle(order)
    first, other = (
        draw_split(describe(one["labels"], world_facets()), one["id"].to_list(), seed)
        for one in (whole, whole[order])
    )

    assert np.array_equal(first.rows, order[other.rows])
    assert np.array_equal(first.quarter, other.quarter)
    for quarter in range(4):
        assert np.bincount(first.class_of[first.quarter == quarter]).tolist() == [2] * 18


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=30))
def test_the_most_frequent_classes_are_cut_first(counts: list[int]) -> None:
    cut = most(np.array(counts))
    left = np.minimum(counts, cut)

    assert left.sum() <= max(MOST_ROWS, 4 * len(counts))
    if sum(counts) > MOST_ROWS:
        assert np.minimum(counts, cut + 1).sum() > MOST_ROWS
    else:
        assert left.tolist() == counts
