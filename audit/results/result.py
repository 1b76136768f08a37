"""What an audit found: findings, the checks that made them, and the result that holds them all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from audit.base.plurals import counted
from audit.results.changes_since import Remembered
from audit.results.disclosure import (
    Earlier,
    Quantity,
)
from audit.results.findings import OF_WAIVERS, CheckResult, Finding, Status
from audit.results.shared_view import SharedView

COUNTED = "counted"
"""Format of data that were counted in batches: there are no instances to look at."""
STRATA = {"most_labels": pl.Int64}
BRANCH_PAIRS: dict[str, Any] = {
    "a": pl.String,
    "b": pl.String,
    "found": pl.Int64,
    "excess": pl.Float64,
    "label_pairs": pl.Float64,
    "label_pairs_expected": pl.Float64,
}


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
    exchanges: tuple[Mapping[str, Any], ...] = ()
    """``kind, a, b, observed, expected``: labels taken for each other, and so each two branches."""
    model_pairs: pl.LazyFrame | None = None
    """As ``pairs``, of the predictions, with ``co_predicted``; None without predictions."""
    cases: pl.LazyFrame | None = None
    """``finding`` (id) and ``instance``: a row for each instance behind each finding, in report
    order; never shared. None where the data were only counted."""
    strata: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=STRATA))
    """``most_labels``: the most labels of each stratum of length but the last, in which pairs were
    judged."""
    branch_pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=BRANCH_PAIRS))
    """Reported pairs between two branches (within one where ``a = b``), their instances in excess,
    and the label pairs between the branches beside those that length lets expect."""
    drift_values: pl.DataFrame | None = None
    """A row a value of the policy's drift columns; None without any."""
    drift_nodes: pl.DataFrame | None = None
    """A row a value and node judged for drift; None without drift columns."""
    earlier: Earlier | None = None
    """What the reference run's shared view tells, of the same hierarchy; None without any."""
    waivers: tuple[Mapping[str, Any], ...] = ()
    counted_with: Mapping[str, Any] = field(default_factory=dict)
    """The whole policy that the run was counted with, as JSON; empty: the default one."""
    inputs: tuple[Mapping[str, str], ...] = field(default=())
    """``role, path, sha256`` of each file read; for the manifests alone."""
    data_sha256: str = ""
    """Digest of the data; never shared, as who knows all but a few counts could try them."""
    reference: Remembered | None = None
    """What is kept of the run that findings are known from; None without one."""
    held: object = None
    """What the table of pairs lies in while it is in no run folder; None: it needs nothing."""
    sha256: str | None = None
    """Digest of the ``result.json`` it was read from; None where it comes from no run."""

    @cached_property
    def findings(self) -> pl.DataFrame:
        """All findings, folded ones included, unsuppressed, in report order: a row a finding.

        Columns ``check, id, severity, nodes, statement, touched, strength, evidence, parts,
        curator, data_user, key, folded_into, judgement, beside``; ``evidence``, ``parts`` and
        ``judgement`` are JSON.
        """
        rows = [_finding_row(finding) for check in self.checks for finding in check.in_order()]
        return pl.DataFrame(rows, schema=_FINDINGS)

    @property
    def status(self) -> Status:
        """The worst status of any check that applied; not_applicable where none had what to judge.

        A check of the data or a model that passes has judged something where its denominator is
        above 0.
        """
        order: tuple[Status, ...] = ("error", "fail", "warn", "note", "pass")
        judged = (c for c in self.checks if c.denominator and c.name not in OF_WAIVERS)
        found = {check.status for check in self.checks} - {"pass"} | {c.status for c in judged}
        return next((status for status in order if status in found), "not_applicable")

    def shared(self) -> dict[str, Any]:
        """The view that may be shared, and all that ``result.json``, HTML and PDF hold.

        Small cells are suppressed and the findings of each check are capped; a finding is never
        dropped for being small. The same result gives the same bytes.
        """
        return self.view.as_dict()

    @cached_property
    def view(self) -> SharedView:
        """What of it may be shared."""
        return SharedView(self)

    def __repr__(self) -> str:
        total = sum(len(check.standing) for check in self.checks)
        return (
            f"AuditResult({self.status}: {counted(total, 'findings')} in "
            f"{counted(len(self.checks), 'checks')}, "
            f"{counted(int(self.ledger['instances']), 'instances')})"
        )

    def _repr_markdown_(self) -> str:
        rows = "\n".join(
            f"| {check.name} | {check.status} | {len(check.standing):,} "
            f"| {counted(check.denominator, check.denominator_unit)} |"
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
    "strength": pl.Float64,
    "evidence": pl.String,
    "parts": pl.String,
    "curator": pl.String,
    "data_user": pl.String,
    "key": pl.List(pl.String),
    "folded_into": pl.List(pl.String),
    "judgement": pl.String,
    "beside": pl.List(pl.List(pl.String)),
}


def _finding_row(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "id": finding.id,
        "severity": finding.severity,
        "nodes": list(finding.nodes),
        "statement": finding.statement,
        "touched": finding.touched,
        "strength": finding.strength,
        "evidence": _evidence_json(finding.evidence),
        "parts": json.dumps(
            [
                {
                    "nodes": part.nodes,
                    "evidence": json.loads(_evidence_json(part.evidence)),
                }
                for part in finding.parts
            ],
            ensure_ascii=False,
        ),
        "curator": finding.curator,
        "data_user": finding.data_user,
        "key": list(finding.key),
        "folded_into": list(finding.folded_into),
        "judgement": json.dumps(asdict(finding.judgement), ensure_ascii=False),
        "beside": [list(pair) for pair in finding.beside],
    }


def _evidence_json(evidence: Mapping[str, Quantity]) -> str:
    return json.dumps({name: asdict(quantity) for name, quantity in evidence.items()})


def to_json_bytes(shared: Mapping[str, Any]) -> bytes:
    """The bytes of ``result.json``: one serialisation for the file and for what reports attach."""
    text = json.dumps(shared, ensure_ascii=False, indent=1, allow_nan=False)
    return (text + "\n").encode("utf-8")
