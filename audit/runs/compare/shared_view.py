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
    withheld_last,
)
from audit.results.compared_models import SHOWN
from audit.results.findings import Finding
from audit.results.result import AuditResult
from audit.runs.compare.edits import Release
from audit.runs.compare.finding_changes import CHANGES, TOLD, CheckChange, Compared, FindingChange

SHOWN_EDITS = 50
"""Largest number of edits of the hierarchy that are listed."""

_Row = dict[str, Any]
_COMMON = ("mean_old", "mean_new", "difference", "low", "high", "odds_ratio", "p_value", "q_value")
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
        checks: Sequence[CheckChange] = (),
    ) -> None:
        self._old, self._new, self._min_cell = old, new, min_cell
        self._sizes = old.size, new.size
        self._titles = {**old.titles, **new.titles}
        self._groups = Release(old).groups, Release(new).groups
        self._nodes = _ranked(nodes, "node")
        self._pairs = _ranked(pairs, "a", "b")
        self._edits = list(edits.head(SHOWN_EDITS).iter_rows(named=True))
        self._told = {
            check.name: [found for found in check.findings if found.change in TOLD][:SHOWN]
            for check in checks
        }
        self._published = self._protected(old, 0), self._protected(new, 1)

    def nodes(self) -> list[_Row]:
        """The changed nodes with the greatest differences."""
        return withheld_last(map(self._node, self._nodes), "difference", "node")

    def pairs(self) -> list[_Row]:
        """The changed pairs with the greatest differences."""
        return withheld_last(map(self._pair, self._pairs), "difference", "a", "b")

    def edits(self) -> list[_Row]:
        """The first edits, in the order of the table."""
        return [self._edit(row) for row in self._edits]

    def check(self, check: CheckChange) -> _Row:
        """A check in both releases, with the findings that differ."""
        told = self._told[check.name]
        names = ("name", "title", "status_old", "status_new", "total_old", "total_new")
        return {
            **{name: getattr(check, name) for name in names},
            "changes": {change: check.count(change) for change in CHANGES},
            "findings": sorted(map(self._finding, told), key=_place),
            "not_shown": sum(map(check.count, TOLD)) - len(told),
        }

    def _protected(self, run: AuditResult, side: int) -> dict[Cell, int | str]:
        """Counts of one release, each as it may be shown beside all others that are shown.

        Joint counts of overlapping nodes are no counts of what carries both: those that one label
        entails are left out of them. They stand alone. What a run's own view tells or withholds,
        it tells or withholds here too.
        """
        when = ("old", "new")[side]
        rows = (*self._nodes, *self._edits)
        counts = {carried(row["node"]): row[f"support_{when}"] for row in rows}
        apart = [row for row in self._pairs if row["relation"] != "overlap"]
        counts |= {_both(row): row[f"joint_{when}"] for row in apart}
        compared = (found.compared for told in self._told.values() for found in told)
        for one in compared:
            if one is not None and not any(cell.differing for cell in one.cells):
                counts |= dict(zip(one.cells, (one.counts[side], one.of[side]), strict=False))
        known = {cell: value for cell, value in counts.items() if value is not None}
        return protected(known, run.release, self._min_cell, run.view.as_other_view())

    def _change(self, cell: Cell, old: int | None, new: int | None) -> tuple[Shown, Shown]:
        """Counts of both releases: bounded where their difference, or what stands beside, asks.

        A release whose hierarchy lacks the node has none.
        """
        first, second = (counts.get(cell) for counts in self._published)
        if old is None or new is None:
            return first, second
        alone = shown_change(old, new, *self._sizes, self._min_cell)
        return _stricter(alone[0], first), _stricter(alone[1], second)

    def _supports(self, row: _Row) -> dict[str, Shown]:
        """Supports of a node in both releases; null where a hierarchy lacks it."""
        names = ("support_old", "support_new")
        shown = self._change(carried(row["node"]), *(row[name] for name in names))
        return dict(zip(names, shown, strict=True))

    def _node(self, row: _Row) -> _Row:
        supports = self._supports(row)
        hidden = _bounded(*supports.values()) or self._few_groups(row)
        return {
            **{name: row[name] for name in ("node", "title", "branch")},
            **supports,
            **_measured(row, ("rate_old", "rate_new", *_COMMON), hidden=hidden),
        }

    def _few_groups(self, row: _Row) -> bool:
        """Whether the means of groups tell as little as a few groups that carry something."""
        means = row["mean_old"], row["mean_new"]
        if None in means:
            return False
        counts = [int(mean * n) for mean, n in zip(means, self._groups, strict=True)]
        return self._differ_little(counts[0], counts[1], *self._groups)

    def _edit(self, row: _Row) -> _Row:
        names = ("edit", "node", "title", "old", "new", "counted_at", "from_labels")
        return {**{name: row[name] for name in names}, **self._supports(row)}

    def _differ_little(self, old: int, new: int, old_total: int, new_total: int) -> bool:
        """Whether two counts tell a small cell by themselves or by their difference."""
        return _bounded(*shown_change(old, new, old_total, new_total, self._min_cell))

    def _pair(self, row: _Row) -> _Row:
        joints, cell = (row["joint_old"], row["joint_new"]), _both(row)
        margins = [[row[f"support_{side}_{when}"] for side in "ab"] for when in ("old", "new")]
        old, new = (
            _stricter(shown_count(joint, totals, self._min_cell), shown)
            for joint, totals, shown in zip(
                joints, margins, self._change(cell, *joints), strict=True
            )
        )
        hidden = _bounded(old, new) or self._few_groups(row)
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
            **_measured(row, _COMMON, hidden=hidden),
            **_measured(row, _BEYOND_NODES, hidden=supports_hidden),
        }

    def _finding(self, found: FindingChange) -> _Row:
        """A finding as the run's own report states it; of one in both releases, what changed."""
        finding = found.finding
        of_old, of_new = (side.get(finding.id) for side in self._own_findings)
        shared = of_old if found.new is None else of_new
        known = found.old is not None and found.new is not None
        hidden = shared is None or (known and _differs_little(found.old, found.new, self._min_cell))
        withheld = hidden or any(
            value is None or isinstance(value, str)
            for one in filter(None, (of_old, of_new))
            for value in one["evidence"].values()
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
            **self._compared(found.compared, hidden=withheld),
        }

    def _compared(self, compared: Compared | None, *, hidden: bool) -> _Row:
        """What both releases say of a finding's subject; null where it is not known or withheld."""
        names = ("count_old", "of_old", "count_new", "of_new", "difference", "low", "high")
        if compared is None or hidden:
            return dict.fromkeys(names)
        counts = zip(compared.counts, compared.of, strict=True)
        shown = [
            self._change(cell, *of_both)
            for cell, of_both in zip(compared.cells, (compared.counts, compared.of), strict=False)
        ]
        alone = shown_change(*compared.counts, *compared.of, self._min_cell)
        if _bounded(*alone) or any(_bounded(*both) for both in shown):
            return dict.fromkeys(names)
        values = (n for both in counts for n in both)
        return dict(
            zip(names, (*values, compared.difference, compared.low, compared.high), strict=True)
        )

    @cached_property
    def _own_findings(self) -> tuple[dict[str, _Row], dict[str, _Row]]:
        """Findings of the shared view of each run, by id, at the smallest count of both."""
        return _shared_findings(self._old, self._min_cell), _shared_findings(
            self._new, self._min_cell
        )


