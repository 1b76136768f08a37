"""concept_absent: a label whose instances look like any other is told, and nothing else."""

from __future__ import annotations

import pytest

from audit.concepts.checks import ABSENT as CHECK
from fixtures.represented_releases import measured_with


@pytest.mark.slow
def test_a_label_that_looks_like_any_other_is_told() -> None:
    measured = measured_with(absent="b2")
    result = CHECK.run(measured)
    (finding,) = result.findings
    assert finding.key == ("b2",)
    assert finding.evidence["readable"].value < 0.75
    assert finding.touched == 40
    assert result.denominator == 15


@pytest.mark.slow
def test_its_cases_are_the_instances_below_the_node() -> None:
    measured = measured_with(absent="b2")
    (finding,) = CHECK.run(measured).findings
    cases = CHECK.cases
    assert cases is not None
    ids = measured.loaded.dataset.instances["instance"].gather(cases(measured, finding))
    assert ids.to_list() == [f"i{place:04}" for place in range(240, 280)]


@pytest.mark.slow
def test_of_a_model_that_holds_every_concept_nothing_is_told() -> None:
    assert CHECK.run(measured_with()).findings == ()
