"""Nodes of a hierarchy in representations whose content is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from audit.analyses.concepts.facets import facets_from_depths
from audit.analyses.concepts.measure import measure_concepts
from audit.analyses.concepts.nodes import NODES, node_frame
from audit.analyses.concepts.nodes_below import Below, instances_below
from audit.analyses.concepts.representations import INSTANCES, Representations
from audit.base.errors import InputError
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.examples import examples

EDGES = [
    *(("sound", "all"), ("sight", "all")),
    *(("bell", "sound"), ("horn", "sound"), ("red", "sight"), ("blue", "sight"), ("sky", "blue")),
]
HIERARCHY = Hierarchy.build(pl.DataFrame(EDGES, ["child", "parent"], orient="row"), name="senses")
LEAVES = ("bell", "horn", "red", "sky")
Matrix = NDArray[np.float64]


def layer(vectors: dict[str, tuple[float, ...]], each: int, noise: float, seed: int = 0) -> Matrix:
    means = np.repeat([vectors[leaf] for leaf in LEAVES], each, axis=0)
    return np.asarray(means + np.random.default_rng(seed).normal(scale=noise, size=means.shape))


def below(each: int, predictions: Sequence[str | None] | None = None) -> Below:
    answers = None
    if predictions is not None:
        answers = [None if one is None else [one] for one in predictions]
    return instances_below(HIERARCHY, [[leaf] for leaf in LEAVES for _ in range(each)], answers, 10)


def frame(
    layers: dict[str, Matrix], each: int, predictions: Sequence[str | None] | None = None
) -> pl.DataFrame:
    ids = [str(row) for row in range(4 * each)]
    return node_frame(below(each, predictions), layers, "last", ids, range(3))


APART: dict[str, tuple[float, ...]] = {
    "bell": (1, 0, 0, 0),
    "horn": (0, 1, 0, 0),
    "red": (0, 0, 1, 0),
    "sky": (0, 0, 0, 1),
}
TOGETHER = APART | {"horn": (1, 0, 0, 0)}
NOTHING: dict[str, tuple[float, ...]] = dict.fromkeys(LEAVES, (0, 0, 0, 0))


def told(table: pl.DataFrame, column: str) -> dict[str, float]:
    return dict(zip(table["node"], table[column], strict=True))


def test_what_is_apart_is_read_and_separated() -> None:
    found = frame({"last": layer(APART, 60, 0.1)}, 60)

    assert set(found["node"]) == {"sound", "sight", *LEAVES, "blue"}
    assert found["readable_low"].min() > 0.75
    assert found["separable_low"].drop_nulls().min() > 0.75
    assert found["predicted"].null_count() == len(found)
    assert found.schema == pl.Schema(
        {n: k() if isinstance(k, type) else k for n, k in NODES.items()}
    )


def test_noise_holds_no_concept() -> None:
    found = frame({"last": layer(NOTHING, 200, 1.0)}, 200)

    assert ((found["readable"] - 0.5).abs() < 0.08).all()


def test_siblings_of_one_vector_are_not_separated_and_named() -> None:
    found = frame({"last": layer(TOGETHER, 100, 0.1)}, 100)
    rows = {one["node"]: one for one in found.iter_rows(named=True)}

    assert found["readable_low"].min() > 0.75
    assert (rows["bell"]["sibling"], rows["horn"]["sibling"]) == ("horn", "bell")
    assert rows["bell"]["separable"] == pytest.approx(0.5, abs=0.12)
    assert rows["bell"]["best_layer"] == "last"


def test_an_earlier_layer_that_separates_is_named() -> None:
    layers = {"first": layer(APART, 80, 0.1), "last": layer(TOGETHER, 80, 0.1)}
    bell = frame(layers, 80).filter(node="bell").row(0, named=True)

    assert bell["best_layer"] == "first"
    assert bell["best_separable"] > 0.95


def test_instances_without_an_answer_say_nothing_of_its_use() -> None:
    """Every second instance is answered, and rightly; without any no node is compared."""
    z = {"last": layer(APART, 60, 0.1)}
    half = [leaf if place % 2 else None for leaf in LEAVES for place in range(60)]
    found = frame(z, 60, half).filter(pl.col("siblings") > 0)

    assert set(found["predicted"]) == {1.0}
    assert frame(z, 60, [None] * 240)["predicted"].null_count() == 7


def test_what_predictions_confuse_is_unused() -> None:
    confused = [leaf if leaf != "horn" else "bell" for leaf in LEAVES for _ in range(60)]
    found = frame({"last": layer(APART, 60, 0.1)}, 60, confused)

    assert told(found, "unused_low")["bell"] > 0
    assert told(found, "predicted")["horn"] == 0.5
    assert told(found, "unused")["horn"] == pytest.approx(0.5, abs=0.02)
    assert told(found, "predicted")["red"] == 1.0


def test_chains_of_the_same_instances_are_named_by_the_deepest() -> None:
    found = frame({"last": layer(NOTHING, 200, 1.0)}, 200)
    folded = told(found, "folded_into")

    assert folded == dict.fromkeys(folded, None) | {"blue": "sky"}


@examples(20)
@given(st.lists(st.lists(st.sampled_from(HIERARCHY.nodes), max_size=3), min_size=20, max_size=40))
def test_instances_below_are_those_with_a_label_at_or_below(labels: list[list[str]]) -> None:
    """Brute force over ancestors."""
    given_labels = [one or ["bell"] for one in labels]
    found = instances_below(HIERARCHY, given_labels, None, 3)
    member = found.member.toarray()
    for row, several in enumerate(given_labels):
        above = {node for label in several for node in HIERARCHY.ancestors(label, with_self=True)}
        assert {HIERARCHY.nodes[place] for place in np.flatnonzero(member[row])} == above
    support = member.sum(axis=0)
    assert found.tested.tolist() == [
        node for node in range(len(HIERARCHY)) if 3 <= support[node] <= len(labels) - 3
    ]


def test_few_instances_are_not_tested() -> None:
    assert len(below(9).tested) == 2
    assert len(below(4).tested) == 0


def test_units_of_a_layer_change_no_node() -> None:
    z = layer(TOGETHER, 40, 0.3)
    first, second = frame({"last": z}, 40), frame({"last": 100 * z - 7}, 40)

    assert first["node"].equals(second["node"])
    assert (first["readable"] - second["readable"]).abs().max() < 0.02


def test_labels_of_another_hierarchy_are_refused() -> None:
    instances = pl.DataFrame(
        {"id": list("abcd"), "labels": [["x"]] * 4, "prediction": [None] * 4, "pair": [None] * 4},
        schema=INSTANCES,
    )
    represented = Representations({"last": np.random.default_rng(0).normal(size=(4, 2))}, instances)
    with pytest.raises(InputError, match="nodes of the hierarchy"):
        measure_concepts(represented, facets_from_depths(HIERARCHY, [1]), HIERARCHY, seeds=1)


def test_nested_dimensions_are_read_on_unseen_labels_and_never_removed() -> None:
    vectors = layer(APART, 20, 0.1)
    instances = pl.DataFrame(
        {
            "id": [str(row) for row in range(80)],
            "labels": [[leaf] for leaf in LEAVES for _ in range(20)],
            "prediction": [None] * 80,
            "pair": [None] * 80,
        },
        schema=INSTANCES,
    )
    facets = facets_from_depths(HIERARCHY, [1, 2])
    found = measure_concepts(Representations({"last": vectors}, instances), facets, seeds=1)
    tests = found.frames["tests"].filter(pl.col("dimension").is_not_null())

    for test in ("is_modular", "is_causal"):
        rows = tests.filter(test=test)
        assert set(rows["verdict"]) == {"not_applicable"}
        assert all("lie below those of the other" in reason for reason in rows["reason"])
    token = tests.filter(test="is_token_of_type")
    assert token.filter(dimension="depth 1")["verdict"].to_list() == ["fail", "fail"]
    assert set(token.filter(dimension="depth 2")["verdict"]) == {"not_applicable"}
