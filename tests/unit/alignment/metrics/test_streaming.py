"""Sums that stream and merge, and their intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from audit.alignment.metrics import streaming as module
from audit.alignment.metrics.accuracy import Accuracy, MistakeSeverity
from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.preference import SubgraphPreference
from audit.alignment.metrics.streaming import ALL, Stream, whole
from audit.base.dag import Sparse
from audit.base.errors import SchemaError
from audit.engine.scores.cuts import Cut
from audit.hierarchies.hierarchy import Hierarchy


def many(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, copies: int, units: list[str]
) -> Batch:
    rows = [i for i in range(4) for _ in range(copies)]
    return Batch(toy_hierarchy, gold[rows], scores[rows], units)


def interval(hierarchy: Hierarchy, batch: Batch, cut: Cut, **options: int) -> tuple[float, float]:
    stream = Stream(hierarchy, [Accuracy(cut)], **options)
    stream.update(batch)
    found = stream.compute()[0]
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def test_an_interval_is_about_as_wide_as_the_normal_one(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    batch = many(toy_hierarchy, gold, scores, 100, [f"u{i}" for i in range(400)])
    low, high = interval(toy_hierarchy, batch, at(3), replicates=1000)

    assert (low, high) == pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.01)


def test_repeats_of_a_group_are_not_more_evidence(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    alone = many(toy_hierarchy, gold, scores, 100, [f"u{i}" for i in range(400)])
    grouped = many(toy_hierarchy, gold, scores, 100, [f"g{i // 10}" for i in range(400)])
    narrow, wide = (interval(toy_hierarchy, batch, at(3)) for batch in (alone, grouped))

    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


def test_a_seed_decides_the_interval(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    batch = many(toy_hierarchy, gold, scores, 10, [f"u{i}" for i in range(40)])
    first, again, other = (interval(toy_hierarchy, batch, at(3), seed=s) for s in (1, 1, 2))

    assert first == again != other


def test_blocks_change_nothing(
    toy_hierarchy: Hierarchy,
    gold: Sparse,
    scores: Sparse,
    at: Callable[[int], Cut],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = many(toy_hierarchy, gold, scores, 10, [f"u{i}" for i in range(40)])
    whole = interval(toy_hierarchy, batch, at(3))
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", 7)

    assert interval(toy_hierarchy, batch, at(3)) == whole


def test_scopes_hold_the_instances_labelled_at_or_below(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    stream = Stream(toy_hierarchy, [Accuracy(at(2))], [ALL, "mammal", "pet", "dog"], replicates=0)
    stream.update(Batch(toy_hierarchy, gold, scores))
    found = {e.scope: (e.value, e.n) for e in stream.compute() if e.name == "accuracy"}

    assert found == {ALL: (2 / 4, 4), "mammal": (1 / 2, 2), "pet": (1 / 1, 1), "dog": (1 / 1, 1)}


def test_intervals_need_units(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    with pytest.raises(SchemaError, match="a unit for each instance"):
        Stream(toy_hierarchy, [Accuracy(at(3))]).update(Batch(toy_hierarchy, gold, scores))


def test_units_are_one_an_instance(toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse) -> None:
    with pytest.raises(SchemaError, match="2 units, 4 instances"):
        Batch(toy_hierarchy, gold, scores, ["a", "b"])


def test_shapes_that_do_not_fit_are_refused(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    with pytest.raises(SchemaError, match=r"gold \(3, 8\), scores \(4, 8\)"):
        whole(Accuracy(at(3)), toy_hierarchy, gold[:3], scores)


def test_only_equal_streams_merge(toy_hierarchy: Hierarchy, at: Callable[[int], Cut]) -> None:
    stream = Stream(toy_hierarchy, [Accuracy(at(3))])
    for other in (
        Stream(toy_hierarchy, [MistakeSeverity()]),
        Stream(toy_hierarchy, [Accuracy(at(3), {"depth_to": 3})]),
        Stream(toy_hierarchy, [Accuracy(at(2))]),
        Stream(toy_hierarchy, [Accuracy(at(3))], seed=1),
        Stream(toy_hierarchy, [Accuracy(at(3))], replicates=10),
        Stream(toy_hierarchy, [Accuracy(at(3))], [ALL, "dog"]),
    ):
        with pytest.raises(SchemaError, match="can be merged"):
            stream.merge(other)


@pytest.mark.parametrize("as_masks", [False, True])
def test_streams_merge_only_if_no_entry_of_a_subgraph_differs(
    toy_hierarchy: Hierarchy, as_masks: bool
) -> None:
    """NumPy shows arrays of more than 1,000 entries without their middle."""
    lists = np.zeros((2, 2_001), np.int64)
    lists[1, 1_000] = 1
    masks = [csr_array(np.eye(1, len(toy_hierarchy), at)) for at in (0, 1)]
    one, another = masks if as_masks else lists
    stream, again, other = (
        Stream(toy_hierarchy, [SubgraphPreference(nodes.copy(), lists[0])], replicates=0)
        for nodes in (one, one, another)
    )

    stream.merge(again)
    with pytest.raises(SchemaError, match="can be merged"):
        stream.merge(other)


def test_streams_merge_only_if_every_scope_is_the_same(
    toy_hierarchy: Hierarchy, at: Callable[[int], Cut]
) -> None:
    one, another = (
        Stream(toy_hierarchy, [Accuracy(at(3))], [ALL, "animal", "mammal", last], replicates=0)
        for last in ("dog", "cow")
    )
    with pytest.raises(SchemaError, match="can be merged"):
        one.merge(another)


def test_streams_merge_only_if_they_are_of_one_hierarchy(toy_hierarchy: Hierarchy) -> None:
    renamed = pl.DataFrame({"node": toy_hierarchy.nodes, "title": "another title"})
    stream, again, other = (
        Stream(Hierarchy.build(toy_hierarchy.edge_frame(), nodes, name="toy"), [MistakeSeverity()])
        for nodes in (None, None, renamed)
    )

    stream.merge(again)
    with pytest.raises(SchemaError, match="same hierarchy can be merged"):
        stream.merge(other)


def test_an_unknown_scope_is_refused(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    stream = Stream(toy_hierarchy, [Accuracy(at(3))], ["unicorn"], replicates=0)
    with pytest.raises(SchemaError, match="unicorn"):
        stream.update(Batch(toy_hierarchy, gold, scores))
