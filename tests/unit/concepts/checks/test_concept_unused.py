"""concept_unused: a label that a probe tells and predictions do not is told."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from audit.concepts.checks import UNUSED as CHECK
from fixtures.represented_releases import measured_concepts, measured_with, represented_release


@pytest.mark.slow
def test_a_label_that_is_never_predicted_is_told() -> None:
    findings = CHECK.run(measured_with(unused="c1")).findings
    assert [finding.key for finding in findings] == [("c1",)]
    evidence = findings[0].evidence
    assert evidence["probed"].value > 0.95
    assert evidence["predicted"].value <= 0.75


def test_without_predictions_it_is_not_applicable() -> None:
    release = represented_release(per_label=12)
    silent = release.instances.with_columns(prediction=pl.lit(None, pl.String))
    result = CHECK.run(measured_concepts(replace(release, instances=silent), seeds=1))
    assert result.not_applicable.startswith("no predictions of these instances were given")


@pytest.mark.slow
def test_of_a_model_that_uses_every_concept_nothing_is_told() -> None:
    assert CHECK.run(measured_with()).findings == ()
