"""Coverage: nodes in use by branch and depth, the tail, and what small cells allow of it."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.disclosure import shown_parts
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.coverage import coverage
from audit.runs.audit import run_audit
from fixtures import brute_force as plain
from fixtures.labelled import labelled, tree
from fixtures.strategies import hierarchies, label_sets

BODY = tree("asthma cough < lung", "attack < heart", "lung heart < body", "saw hammer < tool",
            "body tool < top")  # fmt: skip


def nodes_of(labels: dict[str, list[str]], hierarchy: Hierarchy = BODY) -> pl.DataFrame:
    return measure(labelled(hierarchy, labels), Policy()).nodes


def many(counts: dict[str, int]) -> dict[str, list[str]]:
    return {f"{node}{i}": [node] for node, n in counts.items() for i in range(n)}


def test_branches_count_assignable_nodes_in_use() -> None:
    found = coverage(nodes_of(many({"asthma": 3, "saw": 1})), None, min_cell=1)

    assert [(b["node"], b["assignable"], b["in_use"]) for b in found["branches"]] == [
        ("body", 3, 1),
        ("tool", 2, 1),
    ]
    assert found["drift"] == []


def test_the_tail_counts_rare_nodes_and_the_share_of_the_most_used() -> None:
    nodes = nodes_of(many({"asthma": 30, "saw": 1, "attack": 10}))
    tail = coverage(nodes, None, min_cell=1)["tail"]
    shared = coverage(nodes, None, min_cell=11)["tail"]

    assert tail == {
        "assignable": 5, "in_use": 3, "rare_below": 2, "rare": 1, "most_used": 3,
        "most_used_share": 1.0,
    }  # fmt: skip
    assert (shared["rare_below"], shared["rare"]) == (11, 2)


def test_the_share_of_the_most_used_is_withheld_where_it_tells_a_small_cell() -> None:
    leaves = [f"n{i:02}" for i in range(22)]
    flat = tree(" ".join(leaves) + " < top")
    nodes = nodes_of(many({leaf: 2 if leaf == "n21" else 20 for leaf in leaves[1:]}), flat)

    assert coverage(nodes, None, min_cell=11)["tail"]["most_used_share"] is None
    assert coverage(nodes, None, min_cell=1)["tail"]["most_used_share"] == 400 / 402


def test_depths_hide_a_small_cell_and_the_next_smallest() -> None:
    nodes = nodes_of(many({"asthma": 200, "saw": 5, "lung": 40, "body": 90}))
    shown = coverage(nodes, None, min_cell=11)["depths"]

    assert [(row["depth"], row["labels"], row["share"]) for row in shown] == [
        (1, 90, 90 / 335),
        (2, 45, 45 / 335),
        (3, 200, 200 / 335),
    ]
    nodes = nodes_of(many({"asthma": 200, "saw": 5, "body": 90}))
    shown = coverage(nodes, None, min_cell=11)["depths"]
    assert [(row["labels"], row["share"]) for row in shown] == [
        (None, None), ("<11", None), (200, 200 / 295),
    ]  # fmt: skip


@given(hierarchies(titled=False).flatmap(lambda h: st.tuples(st.just(h), label_sets(h))))
def test_depths_and_branches_equal_counting(drawn: tuple[Hierarchy, list[frozenset[str]]]) -> None:
    hierarchy, sets = drawn
    labels = {f"i{n}": sorted(own) for n, own in enumerate(sets)}
    found = coverage(nodes_of(labels, hierarchy), None, min_cell=1)
    given_labels = [label for own in sets for label in own]

    assert sum(row["labels"] for row in found["depths"]) == len(given_labels)
    assert sum(row["in_use"] for row in found["depths"]) == len(set(given_labels))
    assert found["tail"]["in_use"] == len(set(given_labels))
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
    rows = shown(SITES, 11)

    assert [(row["value"], row["instances"], row["differing"]) for row in rows] == [
        ("x", 100, 2), ("y", 100, 2), ("z", 100, 0),
    ]  # fmt: skip
    assert rows[0]["labels_per_instance"] == 1
    first = rows[0]["nodes"][0]  # type: ignore[index]
    assert (first["node"], first["share"], first["elsewhere_share"]) == ("asthma", 0.8, 70 / 200)


@pytest.mark.parametrize("n", [5, 30])
def test_a_withheld_value_does_not_tell_that_it_was_large_enough(n: int) -> None:
    row = next(row for row in shown(SITES | {"w": {"saw": n}}, 50) if row["value"] == "w")
    assert (row["instances"], row["differing"], row["nodes"]) == ("<50", None, [])


def test_of_two_values_the_first_is_not_compared() -> None:
    rows = shown({site: SITES[site] for site in "xy"}, 1)

    assert [row["differing"] for row in rows] == [None, 2]


def test_a_node_with_a_small_cell_in_any_value_is_named_without_numbers() -> None:
    rows = shown({**SITES, "z": {"asthma": 92, "saw": 8}}, 11)
    nodes = [node for row in rows for node in row["nodes"]]  # type: ignore[attr-defined]

    assert nodes
    assert {node[key] for node in nodes for key in ("share", "difference", "low")} == {None}


@pytest.mark.parametrize(
    ("parts", "hidden"),
    [
        ((5, 100, 40), ["<11", 100, None]),
        ((5, 6, 40), ["<11", "<11", 40]),
        ((1, 1, 11, 40), ["<11", "<11", None, 40]),
        ((5, 100), ["<11", ">94"]),
        ((0, 11, 12), [0, 11, 12]),
        ((3,), ["<11"]),
        ((), []),
    ],
)
def test_parts_of_a_total_hide_what_would_tell_a_small_one(
    parts: tuple[int, ...], hidden: list[object]
) -> None:
    assert shown_parts(list(parts), 11) == hidden


def free(parts: list[int], hidden: set[int], min_cell: int) -> bool:
    """Whether each small part can be any small number, where others are shown or withheld."""
    small = [place for place, part in enumerate(parts) if 0 < part < min_cell]
    left = sum(parts[place] for place in hidden)
    fewest, most = len(small) - 1, (len(small) - 1) * (min_cell - 1)
    return all(
        left - own >= fewest and (len(hidden) > len(small) or left - own <= most)
        for own in range(1, min_cell)
    )


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6))
@example([2, 2, 30])
@example([2, 3, 30])
@example([3, 3, 5, 30])
def test_no_more_parts_are_withheld_than_free_the_small_ones(parts: list[int]) -> None:
    shown, total = shown_parts(parts, 4), sum(parts)
    small = {place for place, part in enumerate(parts) if 0 < part < 4}
    hidden = small | {place for place, part in enumerate(parts) if 0 < total - part < 4 and part}
    others = sorted((part, i) for i, part in enumerate(parts) if part and i not in hidden)
    for _, place in others if small else ():
        if free(parts, hidden, 4):
            break
        hidden.add(place)

    assert {place for place, value in enumerate(shown) if not isinstance(value, int)} == hidden


@given(st.lists(st.integers(0, 9), min_size=2, max_size=5))
def test_every_small_part_may_be_any_small_number(parts: list[int]) -> None:
    """Whoever knows the total and what is shown can tell no small part, if any other is hidden."""
    total, shown = sum(parts), shown_parts(parts, 4)
    assert [n for n, value in zip(parts, shown, strict=True) if isinstance(value, int)] == [
        value for value in shown if isinstance(value, int)
    ]
    if any(isinstance(value, int) and value for value in shown):
        choices = [
            [value]
            if isinstance(value, int)
            else range(1, 4)
            if value == "<4"
            else range(total + 1)
            for value in shown
        ]
        possible = [drawn for drawn in product(*choices) if sum(drawn) == total]
        for place, value in enumerate(shown):
            if value == "<4":
                assert {drawn[place] for drawn in possible} == {1, 2, 3}


def test_a_small_value_is_not_told_by_its_labels() -> None:
    """Those of z are known from the saw, so y is withheld beside x."""
    rows = shown({"x": {"asthma": 5}, "y": {"asthma": 100}, "z": {"saw": 40}}, 11)

    assert [row["labels_per_instance"] for row in rows] == [None, None, 1.0]
