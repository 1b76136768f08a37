"""unfaithful: a method whose first tokens change nothing."""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.explanations.checks import UNFAITHFUL as CHECK
from audit.explanations.faithful_rows import METRICS
from fixtures.explained_releases import explained_release, measured_release, thirty_nodes

ATTRIBUTIONS, DATASET = explained_release(1, hierarchy=thirty_nodes(), instances=60)


def faithful(gain: dict[str, float]) -> pl.DataFrame:
    names = ("id", "target", "method", "model", "seed")
    rows = ATTRIBUTIONS.rows.select(names).with_row_index("row")
    above = rows["method"].replace_strict(gain, return_dtype=pl.Float64)
    noise = pl.Series(np.random.default_rng(3).normal(0, 0.01, len(rows)))
    return rows.with_columns(
        *(pl.lit(0.3).alias(f"random_{metric}") for metric in METRICS),
        (0.3 + above + noise).alias("comprehensiveness"),
        (0.3 - above).alias("sufficiency"),
        (0.3 - above).alias("deletion_area"),
    )


def test_the_method_whose_tokens_matter_no_more_than_others_is_told() -> None:
    given = faithful({"first": 0.2, "second": 0.0})
    found = CHECK.run(measured_release(ATTRIBUTIONS, DATASET, draws=1, faithful=given))
    assert [finding.key for finding in found.findings] == [("m", "second")]
    assert found.denominator == 2


def test_without_faithfulness_it_says_how_to_give_it() -> None:
    result = CHECK.run(measured_release(ATTRIBUTIONS, DATASET, draws=1))
    assert result.not_applicable == "no faithfulness was given; --faithfulness names a file with it"
