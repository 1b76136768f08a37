"""Drift: which nodes differ between values, against exact tests and on data without drift."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from scipy.stats import chi2, fisher_exact

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.drift import DRIFT_NODES, DRIFT_VALUES, drift_tables
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from fixtures.labelled import labelled, tree

LEAVES = [f"n{i:02}" for i in range(12)]
FLAT = tree(" ".join(LEAVES) + " < top")
CHAIN = tree("a < b", "b c < d", "d e < top")


def measured(
    labels: Mapping[str, list[str]],
    period: Mapping[str, str],
    *,
    hierarchy: Hierarchy = FLAT,
    groups: Mapping[str, str] | None = None,
) -> Measurements:
    strata = {"period": period}
    dataset = labelled(hierarchy, labels, groups=groups, strata=strata)
    return measure(dataset, Policy(drift=("period",)))


def release(shares: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Instances of each period, so many with each leaf in order, the others without a label."""
    labels = {
        f"{period}-{i:03}": [leaf]
        for period, counts in shares.items()
        for i, leaf in enumerate(
            leaf for leaf, n in zip(LEAVES, counts, strict=False) for _ in range(n)
        )
    }
    return labels, {instance: instance.split("-")[0] for instance in labels}


def test_values_have_their_instances_and_labels() -> None:
    labels = {"1": ["a", "c"], "2": ["c", "c"], "3": [], "4": ["e"]}
    found = measured(labels, {"1": "x", "2": "x", "3": "y"}, hierarchy=CHAIN)
    values, nodes = drift_tables(found)

    assert dict(values.schema) == DRIFT_VALUES
    assert values.rows() == [("period", "x", 2, 3), ("period", "y", 1, 0)]
    assert dict(nodes.schema) == DRIFT_NODES
    assert nodes.is_empty()


def test_without_columns_nothing_is_compared() -> None:
    found = measure(labelled(CHAIN, {"1": ["a"]}), Policy())

    assert [len(table) for table in drift_tables(found)] == [0, 0]


def test_without_groups_p_is_at_least_fishers() -> None:
    found = measured(*release({"x": (60, 40, 20, 80), "y": (30, 70, 50, 150)}))
    _, nodes = drift_tables(found)

    assert nodes["value"].unique().to_list() == ["y"]
    for row in nodes.iter_rows(named=True):
        cells = [
            [row["instances"], row["of"] - row["instances"]],
            [row["elsewhere"], row["of_elsewhere"] - row["elsewhere"]],
        ]
        tails = [fisher_exact(np.array(cells), side).pvalue for side in ("less", "greater")]
        assert row["p_value"] >= min(2 * min(tails), 1) * (1 - 1e-9)
        assert row["p_value"] <= max(10 * min(tails), 1e-6)
        assert row["low"] <= row["difference"] <= row["high"]


def test_the_planted_node_differs_and_the_interval_holds_its_difference() -> None:
    found = measured(*release({"x": (20, 180, 200), "y": (120, 80, 200)}))
    _, nodes = drift_tables(found)
    differing = {row["node"]: row for row in nodes.filter("differs").iter_rows(named=True)}

    assert set(differing) == {"n00", "n01"}
    assert differing["n00"]["difference"] == 120 / 400 - 20 / 400
    assert differing["n00"]["low"] > 0
    assert (differing["n00"]["instances"], differing["n00"]["elsewhere"]) == (120, 20)


def test_three_values_are_each_held_against_the_rest() -> None:
    found = measured(*release({"x": (50, 50), "y": (50, 50), "z": (90, 10)}))
    _, nodes = drift_tables(found)

    assert nodes["value"].unique().sort().to_list() == ["x", "y", "z"]
    assert nodes.filter("differs", value="z")["of_elsewhere"].to_list() == [200, 200]


def test_of_a_chain_the_most_specific_is_compared() -> None:
    labels = {f"{i:03}": ["a"] if i % 2 else ["e"] for i in range(100)}
    _, nodes = drift_tables(measured(labels, {i: "xy"[i < "050"] for i in labels}, hierarchy=CHAIN))

    assert sorted(nodes["node"].unique().to_list()) == ["a", "e"]


