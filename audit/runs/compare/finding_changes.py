"""Changes of findings (new, gone, worse, better), check by check, where a test tells them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.schemas import schema
from audit.checks.limits import main_effect
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import wilson
from audit.results.findings import CheckResult, Finding, Status
from audit.results.result import AuditResult
from audit.runs.compare.counts import FALSE_DISCOVERY_RATE
from audit.runs.compare.finding_tests import Compared, FindingTests

Change: TypeAlias = Literal["new", "gone", "worse", "better", "limit", "same", "not_asked"]
CHANGES: tuple[Change, ...] = ("new", "worse", "gone", "better", "limit", "same", "not_asked")
TOLD = CHANGES[:4]
"""Changes beyond chance."""


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One finding in both releases; None for a release that does not have it.

    ``change`` is ``limit`` if one release has it, and no test says that the two differ, and
    ``not_asked`` if the check did not run in the other release. ``effect`` is the name of the main
    effect: share or ratio, else the instances concerned. ``compared`` is None if there was no test.
    """

    change: Change
    old: Finding | None
    new: Finding | None
    effect: str
    effect_old: float | None
    effect_new: float | None
    compared: Compared | None = None

    @property
    def finding(self) -> Finding:
        """The finding as NEW has it, else as OLD did."""
        found = self.new or self.old
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class CheckChange:
    """One check in both releases; a status is None if the run does not have the check."""

    name: str
    title: str
    status_old: Status | None
    status_new: Status | None
    total_old: int
    total_new: int
    findings: tuple[FindingChange, ...]

    @property
    def ran_in_both(self) -> bool:
        """Whether the check ran in both releases."""
        return {self.status_old, self.status_new}.isdisjoint((None, "error", "not_applicable"))

    def count(self, change: Change) -> int:
        """Number of findings with a kind of change."""
        return sum(finding.change == change for finding in self.findings)


def check_changes(old: AuditResult, new: AuditResult, tests: FindingTests | None) -> _Changes:
    """All checks of either run, in NEW's order, with findings matched by id.

    A finding is new if it is reported in NEW and OLD does not have it, not even folded into
    another, and a test says that the two differ; gone is the reverse. It is worse if its effect in
    NEW is above the interval of its effect in OLD, better if the effect in OLD is above the
    interval in NEW, unless a test finds no difference. All tests are corrected together.

    Args:
        old: The earlier run.
        new: The later run.
        tests: What findings are tested by; None if the data are the same, so that nothing is
            chance.
    """
    before = {check.name: check for check in old.checks}
    after = {check.name: check for check in new.checks}
    sizes = int(old.ledger["instances"]), int(new.ledger["instances"])
    every = tuple(_check(before.get(name), after.get(name), sizes) for name in {**after, **before})
    return every if tests is None else _beyond_chance(every, tests)


_Changes: TypeAlias = tuple["CheckChange", ...]


def _beyond_chance(checks: _Changes, tests: FindingTests) -> _Changes:
    """The same without changes that no test tells."""
    asked = [
        replace(found, compared=tests.of(found.old, found.new))
        for check in checks
        for found in check.findings
        if found.change != "not_asked"
    ]
    known = {f.finding.id: f.compared.p_value for f in asked if f.compared is not None}
    q_values = benjamini_hochberg(np.array(list(known.values()), np.float64), len(known)).tolist()
    told = {id_ for id_, q in zip(known, q_values, strict=True) if q <= FALSE_DISCOVERY_RATE.value}
    judged = {found.finding.id: _judged(found, told) for found in asked}
    return tuple(
        replace(check, findings=_in_order(judged.get(f.finding.id, f) for f in check.findings))
        for check in checks
    )


def _judged(found: FindingChange, told: Set[str]) -> FindingChange:
    if found.finding.id in told or found.change == "same":
        return found
    if found.change in ("new", "gone"):
        return replace(found, change="limit")
    return found if found.compared is None else replace(found, change="same")


