"""What a comparison shares, made of told numbers: by the same code where none is rounded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf
from typing import Any

import polars as pl

from audit.hierarchies.relations import relate_two
from audit.results.mended import MENDED
from audit.results.result import AuditResult
from audit.results.told_metrics import ALL
from audit.runs.compare.causes import Cause, causes, same_data
from audit.runs.compare.counts import terms
from audit.runs.compare.edits import EDITS, Release
from audit.runs.compare.finding_changes import CHANGES, TOLD, Change, CheckChange, FindingChange
from audit.runs.compare.model_changes import ModelChanges, told_models
from audit.runs.compare.node_changes import NodeChanges
from audit.runs.compare.pair_changes import PairChanges
from audit.runs.compare.told_changes import ToldRuns
from audit.runs.compare.told_findings import SUBJECT, ToldFindings
from audit.runs.folder import COMPARISON_VERSION
from audit.sharing.bins import FEWEST_BINS

SHOWN = 20
"""Largest number of rows of each ranked table of a comparison; the restricted tables hold all."""
SHOWN_EDITS = 50
"""Largest number of edits of the hierarchy that are listed."""
_Row = dict[str, Any]
_NODE = ("node", "title", "branch", "support_old", "support_new", "rate_old", "rate_new")
_COMMON = ("mean_old", "mean_new", "difference", "low", "high", "odds_ratio", "p_value", "q_value")
_BEYOND_NODES = ("lift_change", "nodes_q_value", "ratio_old", "ratio_new")
_EDIT = ("edit", "node", "title", "old", "new", "counted_at", "from_labels",
         "support_old", "support_new")  # fmt: skip
_PREDICTIONS = ("predictions", "common", "scores_differ", "answers_differ")
_METRIC = ("old", "new", "difference", "low", "high", "n_old", "n_new", "beyond_old", "beyond_new")
_CONFUSION = ("old", "new", "difference", "low", "high", "p_value", "q_value")


@dataclass(frozen=True, eq=False)
class SharedView:
    """Builder of the view of a comparison that may be shared.

    Args:
        runs: Both runs as they are told.
        node_changes: As exact counts and tests give them, like all that follows.
    """

    runs: ToldRuns
    node_changes: NodeChanges
    pair_changes: PairChanges
    exact_edits: pl.DataFrame
    edited: int
    exact_checks: tuple[CheckChange, ...]
    exact_model: ModelChanges | None
    measures: list[dict[str, Any]]

    def view(self) -> _Row:
        """The content of ``comparison.json``."""
        nodes = self._changed(self._nodes, "support", "node")
        pairs = self._changed(self.runs.table(self.pair_changes.table, "joint"), "joint", "a", "b")
        checks, sides = self._findings.checks, self._sides
        totals = totals_of(self._edits, nodes, pairs, self._model, self.measures, checks)
        return {
            "schema_version": COMPARISON_VERSION,
            "identity": {side: dict(run.identity) for side, run in sides.items()},
            "ledger": {side: dict(run.ledger) for side, run in sides.items()},
            "min_cell": self.runs.new.min_cell,
            "rounding": {side: run.rounding.as_dict() for side, run in sides.items()},
            "few_rows_differ": self._few_rows_differ,
            "terms": terms(),
            "causes": [asdict(cause) for cause in self._causes],
            "changed": any_change(self._model, totals),
            "totals": totals,
            "nodes": {
                **self._nodes_compared,
                "family": self._if_exact(self.node_changes.family),
                "changed": len(nodes),
                "rows": [_finite(row, _NODE + _COMMON) for row in _first(nodes)],
            },
            "pairs": {
                "family": self._if_exact(self.pair_changes.family),
                "changed": len(pairs),
                "rows": [self._pair(row) for row in _first(pairs)],
            },
            "edits": {
                "totals": {edit: int((self._edits["edit"] == edit).sum()) for edit in EDITS},
                "rows": [_finite(row, _EDIT) for row in _first(self._edits, SHOWN_EDITS)],
            },
            "checks": [self._check(check) for check in checks],
            "model": None if self._model is None else self._models(self._model),
            "grouped": {side: _grouped(run) for side, run in sides.items()},
            **({"measures": self.measures} if self.measures else {}),
            **self._mended,
        }

    @property
    def _sides(self) -> Mapping[str, AuditResult]:
        return {side: run.told for side, run in self.runs.sides.items()}

    @cached_property
    def _nodes(self) -> pl.DataFrame:
        return self.runs.table(self.node_changes.table, "support")

    @cached_property
    def _edits(self) -> pl.DataFrame:
        return self.runs.edits(self.exact_edits)

    @cached_property
    def _model(self) -> ModelChanges | None:
        return told_models(self.exact_model, self.runs)

    @cached_property
    def _findings(self) -> ToldFindings:
        return ToldFindings(self.runs, self.exact_checks)

    @cached_property
    def _titles(self) -> Mapping[str, str | None]:
        return {**self.runs.old.titles, **self.runs.new.titles}

    def _changed(self, told: pl.DataFrame, counted: str, *ids: str) -> pl.DataFrame:
        """The changed rows of which a difference is told, the greatest first."""
        rows = self.runs.apart(told.filter("changed"), counted)
        return rows.sort(-pl.col("difference").abs(), *ids, nulls_last=True)

    def _if_exact(self, number: int) -> int | None:
        return None if self.runs.width else number

    @property
    def _few_rows_differ(self) -> bool:
        """Whether so few rows differ that a count in the next bin tells of one of them."""
        old, new = self._sides.values()
        return not same_data(old, new) and abs(old.size - new.size) < FEWEST_BINS * self.runs.width

    @property
    def _causes(self) -> Sequence[Cause]:
        old, new = self._sides.values()
        return causes(old, new, self._edits, self.edited, self.runs.shared_nodes)

    @property
    def _nodes_compared(self) -> _Row:
        most = pl.max_horizontal("support_old", "support_new")
        used = self._nodes.filter(most > self.runs.width)["node"]
        nodes = self.node_changes.table.filter(pl.col("node").is_in(used.implode()))
        return {"compared": len(nodes), "not_comparable": nodes["difference"].null_count()}

    def _pair(self, row: _Row) -> _Row:
        relation = self._relation(row["a"], row["b"]) if self.runs.width else row["relation"]
        numbers = _finite(row, ("joint_old", "joint_new", *_COMMON, *_BEYOND_NODES))
        return {**self._titled(row), "relation": relation, **numbers}

    def _relation(self, a: str, b: str) -> str:
        """The relation of two nodes in NEW, whether or not any instance there has both."""
        hierarchy = self.runs.new.hierarchy
        return relate_two(hierarchy, hierarchy.index(a), hierarchy.index(b))[0]

    def _titled(self, row: _Row) -> _Row:
        a, b = row["a"], row["b"]
        return {"a": a, "title_a": self._titles.get(a), "b": b, "title_b": self._titles.get(b)}

    def _check(self, check: CheckChange) -> _Row:
        """A check in both runs, with the findings that differ."""
        told = [found for found in check.findings if found.change in TOLD][:SHOWN]
        names = ("name", "title", "status_old", "status_new", "total_old", "total_new")
        return {
            **{name: getattr(check, name) for name in names},
            "changes": {change: check.count(change) for change in CHANGES},
            "findings": [self._finding(found) for found in told],
            "not_shown": sum(map(check.count, TOLD)) - len(told),
        }

    def _finding(self, found: FindingChange) -> _Row:
        """A finding as the run's own report states it, with what both runs tell if it does."""
        finding = found.finding
        stated = self._stated["old" if found.new is None else "new"].get(finding.id)
        titled = [{"id": node, "title": self._titles.get(node)} for node in sorted(finding.nodes)]
        subject = self._findings.subjects.get(finding.id, {}) if stated else {}
        return {
            "id": finding.id,
            "change": found.change,
            "severity_old": found.old and found.old.judged_severity,
            "severity_new": found.new and found.new.judged_severity,
            "nodes": stated["nodes"] if stated else titled,
            "statement": stated and stated["statement"],
            "effect": found.effect,
            "effect_old": stated and self._effect(found.effect_old),
            "effect_new": stated and self._effect(found.effect_new),
            **{name: subject.get(name) for name in SUBJECT},
        }

    def _effect(self, effect: float | None) -> float | None:
        """A told effect, which is never 0."""
        return (effect or None) if self.runs.width else effect

    @cached_property
    def _stated(self) -> Mapping[str, Mapping[str, _Row]]:
        """The findings that each run shares, by id."""
        views = {side: run.shared() for side, run in self.runs.sides.items()}
        return {
            side: {one["id"]: one for check in shared["checks"] for one in check["findings"]}
            for side, shared in views.items()
        }

    def _models(self, model: ModelChanges) -> _Row:
        metrics = model.metrics.filter(pl.col("scope") == ALL)
        tested = model.confusions_changed if model.common is not None else model.confusions
        return {
            **{name: getattr(model, name) for name in _PREDICTIONS},
            "metrics": {
                "total": len(metrics),
                "changed": model.metrics_in_all_changed,
                "rows": [
                    {"name": row["name"], "parameters": json.loads(row["parameters"])}
                    | {name: row[name] for name in _METRIC}
                    for row in metrics.iter_rows(named=True)
                ],
            },
            "confusions": {
                "family": model.family,
                "changed": len(model.confusions_changed),
                "rows": [self._titled(row) | _finite(row, _CONFUSION) for row in _first(tested)],
            },
        }

    @property
    def _mended(self) -> Mapping[str, Any]:
        """``mended`` and ``since_reference`` of the new run, where its data were made of the old
        one's; else nothing.
        """
        given = self.runs.new.identity.get("reference")
        if given is None or given["sha256"] != self.runs.old.sha256:
            return {}
        shared = self.runs.new.shared()
        since = {"since_reference": shared["since_reference"]}
        return {MENDED: {**shared[MENDED], **since}} if MENDED in shared else {}


