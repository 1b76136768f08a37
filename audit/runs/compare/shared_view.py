"""Rows of a comparison, suppressed for sharing: no small cell, no small difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import polars as pl

from audit.disclosure import (
    Cell,
    Shown,
    carried,
    protected,
    shown_change,
    shown_count,
    together,
)
from audit.results.findings import Finding
from audit.results.published_cells import release_of
from audit.results.result import AuditResult
from audit.runs.compare.finding_changes import CHANGES, CheckChange, FindingChange

SHOWN = 20
"""Largest number of rows of each ranked table, and of findings per check; the restricted tables
hold all.
"""
SHOWN_EDITS = 50
"""Largest number of edits of the hierarchy that are listed."""

_Row = dict[str, Any]
_COMMON = ("difference", "low", "high", "odds_ratio", "p_value", "q_value")
_BEYOND_NODES = ("lift_change", "nodes_q_value", "ratio_old", "ratio_new")


class SharedView:
    """Builder of the rows of a comparison that may be shared."""

    def __init__(
        self,
        old: AuditResult,
        new: AuditResult,
        min_cell: int,
        *,
        nodes: pl.DataFrame,
        pairs: pl.DataFrame,
        edits: pl.DataFrame,
    ) -> None:
        self._old, self._new, self._min_cell = old, new, min_cell
        self._sizes = int(old.ledger["instances"]), int(new.ledger["instances"])
        self._titles = {**_titles(old), **_titles(new)}
        self._nodes = _ranked(nodes.filter(pl.col("folded_into").is_null()), "node")
        self._pairs = _ranked(pairs.filter(pl.col("folded_a").is_null()), "a", "b")
        self._edits = list(edits.head(SHOWN_EDITS).iter_rows(named=True))
        self._restated = list(_restated(nodes).head(SHOWN).iter_rows(named=True))
        self._published = self._protected(old, "old"), self._protected(new, "new")

    def nodes(self) -> list[_Row]:
        """The changed nodes with the greatest differences, without folded ones."""
        return withheld_last([self._node(row) for row in self._nodes], "node")

    def pairs(self) -> list[_Row]:
        """The changed pairs with the greatest differences, without folded ones."""
        return withheld_last([self._pair(row) for row in self._pairs], "a", "b")

    def restated(self) -> list[_Row]:
        """Nodes whose count in OLD is another under NEW's hierarchy, the largest effect first."""
        rows = [self._restated_node(row) for row in self._restated]
        told = [row for row in rows if row["restated_low"] is not None]
        withheld = [row for row in rows if row["restated_low"] is None]
        return told + sorted(withheld, key=lambda row: str(row["node"]))

    def edits(self) -> list[_Row]:
        """The first edits, in the order of the table."""
        return [self._edit(row) for row in self._edits]

    def check(self, check: CheckChange) -> _Row:
        """A check in both releases, with the findings that differ."""
        told = [found for found in check.findings if found.change != "same"]
        return {
            "name": check.name,
            "title": check.title,
            "status_old": check.status_old,
            "status_new": check.status_new,
            "total_old": check.total_old,
            "total_new": check.total_new,
            "changes": {change: check.count(change) for change in CHANGES},
            "findings": _findings_as_shown([self._finding(found) for found in told[:SHOWN]]),
            "not_shown": max(len(told) - SHOWN, 0),
        }

    def _protected(self, run: AuditResult, when: str) -> dict[Cell, int | str]:
        """Counts of one release, each as it may be shown beside all others that are shown.

        Joint counts of overlapping nodes are no counts of what carries both: those that one label
        entails are left out of them. They stand alone.
        """
        rows = (*self._nodes, *self._restated, *self._edits)
        counts = {carried(row["node"]): row[f"support_{when}"] for row in rows}
        apart = [row for row in self._pairs if row["relation"] != "overlap"]
        counts |= {_both(row): row[f"joint_{when}"] for row in apart}
        known = {cell: value for cell, value in counts.items() if value is not None}
        return protected(known, release_of(run.nodes, run.edges, run.ledger), self._min_cell)

    def _change(self, cell: Cell, old: int, new: int) -> tuple[int | str, int | str]:
        """Counts of both releases: bounded where their difference, or what stands beside, asks."""
        told = shown_change(old, new, *self._sizes, self._min_cell)
        first, second = (counts.get(cell) for counts in self._published)
        return _stricter(told[0], first), _stricter(told[1], second)

    def _supports(self, row: _Row) -> dict[str, Shown]:
        """Supports of a node in both releases; null where a hierarchy lacks it."""
        old, new, cell = row["support_old"], row["support_new"], carried(row["node"])
        if old is None or new is None:
            first, second = (counts.get(cell) for counts in self._published)
            return {"support_old": first, "support_new": second}
        first, second = self._change(cell, old, new)
        return {"support_old": first, "support_new": second}

    def _node(self, row: _Row) -> _Row:
        supports = self._supports(row)
        hidden = _bounded(*supports.values()) or not self._unmoved(row)
        return {
            "node": row["node"],
            "title": row["title"],
            "branch": row["branch"],
            **supports,
            **_measured(row, ("rate_old", "rate_new"), hidden=hidden),
        }

    def _edit(self, row: _Row) -> _Row:
        names = ("edit", "node", "title", "old", "new", "counted_at", "from_labels")
        return {**{name: row[name] for name in names}, **self._supports(row)}

    def _unmoved(self, row: _Row) -> bool:
        """Whether OLD's count and its restated one tell no small cell by their difference."""
        n = self._sizes[0]
        return not _bounded(
            *shown_change(row["support_old"], row["restated_low"], n, n, self._min_cell)
        )

    def _pair(self, row: _Row) -> _Row:
        margins = [[row[f"support_{side}_{when}"] for side in "ab"] for when in ("old", "new")]
        old, new = (
            _stricter(shown_count(row[f"joint_{when}"], totals, self._min_cell), told)
            for when, totals, told in zip(
                ("old", "new"),
                margins,
                self._change(_both(row), row["joint_old"], row["joint_new"]),
                strict=True,
            )
        )
        hidden = _bounded(old, new)
        supports_hidden = hidden or _bounded(
            *(
                shown_count(margin, [n], self._min_cell)
                for totals, n in zip(margins, self._sizes, strict=True)
                for margin in totals
            )
        )
        return {
            "a": row["a"],
            "title_a": self._titles.get(row["a"]),
            "b": row["b"],
            "title_b": self._titles.get(row["b"]),
            "relation": row["relation"],
            "joint_old": old,
            "joint_new": new,
            **_measured(row, (), hidden=hidden),
            **_measured(row, _BEYOND_NODES, hidden=supports_hidden, common=()),
        }

    def _restated_node(self, row: _Row) -> _Row:
        supports, n = self._supports(row), self._sizes[0]
        hidden = any(
            _bounded(*shown_change(row["support_old"], row[bound], n, n, self._min_cell))
            or _bounded(*shown_change(row[bound], row["support_new"], *self._sizes, self._min_cell))
            for bound in ("restated_low", "restated_high")
        )
        return {
            "node": row["node"],
            "title": row["title"],
            **supports,
            "restated_low": None if hidden else row["restated_low"],
            "restated_high": None if hidden else row["restated_high"],
        }

    def _finding(self, found: FindingChange) -> _Row:
        """A finding as the run's own report states it; of one in both releases, what changed."""
        finding = found.finding
        shared = (self._findings_old if found.new is None else self._findings_new).get(finding.id)
        known = found.old is not None and found.new is not None
        hidden = shared is None or (known and _differs_little(found.old, found.new, self._min_cell))
        withheld = hidden or any(
            value is None or isinstance(value, str)
            for side in (self._findings_old, self._findings_new)
            for value in side.get(finding.id, {"evidence": {}})["evidence"].values()
        )
        return {
            "id": finding.id,
            "change": found.change,
            "severity_old": found.old and found.old.judged_severity,
            "severity_new": found.new and found.new.judged_severity,
            "nodes": shared["nodes"]
            if shared
            else [{"id": node, "title": self._titles.get(node)} for node in sorted(finding.nodes)],
            "statement": None if hidden or shared is None else shared["statement"],
            "effect": found.effect,
            "effect_old": None if withheld else found.effect_old,
            "effect_new": None if withheld else found.effect_new,
        }

    @cached_property
    def _findings_old(self) -> dict[str, _Row]:
        return _shared_findings(self._old, self._min_cell)

    @cached_property
    def _findings_new(self) -> dict[str, _Row]:
        return _shared_findings(self._new, self._min_cell)


