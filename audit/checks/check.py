"""The record that registers a check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from audit.base.dag import IntArray
from audit.measure.measure import Measurements
from audit.policy.policy import Policy
from audit.policy.statements import ANY_CHECK, Waiver
from audit.results.findings import CheckResult, Finding

TOP_PARTS = 10
"""Lines of a finding's breakdown."""


@dataclass(frozen=True)
class Limit:
    """A threshold that a finding's own evidence keeps to, so that it can be judged by again.

    Args:
        evidence: Name of the evidence.
        relation: What the evidence of a finding is to the threshold.
        threshold: Name of the policy's threshold.
        told_as: Name of the evidence that tells the threshold; empty: none does.
    """

    evidence: str
    relation: Literal[">", ">=", "<="]
    threshold: str
    told_as: str = ""

    def keeps(self, value: float, threshold: float) -> bool:
        """Whether a finding with this evidence is one under this threshold."""
        if self.relation == "<=":
            return value <= threshold
        return value > threshold if self.relation == ">" else value >= threshold

    def tightens(self, before: float, after: float) -> bool:
        """Whether no finding comes up that was none before."""
        return after <= before if self.relation == "<=" else after >= before


@dataclass(frozen=True)
class Check:
    """One rule over numbers.

    Args:
        name: What results, policies and ``audit list checks`` call it.
        title: The question it answers, in one line.
        run: Applies it.
        limits: Thresholds that its findings can be judged by again.
        counts_with: Thresholds that it counts with: by another value it has to run again.
        retest: Gives a run's findings the evidence that they have under other limits, from the
            residual table of the run and the policy; None: no test of it depends on a limit.
        needs: What it cannot be applied without: ``counts``, or the ``instances`` one by one.
        cases: The instances behind one of its findings, by their numbers in the dataset, ascending;
            None: no finding of it is about instances.
    """

    name: str
    title: str
    run: Callable[[Measurements], CheckResult]
    limits: tuple[Limit, ...] = ()
    counts_with: tuple[str, ...] = ()
    retest: Callable[[CheckResult, pl.DataFrame, Policy], CheckResult] | None = None
    needs: Literal["counts", "instances"] = "counts"
    cases: Callable[[Measurements, Finding], IntArray] | None = None

    def apply(self, measured: Measurements) -> CheckResult:
        """What it finds; not applicable where it needs instances and only counts are there."""
        if self.needs == "counts" or measured.instances is not None:
            return self.run(measured)
        return CheckResult(
            name=self.name,
            title=self.title,
            denominator=0,
            denominator_unit="instances",
            not_applicable="needs the instances one by one, which a count does not keep",
        )


@dataclass(frozen=True)
class WaiverUse:
    """A waiver of the policy on the day of judging.

    Args:
        waiver: As the policy states it.
        expired: Whether its last day has passed.
        findings: Findings that it covers, whether or not it still holds.
    """

    waiver: Waiver
    expired: bool
    findings: int

    @property
    def named(self) -> str:
        """What it covers and whose it is, for a sentence."""
        kind = next(iter(self.waiver.place), "")
        preposition = {"node": " on ", "subtree": " below ", "pair": " on ", "": ""}[kind]
        check = "any check" if self.waiver.check == ANY_CHECK else self.waiver.check
        return f"of {check}{preposition}{' and '.join(self.waiver.nodes)} by {self.waiver.owner}"

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from the policy's other waivers."""
        return (self.waiver.check, *self.waiver.place, *self.waiver.nodes)


@dataclass(frozen=True)
class WaiverCheck:
    """One rule over the policy's waivers, applied once all other findings are there.

    Its findings have no cases: they are about the policy. The instances of what a waiver covers are
    the cases of the findings that it covers.

    Args:
        name: What results, policies and ``audit list checks`` call it.
        title: The question it answers, in one line.
        run: Applies it.
    """

    name: str
    title: str
    run: Callable[[Sequence[WaiverUse]], CheckResult]