FINDING_COLUMNS = schema(
    ("check id change", pl.String),
    ("nodes", pl.List(pl.String())),
    ("severity_old severity_new effect", pl.String),
    ("effect_old effect_new p_value", pl.Float64),
    ("touched_old touched_new", pl.Int64),
)


def finding_frame(checks: tuple[CheckChange, ...]) -> pl.DataFrame:
    """All findings of either release: one row per finding, columns `FINDING_COLUMNS`."""
    rows = [
        {
            "check": check.name,
            "id": found.finding.id,
            "change": found.change,
            "nodes": list(found.finding.nodes),
            "severity_old": found.old and found.old.judged_severity,
            "severity_new": found.new and found.new.judged_severity,
            "effect": found.effect,
            "effect_old": found.effect_old,
            "effect_new": found.effect_new,
            "p_value": None if found.compared is None else found.compared.p_value,
            "touched_old": None if found.old is None else found.old.touched,
            "touched_new": None if found.new is None else found.new.touched,
        }
        for check in checks
        for found in check.findings
    ]
    return pl.DataFrame(rows, schema=dict(FINDING_COLUMNS))


def _check(old: CheckResult | None, new: CheckResult | None, sizes: tuple[int, int]) -> CheckChange:
    described = new or old
    assert described is not None
    empty = CheckChange(
        name=described.name,
        title=described.title,
        status_old=None if old is None else old.status,
        status_new=None if new is None else new.status,
        total_old=0 if old is None else len(old.standing),
        total_new=0 if new is None else len(new.standing),
        findings=(),
    )
    findings = _in_order(_findings(old, new, sizes, ran_in_both=empty.ran_in_both))
    return replace(empty, findings=findings)


def _in_order(findings: Iterable[FindingChange]) -> tuple[FindingChange, ...]:
    def place(found: FindingChange) -> tuple[int, int, str]:
        return CHANGES.index(found.change), -found.finding.touched, found.finding.id

    return tuple(sorted(findings, key=place))


def _findings(
    old: CheckResult | None, new: CheckResult | None, sizes: tuple[int, int], *, ran_in_both: bool
) -> Iterator[FindingChange]:
    known_old, known_new = _findings_by_id(old), _findings_by_id(new)
    for finding in () if new is None else new.standing:
        before = known_old.get(finding.id)
        if before is not None:
            yield _stayed(before, finding, sizes)
        else:
            yield _change_of_one("new" if ran_in_both else "not_asked", finding, in_new=True)
    for finding in () if old is None else old.standing:
        if finding.id not in known_new:
            yield _change_of_one("gone" if ran_in_both else "not_asked", finding, in_new=False)


def _findings_by_id(check: CheckResult | None) -> dict[str, Finding]:
    """All findings by id, folded ones included."""
    there = () if check is None else check.findings
    return {finding.id: finding for finding in there if not finding.judgement.dropped}


def _change_of_one(change: Change, finding: Finding, *, in_new: bool) -> FindingChange:
    name, value, _ = main_effect(finding)
    if in_new:
        return FindingChange(change, None, finding, name, None, value)
    return FindingChange(change, finding, None, name, value, None)


def _stayed(old: Finding, new: Finding, sizes: tuple[int, int]) -> FindingChange:
    (name, before, high_before), (name_new, after, high_after) = main_effect(old), main_effect(new)
    if name != name_new:
        return FindingChange("same", old, new, name_new, None, after)
    if name == "touched":
        rates = [
            (touched / max(n, touched, 1), wilson(touched, max(n, touched))[1])
            for touched, n in ((before, sizes[0]), (after, sizes[1]))
        ]
        (rate_before, high_before), (rate_after, high_after) = rates
    else:
        rate_before, rate_after = before, after
    change: Change = (
        "worse" if rate_after > high_before else "better" if rate_before > high_after else "same"
    )
    return FindingChange(change, old, new, name, before, after)
