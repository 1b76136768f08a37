"""Edits of a hierarchy are told, and counts are restated only as far as the tables can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.audit import run_audit
from audit.runs.compare.edits import Release, common_nodes, hierarchy_edits, restated
from fixtures.coded import icd9cm
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree

Labels = Mapping[str, Sequence[str]]

BODY = ("lung heart < body", "asthma cough < lung", "attack < heart")
USED = repeated([(5, ["asthma"]), (4, ["cough"]), (3, ["attack"]), (2, ["asthma", "attack"])])


def release(hierarchy: Hierarchy, labels: Labels = USED) -> Release:
    return Release(run_audit(labelled(hierarchy, labels), anyway=True))


def edits(old: Hierarchy, new: Hierarchy) -> dict[tuple[str, str], tuple[list[str], list[str]]]:
    table = hierarchy_edits(release(old), release(new))
    return {(row["edit"], row["node"]): (row["old"], row["new"]) for row in
            table.iter_rows(named=True)}  # fmt: skip


def bounds(old: Release, new: Release) -> dict[str, tuple[int, int]]:
    common = common_nodes(old, new)
    low, high = restated(old, common)
    return {n: (int(a), int(b)) for n, a, b in zip(common.nodes, low, high, strict=True)}


def test_the_same_hierarchy_has_no_edit() -> None:
    assert edits(tree(*BODY), tree(*BODY)) == {}


def test_what_is_added_in_one_direction_is_removed_in_the_other() -> None:
    more = tree(*BODY, "flu < lung")

    assert edits(tree(*BODY), more) == {("added", "flu"): ([], [])}
    assert edits(more, tree(*BODY)) == {("removed", "flu"): ([], [])}


def test_a_moved_node_is_told_with_its_parents() -> None:
    moved = tree("lung heart < body", "asthma < lung", "cough attack < heart")

    assert edits(tree(*BODY), moved) == {("moved", "cough"): (["lung"], ["heart"])}


def test_a_second_parent_is_a_move() -> None:
    assert edits(tree(*BODY), tree(*BODY, "cough < heart")) == {
        ("moved", "cough"): (["lung"], ["heart", "lung"])
    }


def test_a_node_put_between_is_added_and_moves_nothing() -> None:
    between = tree("lung heart < body", "airway < lung", "asthma cough < airway", "attack < heart")
    old, new = release(tree(*BODY)), release(between)

    assert edits(tree(*BODY), between) == {("added", "airway"): ([], [])}
    assert common_nodes(old, new).as_it_is.all()
    assert all(low == high == old.support(node) for node, (low, high) in bounds(old, new).items())


def test_titles_and_use_as_a_label_are_told_and_a_lacking_title_is_not() -> None:
    named = {"asthma": "Asthma", "cough": "Cough", "lung": "Lung"}
    other = {"asthma": "Asthma, old name", "cough": "Cough"}

    assert edits(tree(*BODY, titles=other), tree(*BODY, titles=named)) == {
        ("retitled", "asthma"): (["Asthma, old name"], ["Asthma"])
    }
    assert edits(tree(*BODY), tree(*BODY, "asthma_1 < asthma"))[
        ("assignable_changed", "asthma")
    ] == (["may be a label"], ["may not be a label"])


def test_a_removed_node_counts_at_its_nearest_common_ancestors() -> None:
    old = tree("lung heart < body", "fit < lung", "asthma cough < fit", "attack < heart")
    new = tree("lung heart < body", "cough < lung", "attack < heart")
    table = hierarchy_edits(release(old), release(new, repeated([(3, ["cough"])])))
    rows = {row["node"]: row for row in table.iter_rows(named=True)}

    assert rows["asthma"]["counted_at"] == ["lung"]
    assert rows["fit"]["counted_at"] == ["lung"]
    assert set(rows) == {"asthma", "fit"}
    assert rows["asthma"]["support_old"] == 7
    assert rows["asthma"]["support_new"] is None


def test_a_moved_subtree_is_restated_exactly_where_the_tables_decide() -> None:
    moved = tree("lung heart < body", "cough < lung", "asthma attack < heart")

    found = bounds(release(tree(*BODY)), release(moved))

    assert found["heart"] == (10, 10)
    assert found["lung"] == (4, 4)
    assert found["body"] == (14, 14)


def test_where_several_labels_leave_it_open_bounds_are_told() -> None:
    sets = repeated([(5, ["a", "b"]), (5, ["a", "c"]), (5, ["b", "c"]), (5, ["a", "b", "c"])])
    old = tree("x y < top", "a b c < x", "d < y")
    new = tree("x y < top", "b c < x", "a d < y")
    low, high = bounds(release(old, sets), release(new, sets))["x"]

    assert low <= 20 <= high


@st.composite
def edited(draw: st.DrawFn) -> tuple[Hierarchy, Hierarchy, dict[str, list[str]]]:
    """Two hierarchies with nodes in common, and labels of instances of the first."""
    return draw(hierarchy("ab")), draw(hierarchy("ac")), draw(labels())


def hierarchy(kinds: str) -> st.SearchStrategy[Hierarchy]:
    """Nodes of the kinds, each below the root or below earlier ones."""
    names = sorted(f"{kind}{number}" for kind in kinds for number in range(4))
    parents = [
        st.lists(st.sampled_from(["root", *names[:place]]), min_size=1, max_size=2, unique=True)
        for place in range(len(names))
    ]
    return st.tuples(*parents).map(
        lambda drawn: tree(
            *(
                f"{node} < {parent}"
                for node, above in zip(names, drawn, strict=True)
                for parent in above
            )
        )
    )


def labels() -> st.SearchStrategy[dict[str, list[str]]]:
    names = [f"{kind}{number}" for kind in "ab" for number in range(4)]
    sets = st.lists(st.sampled_from(names), max_size=3, unique=True)
    return st.lists(sets, min_size=1, max_size=12).map(
        lambda given: {f"i{place}": labels for place, labels in enumerate(given)}
    )


def rolled_up(old: Hierarchy, new: Hierarchy, given: Labels) -> dict[str, set[str]]:
    """Labels of OLD in NEW's nodes: one that NEW lacks climbs until NEW has it."""

    def climbed(label: str) -> set[str]:
        if label in new:
            return {label}
        return {end for parent in old.parents(label) for end in climbed(parent)}

    return {instance: {end for label in has for end in climbed(label)} for instance, has in
            given.items()}  # fmt: skip


