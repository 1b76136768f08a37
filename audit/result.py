"""What an audit found: findings, the checks that made them, and the result that holds them all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

import polars as pl

from audit.disclosure import Quantity, Shown, shown
from audit.model_overview import model_overview, shared_metrics
from audit.overview import Overview, overview

Severity: TypeAlias = Literal["error", "warning", "note"]
Status: TypeAlias = Literal["error", "fail", "warn", "note", "pass", "not_applicable"]

SCHEMA_VERSION = "1.0"
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
STATUS_OF_SEVERITY: Mapping[Severity, Status] = {"error": "fail", "warning": "warn", "note": "note"}


@dataclass(frozen=True, slots=True)
class Part:
    """One line of a finding's breakdown: the nodes or codes it is about, and its own evidence."""

    nodes: tuple[str, ...]
    evidence: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule, with its evidence and what to do about it.

    Args:
        check: Name of the check that found it.
        severity: How much it matters.
        nodes: Ids it is about, the most specific first; codes where no node exists.
        statement: One sentence; ``{name}`` stands for the evidence of that name.
        evidence: Numbers by name.
        curator: What who publishes the data should do.
        data_user: What who uses the data should do.
        touched: Instances it touches: findings are shown in this order.
        parts: The sentence broken down, the largest part first.
        key: What tells it from other findings of the check; empty: its nodes do.
    """

    check: str
    severity: Severity
    nodes: tuple[str, ...]
    statement: str
    evidence: Mapping[str, Quantity]
    curator: str
    data_user: str
    touched: int = 0
    parts: tuple[Part, ...] = ()
    key: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Stable across releases: the check and its key or nodes, each part percent-encoded."""
        return ":".join(quote(part, safe="") for part in (self.check, *(self.key or self.nodes)))


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found.

    Args:
        name: The check.
        title: The question it answers, in one line.
        denominator: What it looked at, counted.
        denominator_unit: What that is a count of.
        findings: All of them, before capping.
        folded: Findings that others explain.
        not_applicable: Why it could not be asked; empty where it was.
        crashed: The error that stopped it; empty where none did.
    """

    name: str
    title: str
    denominator: int
    denominator_unit: str
    findings: tuple[Finding, ...] = ()
    folded: int = 0
    not_applicable: str = ""
    crashed: str = ""

    @property
    def status(self) -> Status:
        """Error, else the worst severity found, else pass; not_applicable stands apart."""
        if self.crashed:
            return "error"
        if self.not_applicable:
            return "not_applicable"
        for severity in SEVERITIES:
            if any(finding.severity == severity for finding in self.findings):
                return STATUS_OF_SEVERITY[severity]
        return "pass"

    def in_order(self) -> list[Finding]:
        """Findings by severity, then instances touched, then id."""
        return sorted(self.findings, key=lambda f: (SEVERITIES.index(f.severity), -f.touched, f.id))


@dataclass(frozen=True, repr=False, eq=False)
class AuditResult:
    """Everything one audit measured and found.

    ``shared()`` is the view that may leave the house; the tables are not suppressed.
    """

    identity: Mapping[str, Any]
    ledger: Mapping[str, Any]
    policy: Mapping[str, Any]
    """As applied, with ``min_cell``, ``max_findings``, thresholds and branch rules."""
    checks: tuple[CheckResult, ...]
    nodes: pl.DataFrame
    edges: pl.DataFrame
    pairs: pl.LazyFrame
    residuals: pl.DataFrame
    metrics: tuple[Mapping[str, Any], ...] = ()
    metrics_absent: tuple[Mapping[str, str], ...] = ()
    """``name, reason`` of each metric that these predictions cannot give."""
    metrics_beside: tuple[Mapping[str, Any], ...] = ()
    """As ``metrics``: tied answers (``ties``), and mass under no node of a cut."""
    behaviours: tuple[Mapping[str, Any], ...] = ()
    """``name, title, instances, of, low, high, examples`` of each behaviour of the model."""
    model_pairs: pl.LazyFrame | None = None
    """As ``pairs``, of the predictions, with ``co_predicted``; None without predictions."""
    waivers: tuple[Mapping[str, Any], ...] = ()
    inputs: tuple[Mapping[str, str], ...] = field(default=())
    """``role, path, sha256`` of each file read; for the manifest alone."""

    @cached_property
    def findings(self) -> pl.DataFrame:
        """All findings, unsuppressed, in report order: a row a finding.

        Columns ``check, id, severity, nodes, statement, touched, evidence, parts, curator,
        data_user``; ``evidence`` and ``parts`` are JSON.
        """
        rows = [_finding_row(finding) for check in self.checks for finding in check.in_order()]
        return pl.DataFrame(rows, schema=_FINDINGS)

    @property
    def status(self) -> Status:
        """The worst status of any check that applied."""
        order: tuple[Status, ...] = ("error", "fail", "warn", "note", "pass")
        found = {check.status for check in self.checks}
        return next((status for status in order if status in found), "not_applicable")

    def shared(self) -> dict[str, Any]:
        """The view that may be shared, and all that ``result.json``, HTML and PDF hold.

        Small cells are suppressed and the findings of each check are capped; a finding is never
        dropped for being small. The same result gives the same bytes.
        """
        titles = dict(self.nodes.select("node", "title").iter_rows())
        return {
            "schema_version": SCHEMA_VERSION,
            "identity": dict(self.identity),
            "ledger": dict(self.ledger),
            "policy": dict(self.policy),
            "status": self.status,
            "checks": [self._shared_check(check, titles) for check in self.checks],
            "metrics": shared_metrics(self.metrics, self._min_cell),
            "metrics_absent": [dict(metric) for metric in self.metrics_absent],
            "metrics_beside": shared_metrics(self.metrics_beside, self._min_cell),
            "waivers": [dict(waiver) for waiver in self.waivers],
            "overview": self._overview,
        }

    @cached_property
    def _overview(self) -> Overview:
        instances = int(self.ledger["instances"])
        data = overview(
            self.nodes,
            self.edges,
            self.pairs,
            self.residuals,
            instances=instances,
            min_cell=self._min_cell,
        )
        model = model_overview(
            self.nodes,
            self.pairs,
            self.model_pairs,
            self.metrics,
            self.behaviours,
            instances=instances,
            predicted=int((self.ledger.get("predictions") or {}).get("instances_matched", 0)),
            min_cell=self._min_cell,
        )
        return data | model

    @property
    def _min_cell(self) -> int:
        return int(self.policy["min_cell"])

    def _shared_check(self, check: CheckResult, titles: Mapping[str, str | None]) -> dict[str, Any]:
        findings = check.in_order()
        kept = findings[: int(self.policy["max_findings"])]
        return {
            "name": check.name,
            "title": check.title,
            "status": check.status,
            "reason": check.not_applicable or check.crashed or None,
            "denominator": check.denominator,
            "denominator_unit": check.denominator_unit,
            "total": len(findings) + check.folded,
            "folded": check.folded,
            "not_shown": len(findings) - len(kept),
            "findings": [shared_finding(finding, self._min_cell, titles) for finding in kept],
        }

    def __repr__(self) -> str:
        total = sum(len(check.findings) for check in self.checks)
        return (
            f"AuditResult({self.status}: {total:,} findings in {len(self.checks)} checks, "
            f"{int(self.ledger['instances']):,} instances)"
        )

    def _repr_markdown_(self) -> str:
        rows = "\n".join(
            f"| {check.name} | {check.status} | {len(check.findings):,} "
            f"| {check.denominator:,} {check.denominator_unit} |"
            for check in self.checks
        )
        heading = "| check | status | findings | looked at |\n|---|---|---:|---|"
        return f"**{self!r}**\n\n{heading}\n{rows}\n"


_FINDINGS: dict[str, Any] = {
    "check": pl.String,
    "id": pl.String,
    "severity": pl.String,
    "nodes": pl.List(pl.String),
    "statement": pl.String,
    "touched": pl.Int64,
    "evidence": pl.String,
    "parts": pl.String,
    "curator": pl.String,
    "data_user": pl.String,
    "key": pl.List(pl.String),
}


def _finding_row(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "id": finding.id,
        "severity": finding.severity,
        "nodes": list(finding.nodes),
        "statement": finding.statement,
        "touched": finding.touched,
        "evidence": _evidence_json(finding.evidence),
        "parts": json.dumps(
            [
                {"nodes": part.nodes, "evidence": json.loads(_evidence_json(part.evidence))}
                for part in finding.parts
            ],
            ensure_ascii=False,
        ),
        "curator": finding.curator,
        "data_user": finding.data_user,
        "key": list(finding.key),
    }


def _evidence_json(evidence: Mapping[str, Quantity]) -> str:
    return json.dumps({name: asdict(quantity) for name, quantity in evidence.items()})


def shared_finding(
    finding: Finding, min_cell: int, titles: Mapping[str, str | None]
) -> dict[str, Any]:
    """A finding as published: its statement filled in with evidence that hides small cells."""
    evidence = shown(finding.evidence, min_cell)
    return {
        "id": finding.id,
        "severity": finding.severity,
        "nodes": _titled(finding.nodes, titles),
        "statement": filled(finding.statement, evidence),
        "evidence": evidence,
        "parts": [
            {
                "nodes": _titled(part.nodes, titles),
                "evidence": shown(part.evidence, min_cell),
            }
            for part in finding.parts
        ],
        "curator": finding.curator,
        "data_user": finding.data_user,
    }


def _titled(
    nodes: tuple[str, ...], titles: Mapping[str, str | None]
) -> list[dict[str, str | None]]:
    return [{"id": node, "title": titles.get(node)} for node in nodes]


def filled(statement: str, evidence: Mapping[str, Shown]) -> str:
    """A sentence with ``{name}`` replaced by the evidence of that name, as a reader would write it.

    Whole numbers get thousands separators, names that end in ``share`` become percentages, and
    what is withheld says so.
    """

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        return in_words(name, evidence[name]) if name in evidence else match.group(0)

    return re.sub(r"\{(\w+)\}", replace, statement)


def in_words(name: str, value: Shown) -> str:
    """One published value as text; ``name`` tells shares from plain numbers."""
    if value is None:
        return "share withheld" if name.endswith("share") else "withheld"
    if isinstance(value, str):
        return value
    if name.endswith(("share", "limit")):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def to_json_bytes(shared: Mapping[str, Any]) -> bytes:
    """The bytes of ``result.json``: one serialisation for the file and for what reports attach."""
    text = json.dumps(shared, ensure_ascii=False, indent=1, allow_nan=False)
    return (text + "\n").encode("utf-8")
