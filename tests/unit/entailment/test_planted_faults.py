"""A clean world gives no finding; each planted fault gives findings of its check and no other."""

from __future__ import annotations

import numpy as np
import pytest

from audit.base.plurals import filled
from audit.entailment.analysis import Entailment
from audit.entailment.dataset import EntailmentDataset
from audit.measure.measure import Measurements
from audit.results.findings import Finding
from fixtures.entailed_release import measured_tuples
from fixtures.entailment_world.faults import FAULTS, Planted
from fixtures.entailment_world.lexicon import made_up
from fixtures.entailment_world.world import clean_world

WORLD = clean_world(11)
CHECKS = {check.name: check for check in Entailment.checks}


def findings(measured: Measurements) -> list[Finding]:
    found = []
    for check in Entailment.checks:
        result = check.run(measured)
        assert not result.crashed
        found += result.findings
    return found


@pytest.mark.parametrize(
    "world",
    [WORLD, clean_world(13, lexicon=made_up(13, phrases=False))],
    ids=["hand_made", "made_up"],
)
def test_a_clean_world_gives_no_finding(world: EntailmentDataset) -> None:
    assert findings(measured_tuples(world)) == []


@pytest.mark.slow
def test_a_large_clean_world_gives_no_finding() -> None:
    assert findings(measured_tuples(clean_world(67, lexicon=made_up(67)))) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(name: str) -> None:
    planted: Planted = FAULTS[name](WORLD)
    measured = measured_tuples(planted.dataset)

    found = findings(measured)

    assert {finding.check for finding in found} == {name}
    ids = measured.loaded.dataset.instances["instance"]
    of_check = CHECKS[name].cases
    assert of_check is not None
    cases = {ids[int(place)] for finding in found for place in of_check(measured, finding)}
    assert planted.ids <= cases
    for finding in found:
        evidence = {name: quantity.value for name, quantity in finding.evidence.items()}
        assert "{" not in filled(finding.statement, evidence)
        told = {"node", "sentence", *evidence}
        assert all(told & {*column.shows.split()} for column in CHECKS[name].columns)


@pytest.mark.parametrize("name", FAULTS)
def test_cases_are_ascending_places(name: str) -> None:
    measured = measured_tuples(FAULTS[name](WORLD).dataset)
    of_check = CHECKS[name].cases
    assert of_check is not None
    for finding in CHECKS[name].run(measured).findings:
        places = of_check(measured, finding)
        assert len(places) == finding.touched or finding.check in ("cycle", "transitivity")
        assert (np.diff(places) > 0).all()