def _stricter(one: int | str, other: int | str | None) -> int | str:
    """A bound before the count itself; None is neither."""
    return other if isinstance(other, str) else one


def _bounded(*told: Shown) -> bool:
    """Whether any count is shown as a bound."""
    return any(isinstance(one, str) for one in told)


def _restated(nodes: pl.DataFrame) -> pl.DataFrame:
    """Nodes whose count in OLD is another under NEW's hierarchy, the largest effect first."""
    bounds = pl.col("restated_low"), pl.col("restated_high")
    effect = pl.max_horizontal(*((bound - pl.col("support_old")).abs() for bound in bounds))
    return nodes.filter(effect > 0).sort(-effect, "node")


def _both(row: _Row) -> Cell:
    return together(carried(row["a"]), carried(row["b"]))


def _ranked(rows: pl.DataFrame, *ids: str) -> list[_Row]:
    changed = rows.filter("changed").sort(-pl.col("difference").abs(), *ids)
    return list(changed.head(SHOWN).iter_rows(named=True))


def withheld_last(rows: list[_Row], *ids: str) -> list[_Row]:
    """Move withheld rows to the end, in node order, so that their rank discloses nothing."""
    told = [row for row in rows if row["difference"] is not None]
    withheld = [row for row in rows if row["difference"] is None]
    return told + sorted(withheld, key=lambda row: [row[name] for name in ids])


