"""methods_disagree: two methods of which one is noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.checks import LEAST_AGREEMENT as MARGIN
from audit.analyses.explanations.checks import METHODS_DISAGREE as CHECK
from fixtures.explained_releases import explained_release, measured_release, thirty_nodes

ATTRIBUTIONS, DATASET = explained_release(1, hierarchy=thirty_nodes(), instances=60)


def with_noise(attributions: Attributions) -> Attributions:
    """The second method has scores of its own that say nothing."""
    noise = np.random.default_rng(0).normal(size=len(attributions.scores.values))
    own = (attributions.rows["method"] == "second").to_numpy()[attributions.scores.owner]
    values = np.where(own, noise, attributions.scores.values)
    return replace(attributions, scores=replace(attributions.scores, values=values))


def test_two_methods_of_which_one_is_noise_are_told() -> None:
    measured = measured_release(with_noise(ATTRIBUTIONS), DATASET, draws=1)
    (finding,) = CHECK.run(measured).findings
    assert finding.key == ("m", "first", "second")
    high = finding.evidence["above_high"]
    assert isinstance(high, float)
    assert high <= MARGIN


def test_two_methods_that_share_their_signal_are_not() -> None:
    result = CHECK.run(measured_release(ATTRIBUTIONS, DATASET, draws=1))
    assert (result.status, result.denominator) == ("pass", 1)


def test_one_method_has_nothing_to_agree_with() -> None:
    first = np.flatnonzero((ATTRIBUTIONS.rows["method"] == "first").to_numpy())
    rows, scores = ATTRIBUTIONS.rows[first], ATTRIBUTIONS.scores.take(first)
    alone = replace(ATTRIBUTIONS, rows=rows, scores=scores)
    result = CHECK.run(measured_release(alone, DATASET, draws=1))
    assert result.not_applicable == "one method alone was given"
