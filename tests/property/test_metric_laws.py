"""What holds of every model's metrics on every hierarchy, against plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import (
    Measure,
    On,
    accuracy,
    accuracy_alignment,
    generalised,
    hierarchical_scores,
    mistake_severity,
    set_f1,
    subgraph_preference,
    uncertainty_alignment,
)
from audit.alignment.metrics.model import moves_of
from audit.alignment.metrics.streaming import Row, Stream
from audit.base.dag import Sparse
from audit.base.errors import SchemaError
from audit.engine.scores.cuts import (
    Cut,
    atom_values,
    cut_at,
    depth_cut,
    entropy,
    level_cut,
    normalised,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.metric_list import ALL
from fixtures import brute_force as plain
from fixtures import brute_force_metrics as oracle
from fixtures.examples import examples
from fixtures.strategies import hierarchies

CLOSE = {"rel": 1e-12, "abs": 1e-12}
MODEST = examples(40)


@dataclass(frozen=True)
class Model:
    """What a model says of some instances, as arrays and as dictionaries."""

    hierarchy: Hierarchy
    golds: list[frozenset[str]]
    predicted: list[dict[str, float]]

    @property
    def parents(self) -> dict[str, set[str]]:
        return plain.parents_of(self.hierarchy.nodes, self.hierarchy.edge_frame().iter_rows())

    @property
    def gold(self) -> Sparse:
        return matrix(self.hierarchy, [dict.fromkeys(labels, 1.0) for labels in self.golds])

    @property
    def scores(self) -> Sparse:
        return matrix(self.hierarchy, self.predicted)

    def rows(self, chosen: Sequence[int]) -> Batch:
        units = [f"unit {i % 4}" for i in chosen]
        part = list(chosen)
        return Batch(self.hierarchy, self.gold[part], self.scores[part], units)

    def __len__(self) -> int:
        return len(self.golds)


def matrix(hierarchy: Hierarchy, lines: Sequence[Mapping[str, float]]) -> Sparse:
    """Canonical CSR."""
    rows = [[(hierarchy.index(node), value) for node, value in line.items()] for line in lines]
    entries = [sorted(row) for row in rows]
    indptr = np.cumsum([0, *map(len, entries)])
    flat = [entry for row in entries for entry in row]
    data = np.array([value for _, value in flat], np.float64)
    indices = np.array([index for index, _ in flat], np.int64)
    return csr_array((data, indices, indptr), shape=(len(lines), len(hierarchy)))


@st.composite
def models(
    draw: st.DrawFn, drawn: st.SearchStrategy[Hierarchy] | None = None, min_size: int = 0
) -> Model:
    """Scores are 64ths above 0, so that sums are exact and ties are ties."""
    hierarchy = draw(hierarchies(titled=False) if drawn is None else drawn)
    node = st.sampled_from(hierarchy.nodes)
    score = st.integers(1, 64).map(lambda k: k / 64)
    line = st.tuples(st.frozensets(node, max_size=2), st.dictionaries(node, score, max_size=5))
    lines = draw(st.lists(line, min_size=min_size, max_size=7))
    return Model(hierarchy, [gold for gold, _ in lines], [scores for _, scores in lines])


def at_depth(hierarchy: Hierarchy, at: int) -> Cut:
    return depth_cut(hierarchy.closure, hierarchy.depth, hierarchy.leaf, at)


def both_cuts(hierarchy: Hierarchy) -> list[tuple[Cut, set[str]]]:
    """Every depth cut and every level cut, as arrays and in plain Python."""
    parents = plain.parents_of(hierarchy.nodes, hierarchy.edge_frame().iter_rows())
    depths = range(int(hierarchy.depth.max()) + 1)
    levels = range(1, int(hierarchy.level.max()) + 1)
    return [(at_depth(hierarchy, d), oracle.depth_cut(parents, d)) for d in depths] + [
        (level_cut(hierarchy.closure, hierarchy.level, at), oracle.level_cut(parents, at))
        for at in levels
        if at in hierarchy.level
    ]


def whole(
    measure: Measure, hierarchy: Hierarchy, gold: Sparse | None, scores: Sparse
) -> dict[str, Row]:
    """The rows of one metric on whole arrays, by name."""
    stream = Stream(hierarchy, [measure], replicates=0)
    stream.update(Batch(hierarchy, csr_array(scores.shape) if gold is None else gold, scores))
    return {row["name"]: row for row in stream.compute()}


def same(found: Mapping[str, Row], wanted: Mapping[str, oracle.Share]) -> None:
    assert set(found) == set(wanted)
    for name, (value, n) in wanted.items():
        assert found[name]["n"] == n, name
        assert (found[name]["value"] is None) == (value is None), name
        if value is not None:
            assert found[name]["value"] == pytest.approx(value, **CLOSE), name


# --- cuts ------------------------------------------------------------------------------------


@MODEST
@given(models())
def test_cuts_and_their_atoms_equal_plain_python(model: Model) -> None:
    nodes = np.array(model.hierarchy.nodes, object)
    for cut, wanted in both_cuts(model.hierarchy):
        assert set(nodes[cut.nodes]) == wanted
        sets = [frozenset(nodes[cut.atoms[[i]].indices]) for i in range(cut.atoms.shape[0])]
        assert [sets[i] for i in cut.atom_of] == [
            oracle.cut_above(model.parents, wanted, node) for node in model.hierarchy.nodes
        ]
        assert len(set(sets)) == len(sets)
        assert cut.residual == (sets.index(frozenset()) if frozenset() in sets else -1)
        mass = normalised(atom_values(model.scores, cut))
        for line, scores in zip(mass.toarray().tolist(), model.predicted, strict=True):
            expected = oracle.atom_mass(model.parents, wanted, scores)
            assert line == pytest.approx([expected.get(s, 0.0) for s in sets], **CLOSE)
        assert entropy(mass).tolist() == pytest.approx(
            [
                oracle.entropy(oracle.atom_mass(model.parents, wanted, scores))
                for scores in model.predicted
            ],
            **CLOSE,
        )


@MODEST
@given(hierarchies(titled=False))
def test_a_depth_cut_is_an_antichain_above_every_leaf(hierarchy: Hierarchy) -> None:
    for at in range(int(hierarchy.depth.max()) + 1):
        cut = at_depth(hierarchy, at)
        above = hierarchy.closure.toarray()[:, cut.nodes]

        assert (above[cut.nodes].sum(axis=1) == 1).all()
        assert (above[hierarchy.leaf].sum(axis=1) >= 1).all()


@MODEST
@given(models(), st.data())
def test_entropy_of_atoms_never_rises_when_a_partition_is_coarsened(
    model: Model, data: st.DataObject
) -> None:
    everyone = range(len(model.hierarchy))
    fine = data.draw(st.sets(st.sampled_from(everyone), min_size=1))
    coarse = data.draw(st.sets(st.sampled_from(sorted(fine)), min_size=1))
    below, above = (
        entropy(
            normalised(
                atom_values(model.scores, cut_at(model.hierarchy.closure, np.array(sorted(nodes))))
            )
        )
        for nodes in (fine, coarse)
    )

    assert (above <= below + 1e-12).all()


# --- each metric against plain Python ----------------------------------------------------------


@MODEST
@given(models())
def test_accuracy_and_its_alignment_equal_plain_python(model: Model) -> None:
    cuts = both_cuts(model.hierarchy)
    parents, golds, predicted = model.parents, model.golds, model.predicted
    arrays = (model.hierarchy, model.gold, model.scores)
    for cut, nodes in cuts:
        same(whole(accuracy(cut), *arrays), oracle.accuracy(parents, nodes, golds, predicted))
    for (coarse, up), (fine, down) in pairwise(cuts):
        same(
            whole(accuracy_alignment(fine, coarse), *arrays),
            oracle.accuracy_alignment(parents, down, up, golds, predicted),
        )


@MODEST
@given(models())
def test_uncertainty_equals_plain_python(model: Model) -> None:
    for (coarse, up), (fine, down) in pairwise(both_cuts(model.hierarchy)):
        same(
            whole(uncertainty_alignment(fine, coarse), model.hierarchy, None, model.scores),
            oracle.uncertainty_alignment(model.parents, down, up, model.predicted),
        )


@MODEST
@given(models())
def test_severity_equals_plain_python(model: Model) -> None:
    same(
        whole(mistake_severity(), model.hierarchy, model.gold, model.scores),
        oracle.mistake_severity(model.parents, model.golds, model.predicted),
    )


@MODEST
@given(models(), st.sampled_from(["micro", "macro"]), st.sampled_from([None, 0.25, 0.5]))
def test_hierarchical_scores_equal_plain_python(
    model: Model, average: str, threshold: float | None
) -> None:
    def decided(line: Mapping[str, float]) -> set[str]:
        if threshold is None:
            return {node for node in [oracle.best_node(line)] if node is not None}
        return {node for node, score in line.items() if score >= threshold}

    same(
        whole(hierarchical_scores(threshold)[average], model.hierarchy, model.gold, model.scores),
        oracle.hierarchical(
            model.parents, model.golds, [decided(line) for line in model.predicted], average
        ),
    )


@MODEST
@given(models())
def test_f1_of_sets_equals_plain_python_as_given_one_level_up_and_by_branch(model: Model) -> None:
    decided = [{node for node, s in line.items() if s >= 0.5} for line in model.predicted]
    for parameters, stands_for in generalised(model.hierarchy):
        up = parameters.get("up")
        same(
            whole(set_f1(stands_for, 0.5, parameters), model.hierarchy, model.gold, model.scores),
            oracle.set_f1(model.parents, model.golds, decided, up),
        )


@MODEST
@given(models(), st.sampled_from(["values", "aggregated"]), st.data())
def test_preference_equals_plain_python(model: Model, on: On, data: st.DataObject) -> None:
    hierarchy, parents = model.hierarchy, model.parents
    node = st.sampled_from(hierarchy.nodes)
    first, second = (data.draw(st.frozensets(node, max_size=3)) for _ in range(2))
    sides = [np.array(sorted(map(hierarchy.index, side)), np.int64) for side in (first, second)]
    nested = any(
        a in plain.above(parents, b) or b in plain.above(parents, a)
        for a in first
        for b in second - first
    )
    if on == "aggregated" and nested:
        with pytest.raises(SchemaError, match="ancestor"):
            whole(subgraph_preference(*sides, on=on), hierarchy, None, model.scores)
        return
    same(
        whole(subgraph_preference(*sides, on=on), hierarchy, None, model.scores),
        oracle.subgraph_preference(parents, model.predicted, first, second, on == "aggregated"),
    )


# --- laws --------------------------------------------------------------------------------------


def every_measure(hierarchy: Hierarchy) -> list[Measure]:
    deepest = int(hierarchy.depth.max())
    cuts = [at_depth(hierarchy, at) for at in range(deepest + 1)]
    found: list[Measure] = [accuracy(cut) for cut in cuts]
    for fine, coarse in moves_of(hierarchy, "depth")[2]:
        found.append(accuracy_alignment(cuts[fine], cuts[coarse]))
        found.append(uncertainty_alignment(cuts[fine], cuts[coarse]))
    return [
        *found,
        hierarchical_scores(0.5)["micro"],
        hierarchical_scores(None)["macro"],
        mistake_severity(),
    ]


def streamed(model: Model, batches: Sequence[Sequence[int]], merged: bool) -> list[Row]:
    """One stream over batches, or one stream a batch, merged from the last to the first."""
    measures = every_measure(model.hierarchy)
    scopes = (ALL, *model.hierarchy.nodes[:3])
    streams = [Stream(model.hierarchy, measures, scopes, seed=7, replicates=9) for _ in batches]
    for stream, batch in zip(streams, batches, strict=True):
        (stream if merged else streams[0]).update(model.rows(batch))
    for other in reversed(streams[1:]):
        streams[0].merge(other)
    return streams[0].compute()


COUNTED = ("accuracy", "accuracy_alignment", "recovered", "lost", "ties", "mistake_severity")


@MODEST
@given(models(min_size=1), st.data(), st.booleans())
def test_batches_in_any_order_and_merged_in_any_order_equal_one_pass(
    model: Model, data: st.DataObject, merged: bool
) -> None:
    order = data.draw(st.permutations(range(len(model))))
    size = data.draw(st.integers(1, len(model)))
    batches = [order[start : start + size] for start in range(0, len(model), size)]
    whole = streamed(model, [range(len(model))], merged=False)
    for found, wanted in zip(streamed(model, batches, merged), whole, strict=True):
        assert all(found[of] == wanted[of] for of in ("name", "scope", "n"))
        for bound in ("value", "low", "high"):
            here, there = found[bound], wanted[bound]
            if found["name"] in COUNTED or there is None:
                assert here == there, found["name"]
            else:
                assert here == pytest.approx(there, **CLOSE), found["name"]


@MODEST
@given(models(min_size=1))
def test_a_scope_is_the_metric_of_its_instances(model: Model) -> None:
    measures = every_measure(model.hierarchy)
    stream = Stream(model.hierarchy, measures, model.hierarchy.nodes, replicates=0)
    everyone = range(len(model))
    stream.update(model.rows(everyone))
    for node in model.hierarchy.nodes:
        below = plain.at_or_below(model.parents, node)
        own = Stream(model.hierarchy, measures, replicates=0)
        own.update(model.rows([i for i in everyone if model.golds[i] & below]))
        found = [row for row in stream.compute() if row["scope"] == node]
        for left, right in zip(found, own.compute(), strict=True):
            assert (left["name"], left["n"]) == (right["name"], right["n"])
            assert left["value"] == (right["value"] and pytest.approx(right["value"], **CLOSE))


@MODEST
@given(models(), st.randoms(use_true_random=False))
def test_relabelling_nodes_changes_no_metric_but_through_ties(
    model: Model, chance: np.random.Generator
) -> None:
    old = list(model.hierarchy.nodes)
    new = [f"{i:03d}" for i in range(len(old))]
    chance.shuffle(new)
    name = dict(zip(old, new, strict=True))
    edges = [(name[c], name[p]) for c, p in model.hierarchy.edge_frame().iter_rows()]
    schema = {"child": pl.String, "parent": pl.String}
    hierarchy = Hierarchy.build(
        pl.DataFrame(edges, schema=schema, orient="row"), pl.DataFrame({"node": new}), name="new"
    )
    other = Model(
        hierarchy,
        [frozenset(name[node] for node in gold) for gold in model.golds],
        [{name[node]: s for node, s in line.items()} for line in model.predicted],
    )
    everyone = range(len(model))
    untied = [i for i in everyone if not _any_tie(model, i)]
    left, right = (streamed(each, [untied], merged=False) for each in (model, other))
    for mine, theirs in zip(left, right, strict=True):
        if mine["scope"] == ALL:
            assert (mine["name"], mine["n"]) == (theirs["name"], theirs["n"])
            assert mine["value"] == (theirs["value"] and pytest.approx(theirs["value"], **CLOSE))


def _any_tie(model: Model, instance: int) -> bool:
    line = model.predicted[instance]
    cuts = [nodes for _, nodes in both_cuts(model.hierarchy)]
    own = sorted(line.values())[-2:]
    return len(set(own)) < len(own) or any(
        oracle.answer(model.parents, nodes, line)[1] for nodes in cuts
    )
