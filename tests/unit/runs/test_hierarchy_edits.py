"""Edits of a hierarchy are told, and which nodes mean the same in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.audit import run_audit
from audit.runs.compare.edits import Release, common_nodes, hierarchy_edits
from fixtures.coded import icd9cm
from fixtures.labelled import labelled, repeated, tree

Labels = Mapping[str, Sequence[str]]

BODY = ("lung heart < body", "asthma cough < lung", "attack < heart")
USED = repeated([(5, ["asthma"]), (4, ["cough"]), (3, ["attack"]), (2, ["asthma", "attack"])])


def release(hierarchy: Hierarchy, labels: Labels = USED) -> Release:
    return Release(run_audit(labelled(hierarchy, labels)))


def edits(old: Hierarchy, new: Hierarchy) -> dict[tuple[str, str], tuple[list[str], list[str]]]:
    table = hierarchy_edits(release(old), release(new))
    return {(row["edit"], row["node"]): (row["old"], row["new"]) for row in
            table.iter_rows(named=True)}  # fmt: skip


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


def test_only_what_is_above_a_moved_node_means_another_thing() -> None:
    moved = tree("lung heart < body", "cough < lung", "asthma attack < heart")
    common = common_nodes(release(tree(*BODY)), release(moved))

    assert dict(zip(common.nodes, common.as_it_is.tolist(), strict=True)) == {
        "asthma": True, "attack": True, "body": True, "cough": True, "heart": False, "lung": False,
    }  # fmt: skip


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
