"""Changes of findings as far as told numbers show them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from audit.base.declared import Column, schema
from audit.engine.statistics.intervals import difference_interval
from audit.results.findings import Finding
from audit.runs.compare.finding_changes import (
    Change,
    CheckChange,
    FindingChange,
    check_changes,
    in_order,
)
from audit.runs.compare.told_changes import SIDES, ToldRuns
from audit.sharing.told import told_rows

SUBJECT = schema(
    ("count_old of_old count_new of_new", pl.Int64), ("difference low high", pl.Float64)
)
"""What both runs say of the subject of a finding."""
_HELD: Mapping[str, tuple[Change, ...]] = {"new": ("new", "worse"), "gone": ("gone", "better")}
"""What tests say of a finding that is told of one run alone."""
_Estimate = tuple[float | None, float | None, float | None]


@dataclass(frozen=True, eq=False)
class ToldFindings:
    """Changes of findings between two told runs.

    Args:
        exact: The changes by exact numbers and tests.
    """

    runs: ToldRuns
    exact: tuple[CheckChange, ...]

    @cached_property
    def checks(self) -> tuple[CheckChange, ...]:
        """All checks; a change beyond chance is one only where told numbers differ."""
        if not self.runs.width:
            return self.exact
        told = check_changes(self.runs.old.told, self.runs.new.told, None)
        return tuple(
            replace(check, findings=in_order(map(self._told, check.findings))) for check in told
        )

    @cached_property
    def subjects(self) -> Mapping[str, Mapping[str, Any]]:
        """`SUBJECT` of each finding that was tested, as it is told, by the finding's id."""
        return {row["id"]: row for row in self._subjects.iter_rows(named=True)}

    @cached_property
    def _subjects(self) -> pl.DataFrame:
        rows = [self._subject(found) for found in self._exact.values() if found.compared]
        return self.runs.table(pl.DataFrame(rows, {"id": pl.String, **SUBJECT}), "count")

    def _subject(self, found: FindingChange) -> dict[str, Any]:
        one, width = found.compared, self.runs.width
        assert one is not None, "only what was tested has a subject"
        of = one.of
        if width and not one.of_all:
            of = tuple(map(self.runs.rounding.count, one.of, SIDES))  # type: ignore[assignment]
        ends = (0.0, 0.0) if width else (one.low, one.high)  # told ones are computed
        values = (one.counts[0], of[0], one.counts[1], of[1], one.difference, *ends)
        return {"id": found.finding.id, **dict(zip(SUBJECT, values, strict=True))}

    @cached_property
    def _apart(self) -> frozenset[str]:
        return frozenset(self.runs.apart(self._subjects, "count")["id"])

    @cached_property
    def _exact(self) -> Mapping[str, FindingChange]:
        return {found.finding.id: found for check in self.exact for found in check.findings}

    def _told(self, found: FindingChange) -> FindingChange:
        if found.change == "not_asked":
            return found
        exact = self._exact.get(found.finding.id) or replace(found, change="same")
        if found.old is None or found.new is None:
            apart = exact.compared is None or found.finding.id in self._apart
            held = exact.change in _HELD[found.change]
            return found if apart and held else replace(found, change="limit")
        differs = self._differ(found.old, found.new, found.effect, exact.change)
        return replace(found, change=exact.change if differs else "same")

    def _differ(self, old: Finding, new: Finding, effect: str, change: Change) -> bool:
        """Whether told effects of a finding that both runs have differ as the exact ones do."""
        if change not in ("worse", "better"):
            return False
        both = dict(zip(SIDES, (old, new), strict=True))
        if effect == "touched":
            count = self.runs.rounding.count
            return self.runs.differ(*(count(one.touched, side) for side, one in both.items()))
        before, after = (self._estimate(one, effect, side) for side, one in both.items())
        if None in (*before, *after):
            return False
        low, high = difference_interval(after, before)
        return bool(low > 0 if change == "worse" else high < 0)

    def _estimate(self, finding: Finding, name: str, side: str) -> _Estimate:
        """A share or ratio of a finding with the ends of its interval, as they are told.

        Those of nearly all are not compared.
        """
        run = self.runs.sides[side]
        columns = next(check.evidence for check in run.checks if check.name == finding.check)
        if columns[name].kind not in ("share", "ratio"):
            return None, None, None
        ends = {end: Column(end, "end", (name,), side=at) for end, at in (("<", -1), (">", 1))}
        evidence = {**finding.evidence, **dict.fromkeys(ends, 0.0)}
        (told,) = told_rows([evidence], columns | ends, run.rounding)
        counted = columns[columns[name].of[0]]
        part = told[counted.name]
        if part is None or run.rounding.bins(counted.total).near_all(part):
            return None, None, None
        return told[name], told["<"], told[">"]