def _stricter(one: Shown, other: Shown) -> Shown:
    """A bound before the count itself; None is neither."""
    return other if isinstance(other, str) else one


def _bounded(*shown: Shown) -> bool:
    """Whether any count is shown as a bound."""
    return any(isinstance(one, str) for one in shown)


def _both(row: _Row) -> Cell:
    return together(carried(row["a"]), carried(row["b"]))


def _ranked(rows: pl.DataFrame, *ids: str) -> list[_Row]:
    changed = rows.filter("changed").sort(-pl.col("difference").abs(), *ids)
    return list(changed.head(SHOWN).iter_rows(named=True))


def _place(row: _Row) -> tuple[int, bool, str]:
    """Findings of a check by their change, those with a withheld effect at its end, by their id."""
    withheld = row["effect_old"] is None and row["effect_new"] is None
    return CHANGES.index(row["change"]), withheld, row["id"] if withheld else ""


def _measured(row: _Row, names: Sequence[str], *, hidden: bool) -> _Row:
    return {name: None if hidden else _finite(row[name]) for name in names}


def _finite(value: float | None) -> float | None:
    """None where one release has none at all: a ratio is infinite then."""
    return None if value is None or value in (float("inf"), float("-inf")) else value


def _differs_little(old: Finding | None, new: Finding | None, min_cell: int) -> bool:
    """Whether any count of instances that both releases have differs by a small cell."""
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
    """Findings of a run's own shared view, by id, at another smallest count."""
    if min_cell != run.min_cell:
        run = replace(run, policy={**run.policy, "min_cell": min_cell})
    checks = run.view.as_dict()["checks"]
    return {finding["id"]: finding for check in checks for finding in check["findings"]}