def _findings_as_shown(rows: list[_Row]) -> list[_Row]:
    """Findings of a check by their change, those with a withheld effect at its end, by their id."""

    def place(row: _Row) -> tuple[int, bool, str]:
        withheld = row["effect_old"] is None and row["effect_new"] is None
        return CHANGES.index(row["change"]), withheld, row["id"] if withheld else ""

    return sorted(rows, key=place)


def _measured(
    row: _Row, names: Sequence[str], *, hidden: bool, common: Sequence[str] = _COMMON
) -> _Row:
    return {name: None if hidden else _finite(row[name]) for name in (*names, *common)}


def _finite(value: float | None) -> float | None:
    """None where one release has none at all: a ratio is infinite then."""
    return None if value is None or value in (float("inf"), float("-inf")) else value


def _differs_little(old: Finding | None, new: Finding | None, min_cell: int) -> bool:
    """Whether any count of instances that both releases tell differs by a small cell."""
    if old is None or new is None:
        return False
    counts = [
        (int(was.value), int(now.value))
        for name, was in old.evidence.items()
        if (now := new.evidence.get(name)) is not None
        and was.kind == now.kind == "count"
        and was.value is not None
        and now.value is not None
    ]
    return any(0 < abs(now - was) < min_cell for was, now in (*counts, (old.touched, new.touched)))


def _shared_findings(run: AuditResult, min_cell: int) -> dict[str, _Row]:
    """Findings that a run's own shared view tells, by id, at another smallest count."""
    stricter = replace(run, policy={**run.policy, "min_cell": min_cell})
    checks = stricter.shared()["checks"]
    return {finding["id"]: finding for check in checks for finding in check["findings"]}


def _titles(run: AuditResult) -> dict[str, str | None]:
    return dict(run.nodes.select("node", "title").iter_rows())
