"""residual_overuse: which parents are high, and which stand on their own, worked by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.statements import Threshold
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.counted import counted_of
from fixtures.labelled import labelled, repeated, tree
from fixtures.strategies import trees

CHECK = CHECK_OF["residual_overuse"]

BODY = tree(
    "chest belly < body",
    "lung heart < chest",
    "asthma other_lung < lung",
    "attack other_heart < heart",
    "ulcer other_belly < belly",
    titles={"other_lung": "Other", "other_heart": "Other", "other_belly": "Unspecified"},
)


Counts = Sequence[tuple[int, Sequence[str]]]


def checked(
    counts: Counts,
    policy: Policy | None = None,
    groups: Mapping[str, str] | None = None,
) -> CheckResult:
    dataset = labelled(BODY, repeated(counts), groups=groups)
    return CHECK.run(measure(dataset, policy or Policy()))


def flagged(found: CheckResult) -> list[str]:
    return sorted(finding.nodes[0] for finding in found.standing)


def test_an_other_that_no_specific_label_stands_beside_may_be_the_usual_case() -> None:
    """So said of "other", not of "unspecified", and where no instance has a specific label."""
    (usual,) = checked([(38, ["other_lung"]), (60, ["attack"])]).findings
    (open_,) = checked([(38, ["other_belly"]), (60, ["attack"])]).findings

    assert (usual.severity, usual.asks, open_.severity, open_.asks) == (
        "note", True, "warning", False,
    )  # fmt: skip
    assert "no instance has a more specific label below it" in usual.evidence["never"]


@given(trees(titled=False), st.data())
def test_on_counts_folding_is_equal_where_each_instance_has_one_label(
    hierarchy: Hierarchy, data: st.DataObject
) -> None:
    nodes = st.sampled_from(hierarchy.nodes)
    policy = Policy(
        residual_nodes=tuple(data.draw(st.sets(nodes))),
        residual_instances=Threshold(value=4, reason=""),
        residual_share=Threshold(value=0.3, reason=""),
    )
    often = st.tuples(st.sampled_from([1, 5, 20]), nodes.map(lambda node: [node]))
    counts = data.draw(st.lists(often, max_size=8))
    measured = measure(labelled(hierarchy, repeated(counts)), policy)

    assert CHECK.run(counted_of(measured)) == CHECK.run(measured)


# --- what chance does ---------------------------------------------------------------------------


MANY = tree(
    " ".join(f"p{n:03}" for n in range(120)) + " < top",
    *(f"p{n:03}_known p{n:03}_other < p{n:03}" for n in range(120)),
    titles={f"p{n:03}_other": "Other" for n in range(120)},
)


def release(seed: int, shares: Sequence[float], groups: bool = False) -> CheckResult:
    """Each parent of `MANY` with its share, by chance, of 100 instances; in pairs where grouped."""
    rng, labels, owners = np.random.default_rng(seed), dict[str, list[str]](), dict[str, str]()
    for parent, share in enumerate(shares):
        other = rng.random(50 if groups else 100) < share
        for i, is_other in enumerate(np.repeat(other, 2) if groups else other):
            name = f"{parent:03}-{i:03}"
            labels[name] = [f"p{parent:03}_{'other' if is_other else 'known'}"]
            owners[name] = f"{parent:03}-{i // 2:03}"
    dataset = labelled(MANY, labels, groups=owners if groups else None)
    measured = measure(dataset, Policy())
    judged = CHECK.run(measured)
    return replace(judged, findings=tuple(f for f in judged.findings if f.nodes != ("top",)))


@pytest.mark.slow
@pytest.mark.parametrize("groups", [False, True])
def test_parents_exactly_at_the_limit_are_hardly_ever_found(groups: bool) -> None:
    """The rate is one release in twenty; without the family it would be three parents in each."""
    releases = [release(seed, [0.5] * 120, groups) for seed in range(40)]

    assert sum(bool(one.findings) for one in releases) <= 5
    assert sum(len(one.findings) for one in releases) <= 8


@pytest.mark.slow
def test_of_high_parents_among_many_at_the_limit_most_are_found_and_few_others() -> None:
    shares = [0.9] * 10 + [0.5] * 110
    flagged_in = [flagged(release(seed, shares)) for seed in range(20)]
    true = {f"p{n:03}" for n in range(10)}

    assert all(true <= set(found) for found in flagged_in)
    assert np.mean([len(set(found) - true) / len(found) for found in flagged_in]) < 0.08


def test_the_q_value_is_that_of_benjamini_and_hochberg() -> None:
    found = checked([(38, ["other_lung"]), (2, ["asthma"]), (60, ["attack"]), (5, ["lung"])])
    (finding,) = found.findings
    p_value = binom.sf(37, 40, 0.5)

    # the family is lung, heart (0 of 60), chest (38 of 100) and body (the 5 at lung are below it)
    assert found.denominator == 4
    assert finding.evidence["q_value"] == pytest.approx(4 * p_value)
