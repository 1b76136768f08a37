"""Concept confusion: streamed, merged and whole, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from audit.alignment.metrics.confusion import ConfusionStream, concept_confusion, pair_confusions
from audit.base.errors import SchemaError
from audit.hierarchies.hierarchy import Hierarchy
from fixtures import brute_force as plain
from fixtures import brute_force_scores as brute
from fixtures.examples import examples
from fixtures.strategies import hierarchies
from fixtures.toy import toy
from tests.property.test_metric_laws import matrix

MODEST = examples(50)
THRESHOLD = 0.05

Lines = list[dict[str, float]]


@st.composite
def models(draw: st.DrawFn) -> tuple[Hierarchy, Lines]:
    hierarchy = draw(hierarchies(titled=False))
    node, score = st.sampled_from(hierarchy.nodes), st.floats(0, 1, allow_subnormal=False)
    line = st.dictionaries(node, score, max_size=5)
    return hierarchy, draw(st.lists(line, max_size=7))


def aggregated(hierarchy: Hierarchy, lines: Lines) -> list[list[float]]:
    """What reaches each node from itself and its descendants, each once."""
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    above = {node: plain.above(parents, node) | {node} for node in hierarchy.nodes}
    return [
        [math.fsum(line[low] for low in line if node in above[low]) for node in hierarchy.nodes]
        for line in lines
    ]


def same(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    exact = ["a", "b", "support_a", "support_b", "joint", "rate", "relation", "lca"]
    assert found.select(exact).equals(wanted.select(exact))
    assert found["confusion"].to_list() == pytest.approx(
        wanted["confusion"].to_list(), rel=1e-12, abs=1e-12
    )


def streamed(hierarchy: Hierarchy, parts: Sequence[Lines]) -> ConfusionStream:
    stream = ConfusionStream(hierarchy, threshold=THRESHOLD)
    for part in parts:
        stream.update(matrix(hierarchy, part))
    return stream


def by_pair(found: pl.DataFrame, column: str) -> Mapping[tuple[str, str], Any]:
    return {(row["a"], row["b"]): row[column] for row in found.iter_rows(named=True)}


@MODEST
@given(models())
def test_confusion_equals_plain_python(model: tuple[Hierarchy, Lines]) -> None:
    hierarchy, lines = model
    values = aggregated(hierarchy, lines)
    assume(not any(abs(value - THRESHOLD) < 1e-9 for row in values for value in row))
    found = concept_confusion(hierarchy, matrix(hierarchy, lines), threshold=THRESHOLD)
    nodes = hierarchy.nodes

    assert by_pair(found, "joint") == {
        (nodes[a], nodes[b]): n for (a, b), n in brute.joints(values, THRESHOLD).items()
    }
    assert by_pair(found, "confusion") == pytest.approx(
        {
            (nodes[a], nodes[b]): summed / len(lines)
            for (a, b), summed in brute.confusion_sums(values, THRESHOLD).items()
        },
        rel=1e-12,
        abs=1e-12,
    )


@MODEST
@given(models(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_batches_in_any_order_and_merged_in_any_order_equal_one_pass(
    model: tuple[Hierarchy, Lines], random: Any, size: int
) -> None:
    hierarchy, lines = model
    whole = concept_confusion(hierarchy, matrix(hierarchy, lines), threshold=THRESHOLD)
    parts = [lines[start : start + size] for start in range(0, len(lines), size)]
    random.shuffle(parts)

    same(streamed(hierarchy, parts).compute(), whole)
    merged = ConfusionStream(hierarchy, threshold=THRESHOLD)
    for part in parts:
        merged.merge(streamed(hierarchy, [part]))
    same(merged.compute(), whole)


@MODEST
@given(models())
def test_a_pair_alone_has_the_confusion_that_it_has_among_all(
    model: tuple[Hierarchy, Lines],
) -> None:
    hierarchy, lines = model
    scores = matrix(hierarchy, lines)
    found = concept_confusion(hierarchy, scores, threshold=THRESHOLD)
    pairs = list(found.select("a", "b").iter_rows())
    units = [f"unit {i}" for i in range(len(lines))]
    alone = pair_confusions(hierarchy, scores, pairs, units, threshold=THRESHOLD, replicates=20)

    for estimate, row in zip(alone, found.iter_rows(named=True), strict=True):
        assert estimate.value == pytest.approx(row["confusion"], rel=1e-12, abs=1e-12)
        assert estimate.n == len(lines)
        if estimate.low is not None and estimate.high is not None:
            assert 0 <= estimate.low <= estimate.high <= 1 + 1e-12


def test_no_instance_gives_no_row() -> None:
    assert ConfusionStream(toy()).compute().is_empty()


def test_streams_of_another_threshold_or_hierarchy_are_not_merged() -> None:
    with pytest.raises(SchemaError, match="one hierarchy, threshold and aggregation"):
        ConfusionStream(toy()).merge(ConfusionStream(toy(), threshold=0.5))


def test_scores_have_one_column_a_node() -> None:
    hierarchy = toy()
    with pytest.raises(SchemaError, match="one column per node"):
        ConfusionStream(hierarchy).update(matrix(hierarchy, [{"dog": 1.0}])[:, :3])