@examples(40)
@given(edited())
def test_what_old_would_count_under_new_lies_within_the_bounds(
    drawn: tuple[Hierarchy, Hierarchy, dict[str, list[str]]],
) -> None:
    old, new, given = drawn
    before, after = release(old, given), release(new, {"other": []})
    again = rolled_up(old, new, given)
    common = common_nodes(before, after)
    low, high = restated(before, common)
    for place, node in enumerate(common.nodes):
        below = set(new.descendants(node, with_self=True))
        true = sum(bool(labels & below) for labels in again.values())
        assert low[place] <= true <= high[place], node
        if common.as_it_is[place]:
            assert low[place] == high[place] == before.support(node)


@pytest.mark.slow
def test_codes_that_only_labels_name_are_told_apart() -> None:

    icd = icd9cm()
    plain = release(icd, {"i1": ["401.9"]})
    grown = release(icd, {"i1": ["401.9"], "i2": ["718.60"]})
    table = hierarchy_edits(plain, grown)

    assert table["edit"].to_list() == ["added"]
    assert table["node"].to_list() == ["718.60"]
    assert table["from_labels"].to_list() == [True]
    assert table["counted_at"].to_list() == [["718.6"]]


def test_edits_come_in_order_of_kind_then_of_instances_touched() -> None:
    old = tree(*BODY, "x y < body")
    new = tree("lung heart < body", "asthma < lung", "cough attack < heart", "z < body")
    table = hierarchy_edits(
        release(old, repeated([(2, ["x"]), (5, ["y"])])), release(new, repeated([(1, ["z"])]))
    )

    assert table.select("edit", "node").rows() == [
        ("added", "z"), ("removed", "y"), ("removed", "x"), ("moved", "cough"),
    ]  # fmt: skip
    assert isinstance(table, pl.DataFrame)
    assert np.all(table["from_labels"].to_numpy() == False)  # noqa: E712
