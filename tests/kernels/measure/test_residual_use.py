"""Shares of one parent by kind, whose residual instances are the same where they are as many."""

from __future__ import annotations

from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures.labelled import labelled, repeated, tree

LUNG = tree(
    "asthma other unspecified < lung", titles={"other": "Other", "unspecified": "Unspecified"}
)


def test_a_kind_that_all_residual_instances_are_of_has_the_share_of_all() -> None:
    labels = repeated([(20, ["unspecified"]), (20, ["asthma"])])
    groups = {instance: f"p{place // 10}" for place, instance in enumerate(labels)}
    found = measure(labelled(LUNG, labels, groups=groups), Policy()).residuals
    every, other, unspecified = found.sort("residual").drop("residual").rows()

    assert every == unspecified
    assert other[1] == 0
