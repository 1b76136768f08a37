"""What holds of every hierarchy and every set of labels, against plain Python over sets."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.base.dag import SYNTHETIC_ROOT
from audit.data.dataset import LabelDataset
from audit.engine.pairs import pair_counts
from audit.engine.pairs.pair_counts import binary_entropy, count_pairs, support
from audit.engine.pairs.propagation import aggregate
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from fixtures import brute_force as plain
from fixtures.labelled import labelled
from fixtures.strategies import hierarchies, label_sets

TO_1E12 = {"rel": 1e-12, "abs": 1e-12}


@st.composite
def datasets(draw: st.DrawFn, max_instances: int = 6) -> LabelDataset:
    hierarchy = draw(hierarchies(max_nodes=8, titled=False))
    return dataset_of(hierarchy, draw(label_sets(hierarchy, max_instances=max_instances)))


def dataset_of(hierarchy: Hierarchy, sets: Sequence[frozenset[str]]) -> LabelDataset:
    return labelled(hierarchy, {f"i{n}": sorted(labels) for n, labels in enumerate(sets)})


def parents_of(hierarchy: Hierarchy) -> dict[str, set[str]]:
    return plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())


def labels_of(dataset: LabelDataset) -> dict[str, set[str]]:
    labels: dict[str, set[str]] = {instance: set() for instance in dataset.instances["instance"]}
    ids = list(labels)
    for instance, node in dataset.assertions.select("instance", "node").iter_rows():
        labels[ids[instance]].add(dataset.hierarchy.nodes[node])
    return labels


def measured(dataset: LabelDataset, policy: Policy | None = None) -> Measurements:
    return measure(dataset, policy or Policy())


def pairs_of(dataset: LabelDataset) -> pl.DataFrame:
    return measured(dataset).pairs.frame.collect()


def by_pair(frame: pl.DataFrame, column: str) -> dict[tuple[str, str], float]:
    return {(a, b): value for a, b, value in frame.select("a", "b", column).iter_rows()}


@given(datasets())
def test_counts_of_every_pair_equal_plain_python(dataset: LabelDataset) -> None:
    found, labels = pairs_of(dataset), labels_of(dataset)
    parents = parents_of(dataset.hierarchy)
    supports = plain.supports(parents, labels)

    assert by_pair(found, "joint") == plain.joints(parents, labels)
    assert dict(measured(dataset).nodes.select("node", "support").iter_rows()) == supports
    for a, b, support_a, support_b in found.select("a", "b", "support_a", "support_b").iter_rows():
        assert (support_a, support_b) == (supports[a], supports[b])


@given(datasets())
def test_floats_of_every_pair_equal_plain_python(dataset: LabelDataset) -> None:
    found, parents, labels = pairs_of(dataset), parents_of(dataset.hierarchy), labels_of(dataset)

    assert by_pair(found, "rate") == pytest.approx(plain.rates(parents, labels), **TO_1E12)
    assert by_pair(found, "confusion") == pytest.approx(
        plain.confusions(parents, labels), **TO_1E12
    )
    assert by_pair(found, "expected") == pytest.approx(
        plain.expectations(parents, labels), **TO_1E12
    )
    assert by_pair(found, "lift") == pytest.approx(plain.lifts(parents, labels), **TO_1E12)


@given(datasets())
def test_aggregated_values_equal_plain_python(dataset: LabelDataset) -> None:
    aggregated = measured(dataset).loaded.aggregated.toarray()
    parents = parents_of(dataset.hierarchy)

    for line, direct in zip(aggregated.tolist(), labels_of(dataset).values(), strict=True):
        reached = {
            node: value for node, value in zip(dataset.hierarchy.nodes, line, strict=True) if value
        }
        assert reached == plain.values(parents, direct)


@given(datasets())
def test_joint_is_no_larger_than_either_support_and_pairs_stand_once(dataset: LabelDataset) -> None:
    found = pairs_of(dataset)

    assert (
        found["joint"] <= found.select(pl.min_horizontal("support_a", "support_b")).to_series()
    ).all()
    assert (found["joint"] >= 1).all()
    assert (found["a"] < found["b"]).all()
    assert found.select("a", "b").rows() == sorted(set(found.select("a", "b").rows()))


@given(datasets())
def test_joint_is_symmetric_and_its_diagonal_is_the_support(dataset: LabelDataset) -> None:
    found = measured(dataset)
    ones = (found.loaded.aggregated.toarray() > 0).astype(int)
    counts = count_pairs(found.loaded.aggregated)
    dense = np.diag(found.support)
    dense[counts.a, counts.b] = dense[counts.b, counts.a] = counts.joint

    assert np.array_equal(dense, ones.T @ ones)


@given(datasets())
def test_confusion_lies_between_zero_and_the_rate(dataset: LabelDataset) -> None:
    found = pairs_of(dataset)

    assert (found["confusion"] > 0).all()
    assert (found["confusion"] <= found["rate"]).all()
    assert (found["rate"] <= 1).all()


@given(datasets())
def test_confusion_equals_the_rate_exactly_where_all_values_are_one(dataset: LabelDataset) -> None:
    single = [sorted(labels)[:1] for labels in labels_of(dataset).values()]
    found = pairs_of(dataset_of(dataset.hierarchy, [frozenset(labels) for labels in single]))

    assert found["confusion"].to_list() == found["rate"].to_list()


@given(
    st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=8),
    st.integers(1, 9),
)
def test_confusion_equals_joint_exactly_on_equal_values(rows: list[list[bool]], value: int) -> None:
    counts = count_pairs(csr_array(np.array(rows, np.int64) * value))

    assert counts.confusion_sum.tolist() == counts.joint.tolist()


positive = st.floats(1e-9, 1e9)


@given(st.lists(st.tuples(positive, positive), min_size=1))
def test_binary_entropy_lies_between_zero_and_one(drawn: list[tuple[float, float]]) -> None:
    u, v = np.array(drawn).T
    found = binary_entropy(u, v)

    assert (found >= 0).all()
    assert (found <= 1).all()
    assert found.tolist() == binary_entropy(v, u).tolist()
    assert (binary_entropy(u, u) == 1).all()


@given(datasets())
def test_aggregated_values_never_fall_towards_the_root(dataset: LabelDataset) -> None:
    aggregated = measured(dataset).loaded.aggregated.toarray()

    for child, parent in dataset.hierarchy.edge_frame().iter_rows():
        low, high = dataset.hierarchy.index(child), dataset.hierarchy.index(parent)
        assert (aggregated[:, high] >= aggregated[:, low]).all()


@given(datasets(), st.data())
def test_relabelling_nodes_permutes_counts_exactly(
    dataset: LabelDataset, data: st.DataObject
) -> None:
    hierarchy = dataset.hierarchy
    moved = [node for node in hierarchy.nodes if node != SYNTHETIC_ROOT]
    names = data.draw(st.permutations([f"n{i}" for i in range(len(moved))]))
    new = dict(zip(moved, names, strict=True)) | {SYNTHETIC_ROOT: SYNTHETIC_ROOT}
    other = Hierarchy.from_networkx(nx.relabel_nodes(hierarchy.to_networkx(), new), name="other")
    sets = [frozenset(new[label] for label in labels) for labels in labels_of(dataset).values()]
    before, after = pairs_of(dataset), pairs_of(dataset_of(other, sets))

    def renamed(column: str) -> dict[frozenset[str], float]:
        return {frozenset((new[a], new[b])): v for (a, b), v in by_pair(before, column).items()}

    def unordered(column: str) -> dict[frozenset[str], float]:
        return {frozenset(pair): value for pair, value in by_pair(after, column).items()}

    for column in ("joint", "relation"):
        assert unordered(column) == renamed(column)
    for column in ("rate", "confusion", "expected", "lift"):
        assert unordered(column) == pytest.approx(renamed(column), **TO_1E12)


@given(datasets(), st.randoms(use_true_random=False))
def test_renaming_instances_changes_no_count(dataset: LabelDataset, random: object) -> None:
    sets = [frozenset(labels) for labels in labels_of(dataset).values()]
    shuffled = list(sets)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    before, after = (dataset_of(dataset.hierarchy, order) for order in (sets, shuffled))
    pairs_before, pairs_after = pairs_of(before), pairs_of(after)

    exact = [column for column in pairs_before.columns if column != "confusion"]
    assert pairs_after.select(exact).equals(pairs_before.select(exact))
    assert measured(after).nodes.equals(measured(before).nodes)
    assert measured(after).residuals.equals(measured(before).residuals)
    assert by_pair(pairs_after, "confusion") == pytest.approx(
        by_pair(pairs_before, "confusion"), **TO_1E12
    )


@given(datasets(), st.data())
def test_shuffling_rows_changes_nothing(dataset: LabelDataset, data: st.DataObject) -> None:
    rows = [(i, label) for i, labels in labels_of(dataset).items() for label in sorted(labels)]
    assume(rows)
    schema = {"instance": pl.String, "label": pl.String}
    before, after = (
        LabelDataset.from_rows(pl.DataFrame(order, schema, orient="row"), dataset.hierarchy)
        for order in (rows, data.draw(st.permutations(rows)))
    )

    assert after.instances.equals(before.instances)
    assert after.assertions.equals(before.assertions)
    assert after.ledger == before.ledger


@given(datasets(), st.data())
def test_an_unused_leaf_changes_nothing_elsewhere(
    dataset: LabelDataset, data: st.DataObject
) -> None:
    parent = data.draw(st.sampled_from(dataset.hierarchy.nodes))
    new = "~unused"
    assume(new not in dataset.hierarchy)
    wider = dataset.hierarchy.extend(
        pl.DataFrame({"child": [new], "parent": [parent]}),
        pl.DataFrame({"node": [new], "title": [""], "assignable": [True]}),
    )
    after = dataset_of(wider, [frozenset(labels) for labels in labels_of(dataset).values()])
    numbers = ("a", "b", "support_a", "support_b", "joint", "rate", "confusion", "expected", "lift")

    assert pairs_of(after).select(numbers).equals(pairs_of(dataset).select(numbers))
    counts = ("node", "direct", "support")
    others = measured(after).nodes.filter(pl.col("node") != new)
    assert others.select(counts).equals(measured(dataset).nodes.select(counts))


@given(datasets(max_instances=8), st.sampled_from((1, 2, 3, 7, 20)))
def test_blocks_change_no_bit(dataset: LabelDataset, size: int) -> None:
    aggregated = measured(dataset).loaded.aggregated
    whole = count_pairs(aggregated)
    with patch.object(pair_counts, "ENTRIES_PER_BLOCK", size):
        blocked = count_pairs(aggregated)

    for name in ("a", "b", "joint", "confusion_sum"):
        assert getattr(blocked, name).tobytes() == getattr(whole, name).tobytes(), name


def test_a_small_block_size_makes_several_blocks() -> None:
    values = csr_array(np.array([[1, 2], [3, 4], [1, 5]], np.int64))
    with patch.object(pair_counts, "ENTRIES_PER_BLOCK", 1):
        assert len([*pair_counts._blocks(values)]) == 3


@given(
    hierarchies(titled=False).flatmap(
        lambda drawn: st.tuples(
            st.just(drawn),
            st.dictionaries(
                st.sampled_from(("x", "y", "z")),
                st.lists(st.sampled_from((*drawn.nodes, "no such node", None)), max_size=5),
                min_size=1,
            ),
        )
    )
)
def test_the_ledger_sums(drawn: tuple[Hierarchy, dict[str, list[str | None]]]) -> None:
    hierarchy, labels = drawn
    ledger = labelled(hierarchy, labels).ledger
    given_labels = [label for row in labels.values() for label in row]

    assert ledger.rows_read == ledger.rows_mapped + sum(ledger.refused.values())
    assert ledger.rows_read == len(given_labels)
    assert ledger.refused.get("missing_code", 0) == given_labels.count(None)
    assert ledger.refused.get("unknown_code", 0) == given_labels.count("no such node")
    assert ledger.instances == len(labels)
    empty = [row for row in labels.values() if not set(row) - {None, "no such node"}]
    assert ledger.instances_without_labels == len(empty)


@given(datasets())
def test_residual_use_below_every_parent_equals_plain_python(dataset: LabelDataset) -> None:
    hierarchy = dataset.hierarchy
    assignable = [hierarchy.nodes[i] for i in np.flatnonzero(hierarchy.assignable)]
    residual = set(assignable[::2])
    found = measured(dataset, Policy(residual_nodes=tuple(residual))).residuals
    parents, labels = parents_of(hierarchy), labels_of(dataset)
    expected = {}
    for node in hierarchy.nodes:
        below = plain.at_or_below(parents, node) - {node}
        use = plain.residual_use(parents, labels, residual, node)
        if below & residual and (below & set(assignable)) - residual and use[1]:
            expected[node] = use

    counted = found.filter(pl.col("residual") == "all").select("parent", "k", "n")
    assert {parent: (k, n) for parent, k, n in counted.iter_rows()} == expected


@given(datasets())
def test_support_counts_instances_not_values(dataset: LabelDataset) -> None:
    aggregated = aggregate(dataset.direct, dataset.hierarchy.closure)

    assert support(aggregated).tolist() == (aggregated.toarray() > 0).sum(axis=0).tolist()
    assert support(aggregated).dtype == np.int64
