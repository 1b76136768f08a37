"""Results by node: what is below a node counts for it, seeds and methods are means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from audit.analyses.explanations.by_node import by_node
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


def test_few_instances_are_not_tested() -> None:
    rows = [(f"i{place}", "a" if place < 9 else "c", "x", float(place)) for place in range(40)]
    found = row(by_node(values(rows), BODY), "a")
    assert found["p_value"] is None
    assert found["q_value"] is None
    assert found["mean"] == 4.0


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
