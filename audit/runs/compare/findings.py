"""Changes of checks and findings, tested, and as far as told numbers show them too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from audit.base.declared import schema
from audit.checks.limits import main_effect
from audit.engine.statistics.intervals import newcombe
from audit.engine.statistics.two_rates import difference_p_value
from audit.measure.residual_differences import p_of_difference
from audit.measure.residual_use import Share
from audit.results.findings import CheckResult, Finding
from audit.results.result import AuditResult
from audit.runs.compare.counts import p_of_interval, q_values, within_rate
from audit.runs.compare.releases import SIDES, Releases
from audit.runs.compare.told import ToldRuns

_PAIRS = ("redundant_nodes", "unexpected_pair")
"""Checks whose findings are on two nodes; those of ``cross_branch`` are where they have no key."""
_RESIDUALS = "residual_overuse"
_SHARES = ((), ("reference", ""))
"""Rest of the key, after the node, of findings on a share of residual labels of all instances."""
CHANGES = ("new", "worse", "gone", "better", "limit", "same", "not_asked")
TOLD = CHANGES[:4]
"""Changes beyond chance."""
COLUMNS = schema(
    ("check id change", pl.String),
    ("nodes", pl.List(pl.String())),
    ("severity_old severity_new effect", pl.String),
    ("effect_old effect_new p_value", pl.Float64),
    ("touched_old touched_new", pl.Int64),
)
"""Of the table that is written: a row a finding of either release. ``change`` is ``limit`` if one
release has it, and no test says that the two differ, and ``not_asked`` if the check did not run in
the other. ``effect`` names the main effect: share or ratio, else the instances concerned."""
SUBJECT = schema(
    ("count_old of_old count_new of_new", pl.Int64), ("difference low high", pl.Float64)
)
"""What both releases say of the subject of a finding that was tested."""
_UNASKED = (None, "error", "not_applicable")
"""Statuses of checks that did not run."""
_HELD = {"new": ("new", "worse"), "gone": ("gone", "better")}
"""What tests say of a finding that is told of one run alone."""
_Row = dict[str, Any]
_Found = tuple[_Row, Finding | None, Finding | None]
"""A row of `COLUMNS`, and the finding as either release has it."""


def checks_of(old: AuditResult, new: AuditResult) -> list[_Row]:
    """Checks of either run, in NEW's order, with status and number of findings in each run."""
    return [
        {
            "name": name,
            "title": next(one.title for one in (now, was) if one),
            "status_old": was and was.status,
            "status_new": now and now.status,
            "total_old": len(was.standing) if was else 0,
            "total_new": len(now.standing) if now else 0,
        }
        for name, was, now in _in_both(old, new)
    ]


def _in_both(
    old: AuditResult, new: AuditResult
) -> Iterator[tuple[str, CheckResult | None, CheckResult | None]]:
    """The name of each check of either run, and the check in OLD and NEW, None where it lacks."""
    before, after = ({check.name: check for check in run.checks} for run in (old, new))
    for name in {**after, **before}:
        yield name, before.get(name), after.get(name)


def finding_changes(of: Releases, pairs: pl.DataFrame) -> pl.DataFrame:
    """All findings of either release, matched by id: columns `COLUMNS`, `SUBJECT` and ``of_all``.

    A finding is new if it is reported in NEW and OLD does not have it, not even folded into
    another, and a test says that the two differ; gone is the reverse. Of one that both have it is
    worse or better, by its effect. Where no test says so, the first two are ``limit``, the others
    ``same``. All tests are corrected together; on the same data nothing is tested.

    Args:
        pairs: Changes of all pairs that were tested.
    """
    tests = FindingTests(of, pairs)
    rows = [
        row if of.same_data or row["change"] == "not_asked" else row | tests.of(old, new)
        for row, old, new in _matched(of.old.run, of.new.run)
    ]
    table = pl.DataFrame(rows, {**COLUMNS, **SUBJECT, "of_all": pl.Boolean})
    if of.same_data:
        return _in_order(table)
    known = table["p_value"].is_not_null().to_numpy()
    beyond = pl.lit(pl.Series(within_rate(q_values(table["p_value"].to_numpy(), known))))
    alone, both = (pl.col("change").is_in(some) for some in (("new", "gone"), ("worse", "better")))
    change = pl.when(beyond).then("change").when(alone).then(pl.lit("limit"))
    told = change.when(both).then(pl.lit("same")).otherwise("change")
    return _in_order(table.with_columns(change=told))


