"""A built-in policy judges files of its classification, whatever edition they are of."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.base.errors import PolicyError
from audit.hierarchies.applied_policy import policy_for, policy_readings
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.policy.reading import built_in_policy
from fixtures.coded import icd9cm

BASED = Policy(base="icd9cm")
RANGES = [node for node in icd9cm().nodes if "-" in node]


def of_file(without: str = "", renamed: str = "{}.99") -> Hierarchy:
    """A file of the classification that calls ranges otherwise and lacks what is below a node."""
    gone = {without, *icd9cm().descendants(without)} if without else set()
    edges = icd9cm().edge_frame().filter(~pl.col("child").is_in(gone))
    names = {node: renamed.format(node) for node in RANGES}
    return Hierarchy.build(edges.with_columns(pl.all().replace(names)), name="file")


def told(hierarchy: Hierarchy, policy: Policy) -> list[str]:
    return [reading.option for reading in policy_readings(hierarchy, policy)]


@settings(max_examples=5, deadline=None)
@given(st.sampled_from(["250", "249", "V27", "140-239", "428", "995.92", "401.0"]))
def test_rules_hold_where_a_file_has_their_nodes(without: str) -> None:
    hierarchy, whole = of_file(without), built_in_policy("icd9cm")
    policy = policy_for(hierarchy, BASED)
    gone = {without, *icd9cm().descendants(without)}
    lost = [pair for pair in whole.expected if gone.intersection(pair.nodes)]

    assert {node for _, node in policy.nodes_by_key()} <= set(hierarchy.nodes)
    assert len(policy.expected) == len(whole.expected) - len(lost)
    assert len(policy.branch_rules) == len(whole.branch_rules)
    needed = {node for rule in whole.companions for node in rule.needed} - gone - set(RANGES)
    assert needed >= {node for rule in policy.companions for node in rule.needed} - {
        f"{node}.99" for node in RANGES
    }
    assert told(hierarchy, policy) == ["--policy FILE"]


def test_a_policy_of_another_hierarchy_is_refused(toy_hierarchy: Hierarchy) -> None:
    with pytest.raises(PolicyError, match="must have nodes that rules"):
        policy_for(toy_hierarchy, BASED)
