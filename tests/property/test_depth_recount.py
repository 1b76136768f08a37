"""A loss of depth comes out again from plain code, whose Student's distribution is the table's."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import audit
from audit import Policy
from audit.policy.statements import Threshold
from validation.depth_recount import loss_of_depth
from validation.plain_releases import Release

PARENTS = {
    **{f"{side}{n}": {side} for side in "abc" for n in range(4)},
    "a0.0": {"a0", "b1"},
    "b1": {"b", "c2"},
}
"""Three roots; two nodes have a second parent, the deeper one not always the first."""
ANY_LOSS = Policy(
    depth_loss=Threshold(value=0, reason="Any."),
    false_discovery_rate=Threshold(value=0.9, reason="Any."),
)


def release(seed: int, cut: float, visits: int) -> Release:
    """240 records of one to four labels; persons of several visits leave as many labels open."""
    rng, labels, groups = np.random.default_rng(seed), {}, {}
    habits = rng.beta(1, 3, 240).tolist()
    for n in range(240):
        name, habit = f"i{n:03}", habits[n // visits]
        leaves = rng.choice(sorted(PARENTS), rng.integers(1, 5)).tolist()
        own = {one[0] if rng.random() < max(habit, cut) else one for one in leaves}
        labels[name], groups[name] = sorted(own), f"p{n // visits}"
    return Release("made up", labels, {}, PARENTS, groups=groups if visits > 1 else {})


def loss_told(now: Release, before: Release) -> audit.Finding:
    reference = audit.run_audit(read(before), ANY_LOSS, anyway=True)
    result = audit.run_audit(read(now), ANY_LOSS, reference=reference, anyway=True)
    found = (finding for check in result.checks for finding in check.standing)
    return next(one for one in found if one.id == "not_specific:shallower")


def read(release: Release) -> audit.LabelDataset:
    edges = [(child, above) for child, parents in PARENTS.items() for above in sorted(parents)]
    frame = pl.DataFrame(edges, schema=["child", "parent"], orient="row")
    columns = {"instance": list(release.labels), "label": list(release.labels.values())}
    groups = {"group": list(release.groups.values())} if release.groups else {}
    rows = pl.DataFrame({**columns, **groups}).explode("label")
    return audit.LabelDataset.from_rows(rows, audit.Hierarchy.build(frame, name="made up"))


@pytest.mark.parametrize("visits", [1, 8, 20])
@pytest.mark.parametrize("seed", range(3))
def test_every_number_of_a_loss_comes_out_again(seed: int, visits: int) -> None:
    now, before = release(seed, 0.5, visits), release(seed + 50, 0.0, visits)
    told = {name: one.value for name, one in loss_told(now, before).evidence.items()}

    for name, value in loss_of_depth(now, before).items():
        assert told[name] == pytest.approx(value, rel=1e-6), name
