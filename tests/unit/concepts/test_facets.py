"""Facets from depths, classes, slices and splits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.classes import MOST_ROWS, _cut, describe, draw_split, folds, slices
from audit.analyses.concepts.facets import (
    FACETS,
    Facets,
    check_facets,
    facets_from_depths,
    join_facets,
)
from audit.analyses.concepts.representations import INSTANCES, Representations
from audit.base.errors import InputError, SchemaError
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.examples import examples
from fixtures.made_up_encoders import CLASSES, COMBINATIONS, symbolic, world_facets


def titled(rows: list[tuple[str, str, str | None]]) -> Hierarchy:
    nodes = pl.DataFrame(
        [(node, title) for node, title, _ in rows], ["node", "title"], orient="row"
    )
    edges = [(node, parent) for node, _, parent in rows if parent is not None]
    return Hierarchy.build(
        pl.DataFrame(edges, ["child", "parent"], orient="row"), nodes, name="titles"
    )


def labelled(labels: list[list[str]], features: int = 2) -> Representations:
    drawn = np.random.default_rng(0).normal(size=(len(labels), features))
    ids = [str(row) for row in range(len(labels))]
    empty = [None] * len(labels)
    instances = pl.DataFrame(
        {"id": ids, "labels": labels, "prediction": empty, "pair": empty}, schema=INSTANCES
    )
    return Representations({"last": drawn}, instances)


SITES = ("femur", "tibia")
CROSSED = titled(
    [
        ("r", "Injuries", None),
        *((site, f"Fracture of {site}", "r") for site in SITES),
        *(
            (f"{site}-{end}-{kind}", f"Fracture of {site}, {end}, {kind}", site)
            for site in SITES
            for end in ("upper end", "shaft")
            for kind in ("closed", "open")
        ),
    ]
)


def described(facets: Facets, label: str) -> dict[str, str]:
    """The concept of a label in each dimension."""
    rows = facets.table.filter(pl.col("node") == label)
    return dict(rows.select("dimension", "concept").iter_rows())


def test_depths_give_nested_dimensions() -> None:
    facets = facets_from_depths(CROSSED, [0, 1, 2])

    assert facets.kinds == {"depth 1": "nested", "depth 2": "nested"}
    assert described(facets, "tibia-shaft-open") == {
        "depth 1": "tibia",
        "depth 2": "tibia-shaft-open",
    }
    with pytest.raises(InputError, match="at least two nodes"):
        facets_from_depths(CROSSED, [0])


def test_a_node_below_two_nodes_of_a_depth_has_no_concept_there() -> None:
    edges = [("a", "r"), ("b", "r"), ("c", "a"), ("c", "b"), ("d", "a")]
    hierarchy = Hierarchy.build(
        pl.DataFrame(edges, ["child", "parent"], orient="row"), name="diamond"
    )

    assert described(facets_from_depths(hierarchy, [1]), "c") == {}


def test_tables_join_where_names_differ() -> None:
    both = join_facets(world_facets(), facets_from_depths(CROSSED, [1]))

    assert list(both.kinds.values()) == ["crossed"] * 3 + ["nested"]
    with pytest.raises(SchemaError, match="name of its own"):
        join_facets(both, both)


def table(*rows: tuple[str, str, str]) -> Facets:
    frame = pl.DataFrame(list(rows), schema=FACETS, orient="row")
    return Facets(frame, dict.fromkeys(frame["dimension"].unique().to_list(), "crossed"))


@pytest.mark.parametrize(
    ("facets", "message"),
    [
        (table(("a", "site", "hip"), ("b", "site", "hip")), "at least two concepts"),
        (table(("a", "site", "hip"), ("a", "site", "knee")), "one concept in a dimension"),
        (table(("a", "site", "hip"), ("c", "site", "knee")), "describe every label"),
        (Facets(pl.DataFrame(schema=FACETS), {}), "must have a dimension"),
        (Facets(table(("a", "site", "hip")).table, {}), "crossed or nested"),
    ],
)
def test_a_table_that_does_not_describe_the_labels_is_refused(facets: Facets, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_facets(facets, ["a", "b"])


def test_a_missing_value_is_refused() -> None:
    frame = pl.DataFrame([("a", "site", None)], schema=FACETS, orient="row")
    with pytest.raises(SchemaError, match="must have a node"):
        check_facets(Facets(frame, {"site": "crossed"}), [])


def test_the_paper_has_6_6_and_9_slices_of_3_3_and_2_classes() -> None:
    described = describe(symbolic(2), world_facets())

    assert len(described.class_codes) == 18
    every = [slices(described, place) for place in range(3)]
    assert [len(one) for one in every] == [6, 6, 9]
    assert [{len(part) for part in one} for one in every] == [{3}, {3}, {2}]
    for one in every:
        assert sorted(np.concatenate(one).tolist()) == list(range(18))


@given(st.sets(st.sampled_from(COMBINATIONS), min_size=3))
def test_classes_of_a_slice_differ_in_its_dimension_alone(
    present: set[tuple[str, ...]],
) -> None:
    """Brute force over pairs of classes."""
    names = [name for name, one in zip(CLASSES, COMBINATIONS, strict=True) if one in present]
    described = describe(labelled([[name] for name in names for _ in range(2)]), world_facets())
    codes = described.class_codes
    for place in range(3):
        together = {frozenset(pair) for part in slices(described, place) for pair in _pairs(part)}
        expected = {
            frozenset((a, b))
            for a in range(len(codes))
            for b in range(a)
            if np.array_equal(np.flatnonzero(codes[a] != codes[b]), [place])
        }
        assert together == expected


def _pairs(part: np.ndarray) -> list[tuple[int, int]]:  # type: ignore[type-arg]
    return [(a, b) for a in part.tolist() for b in part.tolist() if a < b]


def test_folds_of_a_nested_dimension_hold_some_of_each_concept_once() -> None:
    facets = facets_from_depths(CROSSED, [1])
    leaves = [node for node in CROSSED.nodes if "-" in node]
    described = describe(labelled([[leaf] for leaf in leaves for _ in range(2)]), facets)
    dealt = folds(described, 0, seed=3)

    assert len(dealt) == 4
    assert sorted(np.concatenate(dealt).tolist()) == list(range(8))
    for fold in dealt:
        assert set(described.class_codes[fold, 0]) == {0, 1}


def test_labels_of_different_concepts_leave_the_dimension_and_are_counted() -> None:
    labels = [["dax"], ["dax"], ["dax", "lirp"], ["blick"], ["blick"], []]
    described = describe(labelled(labels), world_facets())
    stroke = described.frame({}).row(by_predicate=pl.col("dimension") == "stroke", named=True)

    assert described.ledger["labels_of_several_concepts"] == 1
    assert described.ledger["labels_without_concepts"] == 1
    assert described.ledger["used"] == 4
    assert (stroke["several_concepts"], stroke["without_concept"]) == (1, 1)


def test_a_class_of_one_instance_is_refused_or_counted() -> None:
    one = labelled([["dax"], ["dax"], ["blick"]])
    with pytest.raises(InputError, match="one for each half"):
        describe(one, world_facets())

    partial = Facets(world_facets().table, world_facets().kinds, partial=True)
    assert describe(one, partial).ledger["class_too_small"] == 1


@examples(10)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_a_split_depends_on_ids_and_seed_alone(random: object, seed: int) -> None:
    whole = symbolic(6)
    order = np.arange(len(whole.instances))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = Representations({"last": whole.layers["last"][order]}, whole.instances[order])
    splits = [
        draw_split(describe(one, world_facets()), one.instances["id"].to_list(), seed)
        for one in (whole, shuffled)
    ]

    assert np.array_equal(splits[0].rows, order[splits[1].rows])
    assert np.array_equal(splits[0].quarter, splits[1].quarter)


def test_halves_hold_equal_numbers_of_each_class() -> None:
    described = describe(symbolic(8), world_facets())
    split = draw_split(described, symbolic(8).instances["id"].to_list(), 0)

    for quarter in range(4):
        assert np.bincount(split.class_of[split.quarter == quarter]).tolist() == [2] * 18


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=30))
def test_the_most_frequent_classes_are_cut_first(counts: list[int]) -> None:
    cut = _cut(np.array(counts))
    left = np.minimum(counts, cut)

    assert left.sum() <= max(MOST_ROWS, 4 * len(counts))
    if sum(counts) > MOST_ROWS:
        assert np.minimum(counts, cut + 1).sum() > MOST_ROWS
    else:
        assert left.tolist() == counts
