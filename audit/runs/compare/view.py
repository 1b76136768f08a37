"""What a comparison lists and shares, made of told numbers: by the same code where none is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import polars as pl

from audit.base.plurals import counted
from audit.hierarchies.relations import SharedNodes
from audit.results.compared import RECORDS
from audit.results.metric_list import ALL
from audit.results.result import AuditResult
from audit.runs.compare.counts import TERMS
from audit.runs.compare.findings import CHANGES, SUBJECT, TOLD, checks_of, told_findings
from audit.runs.compare.models import ModelChanges, changed_metrics, measure_changes, metric_rows
from audit.runs.compare.records import RecordChanges
from audit.runs.compare.releases import EDIT_COLUMNS, EDITS, SIDES, Release
from audit.runs.compare.told import ToldRuns
from audit.runs.compare.use import branches, exchanges
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
_INSEPARABLE = (
    "{} differs, which acts on every {} alike: its part cannot be found from the tables of two "
    "runs. Audit one of the two datasets with both to see it."
)
_OF_POLICY = (
    "Findings were judged by two policies, so that one can be new or gone without any change in "
    "the data: judge the older run again with `audit report --policy` to see the part of the data."
)


@dataclass(frozen=True, repr=False, eq=False)
class Compared:
    """What differs between two runs, in exact numbers."""

    old: AuditResult
    """The earlier run, as it was given."""
    new: AuditResult
    """The later run."""
    same_data: bool
    """Whether both runs counted the same data."""
    edits: pl.DataFrame
    """All edits of the hierarchy, from `audit.runs.compare.releases.Releases`."""
    edited: int
    """Number of nodes with other nodes below them in NEW."""
    nodes: pl.DataFrame
    """Changes of all nodes that both hierarchies have and a run uses, a row a node.

    ``node, title, depth, branch``; ``support_old, support_new`` (instances) and ``rate_old,
    rate_new`` (their shares of all instances). ``difference`` is new less old, with its 95 %
    interval ``low, high``: null, as what follows, where other nodes are below in NEW;
    ``odds_ratio`` new over old; ``p_value`` of the node alone, ``q_value`` after Benjamini and
    Hochberg over all tested; ``changed`` says whether it counts as a change. With groups these
    are of the means of the groups' shares, ``mean_old, mean_new``, null without.
    """
    pairs: pl.DataFrame
    """Changes of all tested pairs, a row a pair.

    ``a, b`` (nodes) and ``relation``; ``joint_old, joint_new`` are the instances with both
    that have no label below both, ``support_a_old`` and so on those of either node.
    ``mean_old`` to ``q_value`` and ``changed`` are as in ``nodes``. ``lift_change`` is the lift
    in NEW over that in OLD; ``nodes_p_value, nodes_q_value`` test whether it is 1, so that the
    pair changed by more than its nodes did. Of changed pairs alone, ``ratio_old, ratio_new``
    are the joint instances over those that the length of records lets expect, and ``relation``
    is given.
    """
    findings: pl.DataFrame
    """All findings of either run: which are new, gone, worse, better, and what was tested."""
    model: ModelChanges | None = None
    """What differs between the models; None if neither run has predictions."""
    records: RecordChanges | None = None
    """What changed on the same records; None unless both runs keep instances of the same ids."""

    @cached_property
    def told(self) -> ToldRuns:
        """Both runs, of which ``shared()`` tells what differs."""
        return ToldRuns(self.old, self.new)


class View:
    """What a comparison lists, as both runs are told, the greatest changes first."""

    def __init__(self, of: Compared, runs: ToldRuns) -> None:
        self.of, self.runs = of, runs
        self.old, self.new = runs.old.told, runs.new.told
        every = runs.table(of.nodes, "support")
        nodes = runs.apart(every.filter("changed"), "support")
        pairs = runs.apart(runs.table(of.pairs.filter("changed"), "joint"), "joint")
        self.edits = runs.edits(of.edits)
        self.exchanges = exchanges(every, nodes, Release(of.new))
        whole = branches(every, nodes, Release(of.new))
        members = pl.concat([self.exchanges["fewer"], self.exchanges["more"]]).explode()
        in_one, largest = pl.col("node").is_in(members.implode()), -pl.col("difference").abs()
        self.exchanged = nodes.filter(in_one)
        nodes = nodes.filter(~in_one).sort(largest, "node", nulls_last=True)
        self.branches = nodes.join(whole, on="node", maintain_order="left")
        said = pl.concat([whole["node"], whole["below"].explode()]).drop_nulls()
        self.nodes = nodes.filter(~pl.col("node").is_in(said.implode()))
        self.pairs = pairs.sort(largest, "a", "b", nulls_last=True)
        self.used = every.filter(pl.max_horizontal("support_old", "support_new") > runs.width)
        self.findings = told_findings(of.findings, runs)
        self.model = None if of.model is None else of.model.told(runs)
        self.measures = measure_changes(of.told)
        self.records = None if of.records is None else of.records.told(runs.rounding)
        self.titles: Mapping[str, str | None] = {**of.old.titles, **of.new.titles}

    @property
    def totals(self) -> dict[str, int]:
        """Numbers of changes."""
        model, measured = self.model, len(self.measures)
        found = Counter(self.findings["change"].to_list())
        return {
            "edits": int((~self.edits["from_labels"]).sum()),
            "exchanges": len(self.exchanges),
            "branches": len(self.branches),
            "nodes": len(self.nodes),
            "pairs": len(self.pairs),
            "metrics": changed_metrics(model.metrics.filter(scope=ALL)) if model else 0,
            **({"measures": changed_metrics(self.measures)} if measured else {}),
            **({} if self.records is None else {"labels": len(self.records)}),
            **{change: found[change] for change in TOLD},
        }

    @property
    def changed(self) -> bool:
        """Whether there is any difference, or a model predicts otherwise of the same instances."""
        model = self.model
        other = model is not None and model.predictions != "same"
        if model is not None and model.predictions == "differ" and not self.of.same_data:
            other = (model.scores_differ or 0) > self.runs.width
        return other or any(self.totals.values())

    def shared(self) -> _Row:
        """The content of ``comparison.json``."""
        of, runs, sides = self.of, self.runs, {"old": self.old, "new": self.new}
        apart = abs(self.old.size - self.new.size)
        edited = self.edits["edit"].to_list()
        compared = of.nodes.filter(pl.col("node").is_in(self.used["node"].implode()))
        return {
            "schema_version": COMPARISON_VERSION,
            "identity": {side: dict(run.identity) for side, run in sides.items()},
            "ledger": {side: dict(run.ledger) for side, run in sides.items()},
            "min_cell": self.new.min_cell,
            "rounding": {side: run.rounding.as_dict() for side, run in sides.items()},
            "few_rows_differ": not of.same_data and apart < FEWEST_BINS * runs.width,
            "terms": [dict(term) for term in TERMS],
            "causes": causes(of, self.old, self.new, self.edits, runs.shared_nodes),
            "changed": self.changed,
            "totals": self.totals,
            "exchanges": [*map(self._exchange, self.exchanges.head(SHOWN).iter_rows(named=True))],
            "branches": self._rows(
                self.branches.with_columns(pl.col("below").list.len()), (*_NODE, "below")
            ),
            "nodes": {
                "compared": len(compared),
                "not_comparable": compared["difference"].null_count(),
                **self._tested(of.nodes, self.nodes, _NODE),
            },
            "pairs": self._tested(of.pairs, self.pairs, _PAIR),
            "edits": {
                "totals": {edit: edited.count(edit) for edit in EDITS},
                "rows": self._rows(self.edits, EDIT_COLUMNS, SHOWN_EDITS),
            },
            "checks": [*map(self._check, checks_of(self.old, self.new))],
            "model": None if self.model is None else self._models(self.model),
            **self._of_records,
            "grouped": {side: _grouped(run) for side, run in runs.sides.items()},
            **({"measures": metric_rows(self.measures)} if len(self.measures) else {}),
        }

    def _tested(self, exact: pl.DataFrame, told: pl.DataFrame, names: Iterable[str]) -> _Row:
        """The first changes, their number, and where it is told how many were tested together."""
        family = None if self.runs.width else len(exact) - exact["q_value"].null_count()
        return {"family": family, "changed": len(told), "rows": self._rows(told, names)}

    def _rows(self, table: pl.DataFrame, names: Iterable[str], most: int = SHOWN) -> list[_Row]:
        """Some columns of the first rows; null where a ratio is infinite: one run has none."""
        rows = []
        for row in table.head(most).iter_rows(named=True):
            ends = {f"title_{end}": self.titles.get(row[end]) for end in "ab" if end in row}
            every = {name: None if one in (inf, -inf) else one for name, one in row.items()} | ends
            rows.append({name: every[name] for name in names})
        return rows

    def _exchange(self, row: _Row) -> _Row:
        """An exchange as it is listed, with the changes of its nodes in place of their ids."""
        names = ("node", "title", "support_old", "support_new")
        for side in ("fewer", "more"):
            own = self.exchanged.filter(pl.col("node").is_in(row[side]))
            row[side] = self._rows(own, names, len(own))
        return {**row, "title": self.titles.get(row["parent"])}

    def _check(self, check: _Row) -> _Row:
        """The entry of a check of either run, with its findings that differ."""
        found = self.findings.filter(check=check["name"])
        told, changes = found.filter(pl.col("change").is_in(TOLD)), found["change"].to_list()
        return {
            **check,
            "changes": {change: changes.count(change) for change in CHANGES},
            "findings": [*map(self._finding, told.head(SHOWN).iter_rows(named=True))],
            "not_shown": len(told[SHOWN:]),
        }

    def _finding(self, row: _Row) -> _Row:
        """A finding as its run's report states it; effects and counts are null if that lacks it."""
        stated = self._stated["old" if row["touched_new"] is None else "new"].get(row["id"])
        value = "touched" if row["effect"] == "touched" else "effect"
        effects = {f"effect_{side}": row[f"{value}_{side}"] for side in SIDES}
        if self.runs.width:  # a told effect is never 0
            effects = {name: effect or None for name, effect in effects.items()}
        of_nodes = [{"id": node, "title": self.titles.get(node)} for node in sorted(row["nodes"])]
        return {
            **{name: row[name] for name in ("id", "change", "severity_old", "severity_new")},
            "nodes": stated["nodes"] if stated else of_nodes,
            "statement": stated and stated["statement"],
            "effect": row["effect"],
            **{name: stated and effect for name, effect in effects.items()},
            **{name: row[name] if stated else None for name in SUBJECT},
        }

    @cached_property
    def _stated(self) -> Mapping[str, Mapping[str, _Row]]:
        """The findings that each run shares, by id."""
        return {
            side: {one["id"]: one for check in run.shared()["checks"] for one in check["findings"]}
            for side, run in self.runs.sides.items()
        }

    def _models(self, model: ModelChanges) -> _Row:
        """Whether predictions differ, and the metrics over all instances, none of single nodes."""
        metrics = model.metrics.filter(scope=ALL)
        names = ("predictions", "common", "scores_differ", "answers_differ")
        return {
            **{name: getattr(model, name) for name in names},
            "metrics": {
                "total": len(metrics),
                "changed": changed_metrics(metrics),
                "rows": metric_rows(metrics),
            },
        }

    @property
    def _of_records(self) -> _Row:
        """``records``: what changed on those that both runs keep; nothing where they keep none."""
        if self.of.records is None or self.records is None:
            return {}
        counts = {name: getattr(self.of.records, name) for name in ("common", "changed")}
        told = {name: self.runs.in_both(count) for name, count in counts.items()}
        rows = self._rows(self.records, RECORDS.columns)
        return {"records": {**told, "total": len(self.records), "rows": rows}}


