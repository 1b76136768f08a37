"""Sums that stream and merge, and their intervals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from audit.alignment.metrics import streaming as module
from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import accuracy
from audit.alignment.metrics.streaming import Stream
from audit.base.dag import Sparse
from audit.base.errors import SchemaError
from audit.engine.scores.cuts import Cut
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.metric_list import ALL


def many(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, copies: int, units: list[str]
) -> Batch:
    rows = [i for i in range(4) for _ in range(copies)]
    return Batch(toy_hierarchy, gold[rows], scores[rows], units)


def interval(hierarchy: Hierarchy, batch: Batch, cut: Cut, **options: int) -> tuple[float, float]:
    stream = Stream(hierarchy, [accuracy(cut)], **options)
    stream.update(batch)
    found = stream.compute()[0]
    return found["low"], found["high"]


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
    stream = Stream(toy_hierarchy, [accuracy(at(2))], [ALL, "mammal", "pet", "dog"], replicates=0)
    stream.update(Batch(toy_hierarchy, gold, scores))
    found = {
        row["scope"]: (row["value"], row["n"])
        for row in stream.compute()
        if row["name"] == "accuracy"
    }

    assert found == {ALL: (2 / 4, 4), "mammal": (1 / 2, 2), "pet": (1 / 1, 1), "dog": (1 / 1, 1)}


def test_an_unknown_scope_is_refused(
    toy_hierarchy: Hierarchy, gold: Sparse, scores: Sparse, at: Callable[[int], Cut]
) -> None:
    stream = Stream(toy_hierarchy, [accuracy(at(3))], ["unicorn"], replicates=0)
    with pytest.raises(SchemaError, match="unicorn"):
        stream.update(Batch(toy_hierarchy, gold, scores))
