"""What an audit found: findings, the checks that made them, and the result that holds them all."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

import polars as pl

from audit.base.plurals import bound, counted, of_one
from audit.results.changes_since import Ids, Remembered, changed_little, since_reference
from audit.results.coverage import coverage
from audit.results.disclosure import (
    BESIDE,
    WHOLE,
    Cell,
    Earlier,
    Quantity,
    Release,
    Shown,
    least,
    left_possible,
    opened_parts,
    protected,
    shown,
    shown_count,
    tightened,
)
from audit.results.model_overview import confused, confused_counts, model_overview, shared_metrics
from audit.results.overview import Pictured, Told, overview, pictured
from audit.results.published_cells import (
    UNEXPECTED_PAIR,
    depth_counts,
    depths_shown,
    evidence_cells,
    known_counts,
    pair_cells,
    part_cells,
    reference_cells,
    release_of,
)

Severity: TypeAlias = Literal["error", "warning", "note"]
Status: TypeAlias = Literal["error", "fail", "warn", "note", "pass", "not_applicable"]

SCHEMA_VERSION = "3.0"
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
EXCHANGES = "model_confuses"
"""The check whose findings count exchanges of two labels."""
OF_MODEL = (EXCHANGES, "model_habit")
"""The checks of a model."""
OF_WAIVERS = ("waiver_expired", "waiver_unused")
"""The checks of the policy's waivers, which look at no data."""
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
STATUS_OF_SEVERITY: Mapping[Severity, Status] = {
    "error": "fail",
    "warning": "warn",
    "note": "note",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One line of a finding's breakdown: the nodes or codes it is about, and its own evidence."""

    nodes: tuple[str, ...]
    evidence: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Waived:
    """Who answers for a finding, why, and until which day (as an ISO date)."""

    owner: str
    reason: str
    expires: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a policy makes of a finding, without a change to what was found.

    Args:
        severity: The policy's, in place of the check's own; None: the check's own.
        waiver: Who answers for it, so that it does not count.
        known: Whether the reference run has it too, and no worse.
        excused: Whether a known finding counts as a note.
        dropped: Whether it lies within a limit that is stricter than the run's own.
    """

    severity: Severity | None = None
    waiver: Waived | None = None
    known: bool = False
    excused: bool = False
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule, with its evidence and what to do about it.

    Args:
        check: Name of the check that found it.
        severity: How much it matters, as the check says.
        nodes: Ids it is about, the most specific first; codes where no node exists.
        statement: One sentence; ``{name}`` stands for the evidence of that name, and
            ``{name|is|are}`` for what is said of one and of more.
        evidence: Numbers by name.
        curator: What who publishes the data should do.
        data_user: What who uses the data should do.
        touched: Instances it touches.
        strength: Of the evidence, for each instance touched: findings of one severity are ordered
            by the two multiplied, the largest first.
        parts: The sentence broken down, the largest part first.
        key: What tells it from other findings of the check; empty: its nodes do.
        folded_into: Ids of the findings of the check that explain it; empty: none does.
        judgement: What the policy makes of it.
        beside: Other pairs of nodes whose counts some of its numbers tell too.
    """

    check: str
    severity: Severity
    nodes: tuple[str, ...]
    statement: str
    evidence: Mapping[str, Quantity]
    curator: str
    data_user: str
    touched: int = 0
    strength: float = 1.0
    parts: tuple[Part, ...] = ()
    key: tuple[str, ...] = ()
    folded_into: tuple[str, ...] = ()
    judgement: Judgement = Judgement()
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def judged_severity(self) -> Severity:
        """How much it matters, as the policy says, else the check."""
        return self.judgement.severity or self.severity

    @property
    def counts_as(self) -> Severity | None:
        """The severity with which it counts for the status; None: it does not count."""
        if self.judgement.waiver is not None:
            return None
        return "note" if self.judgement.excused else self.judged_severity

    @property
    def id(self) -> str:
        """Stable across releases: the check and its key or nodes, each part percent-encoded."""
        return finding_id(self.check, *(self.key or self.nodes))


def finding_id(check: str, *parts: str) -> str:
    """The id of a check's finding that these parts tell from others."""
    return ":".join(quote(part, safe="") for part in (check, *parts))


@dataclass(frozen=True)
class CheckResult:
    """What one check found.

    Args:
        name: The check.
        title: The question it answers, in one line.
        denominator: What it looked at, counted.
        denominator_unit: What that is a count of.
        findings: All of them, before folding and capping.
        not_applicable: Why it could not be asked; empty where it was.
        crashed: The error that stopped it; empty where none did.
    """

    name: str
    title: str
    denominator: int
    denominator_unit: str
    findings: tuple[Finding, ...] = ()
    not_applicable: str = ""
    crashed: str = ""

    @cached_property
    def standing(self) -> tuple[Finding, ...]:
        """Findings that no other explains, in report order: those that are shown and counted."""
        there = [finding for finding in self.in_order() if not finding.judgement.dropped]
        ids = {finding.id for finding in there}
        return tuple(finding for finding in there if ids.isdisjoint(finding.folded_into))

    @property
    def folded(self) -> int:
        """How many findings others explain."""
        there = sum(not finding.judgement.dropped for finding in self.findings)
        return there - len(self.standing)

    @property
    def ids(self) -> Ids:
        """Ids of the findings that the policy did not drop."""
        standing = self.standing
        ids = frozenset(finding.id for finding in standing)
        there = (finding.id for finding in self.findings if not finding.judgement.dropped)
        known = frozenset(finding.id for finding in standing if finding.judgement.known)
        return Ids(ids, known, frozenset(there) - ids)

    @property
    def status(self) -> Status:
        """Error, else the worst severity that counts, else pass; not_applicable stands apart."""
        if self.crashed:
            return "error"
        if self.not_applicable:
            return "not_applicable"
        for severity in SEVERITIES:
            if any(finding.counts_as == severity for finding in self.standing):
                return STATUS_OF_SEVERITY[severity]
        return "pass"

    def in_order(self) -> list[Finding]:
        """All findings by severity, instances times strength, then id; waived ones last."""
        return sorted(
            self.findings, key=lambda finding: _place(finding, finding.touched * finding.strength)
        )


_Place: TypeAlias = tuple[bool, int, float, str]
"""Whether a finding does not count, its severity, its weight, and its id."""


def _place(finding: Finding, weight: float) -> _Place:
    severity = finding.counts_as or finding.judged_severity
    return finding.counts_as is None, SEVERITIES.index(severity), -weight, finding.id


def _shown_place(finding: Finding, evidence: Mapping[str, Shown]) -> _Place:
    """Where a finding stands among others by what is shown of it alone.

    Where a number of it is withheld, its weight is the least that its first count can be.
    """
    if all(evidence[name] == quantity.value for name, quantity in finding.evidence.items()):
        return _place(finding, finding.touched * finding.strength)
    counts = (name for name, quantity in finding.evidence.items() if quantity.kind == "count")
    return _place(finding, float(least(evidence.get(next(counts, "")))))


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
        titles = dict(self.nodes.select("node", "title").iter_rows())
        checks = [self._shared_check(check, titles) for check in self.checks]
        return {
            "schema_version": SCHEMA_VERSION,
            "identity": dict(self.identity),
            "ledger": dict(self.ledger),
            "policy": dict(self.policy),
            "status": self.status,
            "checks": checks,
            "since_reference": self._since_reference(checks),
            "metrics": shared_metrics(self.metrics, self._min_cell),
            "metrics_absent": [dict(metric) for metric in self.metrics_absent],
            "metrics_beside": shared_metrics(self.metrics_beside, self._min_cell),
            "waivers": [dict(waiver) for waiver in self.waivers],
            "overview": self._overview,
        }

    def _since_reference(self, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
        if self.reference is None:
            return None
        ids = {check.name: check.ids for check in self.checks}
        return since_reference(self.reference, checks, ids)

    @cached_property
    def _overview(self) -> dict[str, Any]:
        instances = int(self.ledger["instances"])
        explained = self._explained if self._min_cell > 1 else None
        data = overview(self._pictured, self.nodes, self.edges, self._told, instances, explained)
        model = model_overview(
            self.nodes,
            self._confused,
            self.metrics,
            self.behaviours,
            self.exchanges,
            self._told,
            exchanged=self._exchanged,
            instances=instances,
            predicted=int((self.ledger.get("predictions") or {}).get("instances_matched", 0)),
            min_cell=self._min_cell,
        )
        use = coverage(self.nodes, self.drift_values, self.drift_nodes, min_cell=self._min_cell)
        depths = depths_shown(use["depths"], self._told)
        return {**data, **model, "coverage": {**use, "depths": depths}}

    @cached_property
    def _pictured(self) -> Pictured:
        return pictured(
            self.nodes,
            self.pairs,
            self.residuals,
            self.branch_pairs,
            instances=int(self.ledger["instances"]),
            min_cell=self._min_cell,
        )

    @cached_property
    def _confused(self) -> list[dict[str, Any]]:
        return confused(self.nodes, self.pairs, self.model_pairs)

    @property
    def _exchanged(self) -> dict[tuple[str, str], int]:
        """Exchanges of each two labels that a shown finding tells."""
        kept = (f for check in self.checks if check.name == EXCHANGES for f in self._kept(check))
        return {(f.nodes[0], f.nodes[1]): f.touched for f in kept}

    @cached_property
    def _release(self) -> Release:
        return release_of(self.nodes, self.edges, self.ledger)

    def as_earlier_of(self, later: AuditResult) -> Earlier | None:
        """What the readers of a later release have of this one; None under another hierarchy.

        Where other nodes are residual there, counts of residual use mean something else and are
        left out.
        """
        if self.identity["hierarchy"]["sha256"] != later.identity["hierarchy"]["sha256"]:
            return None
        release = self._release
        known = known_counts(self.nodes, self.pairs, self.residuals, release)
        counts = dict(known) | self._counts
        told = self._told if self._min_cell > 1 else self._counts
        ranges = left_possible(told, release, self._min_cell, self._shares)
        if release.residual != later._release.residual:
            counts = {cell: count for cell, count in counts.items() if not _of_residual(cell)}
            ranges = {cell: ends for cell, ends in ranges.items() if not _of_residual(cell)}
        return Earlier(release.labelled, release.assertions, counts, ranges)

    @cached_property
    def _told(self) -> Told:
        """Every published count of nodes and pairs, as it may be shown beside all the others."""
        if self._min_cell <= 1:
            return self._drawn_counts
        beside: dict[Cell, set[int]] = {}
        for cell, quantity in self._of_findings:
            beside.setdefault(cell, set()).update(quantity.totals)
        return protected(
            self._counts,
            self._release,
            self._min_cell,
            self._shares,
            beside,
            self.earlier,
        )

    @cached_property
    def _counts(self) -> dict[Cell, int]:
        """The same as they are."""
        of_findings = {cell: int(quantity.value or 0) for cell, quantity in self._of_findings}
        return self._drawn_counts | of_findings

    @cached_property
    def _drawn_counts(self) -> dict[Cell, int]:
        """Those of the pictures."""
        return {
            **dict(self._pictured.counts()),
            **dict(confused_counts(self._confused)),
            **dict(depth_counts(self.nodes)),
        }

    @cached_property
    def _shares(self) -> list[tuple[Cell, Cell]]:
        """Counts that no line shows beside their share."""
        found = {cell for cell, _ in self._of_findings}
        return [share for share in self._pictured.shares() if found.isdisjoint(share)]

    @cached_property
    def _of_findings(self) -> list[tuple[Cell, Quantity]]:
        kept = (finding for check in self.checks for finding in self._kept(check))
        return [pair for finding in kept for pair in _counts(self._release, finding)]

    def _kept(self, check: CheckResult) -> tuple[Finding, ...]:
        """The findings that are shown, chosen by what each tells alone."""
        most, min_cell = int(self.policy["max_findings"]), self._min_cell

        def alone(finding: Finding) -> _Place:
            return _shown_place(finding, shown(finding.evidence, min_cell))

        return tuple(sorted(check.standing, key=alone)[:most])

    def _told_of(self, finding: Finding) -> Sequence[Mapping[str, Shown]]:
        known: list[dict[str, Shown]] = [{} for _ in (finding, *finding.parts)]
        if self._min_cell > 1:
            beside: Shown = 0 if all(self._tells(pair) for pair in finding.beside) else None
            known = [
                {BESIDE: beside, **{name: self._told[cell] for name, cell in cells.items()}}
                for cells in _cells(self._release, finding)
            ]
        for name, cell in reference_cells(finding.check, finding.key).items():
            known[0][name] = None if self.earlier is None else self.earlier.exact(cell)
        return [{**self._bounded_since(finding), **known[0]}, *known[1:]]

    def _tells(self, pair: tuple[str, str]) -> bool:
        """Whether both supports of a pair, and its instances, are shown as they are."""
        cells = pair_cells(self._release, *pair).values()
        return all(isinstance(self._told.get(cell), int) for cell in cells)

    @cached_property
    def _explained(self) -> frozenset[tuple[str, str]]:
        """Reported pairs of which it may be told what other finds explain."""
        pairs = set[tuple[str, ...]]()
        for check in self.checks:
            for finding in self._kept(check) if check.name == UNEXPECTED_PAIR else ():
                own = {part.nodes for part in finding.parts} if finding.key else {finding.nodes}
                if all(self._tells((a, b)) for a, b in (*own, *finding.beside)):
                    pairs |= own
        return frozenset((min(pair), max(pair)) for pair in pairs)

    def _bounded_since(self, finding: Finding) -> dict[str, Shown]:
        """Bounds of counts of a finding that tell a small cell beside those of the reference."""
        before, m = self._before.get(finding.id), self._min_cell
        if before is None or m <= 1:
            return {}
        now = {name: quantity.value for name, quantity in finding.evidence.items()}
        changed = changed_little(before, now, m)
        return {name: f">{m - 1}" for name in changed if least(now[name]) >= m}

    @cached_property
    def _before(self) -> dict[str, Mapping[str, Any]]:
        """What is kept of the reference's findings, by their ids."""
        checks = () if self.reference is None else self.reference["checks"]
        return {finding["id"]: finding for check in checks for finding in check["findings"]}

    @property
    def _min_cell(self) -> int:
        return int(self.policy["min_cell"])

    def _shared_check(self, check: CheckResult, titles: Mapping[str, str | None]) -> dict[str, Any]:
        findings, kept = check.standing, self._kept(check)
        told = [
            (
                finding,
                shared_finding(
                    finding,
                    self._min_cell,
                    titles,
                    self._told_of(finding),
                    int(self.ledger["instances"]),
                ),
            )
            for finding in kept
        ]
        told.sort(key=lambda one: _shown_place(one[0], one[1]["evidence"]))
        shared = _ranks_withheld([finding for _, finding in told])
        return {
            "name": check.name,
            "title": check.title,
            "status": check.status,
            "reason": check.not_applicable or check.crashed or None,
            "denominator": self._denominator(check, told),
            "denominator_unit": check.denominator_unit,
            "total": len(findings) + check.folded,
            "folded": check.folded,
            "not_shown": len(findings) - len(kept),
            "findings": shared,
        }

    def _denominator(
        self, check: CheckResult, told: Sequence[tuple[Finding, Mapping[str, Any]]]
    ) -> int | str:
        """What a check looked at: a bound where it is a small cell, or a count that is withheld."""
        value, m, ledger = check.denominator, self._min_cell, self.ledger
        instances = int(ledger["instances"])
        totals = instances, instances - int(ledger.get("instances_without_labels", 0))
        if m <= 1 or value in totals:
            return value
        withheld = (
            quantity.value == value and shared["evidence"][name] != value
            for finding, shared in told
            for name, quantity in finding.evidence.items()
            if quantity.kind == "count"
        )
        of_instances = check.denominator_unit.startswith(("instances", "groups"))
        alone = shown_count(value, totals if of_instances else (), m) if of_instances else value
        return f">{m - 1}" if isinstance(alone, int) and any(withheld) and value >= m else alone

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


def _ranks_withheld(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings of a check, none with its rank where one withholds it: the others would tell it."""
    if all(finding["evidence"].get("rank", 0) is not None for finding in findings):
        return findings
    return [
        {**finding, "evidence": {**finding["evidence"], "rank": None}}
        if "rank" in finding["evidence"]
        else finding
        for finding in findings
    ]


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


def _cells(release: Release, finding: Finding) -> tuple[dict[str, Cell], ...]:
    """Cells by name of evidence: those of a finding, and of each of its parts."""
    about = (release, finding.check, finding.nodes, finding.key)
    whole = _known(evidence_cells(*about), finding.evidence)
    parts = (_known(part_cells(*about, part.nodes), part.evidence) for part in finding.parts)
    return whole, *parts


def _of_residual(cell: Cell) -> bool:
    """Whether a cell depends on which nodes are residual."""
    return any(scope == "specific" for scope, _ in cell.label_sets)


def _known(cells: Mapping[str, Cell], evidence: Mapping[str, Quantity]) -> dict[str, Cell]:
    return {name: cell for name, cell in cells.items() if name in evidence}


def _counts(release: Release, finding: Finding) -> Iterator[tuple[Cell, Quantity]]:
    evidence = (finding.evidence, *(part.evidence for part in finding.parts))
    for cells, numbers in zip(_cells(release, finding), evidence, strict=True):
        for name, cell in cells.items():
            yield cell, numbers[name]


def shared_finding(
    finding: Finding,
    min_cell: int,
    titles: Mapping[str, str | None],
    told: Sequence[Mapping[str, Shown]] = (),
    instances: int = 0,
) -> dict[str, Any]:
    """A finding as published: its statement filled in with evidence that hides small cells.

    Args:
        finding: The finding.
        min_cell: Smallest count that may be shown.
        titles: Title of each node.
        told: Counts as they are shown elsewhere too, by name of evidence: those of the finding,
            and of each part; empty: none is.
        instances: Number of instances, which is printed beside; 0: it is not known.

    Parts are ranked by what is shown of them, equal ones by their nodes.
    """
    known, *of_parts = told or [{}] * (1 + len(finding.parts))
    if min_cell > 1:
        known, *of_parts = _beside_each_other(finding, min_cell, known, of_parts)
    evidence = tightened(finding.evidence, shown(finding.evidence, min_cell, known), instances)
    of_parts = [{WHOLE: evidence.get("instances", 0), **part} for part in of_parts]
    parts = _ranked_parts(finding, min_cell, of_parts)
    return {
        "id": finding.id,
        "severity": finding.judged_severity,
        "nodes": _titled(_nodes_as_shown(finding, [part for part, _ in parts]), titles),
        "statement": filled(finding.statement, evidence),
        "evidence": evidence,
        "parts": [
            {"nodes": _titled(part.nodes, titles), "evidence": part_evidence}
            for part, part_evidence in parts
        ],
        "curator": finding.curator,
        "data_user": finding.data_user,
        "waiver": asdict(finding.judgement.waiver) if finding.judgement.waiver else None,
        "known": finding.judgement.known,
    }


_SEEN_TOGETHER = ("cross_branch", "residual_overuse", UNEXPECTED_PAIR, *OF_MODEL)
"""Checks whose parts are protected with all other counts of nodes and pairs, or are of a model."""
_SUMS = ("rows", "extra", "labels")
"""Counts of a finding that its parts sum to."""
_LINES = ("labels", "pairs", "codes")
"""Numbers of all lines, of which the parts are the first."""


def _beside_each_other(
    finding: Finding,
    min_cell: int,
    known: Mapping[str, Shown],
    of_parts: Sequence[Mapping[str, Shown]],
) -> list[Mapping[str, Shown]]:
    """Counts as they are shown elsewhere, and as they may be beside each other in a finding."""
    counts = [part.evidence.get("instances") for part in finding.parts]
    if finding.check in _SEEN_TOGETHER or not all(counts):
        return [known, *of_parts]
    evidence = shown(finding.evidence, min_cell, known)
    alone = [
        shown(part.evidence, min_cell, told)["instances"]
        for part, told in zip(finding.parts, of_parts, strict=True)
    ]
    sums = [name for name in _SUMS if name in evidence and _is_sum(finding, name)]
    lines = next((evidence[n] for n in _LINES if n in evidence and n not in sums), None)
    always = [name for name in sums if finding.evidence[name].kind == "exempt"]
    withheld = dict[str, Shown]()
    for open_ in ((), [name for name in sums if name not in always], ["instances"]):
        for name in (name for name in open_ if name in evidence):
            withheld[name] = f">{min_cell - 1}" if least(evidence[name]) >= min_cell else ">0"
        opened, narrow = opened_parts(
            [int(one.value or 0) for one in counts if one],
            alone,
            min_cell,
            unseen=max(lines - len(counts), 0) if isinstance(lines, int) else 0,
            made_up=withheld.get("instances", evidence.get("instances")),
            summed=[withheld.get(name, evidence[name]) for name in sums if name not in always],
            exempt=[int(n) for name in always if isinstance(n := evidence[name], int)],
        )
        if not narrow:
            break
    parts = [{**told, "instances": one} for told, one in zip(of_parts, opened, strict=True)]
    return [{**known, **withheld}, *parts]


def _is_sum(finding: Finding, name: str) -> bool:
    """Whether the parts sum to a number: labels are counted, or are only how many differ."""
    return name != "labels" or finding.evidence[name].kind == "count"


def _ranked_parts(
    finding: Finding, min_cell: int, told: Sequence[Mapping[str, Shown]]
) -> list[tuple[Part, dict[str, Shown]]]:
    parts = [
        (part, tightened(part.evidence, shown(part.evidence, min_cell, known)))
        for part, known in zip(finding.parts, told, strict=True)
    ]
    return sorted(parts, key=lambda part: (-least(part[1].get("instances")), part[0].nodes))


def _nodes_as_shown(finding: Finding, parts: Sequence[Part]) -> tuple[str, ...]:
    """Nodes of a finding; those that its parts give it in the order of what is shown of these."""
    if not finding.key or not parts:
        return finding.nodes
    if finding.nodes == finding.parts[0].nodes:
        return parts[0].nodes
    firsts = tuple(part.nodes[0] for part in finding.parts)
    return tuple(part.nodes[0] for part in parts) if finding.nodes == firsts else finding.nodes


def _titled(
    nodes: tuple[str, ...], titles: Mapping[str, str | None]
) -> list[dict[str, str | None]]:
    return [{"id": node, "title": titles.get(node)} for node in nodes]


def filled(statement: str, evidence: Mapping[str, Shown]) -> str:
    """A sentence with ``{name}`` replaced by the evidence of that name, as a reader would write it.

    Whole numbers get thousands separators, names that end in ``share`` become percentages, what is
    withheld says so. A noun that 1 counts stands in the singular, and ``{name|is|are}`` is the
    first word where that evidence reads 1, else the second. A clause in brackets is left out where
    one of its numbers is withheld.

    >>> filled("{labels} labels {labels|is|are} no code", {"labels": 1})
    '1 label is no code'
    >>> filled("{labels} labels {labels|is|are} no code", {"labels": "<11"})
    '<11 labels are no code'
    >>> filled("{labels} labels[: {ratio} times as many]", {"labels": 2, "ratio": None})
    '2 labels'
    """

    def replace(match: re.Match[str]) -> str:
        name, nouns = match[1], match[2] or ""
        if name not in evidence:
            return match[0]
        value = _share_bound(name, evidence) or in_words(name, evidence[name])
        return value + (of_one(nouns).replace(" different", "") if value == "1" else nouns)

    def choice(match: re.Match[str]) -> str:
        name, one, many = match.groups()
        if name not in evidence:
            return match[0]
        return one if in_words(name, evidence[name]) == "1" else many

    def clause(match: re.Match[str]) -> str:
        names = _PLACEHOLDER.finditer(match[1])
        withheld = any(evidence.get(name[1], "") is None for name in names)
        return "" if withheld else match[1]

    return _PLACEHOLDER.sub(replace, _CHOICE.sub(choice, _CLAUSE.sub(clause, statement)))


def _share_bound(name: str, evidence: Mapping[str, Shown]) -> str:
    """A withheld share as far as the bound of its count beside a printed total tells it."""
    count_ = next((evidence[n] for n in ("instances", "rows") if n in evidence), None)
    of = evidence.get("of")
    if name != "share" or evidence[name] is not None or not isinstance(count_, str):
        return ""
    if not isinstance(of, int) or not of:
        return ""
    if count_[0] == "<":
        highest = min(int(count_[1:]) - 1, of) / of
        return "" if highest >= 1 else f"at most {_rounded(highest, up=True)}"
    return f"at least {_rounded(least(count_) / of, up=False)}"


def _rounded(share: float, *, up: bool) -> str:
    """A share in percent with one digit, rounded so that the bound stays true."""
    tenths = (math.ceil if up else math.floor)(round(1000 * share, 6))
    return f"{tenths / 10:.1f}%"


_CLAUSE = re.compile(r"\[([^][]*\{[^][]*)\]")
"""A clause in brackets, with at least one placeholder: what titles have in brackets has none."""
_PLACEHOLDER = re.compile(
    r"\{(\w+)\}((?: (?:different|dated|repeated|other|more))?"
    r" (?:labels|codes|pairs|rows|instances|groups|findings|nodes|classes|records)\b)?"
)
"""A name of evidence, with the noun that it counts."""
_CHOICE = re.compile(r"\{(\w+)\|([^{}|]*)\|([^{}|]*)\}")
"""A name of evidence, and what is said of one and of more."""


def in_words(name: str, value: Shown) -> str:
    """One published value as text; ``name`` tells shares from plain numbers."""
    if value is None:
        return "share withheld" if name.endswith("share") else "withheld"
    if isinstance(value, str):
        return bound(value)
    if name.endswith(("share", "limit")):
        return "<0.1%" if 0 < value < 0.0005 else f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def to_json_bytes(shared: Mapping[str, Any]) -> bytes:
    """The bytes of ``result.json``: one serialisation for the file and for what reports attach."""
    text = json.dumps(shared, ensure_ascii=False, indent=1, allow_nan=False)
    return (text + "\n").encode("utf-8")