def test_few_expected_and_few_groups_are_not_compared() -> None:
    labels, period = release({"x": (60, 5), "y": (60, 4)})
    _, nodes = drift_tables(measured(labels, period))

    assert nodes.is_empty()
    labels, period = release({"x": (60, 50), "y": (60, 40)})
    groups = {instance: f"{period[instance]}{int(instance[2:]) % 9}" for instance in labels}
    _, nodes = drift_tables(measured(labels, period, groups=groups))
    assert nodes.is_empty()


def test_groups_alike_in_themselves_widen_the_interval() -> None:
    labels, period = release({"x": (200, 200), "y": (120, 280)})
    alike = {instance: f"{period[instance]}{int(instance[2:]) // 20}" for instance in labels}
    mixed = {instance: f"{period[instance]}{int(instance[2:]) % 20}" for instance in labels}
    alone, of_alike, of_mixed = (
        drift_tables(measured(labels, period, groups=groups))[1].filter(node="n00")
        for groups in (None, alike, mixed)
    )

    width = [(one["high"] - one["low"]).item() for one in (alone, of_alike, of_mixed)]
    assert width[1] > 2 * width[0]
    assert width[2] == pytest.approx(width[0])
    assert of_alike["p_value"].item() > 0.05 > alone["p_value"].item()


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_without_drift_few_releases_have_a_finding(grouped: bool) -> None:
    found = 0
    for seed in range(100):
        chance = np.random.default_rng(seed)
        taste = chance.geometric(0.2, 150)
        groups = {f"{i:03}": f"g{i // 4 if grouped else i:03}" for i in range(600)}
        labels = {
            i: [LEAVES[min(int(taste[int(g[1:]) % 150 if grouped else 0] * grouped
                + chance.geometric(0.2)), 12) - 1]] for i, g in groups.items()
        }  # fmt: skip
        value = {
            g: "xyz"[chance.choice(3, p=[0.6, 0.3, 0.1])] for g in dict.fromkeys(groups.values())
        }
        period = {i: value[g] for i, g in groups.items()}
        _, nodes = drift_tables(measured(labels, period, groups=groups))
        found += bool(nodes["differs"].any())

    assert found <= 10


def test_tables_are_sorted_the_same_whatever_the_order_of_instances() -> None:
    labels, period = release({"x": (60, 40, 20), "y": (30, 70, 50)})
    again = dict(reversed(labels.items()))
    first, second = (drift_tables(measured(each, period)) for each in (labels, again))

    assert all(a.equals(b) for a, b in zip(first, second, strict=True))


def test_intervals_are_those_of_newcombe_at_95_percent_whatever_the_family() -> None:
    def wilson(k: int, n: int) -> tuple[float, float]:
        """The roots of (k / n - p)^2 = z^2 p (1 - p) / n."""
        z2 = chi2.ppf(0.95, 1)
        low, high = sorted(np.roots([n + z2, -2 * k - z2, k * k / n]).real.tolist())
        return low, high

    labels = {f"i{n:03}": [LEAVES[n % 12]] for n in range(600)}
    period = {id_: "new" if n % 5 < 2 else "old" for n, id_ in enumerate(labels)}
    _, nodes = drift_tables(measured(labels, period))

    assert nodes.height > 1
    for line in nodes.iter_rows(named=True):
        k, n, there, n_there = (
            line[name] for name in ("instances", "of", "elsewhere", "of_elsewhere")
        )
        (low, high), (low_there, high_there) = wilson(k, n), wilson(there, n_there)
        share, elsewhere = k / n, there / n_there
        below = np.hypot(share - low, high_there - elsewhere)
        above = np.hypot(high - share, elsewhere - low_there)
        assert line["low"] == pytest.approx(share - elsewhere - below)
        assert line["high"] == pytest.approx(share - elsewhere + above)
