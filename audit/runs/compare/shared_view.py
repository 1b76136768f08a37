"""What a comparison shares, made of told numbers: by the same code where none is rounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import inf
from typing import Any, Self

import polars as pl

from audit.results.mended import MENDED
from audit.results.metric_list import ALL
from audit.results.result import AuditResult
from audit.runs.compare.causes import Cause, causes, same_data
from audit.runs.compare.counts import TERMS, Changes
from audit.runs.compare.edits import EDIT_COLUMNS, EDITS, Release
from audit.runs.compare.finding_changes import CHANGES, TOLD, CheckChange, FindingChange
from audit.runs.compare.model_changes import (
    ModelChanges,
    changed_metrics,
    measure_changes,
    metric_rows,
    told_models,
)
from audit.runs.compare.told_changes import ToldRuns
from audit.runs.compare.told_findings import SUBJECT, ToldFindings
from audit.runs.compare.use_changes import exchanges
from audit.runs.folder import COMPARISON_VERSION
from audit.sharing.bins import FEWEST_BINS

SHOWN = 20
"""Largest number of rows of each ranked table of a comparison; the restricted tables hold all."""
SHOWN_EDITS = 50
"""Largest number of edits of the hierarchy that are listed."""
_Row = dict[str, Any]
_APART = ("difference", "low", "high", "p_value", "q_value")
_TESTED = ("mean_old", "mean_new", *_APART, "odds_ratio")
_NODE = ("node", "title", "branch", "support_old", "support_new", "rate_old", "rate_new", *_TESTED)
_PAIR = ("a", "title_a", "b", "title_b", "relation", "joint_old", "joint_new", *_TESTED,
         "lift_change", "nodes_q_value", "ratio_old", "ratio_new")  # fmt: skip
_CONFUSION = ("a", "title_a", "b", "title_b", "old", "new", *_APART)


@dataclass(frozen=True, repr=False, eq=False)
class Compared:
    """What differs between two runs, in exact numbers."""

    old: AuditResult
    """The earlier run, as it was given."""
    new: AuditResult
    """The later run."""
    causes: tuple[Cause, ...]
    """What may make the runs differ (data, hierarchy, policy, version and so on), in a fixed order,
    each with its value in either run and whether it changed."""
    edits: pl.DataFrame
    """All edits of the hierarchy, from `audit.runs.compare.edits.hierarchy_edits`."""
    node_changes: Changes
    """What ``nodes`` shows, and the number of nodes that were tested together."""
    pair_changes: Changes
    """What ``pairs`` shows, and the number of pairs that were tested together."""
    checks: tuple[CheckChange, ...]
    """Every check of either run: its statuses, and which findings are new, gone, worse, better."""
    edited: int
    """Number of nodes with other nodes below them in NEW."""
    model: ModelChanges | None = None
    """What differs between the models; None if neither run has predictions."""

    @property
    def nodes(self) -> pl.DataFrame:
        """Changes of all nodes that both hierarchies have and a run uses, a row a node.

        ``node, title, depth, branch``; ``support_old, support_new`` (instances) and ``rate_old,
        rate_new`` (their shares of all instances). ``difference`` is new less old, with its 95 %
        interval ``low, high``: null, as what follows, where other nodes are below in NEW;
        ``odds_ratio`` new over old; ``p_value`` of the node alone, ``q_value`` after Benjamini and
        Hochberg over all tested; ``changed`` says whether it counts as a change. With groups these
        are of the means of the groups' shares, ``mean_old, mean_new``, null without.
        """
        return self.node_changes.table

    @property
    def pairs(self) -> pl.DataFrame:
        """Changes of all tested pairs, a row a pair.

        ``a, b`` (nodes) and ``relation``; ``joint_old, joint_new`` are the instances with both
        that have no label below both, ``support_a_old`` and so on those of either node.
        ``mean_old`` to ``q_value`` and ``changed`` are as in ``nodes``. ``lift_change`` is the lift
        in NEW over that in OLD; ``nodes_p_value, nodes_q_value`` test whether it is 1, so that the
        pair changed by more than its nodes did. Of changed pairs alone, ``ratio_old, ratio_new``
        are the joint instances over those that the length of records lets expect, and ``relation``
        is given.
        """
        return self.pair_changes.table

    @cached_property
    def measured(self) -> pl.DataFrame:
        """What analyses measured over all instances, as both runs tell it, as metrics are told."""
        return measure_changes(self.told)

    @cached_property
    def told(self) -> ToldRuns:
        """Both runs, of which ``shared()`` tells what differs."""
        return ToldRuns(self.old, self.new)


@dataclass(frozen=True, eq=False)
class Listed:
    """What a comparison lists, in exact numbers or in told ones, the greatest changes first.

    Args:
        nodes: Those that changed, without those whose exchange says it.
        pairs: Those that changed.
        exchanges: As `audit.runs.compare.use_changes.exchanges`.
        exchanged: The nodes of these, as in ``nodes``.
        findings: The checks, and what is said of the subjects of their findings.
        measures: What analyses measured, as both runs tell it.
    """

    edits: pl.DataFrame
    nodes: pl.DataFrame
    pairs: pl.DataFrame
    exchanges: pl.DataFrame
    exchanged: pl.DataFrame
    findings: ToldFindings
    model: ModelChanges | None
    measures: pl.DataFrame

    @classmethod
    def of(cls, comparison: Compared, runs: ToldRuns | None = None) -> Self:
        """What a comparison lists in exact numbers, or as both runs are told."""
        one, runs = comparison, runs or ToldRuns(comparison.old, comparison.new, exact=True)
        every = runs.table(one.nodes, "support")
        nodes = runs.apart(every.filter("changed"), "support")
        pairs = runs.apart(runs.table(one.pairs.filter("changed"), "joint"), "joint")
        found = exchanges(every, nodes, Release(one.new))
        members = pl.concat([found["fewer"], found["more"]]).explode()
        in_one = pl.col("node").is_in(members.implode())
        largest = -pl.col("difference").abs()
        return cls(
            edits=runs.edits(one.edits),
            nodes=nodes.filter(~in_one).sort(largest, "node", nulls_last=True),
            pairs=pairs.sort(largest, "a", "b", nulls_last=True),
            exchanges=found,
            exchanged=nodes.filter(in_one),
            findings=ToldFindings(runs, one.checks),
            model=told_models(one.model, runs),
            measures=one.measured,
        )

    @property
    def totals(self) -> dict[str, int]:
        """Numbers of changes."""
        model, measured = self.model, len(self.measures)
        return {
            "edits": int((~self.edits["from_labels"]).sum()),
            "exchanges": len(self.exchanges),
            "nodes": len(self.nodes),
            "pairs": len(self.pairs),
            "metrics": 0 if model is None else model.metrics_in_all_changed,
            "confusions": 0 if model is None else len(model.confusions_changed),
            **({"measures": changed_metrics(self.measures)} if measured else {}),
            **{
                change: sum(check.count(change) for check in self.findings.checks)
                for change in TOLD
            },
        }

    @property
    def changed(self) -> bool:
        """Whether there is any difference, or predictions that are not the same."""
        other = self.model is not None and self.model.predictions != "same"
        return other or any(self.totals.values())


@dataclass(frozen=True, eq=False)
class SharedView:
    """Builder of the view of a comparison that may be shared: told numbers of what tests chose."""

    of: Compared

    def view(self) -> _Row:
        """The content of ``comparison.json``."""
        of, told, runs = self.of, self.told, self.of.told
        sides = {side: run.told for side, run in runs.sides.items()}
        old, new = sides.values()
        few_rows = not same_data(old, new) and abs(old.size - new.size) < FEWEST_BINS * runs.width
        edited = told.edits["edit"].to_list()
        found = causes(old, new, told.edits, of.edited, runs.shared_nodes)
        return {
            "schema_version": COMPARISON_VERSION,
            "identity": {side: dict(run.identity) for side, run in sides.items()},
            "ledger": {side: dict(run.ledger) for side, run in sides.items()},
            "min_cell": runs.new.min_cell,
            "rounding": {side: run.rounding.as_dict() for side, run in sides.items()},
            "few_rows_differ": few_rows,
            "terms": [dict(term) for term in TERMS],
            "causes": [asdict(cause) for cause in found],
            "changed": told.changed,
            "totals": told.totals,
            "exchanges": [self._exchange(row) for row in _first(told.exchanges)],
            "nodes": self._nodes_compared | self._changed(of.node_changes, told.nodes, _NODE),
            "pairs": self._changed(of.pair_changes, told.pairs, _PAIR),
            "edits": {
                "totals": {edit: edited.count(edit) for edit in EDITS},
                "rows": self._rows(told.edits, EDIT_COLUMNS, SHOWN_EDITS),
            },
            "checks": [self._check(check) for check in told.findings.checks],
            "model": None if told.model is None else self._models(told.model),
            "grouped": {side: _grouped(run) for side, run in runs.sides.items()},
            **({"measures": metric_rows(told.measures)} if len(told.measures) else {}),
            **self._mended,
        }

    @cached_property
    def told(self) -> Listed:
        """What is listed, as it is told."""
        return Listed.of(self.of, self.of.told)

    def _changed(self, changes: Changes, told: pl.DataFrame, names: Iterable[str]) -> _Row:
        family = None if self.of.told.width else changes.family
        return {"family": family, "changed": len(told), "rows": self._rows(told, names)}

    def _rows(self, table: pl.DataFrame, names: Iterable[str], most: int = SHOWN) -> list[_Row]:
        """Some columns of the first rows; null where a ratio is infinite: one run has none."""
        rows = []
        for row in _first(table, most):
            ends = {f"title_{end}": self._titles.get(row[end]) for end in "ab" if end in row}
            every = row | ends
            infinite = {name for name in every if every[name] in (inf, -inf)}
            rows.append({name: None if name in infinite else every[name] for name in names})
        return rows

    @cached_property
    def _titles(self) -> Mapping[str, str | None]:
        return {**self.of.told.old.titles, **self.of.told.new.titles}

    def _titled(self, nodes: Iterable[str]) -> list[_Row]:
        return [{"id": node, "title": self._titles.get(node)} for node in nodes]

    def _exchange(self, row: _Row) -> _Row:
        names = ("node", "title", "support_old", "support_new")
        for side in ("fewer", "more"):
            own = self.told.exchanged.filter(pl.col("node").is_in(row[side]))
            row[side] = self._rows(own, names, len(own))
        return {**row, "title": self._titles.get(row["parent"])}

    @property
    def _nodes_compared(self) -> _Row:
        runs, exact = self.of.told, self.of.nodes
        most = pl.max_horizontal("support_old", "support_new")
        used = runs.table(exact, "support").filter(most > runs.width)["node"]
        nodes = exact.filter(pl.col("node").is_in(used.implode()))
        return {"compared": len(nodes), "not_comparable": nodes["difference"].null_count()}

    def _check(self, check: CheckChange) -> _Row:
        """A check in both runs, with the findings that differ."""
        told = [found for found in check.findings if found.change in TOLD]
        names = ("name", "title", "status_old", "status_new", "total_old", "total_new")
        return {
            **{name: getattr(check, name) for name in names},
            "changes": {change: check.count(change) for change in CHANGES},
            "findings": [self._finding(found) for found in told[:SHOWN]],
            "not_shown": len(told[SHOWN:]),
        }

    def _finding(self, found: FindingChange) -> _Row:
        """A finding as the run's own report states it, with what both runs tell if it does."""
        finding = found.finding
        stated = self._stated["old" if found.new is None else "new"].get(finding.id)
        subject = self.told.findings.subjects.get(finding.id, {}) if stated else {}
        effects = {"effect_old": found.effect_old, "effect_new": found.effect_new}
        if self.of.told.width:  # a told effect is never 0
            effects = {name: effect or None for name, effect in effects.items()}
        return {
            "id": finding.id,
            "change": found.change,
            "severity_old": found.old and found.old.judged_severity,
            "severity_new": found.new and found.new.judged_severity,
            "nodes": stated["nodes"] if stated else self._titled(sorted(finding.nodes)),
            "statement": stated and stated["statement"],
            "effect": found.effect,
            **{name: stated and effect for name, effect in effects.items()},
            **{name: subject.get(name) for name in SUBJECT},
        }

    @cached_property
    def _stated(self) -> Mapping[str, Mapping[str, _Row]]:
        """The findings that each run shares, by id."""
        return {
            side: {one["id"]: one for check in run.shared()["checks"] for one in check["findings"]}
            for side, run in self.of.told.sides.items()
        }

    def _models(self, model: ModelChanges) -> _Row:
        metrics = model.metrics.filter(scope=ALL)
        tested = model.confusions_changed if model.common is not None else model.confusions
        names = ("predictions", "common", "scores_differ", "answers_differ")
        return {
            **{name: getattr(model, name) for name in names},
            "metrics": {
                "total": len(metrics),
                "changed": changed_metrics(metrics),
                "rows": metric_rows(metrics),
            },
            "confusions": {
                "family": model.family,
                "changed": len(model.confusions_changed),
                "rows": self._rows(tested, _CONFUSION),
            },
        }

    @property
    def _mended(self) -> Mapping[str, Any]:
        """``mended`` and ``since_reference`` of the new run, where its data were made of the old
        one's; else nothing.
        """
        old, new = self.of.told.sides.values()
        given = new.identity.get("reference")
        if given is None or given["sha256"] != old.sha256:
            return {}
        shared = new.shared()
        since = {"since_reference": shared["since_reference"]}
        return {MENDED: {**shared[MENDED], **since}} if MENDED in shared else {}


def _grouped(run: AuditResult) -> bool | None:
    """Whether groups have several instances; None if the run does not say which they are."""
    groups = run.ledger["groups"]
    if groups is None:
        return None
    return bool(groups != run.size) if run.rounding.width else Release(run).grouped


def _first(rows: pl.DataFrame, most: int = SHOWN) -> Iterator[_Row]:
    return rows.head(most).iter_rows(named=True)