def _in_order(findings: pl.DataFrame) -> pl.DataFrame:
    """Findings by their check and change, those that touch most instances first."""
    checks = pl.Enum(findings["check"].unique(maintain_order=True))
    return findings.sort(
        pl.col("check").cast(checks),
        pl.col("change").cast(pl.Enum(CHANGES)),
        -pl.coalesce("touched_new", "touched_old"),
        "id",
    )


def _matched(old: AuditResult, new: AuditResult) -> Iterator[_Found]:
    """All findings of either run, with what their effects alone say of their change."""
    for name, was, now in _in_both(old, new):
        asked = {one and one.status for one in (was, now)}.isdisjoint(_UNASKED)
        before, after = (
            {one.id: one for one in (check.findings if check else ())} for check in (was, now)
        )
        for one in now.standing if now else ():
            yield _row(name, before.get(one.id), one, asked=asked)
        for one in was.standing if was else ():
            if one.id not in after:
                yield _row(name, one, None, asked=asked)


def _row(check: str, old: Finding | None, new: Finding | None, *, asked: bool) -> _Found:
    """A row of `COLUMNS`, no p value, and the findings; ``asked``: the check ran in both."""
    was, now = (None if one is None else main_effect(one) for one in (old, new))
    effect, known = now or was, new or old
    assert effect is not None, "one of two releases has it"
    assert known is not None, "one of two releases has it"
    if was is None or now is None:
        change = "not_asked" if not asked else "new" if was is None else "gone"
    else:
        alike = was[0] != now[0] or was[1] == now[1]
        change = "same" if alike else "worse" if now[1] > was[1] else "better"
    row = {
        "check": check,
        "id": known.id,
        "nodes": [*known.nodes],
        "change": change,
        "effect": effect[0],
        "effect_old": was[1] if was and was[0] == effect[0] else None,
        "effect_new": now and now[1],
        "severity_old": old and old.judged_severity,
        "severity_new": new and new.judged_severity,
        "touched_old": old and old.touched,
        "touched_new": new and new.touched,
    }
    return row, old, new


@dataclass(frozen=True, eq=False)
class FindingTests:
    """The chance that what two releases say of one thing differs as much.

    A finding on a pair of nodes is tested as that pair is, one on residual labels by their shares,
    and one that names every case by its instances, which are none where it is not told. What has a
    limit is told only where that is passed, so that it is tested where both releases have it: by
    its effect with both intervals, or without these by its instances.
    """

    releases: Releases
    pairs: pl.DataFrame

    def of(self, old: Finding | None, new: Finding | None) -> _Row:
        """Test of a finding of either release: `_tested`, or ``p_value`` alone; empty if none."""
        known = new or old
        assert known is not None, "one of two releases has it"
        if known.check in _PAIRS or (known.check == "cross_branch" and not known.key):
            row = self._tested_pairs.get(tuple(sorted(known.nodes[-2:])))
            return {} if row is None else self._pair(row)
        if known.check == _RESIDUALS and known.key[1:] in _SHARES:
            there, here = (shares.get(known.nodes[0]) for shares in self._residual)
            p_value = p_of_difference(here, there)
            if here is None or there is None or p_value is None:
                return {}
            ends = newcombe(here.value, here.worth(), there.value, there.worth())
            return _tested(p_value, (there.k, here.k), (there.n, here.n), ends, of_all=False)
        tested = self._instances(*(0 if one is None else one.touched for one in (old, new)))
        if all(one is None or one.beyond == 1.0 for one in (old, new)):
            return tested
        if old is None or new is None:
            return {}
        (_, before, above), (effect, after, over) = map(main_effect, (old, new))
        reach = math.hypot(above - before, over - after)
        by_effect = effect != "touched" and reach
        p_value = p_of_interval(after - before, reach) if by_effect else tested["p_value"]
        return {"p_value": float(p_value)}

    def _pair(self, row: Mapping[str, Any]) -> _Row:
        """The test of a pair, without an interval where groups make it one of other shares."""
        p_value = max(row["p_value"], row["nodes_p_value"])
        ends = (row["low"], row["high"]) if row["mean_old"] is None else (None, None)
        return _tested(p_value, (row["joint_old"], row["joint_new"]), self.releases.sizes, ends)

    def _instances(self, *touched: int) -> _Row:
        """The test of two numbers of instances, of OLD and of NEW."""
        of = self.releases.sizes
        k, m = map(min, touched, of)
        sizes = [round(n * worth) for n, worth in zip(of, self._worth, strict=True)]
        before, after = (
            np.array([round(one * worth)]) for one, worth in zip((k, m), self._worth, strict=True)
        )
        p_value = float(difference_p_value(before, sizes[0], after, sizes[1])[0])
        return _tested(p_value, (k, m), of, newcombe(m / of[1], sizes[1], k / of[0], sizes[0]))

    @cached_property
    def _tested_pairs(self) -> Mapping[tuple[str, ...], Mapping[str, Any]]:
        tested = self.pairs.filter(pl.col("q_value").is_not_null())
        return {(row["a"], row["b"]): row for row in tested.iter_rows(named=True)}

    @cached_property
    def _residual(self) -> tuple[Mapping[str, Share], ...]:
        """By parent, the share of instances with only residual labels below it: OLD's, NEW's."""
        return tuple(
            {
                row["parent"]: Share(row["k"], row["n"], row["n_effective"], row["groups"])
                for row in one.run.residuals.filter(residual="all").iter_rows(named=True)
            }
            for one in self.releases
        )

    @cached_property
    def _worth(self) -> tuple[float, ...]:
        """How many independent instances one is worth, on average over nodes, given its group."""
        return tuple(_worth(one.run.nodes) for one in self.releases)


