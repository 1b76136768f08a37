"""The instances that a run keeps: queries, pages, and the tree of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import subgraph_preference
from audit.base.dag import BoolArray, IntArray, Sparse
from audit.engine.scores.cuts import decide
from audit.engine.statistics.association import ratio
from audit.explorer.run.paged_tables import Page, Row, Span
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult
from audit.runs.case_lists import BEHAVIOUR
from audit.runs.instances import in_id_order, instance_tree, instance_view, kept_labels, records

LEAST = 0.01
"""Share of the root below which a node is left out of the tree."""


@dataclass(frozen=True, slots=True)
class InstanceQuery:
    """Which instances, and in which order.

    Args:
        behaviour: Of which the model shows this kind of behaviour.
        nodes: That carry all of these nodes, or labels below them.
        predicted: That the model predicts all of these for, or nodes below them.
        outcome: ``right`` (all hits), ``missed`` (a label not predicted), ``false`` (a prediction
            that is not a label), ``right_branch`` (a missed and a false node in one branch); empty
            for any.
        first: A subgraph whose highest score, of these nodes and all below them, is compared with
            that of ``second`` (equation 3); empty for no comparison.
        second: The other subgraph, of which nodes of the first are no part.
        side: ``first``, ``second`` or ``tied``: which has the higher; empty for any compared.
        mass: Each of these nodes, with those below it, has at least the share ``least`` of the
            scores.
        order: ``id``, ``labels`` (most first), ``misaligned`` (most misses and false answers
            first).
    """

    finding: str = ""
    nodes: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    outcome: str = ""
    order: str = "id"
    behaviour: str = ""
    mass: tuple[str, ...] = ()
    least: float = 0.1
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    side: str = ""


SIDES = ("first", "second", "tied")
"""What an instance prefers of two subgraphs."""


class InstanceList:
    """The instances of a run that keeps them, in the order of their ids."""

    def __init__(self, result: AuditResult, hierarchy: Hierarchy) -> None:
        assert result.instances is not None, "the run keeps its instances"
        self._result, self.hierarchy = result, hierarchy
        self._rows = in_id_order(result.instances.sort("node")).collect()
        self._ids = self._rows["instance"].unique(maintain_order=True)
        self._last: tuple[InstanceQuery, IntArray] | None = None

    def page(self, query: InstanceQuery, span: Span) -> Page:
        """Rows of the instances of a query."""
        order = self._ordered(query)
        return Page(self._summary[order[span.rows]].to_dicts(), len(order))

    def view(self, instance: str) -> Row | None:
        """The tree of an instance, and the ids of the findings that it is behind.

        None if it has no labels, no predictions, and is behind no finding.
        """
        rows = self._rows.filter(pl.col("instance") == instance)
        findings = self._findings_of(instance)
        if rows.is_empty() and not findings:
            return None
        tree = instance_tree(rows, self.hierarchy, self._result)
        view = instance_view(tree, instance, LEAST)
        group = rows["group"].first() if len(rows) else None
        return {**view, "group": group, "findings": findings}

    def records(self, rows: Sequence[Row], nodes: Sequence[str]) -> Sequence[Row]:
        """Rows of instances with their labels at or below some nodes, and their others."""
        ids = pl.Series([row["instance"] for row in rows], dtype=pl.String)
        kept = kept_labels(self._result, ids)
        return records(ids, kept, nodes, self.hierarchy, self._result).to_dicts()

    def neighbours(self, instance: str, query: InstanceQuery) -> tuple[str | None, str | None]:
        """The instances before and after one; None at the ends, or if the query lacks it."""
        order = self._ordered(query)
        at = self._ids.index_of(instance)
        places = np.flatnonzero(order == at) if at is not None else np.array([])
        if not len(places):
            return None, None
        place = int(places[0])
        before = self._ids[int(order[place - 1])] if place else None
        return before, self._ids[int(order[place + 1])] if place + 1 < len(order) else None

    def _findings_of(self, instance: str) -> list[str]:
        if self._result.cases is None:
            return []
        behind = self._result.cases.filter(pl.col("instance") == instance)
        return behind.select(pl.col("finding").cast(pl.String)).collect().to_series().to_list()

    def _ordered(self, query: InstanceQuery) -> IntArray:
        """Places of the instances of a query, in its order; those of the last query are kept."""
        if self._last is None or self._last[0] != query:
            self._last = query, self._places(query)
        return self._last[1]

    def _places(self, query: InstanceQuery) -> IntArray:
        kept = np.ones(len(self._ids), bool)
        if query.finding:
            kept &= self._behind(query.finding)
        if query.behaviour:
            kept &= self._behind(BEHAVIOUR + query.behaviour)
        for node in query.nodes:
            kept &= self._reaching(self._labels, node)
        for node in query.predicted:
            kept &= self._reaching(self._answers, node)
        for node in query.mass:
            share = ratio(self._scores @ self._below(node), self._scores.sum(axis=1))
            kept &= share >= query.least * (1 - 1e-9)
        if query.first and query.second:
            compared = self.preferred(query.first, query.second)
            kept &= compared == SIDES.index(query.side) if query.side else compared >= 0
        if query.outcome:
            kept &= self._outcome(query.outcome)
        places = np.flatnonzero(kept)
        return places[np.argsort(-self._weight(query.order)[places], kind="stable")]

    def _weight(self, order: str) -> IntArray:
        """What instances are ordered by, the largest first; ties stay in the order of ids."""
        if order == "labels":
            return self._summary["labels"].to_numpy()
        if order == "misaligned":
            return (self._summary["misses"] + self._summary["false"]).to_numpy()
        return np.zeros(len(self._ids), np.int64)

    def _behind(self, finding: str) -> BoolArray:
        if self._result.cases is None:
            return np.zeros(len(self._ids), bool)
        cases = self._result.cases.filter(pl.col("finding").cast(pl.String) == finding)
        behind = cases.select("instance").collect().to_series()
        return self._ids.is_in(behind.implode()).to_numpy()

    def _reaching(self, values: Sparse, node: str) -> BoolArray:
        """Whether an instance has a value at or below a node."""
        return np.asarray(values @ self._below(node) > 0)

    def preferred(self, first: tuple[str, ...], second: tuple[str, ...]) -> IntArray:
        """Number in `SIDES` of what each instance prefers; -1 without scores on either side."""
        one, other = (np.flatnonzero(sum(map(self._below, nodes))) for nodes in (first, second))
        batch = Batch(self.hierarchy, self._labels, self._scores)
        compared, won, tied = subgraph_preference(one, other).of_batch(batch)
        return np.where(~compared, -1, np.where(won, 0, np.where(tied, 2, 1)))

    def _below(self, node: str) -> IntArray:
        """1 at or below a node, which the hierarchy may lack."""
        below = np.zeros(len(self.hierarchy), np.int64)
        if node in self.hierarchy:
            there = self.hierarchy.descendants(node, with_self=True)
            below[[self.hierarchy.index(one) for one in there]] = 1
        return below

    def _outcome(self, outcome: str) -> BoolArray:
        hits, misses, false = (
            self._summary[name].to_numpy() for name in ("hits", "misses", "false")
        )
        if outcome == "right":
            return np.asarray((misses == 0) & (false == 0) & (hits > 0))
        if outcome == "missed":
            return np.asarray(misses > 0)
        if outcome == "false":
            return np.asarray(false > 0)
        return self._right_branch

    @cached_property
    def _right_branch(self) -> BoolArray:
        """Whether an instance has a missed and a false node in one branch."""
        branch = self.hierarchy.first_branch
        missed = _in_branches(self._labels - self._labels.multiply(self._answers), branch)
        false = _in_branches(self._answers - self._answers.multiply(self._labels), branch)
        return np.asarray(missed.multiply(false).sum(axis=1) > 0).ravel()

    @cached_property
    def _numbers(self) -> tuple[IntArray, IntArray]:
        """Place of the instance and of the node of each row."""
        places = self._rows.select(pl.col("instance").rle_id()).to_series().to_numpy()
        index = pl.Series(self.hierarchy.nodes, dtype=pl.String)
        known = pl.DataFrame({"node": index, "at": np.arange(len(index))})
        at = self._rows.select("node").join(known, on="node", how="left", maintain_order="left")
        return places.astype(np.int64), at["at"].to_numpy().astype(np.int64)

    def _matrix(self, column: str) -> Sparse:
        rows, nodes = self._numbers
        values = self._rows[column].fill_null(0).to_numpy()
        made = csr_array((values, (rows, nodes)), shape=(len(self._ids), len(self.hierarchy)))
        made.eliminate_zeros()
        return made

    @cached_property
    def _labels(self) -> Sparse:
        return csr_array(self._matrix("label").astype(np.int64))

    @cached_property
    def _scores(self) -> Sparse:
        return csr_array(self._matrix("score").astype(np.float64))

    @cached_property
    def _answers(self) -> Sparse:
        """Predicted nodes, 0 or 1."""
        predictions = self._result.ledger["predictions"]
        if predictions is None:
            return csr_array(self._labels.shape, dtype=np.int64)
        decided = decide(
            self._scores,
            float(predictions["decision_threshold"]),
            single_label=bool(predictions["single_label"]),
        )
        return csr_array((decided > 0).astype(np.int64))

    @cached_property
    def _summary(self) -> pl.DataFrame:
        """``instance, labels, predicted, hits, misses, false`` of each instance, by its nodes."""
        labels, predicted = (m.sum(axis=1) for m in (self._labels, self._answers))
        hits = self._labels.multiply(self._answers).sum(axis=1)
        return pl.DataFrame(
            {
                "instance": self._ids,
                "labels": labels,
                "predicted": predicted,
                "hits": hits,
                "misses": labels - hits,
                "false": predicted - hits,
            }
        )


def _in_branches(values: Sparse, branch: IntArray) -> Sparse:
    """Number of values of each instance in each branch; a node of several counts in its first."""
    n = len(branch)
    there = np.flatnonzero(branch >= 0)
    to = csr_array((np.ones(len(there), np.int64), (there, branch[there])), shape=(n, n))
    return csr_array(values @ to)
