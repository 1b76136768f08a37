"""Every measure by node is the mean over instances of what lies below the node."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from statistics import mean

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from audit.analyses.explanations.agreement import ALL, agreed
from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.node_results import NODE_RESULTS, node_results
from audit.analyses.explanations.plausibility import METRICS, judged_rows
from fixtures.examples import examples
from fixtures.explained_releases import explained_release
from fixtures.labelled import tree

BODY = tree("a b < left", "c d < right", "left right < top")
METHODS = ("first", "second", "third")


def results(attributions: Attributions, rows: pl.DataFrame) -> pl.DataFrame:
    return node_results(
        rows,
        {node: node for node in BODY.nodes if node != "d"},
        BODY,
        {name: judged_rows(attributions).select("row", value=name) for name in METRICS},
        agreed(attributions),
    )


def numbered(attributions: Attributions) -> pl.DataFrame:
    return attributions.rows.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))


def by_hand(
    values: list[tuple[str, str, float | None]], node: str
) -> tuple[float | None, int, int]:
    """The mean over instances of the means of their values below a node, and both numbers."""
    of: dict[str, list[float]] = defaultdict(list)
    for instance, target, value in values:
        above = {target, *BODY.ancestors(target)}
        if node in above and target != "d" and value is not None and not math.isnan(value):
            of[instance].append(value)
    if not of:
        return None, 0, 0
    return mean(map(mean, of.values())), len(of), sum(map(len, of.values()))


@examples(15)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_means_are_those_of_a_loop(seed: int, instances: int) -> None:
    attributions, _ = explained_release(seed, hierarchy=BODY, instances=instances, methods=METHODS)
    table = results(attributions, numbered(attributions))
    rows = attributions.rows
    precision = judged_rows(attributions)["average_precision"]
    agreement = agreed(attributions)
    (place,) = np.flatnonzero((agreement.sets["together"] == ALL).fill_null(False).to_numpy())
    together = agreement.units.with_columns(dynamic=agreement.dynamic[:, place])
    expected = {
        ("average_precision", "second"): [
            (one["id"], one["target"], value)
            for one, value in zip(rows.to_dicts(), precision, strict=True)
            if one["method"] == "second"
        ],
        ("agreement_dynamic", ALL): [
            (one["id"], one["target"], one["dynamic"]) for one in together.to_dicts()
        ],
    }
    for (measure, method), values in expected.items():
        own = table.filter((pl.col("measure") == measure) & (pl.col("method") == method))
        own = own.filter(pl.col("other").is_null())
        for node in BODY.nodes:
            value, n, count = by_hand(values, node)
            found = own.filter(pl.col("node") == node)
            if value is None:
                assert found.is_empty()
                continue
            row = found.row(0, named=True)
            assert row["value"] == pytest.approx(value)
            assert (row["instances"], row["values"]) == (n, count)
            assert (row["low"] is None) == (n < 2)


def test_each_pair_of_methods_has_its_rows() -> None:
    attributions, _ = explained_release(1, hierarchy=BODY, methods=METHODS)
    table = results(attributions, numbered(attributions))
    top = table.filter((pl.col("node") == "top") & (pl.col("measure") == "agreement_fixed"))
    pairs = {(row["method"], row["other"]) for row in top.to_dicts()}

    assert table.schema == pl.Schema(NODE_RESULTS)
    assert pairs == {
        ("first", "second"), ("first", "third"), ("second", "third"), ("first", "human"),
        ("second", "human"), ("third", "human"), (ALL, None),
    }  # fmt: skip
    assert "d" not in table["node"].to_list()


def test_rows_that_do_not_count_are_left_out() -> None:
    attributions, _ = explained_release(1, hierarchy=BODY, methods=METHODS)
    few = numbered(attributions).filter(pl.col("id") == "i0001")
    table = results(attributions, few)

    assert table["instances"].max() == 1
    assert results(attributions, few.clear()).is_empty()


def test_one_method_without_evidence_has_no_results() -> None:
    released, _ = explained_release(1, hierarchy=BODY, instances=6, methods=METHODS[:1])
    rows = released.rows.with_columns(item=pl.lit(None, pl.Int64))
    alone = replace(released, rows=rows, evidence=None)
    nodes = {node: node for node in BODY.nodes}

    table = node_results(numbered(alone), nodes, BODY, {}, agreed(alone))

    assert table.schema == pl.Schema(NODE_RESULTS)
    assert table.is_empty()


def test_the_interval_is_that_of_students_t() -> None:
    attributions, _ = explained_release(2, hierarchy=BODY, instances=6, methods=METHODS)
    table = results(attributions, numbered(attributions))
    row = table.filter(
        (pl.col("node") == "left")
        & (pl.col("measure") == "kendall")
        & (pl.col("method") == "first")
    ).row(0, named=True)
    rows = judged_rows(attributions)["kendall"]
    left = attributions.rows.with_columns(value=rows).filter(
        pl.col("target").is_in(["a", "b"]) & (pl.col("method") == "first")
    )
    means = left.drop_nulls("value").group_by("id").agg(pl.col("value").mean())["value"].to_numpy()

    low, high = t.interval(
        0.95, len(means) - 1, means.mean(), np.std(means, ddof=1) / len(means) ** 0.5
    )
    assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))
