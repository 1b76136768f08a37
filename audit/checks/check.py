"""The records that register checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import Columns
from audit.checks.shared.written_labels import with_damage_named
from audit.measure.measure import Measurements
from audit.results.findings import NEEDS_INSTANCES, CheckResult, Finding

TOP_PARTS = 10
"""Largest number of lines in a finding's breakdown."""


@dataclass(frozen=True)
class Outcome:
    """What a rule says: the result of its check without the check's name and title.

    Args:
        denominator: Number of things examined.
        denominator_unit: Unit of the denominator.
        findings: All findings, folded ones included.
        not_applicable: Why the rule could not be applied; empty if it was.
    """

    denominator: int
    denominator_unit: str
    findings: tuple[Finding, ...] = ()
    not_applicable: str = ""


def first_unmet(*requirements: tuple[object, str]) -> str:
    """Why a rule cannot be applied: the reason of the first requirement that is false, or empty."""
    return next((reason for holds, reason in requirements if not holds), "")


@dataclass(frozen=True)
class Check:
    """A check: one rule over measurements.

    Args:
        name: What results, policies and ``audit list checks`` call it.
        title: The question it answers, in one line.
        rule: Function that looks for findings.
        needs: What it looks at in the data: ``counts``, or the individual ``instances``.
        reads: The analysis that it reads tables of; empty for a rule on data or a model.
        cases: Function that returns the instances behind one finding, as ascending indices into
            the dataset; None if findings are not about instances.
        nodes: Headings of the nodes of its findings, divided by ``|``, in a table with the numbers
            that have headings; empty where findings are told by their sentences.
        evidence: What each number of its findings is.
        of_parts: What each number of their parts is.
        denominator: What the denominator counts: ``instances, rows, groups``; ``whole`` if no
            persons; ``untold`` if it tells how many nodes or pairs enough persons have.
        proposes: Function that returns what would mend one finding, with the columns
            `audit.checks.shared.proposals.PROPOSED`; None if nothing in the labels would.
    """

    name: str
    title: str
    rule: Callable[[Measurements], Outcome]
    needs: Literal["counts", "instances"] = "counts"
    reads: str = ""
    cases: Callable[[Measurements, Finding], IntArray] | None = None
    nodes: str = ""
    evidence: Columns = field(default_factory=Columns)
    of_parts: Columns = field(default_factory=Columns)
    denominator: Literal["instances", "rows", "groups", "whole", "untold"] = "instances"
    proposes: Callable[[Measurements, Finding], pl.DataFrame] | None = None

    def run(self, measured: Measurements) -> CheckResult:
        """Apply the check; not applicable if what it needs was not given.

        Findings that name nodes of codes that lost zeros say so.
        """
        lacking = first_unmet(
            (self.needs == "counts" or measured.instances is not None, NEEDS_INSTANCES),
            (not self.reads or self.reads in measured.analyses, "what it reads was not measured"),
        )
        found = Outcome(0, "instances", not_applicable=lacking) if lacking else self.rule(measured)
        return CheckResult(
            name=self.name,
            title=self.title,
            nodes=self.nodes,
            evidence=self.evidence,
            of_parts=self.of_parts,
            counts=self.denominator,
            **vars(found) | {"findings": with_damage_named(measured, found.findings)},
        )