def totals_of(
    edits: pl.DataFrame,
    nodes: pl.DataFrame,
    pairs: pl.DataFrame,
    model: ModelChanges | None,
    measures: Sequence[Mapping[str, Any]],
    checks: Sequence[CheckChange],
) -> dict[str, int]:
    """Numbers of changes, of nodes and pairs that did change, exact or told."""
    return {
        "edits": int((~edits["from_labels"]).sum()),
        "nodes": len(nodes),
        "pairs": len(pairs),
        "metrics": 0 if model is None else model.metrics_in_all_changed,
        "confusions": 0 if model is None else len(model.confusions_changed),
        **({"measures": sum(map(_beyond, measures))} if measures else {}),
        **{str(change): sum(check.count(change) for check in checks) for change in _FINDINGS},
    }


_FINDINGS: tuple[Change, ...] = ("new", "gone", "worse", "better")


def any_change(model: ModelChanges | None, totals: Mapping[str, int]) -> bool:
    """Whether there is any difference, or predictions that are not the same."""
    return (model is not None and model.predictions != "same") or any(totals.values())


def _beyond(row: Mapping[str, Any]) -> bool:
    """Whether the interval of a difference does not hold 0."""
    return row["low"] is not None and not row["low"] <= 0 <= row["high"]


def _grouped(run: AuditResult) -> bool | None:
    """Whether groups have several instances; None if the run does not say which they are."""
    groups = run.ledger["groups"]
    if groups is None:
        return None
    return bool(groups != run.size) if run.rounding.width else Release(run).grouped


def _first(rows: pl.DataFrame, most: int = SHOWN) -> Iterator[_Row]:
    return rows.head(most).iter_rows(named=True)


def _finite(row: _Row, names: Sequence[str]) -> _Row:
    """Some columns; null where a ratio is infinite, since one run has none at all."""
    return {name: None if row[name] in (inf, -inf) else row[name] for name in names}
