"""methods_disagree and unfaithful: methods of noise are told, others are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from audit.checks.explanations import methods_disagree, unfaithful
from audit.explanations.attributions import Attributions
from audit.explanations.faithful_rows import METRICS
from audit.explanations.measure import measure_explanations
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from fixtures.explained_releases import explained_release, thirty_nodes

BODY = thirty_nodes()


def with_noise(attributions: Attributions) -> Attributions:
    """The second method has scores of its own that say nothing."""
    noise = np.random.default_rng(0).normal(size=len(attributions.scores.values))
    own = (attributions.rows["method"] == "second").to_numpy()[attributions.scores.owner]
    values = np.where(own, noise, attributions.scores.values)
    return replace(attributions, scores=replace(attributions.scores, values=values))


def measured(noise: bool, faithful: pl.DataFrame | None = None) -> Measurements:
    attributions, dataset = explained_release(1, hierarchy=BODY, instances=60)
    given = with_noise(attributions) if noise else attributions
    explained = measure_explanations(
        given, BODY, {node: node for node in BODY.nodes}, faithful=faithful, draws=1
    )
    return replace(measure(dataset, Policy()), explanations=explained)


def test_two_methods_of_which_one_is_noise_are_told() -> None:
    (finding,) = methods_disagree.CHECK.run(measured(noise=True)).findings
    assert finding.key == ("m", "first", "second")
    assert abs(finding.evidence["above_chance"].value) < 0.05  # type: ignore[arg-type]


def test_two_methods_that_share_their_signal_are_not() -> None:
    result = methods_disagree.CHECK.run(measured(noise=False))
    assert (result.status, result.denominator) == ("pass", 1)


def faithful(gain: dict[str, float]) -> pl.DataFrame:
    attributions, _ = explained_release(1, hierarchy=BODY, instances=60)
    rows = attributions.rows.select("id", "target", "method", "model", "seed").with_row_index("row")
    above = rows["method"].replace_strict(gain, return_dtype=pl.Float64)
    noise = pl.Series(np.random.default_rng(3).normal(0, 0.01, len(rows)))
    return rows.with_columns(
        *(pl.lit(0.3).alias(f"random_{metric}") for metric in METRICS),
        (0.3 + above + noise).alias("comprehensiveness"),
        (0.3 - above).alias("sufficiency"),
        (0.3 - above).alias("deletion_area"),
    )


def test_the_method_whose_tokens_matter_no_more_than_others_is_told() -> None:
    found = unfaithful.CHECK.run(measured(False, faithful({"first": 0.2, "second": 0.0})))
    assert [finding.key for finding in found.findings] == [("m", "second")]
    assert found.denominator == 2


def test_without_faithfulness_it_says_how_to_give_it() -> None:
    result = unfaithful.CHECK.run(measured(False))
    assert result.not_applicable == "no faithfulness was given; --faithfulness names a file of it"
