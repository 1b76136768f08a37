"""Results by node: what is below a node counts for it, seeds and methods are means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analyses.explanations.node_results import BRANCHES, by_node
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.examples import examples
from fixtures.labelled import tree

BODY = tree("a b < left", "c d < right", "left right < top")


def values(rows: Sequence[tuple[str, str, str, float | None]]) -> pl.DataFrame:
    frame = pl.DataFrame(
        rows, schema=["id", "target", "method", "value"], orient="row", infer_schema_length=None
    )
    return frame.with_columns(
        model=pl.lit("m"), measure=pl.lit("alignment"), value=pl.col("value").cast(pl.Float64)
    )


def row(table: pl.DataFrame, node: str, method: str | None = None) -> dict[str, object]:
    of = pl.col("method").is_null() if method is None else pl.col("method") == method
    return table.filter((pl.col("node") == node) & of).row(0, named=True)


def test_a_node_has_the_examples_of_its_labels() -> None:
    rows = [(f"i{place}", target, "x", float(place)) for place, target in enumerate("abcd")]
    table = by_node(values(rows), BODY)
    assert {one["node"] for one in table.to_dicts()} == {"a", "b", "c", "d", "left", "right", "top"}
    assert row(table, "left")["mean"] == 0.5
    assert row(table, "left")["rest"] == 2.5
    assert row(table, "top")["rest"] is None


def test_seeds_are_a_mean_and_so_are_methods() -> None:
    rows = [("i", "a", "x", 1.0), ("i", "a", "x", 3.0), ("i", "a", "y", 5.0), ("j", "c", "x", 0.0)]
    table = by_node(values(rows), BODY)
    assert row(table, "a", "x")["mean"] == 2.0
    assert row(table, "a")["mean"] == 3.5
    assert row(table, "a")["examples"] == 1


def test_undefined_values_and_unknown_targets_are_left_out() -> None:
    table = by_node(values([("i", "a", "x", None), ("j", "zebra", "x", 1.0)]), BODY)
    assert table.is_empty()
    assert table.schema == pl.Schema(BRANCHES)


@examples(30)
@given(st.integers(0, 10_000))
def test_a_node_that_is_lower_is_told_and_the_p_value_is_one_sided(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [
        (f"i{place}", "abcd"[place % 4], "x", float(rng.normal() - 3 * (place % 4 == 0)))
        for place in range(80)
    ]
    table = by_node(values(rows), BODY)
    assert row(table, "a")["q_value"] < 0.01  # type: ignore[operator]
    assert row(table, "right")["p_value"] > 0.5  # type: ignore[operator]


def test_few_instances_are_not_tested() -> None:
    rows = [(f"i{place}", "a" if place < 9 else "c", "x", float(place)) for place in range(40)]
    found = row(by_node(values(rows), BODY), "a")
    assert found["p_value"] is None
    assert found["q_value"] is None
    assert found["mean"] == 4.0


@pytest.mark.slow
def test_without_any_difference_few_releases_have_a_node_below_the_limit() -> None:
    hierarchy = _thirty()
    leaves = [node for node in hierarchy.nodes if node.startswith("leaf")]
    rng = np.random.default_rng(5)
    told = 0
    for _ in range(500):
        rows = [
            (f"i{place % 150}", leaves[int(rng.integers(len(leaves)))], "x", float(rng.normal()))
            for place in range(400)
        ]
        q = by_node(values(rows), hierarchy).filter(pl.col("method").is_null())["q_value"]
        told += bool((q.fill_null(1.0) <= 0.05).any())
    assert told <= 35, "at most 7 % of releases"


def _thirty() -> Hierarchy:
    branches = [f"{' '.join(f'leaf{b}{i}' for i in range(5))} < branch{b}" for b in range(5)]
    return tree(*branches, f"{' '.join(f'branch{b}' for b in range(5))} < top")


def test_the_family_is_a_depth_times_the_number_of_depths() -> None:
    rng = np.random.default_rng(6)
    rows = [(f"i{p}", "abcd"[p % 4], "x", float(rng.normal())) for p in range(80)]
    table = by_node(values(rows), BODY).filter(pl.col("method").is_null())
    told = dict(table.select("node", "family").iter_rows())
    assert told == {"a": 4, "b": 4, "c": 4, "d": 4, "left": 2, "right": 2, "top": None}
    leaves = table.filter(pl.col("node").is_in(list("abcd")))
    assert leaves["q_value"].min() == pytest.approx(
        min(1.0, 2 * min(_adjusted(leaves["p_value"].to_list())))
    )


def _adjusted(p: list[float]) -> list[float]:
    ordered = sorted(p)
    return [min(value * len(p) / rank for rank, value in enumerate(ordered, 1))]
