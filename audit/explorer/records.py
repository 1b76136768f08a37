"""The records that a run keeps: a table that questions are put to, and the tree of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.measures import subgraph_preference
from audit.base.dag import BoolArray, IntArray, Sparse
from audit.base.declared import Columns, text, whole
from audit.engine.scores.cuts import decide
from audit.engine.statistics.association import ratio
from audit.explorer.rows import Stored
from audit.explorer.tables import NotThereError, Shown, index_of, number_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult
from audit.runs.case_lists import BEHAVIOUR
from audit.runs.instances import in_id_order, instance_tree, instance_view, kept_labels, records
from reports.words import Row

LEAST = 0.01
"""Share of the root below which a node is left out of the tree."""
MASS = "0.1"
"""Least share of the scores that nodes with mass have, where an address states none."""
COLUMNS = Columns(
    text("instance group", "Record|Group"),
    whole(
        "labels answers hits misses false mistakes",
        "Labels|Answers|Labels answered|Labels missed|False answers|Mistakes",
    ),
)
CODES = {
    "nodes": "Labelled at or below",
    "unlabelled": "Not labelled at or below",
    "predicted": "Answered at or below",
    "unpredicted": "Not answered at or below",
    "mass": "Share of scores at or below each",
    "first": "First subgraph",
    "second": "Second subgraph",
}
"""Questions about nodes: codes with commas."""
OUTCOMES = {
    "right": "every label answered, and nothing else",
    "missed": "a label missed",
    "false": "a false answer",
    "right_branch": "the right branch, the wrong node",
}
"""What became of a record; each a column of what is known of it."""
SIDES = ("first", "second", "tied")
"""Which of two subgraphs an instance prefers (equation 3)."""
ASKED = (*CODES, "least", "outcome", "behaviour", "finding", "side")
"""What the records can be asked beside their columns."""


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a run that keeps them, in the order of their ids."""

    result: AuditResult
    hierarchy: Hierarchy

    def table(self, asked: Mapping[str, str]) -> Shown:
        """The table of the records that pass the filters of an address, in the order of ids."""
        there = self._summary.filter(pl.Series(self.chosen(asked)))
        has_model = self.result.ledger["predictions"] is not None
        own = COLUMNS if has_model else Columns([*COLUMNS.values()][:3])
        return Shown("records", own, Stored(there.lazy().select(*own)), "Records", "a record")

    def chosen(self, asked: Mapping[str, str]) -> BoolArray:
        """Which records an address asks for, shape (n_records,)."""
        kept = np.ones(len(self.ids), bool)
        told = {name: self._known_nodes(asked.get(name, "")) for name in CODES}
        for name, values in (("labelled", self._labels), ("predicted", self._answers)):
            there = "nodes" if name == "labelled" else name
            for node in told[there]:
                kept &= values @ self._below(node) > 0
            for node in told[f"un{name}"]:
                kept &= values @ self._below(node) == 0
        least = number_of(asked.get("least") or MASS)
        if not 0 < least <= 1:
            raise NotThereError(f"A share is above 0 and at most 1, such as 0.1; found {least}.")
        for node in told["mass"]:
            share = ratio(self._scores @ self._below(node), self._scores.sum(axis=1))
            kept &= share >= least * (1 - 1e-9)
        if told["first"] and told["second"]:
            sides, side = self.preferred(told["first"], told["second"]), asked.get("side")
            kept &= sides == SIDES.index(side) if side in SIDES else sides >= 0
        if behaviour := asked.get("behaviour"):
            kept &= self._behind(BEHAVIOUR + behaviour)
        if finding := asked.get("finding"):
            kept &= self._behind(finding)
        if outcome := asked.get("outcome"):
            if outcome not in OUTCOMES:
                raise NotThereError(f"There is no outcome {outcome}: {', '.join(OUTCOMES)}.")
            kept &= self._summary[f"is_{outcome}"].to_numpy()
        return kept

    def preferred(self, first: Sequence[str], second: Sequence[str]) -> IntArray:
        """Number in `SIDES` of what each instance prefers; -1 without scores on either side."""
        one, other = (np.flatnonzero(sum(map(self._below, nodes))) for nodes in (first, second))
        batch = Batch(self.hierarchy, self._labels, self._scores)
        compared, won, tied = subgraph_preference(one, other).of_batch(batch)
        return np.where(~compared, -1, np.where(won, 0, np.where(tied, 2, 1)))

    def sides(self, asked: Mapping[str, str]) -> list[int] | None:
        """How many prefer the first, the second, tie, are left out; None without two subgraphs."""
        first, second = (self._known_nodes(asked.get(name, "")) for name in ("first", "second"))
        if not (first and second):
            return None
        found = self.preferred(first, second)
        return [int((found == place).sum()) for place in (0, 1, 2, -1)]

    def view(self, record: str) -> Row | None:
        """The tree of a record; None if it has no labels and no predictions."""
        rows = self._rows.filter(pl.col("instance") == record)
        if rows.is_empty():
            return None
        tree = instance_tree(rows, self.hierarchy, self.result)
        return {**instance_view(tree, record, LEAST), "group": rows["group"].first()}

    def told(self, ids: pl.Series, nodes: Sequence[str]) -> pl.DataFrame:
        """A row for each id: its labels at or below some nodes, and its others."""
        kept = kept_labels(self.result, ids)
        return records(ids, kept, nodes, self.hierarchy, self.result)

    @cached_property
    def ids(self) -> pl.Series:
        """The ids of all records."""
        return self._rows["instance"].unique(maintain_order=True)

    def _known_nodes(self, codes: str) -> list[str]:
        """Codes with commas as a list; NotThereError for one that the hierarchy lacks."""
        named = [one.strip() for one in codes.split(",") if one.strip()]
        for one in named:
            index_of(one, self.hierarchy)
        return named

    def _below(self, node: str) -> IntArray:
        """1 for each node at or below one, else 0, shape (n_nodes,)."""
        at = self.hierarchy.index(node)
        return np.asarray(self.hierarchy.below[[at]].toarray()[0], np.int64)

    def _behind(self, finding: str) -> BoolArray:
        """Which records are behind a finding or a behaviour; none if the run has no cases."""
        cases = self.result.cases
        if cases is None:
            return np.zeros(len(self.ids), bool)
        behind = cases.filter(pl.col("finding").cast(pl.String) == finding).select("instance")
        return self.ids.is_in(behind.collect()["instance"].implode()).to_numpy()

    def _branches(self, values: Sparse) -> Sparse:
        """Values of each record in each branch; a node of several counts in its first."""
        branch = self.hierarchy.first_branch
        there = np.flatnonzero(branch >= 0)
        ones = np.ones(len(there), np.int64)
        to = csr_array((ones, (there, branch[there])), shape=(len(branch), len(branch)))
        return csr_array(values @ to)

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """Kept rows ``instance, node, label, score, group``, in the order of ids, then nodes."""
        assert self.result.instances is not None, "the run keeps its instances"
        return in_id_order(self.result.instances.sort("node")).collect()

    def _matrix(self, column: str) -> Sparse:
        """The column of the kept rows as a matrix of records by nodes, null as 0."""
        rows = self._rows.select(pl.col("instance").rle_id()).to_series().to_numpy()
        names = pl.Enum(self.hierarchy.nodes)
        nodes = self._rows["node"].cast(names).to_physical().to_numpy().astype(np.int64)
        values = self._rows[column].fill_null(0).to_numpy()
        shape = (len(self.ids), len(self.hierarchy))
        made = csr_array((values, (rows.astype(np.int64), nodes)), shape=shape)
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
        predictions = self.result.ledger["predictions"]
        if predictions is None:
            return csr_array(self._labels.shape, dtype=np.int64)
        least, single = predictions["decision_threshold"], predictions["single_label"]
        decided = decide(self._scores, float(least), single_label=bool(single))
        return csr_array((decided > 0).astype(np.int64))

    @cached_property
    def _summary(self) -> pl.DataFrame:
        """A row a record: the columns of `COLUMNS`, and whether each of `OUTCOMES` is its own."""
        both = self._labels.multiply(self._answers)
        labels, answers, hits = (m.sum(axis=1) for m in (self._labels, self._answers, both))
        counted = {"labels": labels, "answers": answers, "hits": hits}
        counted |= {"misses": labels - hits, "false": answers - hits}
        missed, false = (self._branches(of - both) for of in (self._labels, self._answers))
        group = self._rows.group_by("instance", maintain_order=True).agg(pl.col("group").first())
        return group.with_columns(
            *(pl.Series(name, values, pl.Int64) for name, values in counted.items()),
            pl.Series("is_right_branch", np.asarray(missed.multiply(false).sum(axis=1) > 0)),
        ).with_columns(
            mistakes=pl.col("misses") + pl.col("false"),
            is_right=(pl.col("hits") > 0) & (pl.col("misses") + pl.col("false") == 0),
            is_missed=pl.col("misses") > 0,
            is_false=pl.col("false") > 0,
        )
