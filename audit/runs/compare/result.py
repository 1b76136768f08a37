"""The result of a comparison, and the view of it that may be shared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import polars as pl

from audit.alignment.metrics.streaming import ALL
from audit.disclosure import is_small, shown_change, shown_count, withheld_last
from audit.results.result import AuditResult
from audit.results.shared_metrics import NET, SHARES, shared_metrics
from audit.runs.compare.causes import Cause
from audit.runs.compare.counts import terms
from audit.runs.compare.edits import EDITS, Release
from audit.runs.compare.finding_changes import CheckChange
from audit.runs.compare.model_changes import ModelChanges
from audit.runs.compare.node_changes import NodeChanges
from audit.runs.compare.pair_changes import PairChanges
from audit.runs.compare.shared_view import SHOWN, SharedView

_Row = dict[str, Any]
_HIDDEN: _Row = dict.fromkeys(("new", "difference", "low", "high"))


class SharedModel:
    """Builder of the part of a comparison on models that may be shared."""

    def __init__(
        self, old: AuditResult, new: AuditResult, changes: ModelChanges, min_cell: int
    ) -> None:
        self._runs, self._changes, self._min_cell = (old, new), changes, min_cell
        self._matched = _matched(old), _matched(new)

    def view(self) -> _Row:
        """The content of ``model`` in ``comparison.json``."""
        changes = self._changes
        all_of_them = changes.metrics.filter(pl.col("scope") == ALL)
        return {
            "predictions": changes.predictions,
            "interval": changes.interval,
            "common": changes.common,
            "scores_differ": self._part(changes.scores_differ),
            "answers_differ": self._part(changes.answers_differ),
            "metrics": {
                "total": len(all_of_them),
                "changed": changes.metrics_in_all_changed,
                "rows": self._metrics(list(all_of_them.iter_rows(named=True))),
            },
            "confusions": {
                "family": changes.family,
                "changed": len(changes.confusions_changed),
                "rows": self._confusions(),
            },
        }

    def _part(self, count: int | None) -> int | str | None:
        """A count among the instances that both runs have."""
        if count is None:
            return None
        return shown_count(count, [self._changes.common or 0], self._min_cell)

    def _metrics(self, rows: list[_Row]) -> list[_Row]:
        old, new = (self._of_run(rows, when) for when in ("old", "new"))
        shown = [
            self._metric(row, before, after)
            for row, before, after in zip(rows, old, new, strict=True)
        ]
        torn = {_move(row) for row in shown if row["name"] in NET and _withheld(row)}
        return [
            {**row, **_HIDDEN} if row["name"] in NET and _move(row) in torn else row
            for row in shown
        ]

    def _of_run(self, rows: list[_Row], when: str) -> list[_Row]:
        """The metrics of one run as its own report would show them."""
        metrics = [
            {
                "name": row["name"],
                "scope": row["scope"],
                "parameters": json.loads(row["parameters"]),
                "value": row[when],
                "n": row[f"n_{when}"] or 0,
            }
            for row in rows
        ]
        return shared_metrics(metrics, self._min_cell)

    def _metric(self, row: _Row, old: Mapping[str, Any], new: Mapping[str, Any]) -> _Row:
        n_old, n_new = row["n_old"], row["n_new"]
        sizes = n_old, n_new
        if n_old is not None and n_new is not None:
            sizes = shown_change(n_old, n_new, *self._matched, self._min_cell)
            alone = _bound(old["n"], n_old), _bound(new["n"], n_new)
            sizes = sizes if all(isinstance(n, int) for n in alone) else alone
        shown = {
            "name": row["name"],
            "parameters": json.loads(row["parameters"]),
            "old": old["value"],
            "new": new["value"],
            **{name: row[name] for name in ("difference", "low", "high")},
            "n_old": sizes[0],
            "n_new": sizes[1],
        }
        torn = any(row[when] is not None and shown[when] is None for when in ("old", "new"))
        hidden = torn or (row["name"] in SHARES and self._tells_few(row, sizes))
        return {**shown, **_HIDDEN} if hidden else shown

    def _tells_few(self, row: _Row, sizes: tuple[Any, Any]) -> bool:
        """Whether two shares tell a small difference of the counts that they are made of."""
        if any(isinstance(n, str) for n in sizes):
            return True
        if row["difference"] is None:
            return False
        counts = [round(row[when] * row[f"n_{when}"]) for when in ("old", "new")]
        return is_small(abs(counts[1] - counts[0]), self._min_cell)

    def _confusions(self) -> list[_Row]:
        changes = self._changes
        tested = changes.interval == "paired"
        rows = (changes.confusions_changed if tested else changes.confusions).head(SHOWN)
        few = self._labelled_by_few(rows)
        shown = (
            self._confusion(row, hidden=(row["a"], row["b"]) in few)
            for row in rows.iter_rows(named=True)
        )
        return withheld_last(shown, "difference", "a", "b")

    def _confusion(self, row: _Row, *, hidden: bool) -> _Row:
        counts = row["co_predicted_old"], row["co_predicted_new"]
        shown = shown_change(*counts, *self._matched, self._min_cell)
        hidden = hidden or any(isinstance(count, str) for count in shown)
        titles = {**self._runs[0].titles, **self._runs[1].titles}
        names = ("old", "new", "difference", "low", "high", "p_value", "q_value")
        return {
            "a": row["a"],
            "title_a": titles.get(row["a"]),
            "b": row["b"],
            "title_b": titles.get(row["b"]),
            **{name: None if hidden else row[name] for name in names},
        }

    def _labelled_by_few(self, rows: pl.DataFrame) -> set[tuple[str, str]]:
        """Pairs of labels that so few instances carry that no number of theirs is shown."""
        few: set[tuple[str, str]] = set()
        for run in self._runs:
            joint = run.pairs.select("a", "b", "joint").join(
                rows.lazy().select("a", "b"), on=["a", "b"], how="semi"
            )
            supports = dict(run.nodes.select("node", "support").iter_rows())
            for a, b, count in joint.collect().iter_rows():
                shown = shown_count(count, [supports[a], supports[b]], self._min_cell)
                few |= {(a, b)} if isinstance(shown, str) else set()
        return few


def _bound(shown: int | str | None, n: int) -> int | str:
    """What a run shows of a number, and that it is none or some where that is withheld."""
    return (">0" if n else 0) if shown is None else shown


def _matched(run: AuditResult) -> int:
    predictions = run.ledger["predictions"]
    return 0 if predictions is None else int(predictions["instances_matched"])


def _move(row: Mapping[str, Any]) -> str:
    return json.dumps(row["parameters"], sort_keys=True)


def _withheld(row: Mapping[str, Any]) -> bool:
    return row["new"] is None and row["n_new"] is not None


SCHEMA_VERSION = "4.0"


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Changes from one run to another, and their possible causes.

    ``shared()`` returns the view that may be published; the tables themselves are not suppressed.
    """

    old: AuditResult
    new: AuditResult
    causes: tuple[Cause, ...]
    edits: pl.DataFrame
    """All edits of the hierarchy, from `audit.runs.compare.edits.hierarchy_edits`."""
    node_changes: NodeChanges
    pair_changes: PairChanges
    checks: tuple[CheckChange, ...]
    model: ModelChanges | None = None
    """What differs between the models; None if neither run has predictions."""

    @property
    def nodes(self) -> pl.DataFrame:
        """Changes of all common nodes in use; see `NodeChanges`."""
        return self.node_changes.table

    @property
    def pairs(self) -> pl.DataFrame:
        """Changes of all tested pairs; see `PairChanges`."""
        return self.pair_changes.table

    @property
    def changed(self) -> bool:
        """Whether the comparison shows any difference, or predictions that are not the same."""
        other_model = self.model is not None and self.model.predictions != "same"
        return other_model or any(bool(count) for count in self._totals.values())

    @cached_property
    def _totals(self) -> dict[str, int]:
        standing = self.nodes.filter(pl.col("changed") & pl.col("folded_into").is_null())
        pairs = self.pairs.filter(pl.col("changed") & pl.col("folded_a").is_null())
        return {
            "edits": int((~self.edits["from_labels"]).sum()),
            "nodes": int((standing["kind"] != "exchange").sum()),
            "exchanges": int((standing["kind"] == "exchange").sum()),
            "pairs": len(pairs),
            "metrics": 0 if self.model is None else self.model.metrics_in_all_changed,
            "confusions": 0 if self.model is None else len(self.model.confusions_changed),
            **{
                change: sum(check.count(change) for check in self.checks)
                for change in ("new", "gone", "worse", "better")
            },
        }

    @property
    def min_cell(self) -> int:
        """Smallest count shown: the larger of the two runs'."""
        return max(int(run.policy["min_cell"]) for run in (self.old, self.new))

    def shared(self) -> dict[str, Any]:
        """The view that may be published: the content of ``comparison.json`` and of the HTML.

        Small cells are suppressed, including differences between the two releases. The same runs
        give the same bytes.
        """
        view = SharedView(
            self.old,
            self.new,
            self.min_cell,
            nodes=self.nodes,
            pairs=self.pairs,
            edits=self.edits,
            checks=self.checks,
        )
        return {
            "schema_version": SCHEMA_VERSION,
            "identity": {"old": dict(self.old.identity), "new": dict(self.new.identity)},
            "ledger": {"old": dict(self.old.ledger), "new": dict(self.new.ledger)},
            "min_cell": self.min_cell,
            "terms": terms(),
            "causes": [asdict(cause) for cause in self.causes],
            "changed": self.changed,
            "totals": self._totals,
            "nodes": {**self._node_totals(), "rows": view.nodes()},
            "exchanges": {"total": self._totals["exchanges"], "rows": view.exchanges()},
            "pairs": {**self._pair_totals(), "rows": view.pairs()},
            "restated": {"total": self._restated, "rows": view.restated()},
            "edits": {"totals": self._edit_totals(), "rows": view.edits()},
            "checks": [view.check(check) for check in self.checks],
            "model": self._shared_model(),
            "grouped": {side: self._grouped(run) for side, run in self._sides},
        }

    @property
    def _sides(self) -> tuple[tuple[str, AuditResult], ...]:
        return ("old", self.old), ("new", self.new)

    @staticmethod
    def _grouped(run: AuditResult) -> bool | None:
        """Whether groups have several instances; None if the run does not say which they are."""
        return None if run.ledger["groups"] is None else Release(run).grouped

    def _shared_model(self) -> dict[str, Any] | None:
        if self.model is None:
            return None
        return SharedModel(self.old, self.new, self.model, self.min_cell).view()

    @property
    def _restated(self) -> int:
        low, high = pl.col("restated_low"), pl.col("restated_high")
        old = pl.col("support_old")
        return len(self.nodes.filter((low != old) | (high != old)))

    def _node_totals(self) -> dict[str, int]:
        unknown = self.nodes.filter(pl.col("restated_low") != pl.col("restated_high"))
        folded = self.nodes.filter(pl.col("folded_into").is_not_null())
        return {
            "compared": len(self.nodes),
            "not_comparable": len(unknown),
            "family": self.node_changes.family,
            "changed": self._totals["nodes"],
            "folded": len(folded),
        }

    def _pair_totals(self) -> dict[str, int]:
        folded = self.pairs.filter(pl.col("folded_a").is_not_null())
        return {
            "family": self.pair_changes.family,
            "changed": self._totals["pairs"],
            "folded": len(folded),
        }

    def _edit_totals(self) -> dict[str, int]:
        counted: Mapping[str, int] = Counter(self.edits["edit"].to_list())
        return {edit: counted.get(edit, 0) for edit in EDITS}

    def __repr__(self) -> str:
        totals = [f"{count:,} {name}" for name, count in self._totals.items() if count]
        if self.model is not None and self.model.predictions != "same":
            totals.insert(0, "other predictions")
        return f"Comparison({', '.join(totals) or 'nothing changed'})"

    def _repr_markdown_(self) -> str:
        rows = "\n".join(
            f"| {check.name} | {check.status_old or '–'} | {check.status_new or '–'} "
            f"| {check.total_old:,} | {check.total_new:,} |"
            for check in self.checks
        )
        heading = "| check | old | new | findings old | findings new |\n|---|---|---|---:|---:|"
        return f"**{self!r}**\n\n{heading}\n{rows}\n"