def _grouped(run: AuditResult) -> bool | None:
    """Whether groups have several instances; None if the run does not say which they are."""
    groups = run.ledger["groups"]
    if groups is None:
        return None
    return bool(groups != run.size) if run.rounding.width else Release(run).grouped


def causes(
    of: Compared, old: AuditResult, new: AuditResult, edits: pl.DataFrame, shared: SharedNodes
) -> list[_Row]:
    """What may make two runs differ, in a fixed order: its value in each, and what follows.

    Args:
        old: The earlier run as it is told.
        new: The later one.
        edits: Of the hierarchy, as they are told.
    """
    unlisted = bool(new.rounding.width and new.identity["normaliser"])
    said = {
        "hierarchy": f"{_hierarchy(edits, of.edited, unlisted=unlisted)} {shared}.",
        "normaliser": _INSEPARABLE.format("The normaliser", "code"),
        "tool": _INSEPARABLE.format("The version of the tool", "code and every rule"),
        "policy": _OF_POLICY,
    }
    counted_alike = "Both runs counted the same data, so that no difference between their labels is"
    sizes = f"OLD has {counted(old.size, new.called)}, NEW {new.size:,}."
    data = f"{counted_alike} chance." if of.same_data else sizes
    rows = [{"name": "data", "changed": not of.same_data, "old": None, "new": None,
             "statement": data}]  # fmt: skip
    for name, follows in said.items():
        was, now = (_identity(run, name) for run in (old, new))
        changed = was != now
        statement = follows if changed else f"Both runs have the same {name}."
        rows.append({"name": name, "changed": changed, "old": was, "new": now,
                     "statement": statement})  # fmt: skip
    return rows


def _identity(run: AuditResult, name: str) -> str | None:
    """Name or digest of a run's hierarchy, normaliser or policy; name and version of the tool."""
    one = run.identity[name]
    if name == "tool":
        return f"{one['name']} {one['version']}"
    return str(one["sha256"]) if isinstance(one, Mapping) else one


def _hierarchy(edits: pl.DataFrame, edited: int, *, unlisted: bool) -> str:
    """Sentences on edits by kind, unlisted codes, and ``edited`` nodes that cannot be compared."""
    own = Counter(edits.filter(~pl.col("from_labels"))["edit"].to_list())
    placed = len(edits) - own.total()
    said = ", ".join(f"{own[edit]:,} {word}" for edit, word in EDITS.items() if own[edit])
    said = f"Nodes edited: {said}" if said else "Same hierarchy"
    if placed or (unlisted and not own):
        but = counted(placed, "unlisted codes") if placed else "unlisted codes"
        said += f", but for {but} in only one of the runs"
    if not edited:
        return f"{said}."
    below = "Nodes with other nodes below them than before"
    return f"{said}. {below}: {edited:,}; their counts are not compared."
