"""Coverage: nodes in use by branch and depth, and the tail."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.runs.audit import run_audit
from fixtures import brute_force as plain
from fixtures.labelled import labelled, tree
from fixtures.strategies import hierarchies, label_sets

BODY = tree("asthma cough < lung", "attack < heart", "lung heart < body", "saw hammer < tool",
            "body tool < top")  # fmt: skip


def told(labels: dict[str, list[str]], hierarchy: Hierarchy = BODY) -> dict[str, Any]:
    run = run_audit(labelled(hierarchy, labels), Policy(min_cell=1))
    found: dict[str, Any] = run.shared()["overview"]["coverage"]
    return found


def many(counts: dict[str, int]) -> dict[str, list[str]]:
    return {f"{node}{i}": [node] for node, n in counts.items() for i in range(n)}


def test_branches_count_assignable_nodes_in_use() -> None:
    found = told(many({"asthma": 3, "saw": 1}))

    assert [(b["node"], b["assignable"], b["in_use"]) for b in found["branches"]] == [
        ("body", 3, 1),
        ("tool", 2, 1),
    ]
    assert found["drift"] == []


@given(hierarchies(titled=False).flatmap(lambda h: st.tuples(st.just(h), label_sets(h))))
def test_depths_and_branches_equal_counting(drawn: tuple[Hierarchy, list[frozenset[str]]]) -> None:
    hierarchy, sets = drawn
    assume(any(sets))
    labels = {f"i{n}": sorted(own) for n, own in enumerate(sets)}
    found = told(labels, hierarchy)
    given_labels = [label for own in sets for label in own]

    assert sum(row["labels"] for row in found["depths"]) == len(given_labels)
    assert sum(row["in_use"] for row in found["depths"]) == len(set(given_labels))
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    assert all(hierarchy.nodes[hierarchy.root] in parents[b["node"]] for b in found["branches"])


def drifting(counts: dict[str, dict[str, int]]) -> tuple[dict[str, list[str]], dict[str, str]]:
    labels = {
        f"{site}{node}{i}": [node]
        for site, own in counts.items()
        for node, n in own.items()
        for i in range(n)
    }
    return labels, {instance: instance[0] for instance in labels}


def shown(counts: dict[str, dict[str, int]], min_cell: int) -> list[dict[str, object]]:
    labels, site = drifting(counts)
    dataset = labelled(BODY, labels, strata={"site": site})
    policy = Policy(drift=("site",), min_cell=min_cell)
    found: list[dict[str, object]] = run_audit(dataset, policy).shared()["overview"]["coverage"][
        "drift"
    ]
    return found


SITES = {
    "x": {"asthma": 80, "saw": 20},
    "y": {"asthma": 20, "saw": 80},
    "z": {"asthma": 50, "saw": 50},
}


def test_drift_tells_values_and_the_nodes_that_differ() -> None:
    rows = shown(SITES, 1)

    assert [(row["value"], row["instances"], row["differing"]) for row in rows] == [
        ("x", 100, 2), ("y", 100, 2), ("z", 100, 0),
    ]  # fmt: skip
    assert rows[0]["labels_per_instance"] == 1


def test_of_two_values_the_first_is_not_compared() -> None:
    rows = shown({site: SITES[site] for site in "xy"}, 1)

    assert [row["differing"] for row in rows] == [None, 2]
