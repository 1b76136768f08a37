"""Nodes of a hierarchy in representations whose content is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.concepts.node_probes import Below, areas, instances_below, membership
from audit.analyses.concepts.nodes import node_frame
from fixtures.examples import examples
from fixtures.labelled import tree

HIERARCHY = tree("bell horn < sound", "red blue < sight", "sky < blue", "sound sight < all")
LEAVES = ("bell", "horn", "red", "sky")
Answers = Sequence[Sequence[str] | None]


def layer(vectors: Mapping[str, Sequence[float]], each: int, noise: float) -> Any:
    means = np.repeat([vectors[leaf] for leaf in LEAVES], each, axis=0)
    return means + np.random.default_rng(0).normal(scale=noise, size=means.shape)


def frame(
    layers: Mapping[str, Any],
    labels: Sequence[Sequence[str]],
    answers: Answers | None = None,
    groups: Sequence[str | None] | None = None,
) -> pl.DataFrame:
    columns = {
        "id": [f"i{row}" for row in range(len(labels))],
        "labels": labels,
        "answers": answers or [None] * len(labels),
        "group": groups or [None] * len(labels),
    }
    lists = dict.fromkeys(("labels", "answers"), pl.List(pl.String))
    table = pl.DataFrame(columns, schema_overrides=lists | {"group": pl.String})
    return node_frame(HIERARCHY, layers, "last", table, range(3))


def of_leaves(each: int, answers: Mapping[str, str] | None = None, **layers: Any) -> pl.DataFrame:
    labels = [[leaf] for leaf in LEAVES for _ in range(each)]
    said = answers and [[answers.get(leaf, leaf)] for leaf, *_ in labels]
    return frame(layers, labels, said)


APART: dict[str, Sequence[float]] = dict(zip(LEAVES, np.eye(4).tolist(), strict=True))
TOGETHER = APART | {"horn": (1, 0, 0, 0)}
NOTHING: dict[str, Sequence[float]] = dict.fromkeys(LEAVES, (0, 0, 0, 0))


def told(table: pl.DataFrame, column: str) -> dict[str, Any]:
    return dict(zip(table["node"], table[column], strict=True))


def test_what_is_apart_is_read_and_separated() -> None:
    found = of_leaves(60, last=layer(APART, 60, 0.1))

    assert {*found["node"]} == {"sound", "sight", *LEAVES, "blue"}
    assert found["readable_low"].min() > 0.75
    assert found["separable_low"].drop_nulls().min() > 0.75
    assert found["predicted"].null_count() == found["groups"].null_count() == len(found)
    assert told(found, "parent") == {
        "sound": "all",
        "sight": "all",
        "bell": "sound",
        "horn": "sound",
        "red": "sight",
        "blue": "sight",
        "sky": "blue",
    }
    assert told(found, "siblings") == dict.fromkeys(found["node"], 1) | {"sky": 0}


def test_noise_holds_no_concept_and_chains_are_named_by_the_deepest() -> None:
    found = of_leaves(200, last=layer(NOTHING, 200, 1.0))
    folded = told(found, "folded_into")

    assert ((found["readable"] - 0.5).abs() < 0.08).all()
    assert folded == dict.fromkeys(folded, None) | {"blue": "sky"}


def test_siblings_of_one_vector_are_not_separated_but_by_an_earlier_layer() -> None:
    found = of_leaves(80, first=layer(APART, 80, 0.1), last=layer(TOGETHER, 80, 0.1))
    rows = {one["node"]: one for one in found.iter_rows(named=True)}

    assert (rows["bell"]["sibling"], rows["horn"]["sibling"]) == ("horn", "bell")
    assert rows["bell"]["separable"] == pytest.approx(0.5, abs=0.12)
    assert (rows["bell"]["best_layer"], rows["red"]["best_layer"]) == ("first", "last")
    assert rows["bell"]["best_separable"] > 0.95
    assert rows["bell"]["sibling_instances"] == 80


def test_of_several_siblings_the_hardest_is_told() -> None:
    wide = tree("a b c d < one", "e < two", "one two < all")
    looks = {"a": 0.0, "b": 6.0, "c": 2.0, "d": 2.2, "e": -6.0}
    labels = [[leaf] for leaf in looks for _ in range(40)]
    z = np.array([[looks[leaf], 0.0] for leaf, *_ in labels])
    z += np.random.default_rng(0).normal(scale=0.3, size=z.shape)
    columns = {"id": [f"i{row}" for row in range(200)], "labels": labels}
    nothing = {"answers": pl.lit(None, pl.List(pl.String)), "group": pl.lit(None, pl.String)}
    table = pl.DataFrame(columns).with_columns(**nothing)
    found = told(node_frame(wide, {"last": z}, "last", table, range(2)), "sibling")

    assert found["c"] == "d"
    assert found["d"] == "c"


def test_what_predictions_confuse_is_unused_and_counted() -> None:
    found = of_leaves(60, {"horn": "bell"}, last=layer(APART, 60, 0.1))

    assert told(found, "unused_low")["bell"] > 0
    assert told(found, "predicted") | {"sky": 1} == {
        "bell": 0.5,
        "horn": 0.5,
        "red": 1,
        "blue": 1,
        "sound": 1,
        "sight": 1,
        "sky": 1,
    }
    assert told(found, "unused")["horn"] == pytest.approx(0.5, abs=0.02)
    assert told(found, "taken_for_sibling")["horn"] == 60
    assert told(found, "sibling_taken_for_it")["bell"] == 60
    assert told(found, "taken_for_sibling")["sky"] is None


def test_instances_without_an_answer_say_nothing_of_its_use() -> None:
    labels = [[leaf] for leaf in LEAVES for _ in range(60)]
    answers = [one if place % 2 else None for place, one in enumerate(labels)]
    found = frame({"last": layer(APART, 60, 0.1)}, labels, answers)

    assert {*found.filter(pl.col("siblings") > 0)["predicted"]} == {1.0}


SETS = st.lists(st.sampled_from(HIERARCHY.nodes), min_size=1, max_size=3, unique=True)


@examples(15)
@given(st.lists(st.tuples(SETS, st.none() | SETS), min_size=40, max_size=60))
def test_mistakes_and_support_are_those_of_a_plain_search(
    said: list[tuple[list[str], list[str] | None]],
) -> None:
    def below(labels: Sequence[str], node: str) -> bool:
        return any(node in HIERARCHY.ancestors(one, with_self=True) for one in labels)

    labels = [own for own, _ in said]
    answers = [answered for _, answered in said]
    z = np.random.default_rng(0).normal(size=(len(said), 3))
    found = frame({"last": z}, labels, answers)
    support = {node: sum(below(own, node) for own in labels) for node in HIERARCHY.nodes}
    tested = [node for node, n in support.items() if min(n, len(said) - n) >= 11]
    assert told(found, "instances") == {node: support[node] for node in tested}
    for row in found.drop_nulls("sibling").iter_rows(named=True) if any(answers) else ():
        one, other = row["node"], row["sibling"]
        taken = [
            below(own, one) and not below(own, other)
            and below(answered or (), other) and not below(answered or (), one)
            for own, answered in said
        ]  # fmt: skip
        assert row["taken_for_sibling"] == sum(taken)


def test_whole_groups_are_in_one_half_and_a_node_needs_eleven_of_them() -> None:
    labels = pl.Series([[leaf] for leaf in LEAVES for _ in range(12)])
    member, ids = membership(HIERARCHY, labels), [f"i{row}" for row in range(48)]
    groups = [f"g{row // 4}" if row % 4 else None for row in range(48)]
    found = instances_below(HIERARCHY, member, ids, groups, range(2))
    few = instances_below(HIERARCHY, member, ids, [f"g{row // 3}" for row in range(48)], [0])

    assert len(instances_below(HIERARCHY, member, ids, None, [0]).tested) == 7
    assert {HIERARCHY.nodes[one] for one in found.tested} == {"sound", "sight"}
    assert len(few.tested) == 0
    for half in found.fitted:
        assert all(len({*half[found.unit == one].tolist()}) == 1 for one in set(found.unit))


def test_a_half_without_an_instance_on_a_side_does_not_count() -> None:
    fitted = [np.array([0, 1, 0, 0, 1, 1], bool), np.array([1, 1, 0, 0, 1, 0], bool)]
    member = np.array([[1], [1], [0], [0], [1], [0]], bool)
    z = np.array([[2.0], [0], [1], [3], [0], [4]])
    below = Below(member, np.array([0]), {}, {}, np.arange(6), fitted)
    rows, own = np.arange(6), np.array([0])
    value, *_ = areas(z, below, [np.ones((1, 1)), np.ones((1, 1))], rows, own)[0]
    unfitted = areas(z, below, [np.full((1, 1), np.nan)] * 2, rows, own)[0]

    assert np.isnan(value)  # one instance below alone was judged
    assert np.isnan(unfitted).all()


def test_units_of_a_layer_change_no_node() -> None:
    z = layer(TOGETHER, 40, 0.3)
    first, second = of_leaves(40, last=z), of_leaves(40, last=100 * z - 7)

    assert first["node"].equals(second["node"])
    assert (first["readable"] - second["readable"]).abs().max() < 0.02
    assert of_leaves(5, last=z[::8])["node"].to_list() == []
