"""Findings on nodes that damaged codes make say so, and rank below the others."""

from __future__ import annotations

import numpy as np
import pytest

from audit.checks.check import Check
from audit.checks.rules import redundant_nodes, unexpected_pair
from audit.checks.shared.damaged_nodes import MOSTLY, damaged_nodes
from audit.measure.measure import Measurements
from fixtures.coded import measured

PAIRS = (redundant_nodes.CHECK, unexpected_pair.CHECK)


def release(damaged: int, sound: int = 0) -> Measurements:
    """Procedures 40 (once 0040) always beside 36.06, and 38.93 always beside 88.56."""
    rows = {
        **{f"d{n:03}": ["40", "3606", "9604"] for n in range(damaged)},
        **{f"s{n:03}": ["4011", "3606", "9604"] for n in range(sound)},
        **{f"o{n:03}": ["3893", "8856", "9604"] for n in range(60)},
        **{f"n{n:03}": ["9604", "9671", "3324"] for n in range(200)},
    }
    return measured({"procedures": rows})


def damaged_ids(asked: Measurements) -> set[str]:
    return {asked.hierarchy.nodes[node] for node in np.flatnonzero(damaged_nodes(asked))}


def test_a_node_is_damaged_with_its_ancestors_as_long_as_most_rows_below_are() -> None:
    assert MOSTLY == 0.5
    assert damaged_ids(release(40)) == {"40", "40-41"}
    assert damaged_ids(release(40, sound=39)) == {"40", "40-41"}
    assert damaged_ids(release(40, sound=40)) == set()
    assert damaged_ids(release(0)) == set()


@pytest.mark.parametrize("check", PAIRS, ids=lambda check: check.name)
def test_findings_that_name_a_damaged_node_say_so_and_rank_below(check: Check) -> None:
    found = check.run(release(60)).findings
    names = {"40", "40-41"}
    named = [finding for finding in found if names & set(finding.nodes)]
    others = [finding for finding in found if not names & set(finding.nodes)]

    assert named
    assert others
    assert all(
        "lost zeros: read the findings of lost_zero first." in finding.statement
        for finding in named
    )
    assert not any("lost_zero" in finding.statement for finding in others)
    weight_named, weight_others = (
        [finding.touched * finding.strength for finding in some] for some in (named, others)
    )
    assert max(weight_named) < min(weight_others)


@pytest.mark.parametrize("check", PAIRS, ids=lambda check: check.name)
def test_without_damage_findings_stay_as_they_are(check: Check) -> None:
    found = check.run(release(0, sound=60)).findings

    assert found
    assert not any("lost_zero" in finding.statement for finding in found)
