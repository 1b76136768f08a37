"""The three readings of an aggregated value, against paths that are walked one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.alignment.measure import measure_model
from audit.alignment.metrics.batch import Batch
from audit.base.errors import InputError, SchemaError
from audit.base.settings import Aggregation
from audit.engine.pairs.propagation import path_counts
from audit.engine.scores.cuts import cut_at
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import aggregated_values
from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures import brute_force as plain
from fixtures.examples import examples
from fixtures.labelled import labelled
from fixtures.predicted import predicted
from fixtures.strategies import hierarchies, trees

DIAMOND = [("leaf", "left"), ("leaf", "right"), ("left", "top"), ("right", "top")]
SICKLE = [("282.6", "282"), ("282.60", "282.6"), ("282.61", "282.6"), ("282", "blood"),
          ("283", "blood")]  # fmt: skip
READINGS: tuple[Aggregation, ...] = ("descendants", "paths", "mimic")
Parents = Mapping[str, set[str]]
Values = dict[str, float]


def parents_of(hierarchy: Hierarchy) -> Parents:
    return plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())


def paths_up(parents: Parents, node: str) -> Iterator[str]:
    """The upper end of every path that leads up from a node, the path of no step included."""
    yield node
    for parent in parents[node]:
        yield from paths_up(parents, parent)


def by_paths(parents: Parents, values: Values) -> Values:
    total = dict.fromkeys(parents, 0.0)
    for node, value in values.items():
        for end in paths_up(parents, node):
            total[end] += value
    return total


def by_mimic_rule(parents: Parents, values: Values) -> Values:
    def of(node: str) -> float:
        own = values.get(node, 0.0)
        return own or math.fsum(of(child) for child in parents if node in parents[child])

    return {node: of(node) for node in parents}


def by_descendants(parents: Parents, values: Values) -> Values:
    return {node: math.fsum(values.get(below, 0.0) for below in plain.at_or_below(parents, node))
            for node in parents}  # fmt: skip


ORACLES = {"descendants": by_descendants, "paths": by_paths, "mimic": by_mimic_rule}


@st.composite
def weighted(
    draw: st.DrawFn, drawn: st.SearchStrategy[Hierarchy] | None = None
) -> tuple[Hierarchy, list[Values]]:
    """Values are 64ths, so that sums are exact."""
    hierarchy = draw(hierarchies(titled=False) if drawn is None else drawn)
    score = st.integers(0, 64).map(lambda k: k / 64)
    lines = st.lists(
        st.dictionaries(st.sampled_from(hierarchy.nodes), score, max_size=5), max_size=4
    )
    return hierarchy, draw(lines)


def matrix(hierarchy: Hierarchy, lines: list[Values]) -> csr_array:
    dense = np.zeros((len(lines), len(hierarchy)))
    for row, line in enumerate(lines):
        for node, value in line.items():
            dense[row, hierarchy.index(node)] = value
    return csr_array(dense)


@examples(80)
@given(weighted(), st.sampled_from(READINGS))
def test_each_reading_is_what_walking_the_hierarchy_finds(
    world: tuple[Hierarchy, list[Values]], reading: Aggregation
) -> None:
    hierarchy, lines = world
    found = aggregated_values(hierarchy, matrix(hierarchy, lines), reading).toarray()

    parents = parents_of(hierarchy)
    for row, line in enumerate(lines):
        expected = ORACLES[reading](parents, line)
        assert dict(zip(hierarchy.nodes, found[row].tolist(), strict=True)) == expected


@examples(60)
@given(weighted(trees(titled=False)))
def test_on_trees_with_values_on_leaves_alone_the_readings_agree(
    world: tuple[Hierarchy, list[Values]],
) -> None:
    hierarchy, lines = world
    leaves = {node for node, leaf in zip(hierarchy.nodes, hierarchy.leaf, strict=True) if leaf}
    values = matrix(hierarchy, [{n: v for n, v in line.items() if n in leaves} for line in lines])

    once, paths, mimic = (aggregated_values(hierarchy, values, one).toarray() for one in READINGS)
    assert np.array_equal(once, paths)
    assert np.array_equal(once, mimic)


@examples(40)
@given(weighted())
def test_the_readings_carry_the_same_nodes_in_order_of_size(
    world: tuple[Hierarchy, list[Values]],
) -> None:
    hierarchy, lines = world
    values = matrix(hierarchy, lines)
    once, paths, mimic = (aggregated_values(hierarchy, values, one).toarray() for one in READINGS)

    assert np.array_equal(once > 0, paths > 0)
    assert np.array_equal(once > 0, mimic > 0)
    assert (once <= paths).all()
    assert (mimic <= paths).all()


def of(edges: list[tuple[str, str]]) -> Hierarchy:
    frame = pl.DataFrame(edges, schema=["child", "parent"], orient="row")
    return Hierarchy.build(frame, name="made up")


def test_a_diamond_counts_twice_by_paths_and_a_code_hides_its_own_below_by_the_mimic_rule() -> None:
    diamond, sickle = of(DIAMOND), of(SICKLE)
    labels = matrix(sickle, [dict.fromkeys(("282", "282.60", "282.61", "283"), 1.0)])

    top = aggregated_values(diamond, matrix(diamond, [{"leaf": 1.0}]), "paths")[
        0, diamond.index("top")
    ]
    codes = {one: aggregated_values(sickle, labels, one).toarray()[0] for one in READINGS}
    assert top == 2
    assert [codes[one][sickle.index("282")] for one in READINGS] == [3, 3, 1]
    assert [codes[one][sickle.index("blood")] for one in READINGS] == [4, 4, 2]


def test_more_paths_than_a_float_counts_are_refused() -> None:
    edges = [(f"{side}{at}", f"{up}{at + 1}") for at in range(60) for side in "ab" for up in "ab"]

    with pytest.raises(SchemaError, match="paths between two nodes"):
        path_counts(of(edges).edges)


def entropy(*values: float) -> float:
    total = math.fsum(values)
    return math.fsum(-v / total * math.log2(v / total) for v in values if v) if total else 0.0


@pytest.mark.parametrize("reading", READINGS)
def test_the_confusion_of_labels_follows_the_reading(reading: Aggregation) -> None:
    hierarchy = of([*SICKLE, ("fracture", "injury"), ("blood", "all"), ("injury", "all")])
    records = {"1": ["282", "282.60", "283", "fracture"], "2": ["282.61", "fracture"]}
    found = measure(labelled(hierarchy, records), Policy(aggregation=reading)).pairs.frame.collect()
    blood_and_injury = found.filter((pl.col("a") == "blood") & (pl.col("b") == "injury")).row(
        0, named=True
    )

    lines = [dict.fromkeys(labels, 1.0) for labels in records.values()]
    values = [ORACLES[reading](parents_of(hierarchy), line) for line in lines]
    expected = math.fsum(entropy(line["blood"], line["injury"]) for line in values)
    assert blood_and_injury["joint"] == 2
    assert 2 * blood_and_injury["confusion"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("reading", READINGS)
def test_the_confusion_of_scores_follows_the_reading(reading: Aggregation) -> None:
    hierarchy = of([*DIAMOND, ("other", "all"), ("top", "all")])
    line = {"leaf": 0.25, "left": 0.25, "other": 0.5}
    dataset = labelled(hierarchy, {"1": ["leaf"]})
    model = predicted(dataset, {"1": line})
    pairs = measure_model(dataset, model, Policy(aggregation=reading), seed=0).pairs.frame
    table = pairs.filter((pl.col("a") == "other") & (pl.col("b") == "top")).collect()

    values = ORACLES[reading](parents_of(hierarchy), line)
    assert table["confusion"].item() == pytest.approx(entropy(values["other"], values["top"]))


@examples(60)
@given(weighted(), st.sampled_from(("paths", "mimic")), st.data())
def test_entropy_and_answers_at_a_cut_are_of_the_aggregated_values(
    world: tuple[Hierarchy, list[Values]], reading: Aggregation, data: st.DataObject
) -> None:
    hierarchy, lines = world
    chosen = data.draw(st.sets(st.sampled_from(hierarchy.nodes), min_size=1))
    cut = cut_at(hierarchy.closure, np.array(sorted(map(hierarchy.index, chosen)), np.int64))
    values = matrix(hierarchy, lines)
    at_cut = Batch(hierarchy, values, values, aggregation=reading).at(cut)

    parents = parents_of(hierarchy)
    below = set().union(*(plain.at_or_below(parents, node) for node in chosen))
    for row, line in enumerate(lines):
        at = {node: ORACLES[reading](parents, line)[node] for node in sorted(chosen)}
        rest = math.fsum(value for node, value in line.items() if node not in below)
        assert at_cut.entropy[row] == pytest.approx(entropy(*at.values(), rest), abs=1e-12)
        best = max(at.values())
        answer = next(node for node in at if at[node] == best) if best else None
        column = at_cut.answers.column[row]
        assert (hierarchy.nodes[cut.nodes[column]] if column >= 0 else None) == answer
        total = math.fsum((*at.values(), rest))
        assert at_cut.residual_share[row] == pytest.approx(rest / total if total else 0.0)


def test_counts_know_descendants_alone() -> None:
    counts = measure(labelled(of(DIAMOND), {"1": ["leaf"]}), Policy()).counts

    with pytest.raises(InputError, match="aggregated over descendants"):
        measure(counts, Policy(aggregation="paths"))