def _worth(nodes: pl.DataFrame) -> float:
    """Effective instances over instances, both summed over all nodes."""
    sums, squares = (nodes[f"group_{name}"].to_numpy() for name in ("sum", "squares"))
    effective = np.divide(sums**2, squares, out=np.zeros(len(sums)), where=squares > 0)
    return float(effective.sum() / max(nodes["support"].sum(), 1))


def _tested(
    p_value: float,
    counts: tuple[int, int],
    of: tuple[int, int],
    ends: tuple[Any, Any],
    *,
    of_all: bool = True,
) -> _Row:
    """``p_value``, ``of_all`` and the columns `SUBJECT` of a test, ``ends`` its interval."""
    difference = counts[1] / of[1] - counts[0] / of[0]
    values = (counts[0], of[0], counts[1], of[1], difference, *ends)
    return {"p_value": p_value, "of_all": of_all, **dict(zip(SUBJECT, values, strict=True))}


def told_findings(exact: pl.DataFrame, runs: ToldRuns) -> pl.DataFrame:
    """What both runs tell of `finding_changes`: columns `COLUMNS` and `SUBJECT`.

    A change beyond chance is one only where told numbers differ too.
    """
    if not runs.width:
        return exact
    known = {row["id"]: row for row in exact.iter_rows(named=True)}
    subjects = runs.table(
        pl.DataFrame([*_subjects(exact, runs)], {"id": pl.String, **SUBJECT}), "count"
    )
    apart = {*runs.apart(subjects, "count")["id"]}
    rows = []
    for row, *_ in _matched(runs.old.told, runs.new.told):
        was = known.get(row["id"], {"change": "same", "of_all": None})
        if row["change"] in _HELD:
            differs = was["of_all"] is None or row["id"] in apart
            if not differs or was["change"] not in _HELD[row["change"]]:
                row["change"] = "limit"
        elif row["change"] != "not_asked":
            touched = (runs.rounding.count(row[f"touched_{side}"], side) for side in SIDES)
            row["change"] = was["change"] if runs.differ(*touched) else "same"
        rows.append(row)
    told = _in_order(pl.DataFrame(rows, COLUMNS))
    return told.join(subjects, on="id", how="left", maintain_order="left")


def _subjects(exact: pl.DataFrame, runs: ToldRuns) -> Iterator[_Row]:
    """``id`` and `SUBJECT` of what was tested, with told denominators, and 0 for intervals."""
    for row in exact.filter(pl.col("of_all").is_not_null()).iter_rows(named=True):
        told = (
            {}
            if row["of_all"]
            else {f"of_{side}": runs.rounding.count(row[f"of_{side}"], side) for side in SIDES}
        )
        yield {name: row[name] for name in ("id", *SUBJECT)} | told | {"low": 0.0, "high": 0.0}
