"""Changes of checks and findings, and tests of whether two releases differ by more than chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.declared import schema
from audit.checks.limits import main_effect
from audit.engine.statistics.fdr import benjamini_hochberg
from audit.engine.statistics.intervals import newcombe, wilson
from audit.engine.statistics.two_rates import difference_p_value
from audit.measure.residual_differences import p_of_difference
from audit.measure.residual_use import Share
from audit.results.findings import CheckResult, Finding, Status
from audit.results.result import AuditResult
from audit.runs.compare.counts import within_rate
from audit.runs.compare.edits import Release

_PAIRS = ("redundant_nodes", "unexpected_pair")
"""Checks whose findings are on two nodes; those of ``cross_branch`` are where they have no key."""
_RESIDUALS = "residual_overuse"
_SHARES = ((), ("reference", ""))
"""Rest of the key, after the node, of findings on a share of residual labels of all instances."""
Change: TypeAlias = Literal["new", "gone", "worse", "better", "limit", "same", "not_asked"]
CHANGES: tuple[Change, ...] = ("new", "worse", "gone", "better", "limit", "same", "not_asked")
TOLD = CHANGES[:4]
"""Changes beyond chance."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What two releases say of one thing, whether or not both tell it as a finding.

    Args:
        of_all: Whether the counts are of all instances.
    """

    p_value: float
    counts: tuple[int, int]
    of: tuple[int, int]
    low: float | None
    high: float | None
    of_all: bool = True

    @property
    def difference(self) -> float:
        """Share in NEW less that in OLD."""
        old, new = (k / n for k, n in zip(self.counts, self.of, strict=True))
        return new - old


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
        assert found is not None, "one of two releases has it"
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

    def count(self, change: Change) -> int:
        """Number of findings with a kind of change."""
        return sum(finding.change == change for finding in self.findings)


@dataclass(frozen=True, eq=False)
class FindingTests:
    """The chance that what two releases say of one thing differs as much.

    A finding on a pair of nodes is tested as that pair is, one on residual labels by their shares,
    and one that names every case by its instances, which are none where it is not told. What has a
    limit, and is told only where that is passed, cannot be tested otherwise.
    """

    old: Release
    new: Release
    pairs: pl.DataFrame

    def of(self, old: Finding | None, new: Finding | None) -> Compared | None:
        """A finding that one or both releases have; None if it cannot be tested."""
        known = new or old
        assert known is not None, "one of two releases has it"
        if known.check in _PAIRS or (known.check == "cross_branch" and not known.key):
            row = self._of_pairs.get(tuple(sorted(known.nodes[-2:])))
            return None if row is None else self._pair(row)
        if known.check == _RESIDUALS and known.key[1:] in _SHARES:
            here, there = (of.get(known.nodes[0]) for of in self._residual[::-1])
            return None if here is None or there is None else _residual(here, there)
        if any(one is not None and one.beyond != 1.0 for one in (old, new)):
            return None
        return self._instances(0 if old is None else old.touched, 0 if new is None else new.touched)

    def _pair(self, row: Mapping[str, Any]) -> Compared:
        """By groups the test and the interval are of other shares than those of instances."""
        p_value = max(row["p_value"], row["nodes_p_value"])
        low, high = (row["low"], row["high"]) if row["mean_old"] is None else (None, None)
        return Compared(p_value, (row["joint_old"], row["joint_new"]), self._sizes, low, high)

    def _instances(self, old: int, new: int) -> Compared:
        of = self._sizes
        counts = min(old, of[0]), min(new, of[1])
        sizes = [round(n * worth) for n, worth in zip(of, self._worth, strict=True)]
        before, after = (
            np.array([round(k * worth)]) for k, worth in zip(counts, self._worth, strict=True)
        )
        p_value = float(difference_p_value(before, sizes[0], after, sizes[1])[0])
        low, high = newcombe(counts[1] / of[1], sizes[1], counts[0] / of[0], sizes[0])
        return Compared(p_value, counts, of, low, high)

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.old.instances, self.new.instances

    @cached_property
    def _of_pairs(self) -> Mapping[tuple[str, ...], Mapping[str, Any]]:
        tested = self.pairs.filter(pl.col("q_value").is_not_null())
        return {(row["a"], row["b"]): row for row in tested.iter_rows(named=True)}

    @cached_property
    def _residual(self) -> tuple[Mapping[str, Share], ...]:
        """Shares of residual labels by parent, of each release."""
        return tuple(
            {
                row["parent"]: Share(row["k"], row["n"], row["n_effective"], row["groups"])
                for row in of.run.residuals.filter(residual="all").iter_rows(named=True)
            }
            for of in (self.old, self.new)
        )

    @cached_property
    def _worth(self) -> tuple[float, ...]:
        """How many independent instances one is worth, on average over nodes, given its group."""
        return tuple(map(_worth, (self.old.run.nodes, self.new.run.nodes)))


def _residual(here: Share, there: Share) -> Compared | None:
    p_value = p_of_difference(here, there)
    if p_value is None:
        return None
    low, high = newcombe(here.value, here.worth(), there.value, there.worth())
    return Compared(p_value, (there.k, here.k), (there.n, here.n), low, high, of_all=False)


def _worth(nodes: pl.DataFrame) -> float:
    sums, squares = (nodes[f"group_{name}"].to_numpy() for name in ("sum", "squares"))
    effective = np.divide(sums**2, squares, out=np.zeros(len(sums)), where=squares > 0)
    return float(effective.sum() / max(nodes["support"].sum(), 1))


def check_changes(
    old: AuditResult, new: AuditResult, tests: FindingTests | None
) -> tuple[CheckChange, ...]:
    """All checks of either run, in NEW's order, with findings matched by id.

    A finding is new if it is reported in NEW and OLD does not have it, not even folded into
    another, and a test says that the two differ; gone is the reverse. It is worse if its effect in
    NEW is above the interval of its effect in OLD, better if the effect in OLD is above the
    interval in NEW, unless a test finds no difference. All tests are corrected together.
    """
    before, after = ({check.name: check for check in run.checks} for run in (old, new))
    names, sizes = {**after, **before}, (old.size, new.size)
    checks = tuple(_check(before.get(name), after.get(name), sizes) for name in names)
    return checks if tests is None else _beyond_chance(checks, tests)


def _beyond_chance(checks: tuple[CheckChange, ...], tests: FindingTests) -> tuple[CheckChange, ...]:
    """The same without changes that no test tells."""
    asked = [f for check in checks for f in check.findings if f.change != "not_asked"]
    compared = {one.finding.id: tests.of(one.old, one.new) for one in asked}
    known = {id_: one.p_value for id_, one in compared.items() if one is not None}
    q_values = benjamini_hochberg(np.array(list(known.values()), np.float64), len(known))
    beyond = dict(zip(known, within_rate(q_values).tolist(), strict=True))

    def judged(found: FindingChange) -> FindingChange:
        id_, change = found.finding.id, found.change
        if found.change in ("new", "gone") and not beyond.get(id_):
            change = "limit"
        elif found.change in ("worse", "better") and not beyond.get(id_, True):
            change = "same"
        return replace(found, change=change, compared=compared.get(id_))

    return tuple(replace(check, findings=in_order(map(judged, check.findings))) for check in checks)


def in_order(findings: Iterable[FindingChange]) -> tuple[FindingChange, ...]:
    """Findings by their change, those that touch most first."""

    def place(found: FindingChange) -> tuple[int, int, str]:
        return CHANGES.index(found.change), -found.finding.touched, found.finding.id

    return tuple(sorted(findings, key=place))


def _check(old: CheckResult | None, new: CheckResult | None, sizes: tuple[int, int]) -> CheckChange:
    was, now = (None if check is None else check.status for check in (old, new))
    ran_in_both = {was, now}.isdisjoint((None, "error", "not_applicable"))
    before, after = (0 if check is None else len(check.standing) for check in (old, new))
    described = new or old
    assert described is not None, "one of two releases has it"
    findings = in_order(_findings(old, new, sizes, ran_in_both=ran_in_both))
    return CheckChange(described.name, described.title, was, now, before, after, findings)


def _findings(
    old: CheckResult | None, new: CheckResult | None, sizes: tuple[int, int], *, ran_in_both: bool
) -> Iterator[FindingChange]:
    known_old, known_new = _findings_by_id(old), _findings_by_id(new)
    for finding in () if new is None else new.standing:
        if finding.id in known_old:
            yield _stayed(known_old[finding.id], finding, sizes)
        else:
            name, value, _ = main_effect(finding)
            change: Change = "new" if ran_in_both else "not_asked"
            yield FindingChange(change, None, finding, name, None, value)
    for finding in () if old is None else old.standing:
        if finding.id not in known_new:
            name, value, _ = main_effect(finding)
            change = "gone" if ran_in_both else "not_asked"
            yield FindingChange(change, finding, None, name, value, None)


def _findings_by_id(check: CheckResult | None) -> dict[str, Finding]:
    """All findings by id, folded ones included."""
    there = () if check is None else check.findings
    return {finding.id: finding for finding in there}


def _stayed(old: Finding, new: Finding, sizes: tuple[int, int]) -> FindingChange:
    (name, before, high_before), (name_new, after, high_after) = main_effect(old), main_effect(new)
    if name != name_new:
        return FindingChange("same", old, new, name_new, None, after)
    rate_before, rate_after = before, after
    if name == "touched":
        (rate_before, high_before), (rate_after, high_after) = (
            (touched / max(n, touched, 1), wilson(touched, max(n, touched))[1])
            for touched, n in ((before, sizes[0]), (after, sizes[1]))
        )
    change: Change = (
        "worse" if rate_after > high_before else "better" if rate_before > high_after else "same"
    )
    return FindingChange(change, old, new, name, before, after)


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
            "nodes": list(found.finding.nodes),
            **{name: getattr(found, name) for name in ("change", "effect")},
            **{name: getattr(found, name) for name in ("effect_old", "effect_new")},
            "severity_old": found.old and found.old.judged_severity,
            "severity_new": found.new and found.new.judged_severity,
            "p_value": found.compared and found.compared.p_value,
            "touched_old": found.old and found.old.touched,
            "touched_new": found.new and found.new.touched,
        }
        for check in checks
        for found in check.findings
    ]
    return pl.DataFrame(rows, schema=FINDING_COLUMNS)
