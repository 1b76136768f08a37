"""The record of an audit: findings, checks, and all tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
from pydantic import TypeAdapter

from audit.base.declared import Columns, schema
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results.finding_lines import EXACTLY, sentence
from audit.results.findings import OF_WAIVERS, CheckResult, Finding, Part, Status
from audit.results.order import BY_RESULT, TEN, between, merged, ordered, worst
from audit.results.parts import AnalysisPart, DriftPart, ModelPart, ResultPart
from audit.sharing.told import Rounding

if TYPE_CHECKING:
    from audit.counting.pair_table import PairTable

_FINDINGS = schema(
    ("check id severity sentence", pl.String),
    ("nodes titles", pl.List(pl.String)),
    ("instances", pl.Int64),
    ("share low high weight", pl.Float64),
)
_OTHER_COLUMNS = schema(
    ("curator data_user", pl.String),
    ("touched", pl.Int64),
    ("strength beyond", pl.Float64),
    ("aside", pl.Boolean),
    ("key folded_into", pl.List(pl.String)),
)
_METRICS = schema(("name scope", pl.String), ("value low high", pl.Float64), ("n", pl.Int64))
_ALWAYS = {"instances": 0, "of": 0}
"""Numbers that evidence has a field for, whatever the findings have."""
_OF_CHECK = ("name", "title", "denominator", "denominator_unit", "not_applicable", "crashed",
             "nodes", "counts")  # fmt: skip


def finding_frame(
    findings: Sequence[Finding], titles: Mapping[str, str | None], weight: Mapping[str, float]
) -> pl.DataFrame:
    """A row a finding; evidence and parts as structs, with a field for each name that any has."""
    own = _struct([one.evidence for one in findings])
    of_parts = _struct([part.evidence for one in findings for part in one.parts])
    named = schema(("nodes titles", pl.List(pl.String)))
    parts = {"parts": pl.List(pl.Struct({**named, "evidence": of_parts}))}
    columns = {**_FINDINGS, "evidence": own, **parts, **_OTHER_COLUMNS, "record": pl.String()}
    rows = [_row(finding, titles) | {"weight": weight[finding.id]} for finding in findings]
    return pl.DataFrame(rows, schema=columns, strict=False)


def _row(finding: Finding, titles: Mapping[str, str | None]) -> dict[str, Any]:
    values = finding.evidence
    count, of, share = (values.get(name) for name in ("instances", "of", "share"))
    if share is None and count is not None and of:
        share = count / of
    titles = finding.titles(titles)

    def lines(of: Finding | Part) -> dict[str, Any]:
        named = {"nodes": of.nodes, "titles": [titles.get(node) for node in of.nodes]}
        return {**named, "evidence": dict(of.evidence)}

    return {
        **{name: getattr(finding, name) for name in ("check", "id", *_OTHER_COLUMNS)},
        **lines(finding),
        "severity": finding.judged_severity,
        "sentence": sentence(finding, {}, titles, EXACTLY),
        "instances": (finding.touched or None) if count is None else count,
        "share": share,
        "low": values.get("low"),
        "high": values.get("high"),
        "parts": [lines(part) for part in finding.parts],
        "record": json.dumps(finding, ensure_ascii=False, default=_fields),
    }


def _fields(record: Any) -> dict[str, Any]:
    """A record as JSON has it; `asdict` would copy each value on the way."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _struct(rows: Sequence[Mapping[str, Any]]) -> pl.Struct:
    """A type for some records: of each name one that fits all values, Int64 where all are null."""
    made, rows = dict[str, pl.DataType](), [_ALWAYS, *rows]
    for name in dict.fromkeys(name for row in rows for name in row):
        kind = pl.Series([row.get(name) for row in rows], strict=False).dtype
        made[name] = pl.Int64() if kind == pl.Null else kind
    return pl.Struct(made)


def read_checks(
    records: Sequence[Mapping[str, Any]], findings: pl.DataFrame
) -> Iterator[CheckResult]:
    """The checks of `Record.as_record`, with the findings of their table."""
    written = TypeAdapter(Finding)
    rows = findings.partition_by("check", as_dict=True)
    for one in records:
        own = rows.get((one["name"],), findings.clear())["record"]
        yield CheckResult(
            **{name: one[name] for name in _OF_CHECK},
            findings=tuple(map(written.validate_json, own)),
            evidence=Columns.read(one["evidence"]),
            of_parts=Columns.read(one["of_parts"]),
        )


COUNTED = "counted"
"""Format of data that were counted in batches, so that individual instances are not available."""
Kind = TypeVar("Kind", bound=ResultPart)


@dataclass(frozen=True, repr=False, eq=False)
class Record:
    """Everything one audit measured and found, in exact numbers."""

    identity: Mapping[str, Any]
    """Names and digests of what was audited: ``data, hierarchy, policy, tool``, the ``reference``,
    and the ``normaliser`` that turned labels into nodes, None if labels are nodes."""
    ledger: Mapping[str, Any]
    """Numbers of rows (``rows_read, rows_mapped``, ``refused`` by reason), of ``instances`` and
    ``groups`` (None without), labels per instance, and what was read of ``predictions``, if any."""
    policy: Mapping[str, Any]
    """The policy as applied, with ``min_cell``, ``max_findings``, thresholds and branch rules."""
    checks: tuple[CheckResult, ...]
    """The result of every check, in report order, those that do not apply included."""
    nodes: pl.DataFrame
    """A row a node, in code-point order of ids: ``node, title``, where it stands (``depth, height,
    level, branch, branches``), ``assignable``, instances labelled with it (``direct``) and with it
    or a node below (``support``), sums over groups, ``residual`` (the kind of catch-all) and
    ``residual_rule``; docs/run.md describes them as ``nodes.parquet``."""
    edges: pl.DataFrame
    """``child, parent`` (ids): a row an edge of the hierarchy."""
    pair_table: PairTable
    """Counts of pairs as they are kept; ``pairs`` gives them with all that follows from them."""
    residuals: pl.DataFrame
    """A row a parent and kind of catch-all (``all, other, unspecified``): of the ``n`` instances
    with a label below the parent, ``k`` have none but catch-alls there; ``share`` is k / n,
    with its interval ``low, high``, ``at_parent`` the instances labelled at the parent itself;
    without groups, ``groups`` and ``n_effective`` are n."""
    parts: tuple[ResultPart, ...] = ()
    """What else was measured: of a model, of drift, and by analyses."""
    cases: pl.LazyFrame | None = None
    """``finding`` (id) and ``instance``: one row per instance behind each finding, in report order;
    never shared. None if the data were only counted."""
    proposals: pl.LazyFrame | None = None
    """``finding`` (id), and what would mend it, a row a change, with the columns of `PROPOSED` of
    `audit.checks.shared.proposals` and ids for indices; never shared. None like ``cases``."""
    instances: pl.LazyFrame | None = None
    """``instance, node, label, score, group``: the values of each instance before aggregation;
    never shared. None unless the run was read from a folder that keeps them."""
    refused: pl.LazyFrame | None = None
    """``instance, node``: labels as written that no node stands for; never shared. None like
    ``instances``."""
    readings: tuple[Mapping[str, Any], ...] = ()
    """``decision, evidence, rows, unit, option`` of what the data were taken to mean."""
    waivers: tuple[Mapping[str, Any], ...] = ()
    """The policy's waivers, each with who answers for it and why, the day it ``expires``, whether
    that is over (``expired``), and the number of findings that it covers (``used``)."""
    counted_with: Mapping[str, Any] = field(default_factory=dict)
    """The complete policy that the run was counted with, as JSON; empty for the default policy."""
    inputs: tuple[Mapping[str, str], ...] = field(default=())
    """``role, path, sha256`` of each file read; used for the manifests only."""
    data_sha256: str = ""
    """Digest of the data; never shared, since it would allow testing guesses of unknown counts."""
    reference: Mapping[str, Any] | None = None
    """What is kept of the reference run, as `audit.results.since.remembered` makes it; None without
    a reference."""
    held: Status | None = None
    """The status of the run whose numbers are told; None of that run itself."""
    sha256: str | None = None
    """Digest of the ``result.json`` that it was read from; None if it was not read from a run."""

    def as_record(self) -> dict[str, Any]:
        """What tables do not hold, as JSON; `read_checks` reads the checks of it."""
        model = self.model
        return {
            "identity": dict(self.identity),
            "ledger": dict(self.ledger),
            "readings": [dict(reading) for reading in self.readings],
            "policy": dict(self.policy),
            "waivers": [dict(waiver) for waiver in self.waivers],
            "metrics_absent": [] if model is None else [dict(one) for one in model.absent_metrics],
            "drift": self.part(DriftPart) is not None,
            "checks": [
                {name: getattr(check, name) for name in _OF_CHECK}
                | {"evidence": check.evidence.stored(), "of_parts": check.of_parts.stored()}
                for check in self.checks
            ],
        }

    @property
    def pairs(self) -> pl.LazyFrame:
        """The pair table: every pair that instances carry together, with its judgement."""
        return self.pair_table.frame

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, in the order of the table of nodes."""
        return self.pair_table.hierarchy

    @property
    def model(self) -> ModelPart | None:
        """What was measured of a model; None without predictions."""
        return self.part(ModelPart)

    @property
    def metrics(self) -> pl.DataFrame:
        """``name, scope, value, low, high, n`` of the model's metrics, if any, with their
        ``parameters`` as text: ``threshold=0.5, up=1``."""
        rows = [
            {**one, "parameters": ", ".join(f"{k}={v}" for k, v in one["parameters"].items())}
            for one in self.metric_rows
        ]
        return pl.DataFrame(rows, schema={**_METRICS, "parameters": pl.String})

    @property
    def metric_rows(self) -> tuple[Mapping[str, Any], ...]:
        """``metrics`` as they were measured: a mapping each, with no parameters but its own."""
        return () if self.model is None else self.model.metrics

    @cached_property
    def made_with(self) -> Policy:
        """The policy that the run was counted with."""
        return Policy.model_validate_json(json.dumps(self.counted_with))

    def part(self, kind: type[Kind]) -> Kind | None:
        """That of ``parts`` which is of a class, such as `ModelPart`; None if there is none."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    @property
    def analyses(self) -> tuple[AnalysisPart, ...]:
        """What analyses measured, in their order."""
        return tuple(part for part in self.parts if isinstance(part, AnalysisPart))

    def analysis(self, name: str) -> AnalysisPart | None:
        """What the analysis of a name, such as ``concepts``, measured; None if it was not run."""
        return next((part for part in self.analyses if part.name == name), None)

    @property
    def called(self) -> str:
        """What reports call the instances, such as ``instances`` or ``admissions``."""
        return str(self.identity["data"]["called"])

    @cached_property
    def findings(self) -> pl.DataFrame:
        """All findings, folded ones included, in exact numbers: a row each, those to act on first.

        Columns ``check, id, severity`` (as judged), ``sentence, nodes, titles, instances, share,
        low, high``, ``weight`` (what orders findings of different checks), ``evidence`` and
        ``parts`` (structs), ``curator, data_user, touched, strength, beyond, aside, key,
        folded_into``, and ``record``, the finding in full as JSON, from which it is read back.
        """
        findings = ordered(self.checks)
        weights = {one.id: -between(one)[3] / max(self.size, 1) for one in findings}
        return finding_frame(findings, self.titles, weights)

    def worst(self, n: int = TEN) -> pl.DataFrame:
        """The findings to act on first: at most ``n``, few of one check."""
        first = worst(merged(check.standing for check in self.checks), n)
        return self.findings.filter(pl.col("id").is_in([one.id for one in first]))

    @property
    def status(self) -> Status:
        """The worst status of all applicable checks; not_applicable if nothing could be judged.

        A passing check of the data or a model counts only if its denominator is above 0. Told
        numbers do not change it.
        """
        if self.held is not None:
            return self.held
        judged = (c for c in self.checks if c.denominator and c.name not in OF_WAIVERS)
        found = {check.status for check in self.checks} - {"pass"} | {c.status for c in judged}
        return min(found, key=BY_RESULT.index, default="not_applicable")

    @cached_property
    def titles(self) -> dict[str, str | None]:
        """Title of each node."""
        nodes, titles = self.nodes["node"].to_list(), self.nodes["title"].to_list()
        return dict(zip(nodes, titles, strict=True))

    @property
    def root(self) -> str | None:
        """The only node without one above it; None if there are several."""
        tops = self.nodes.filter(pl.col("depth") == 0)["node"]
        return tops[0] if len(tops) == 1 else None

    @property
    def rounding(self) -> Rounding:
        """How its counts are told where they are shared."""
        return Rounding.of(self.min_cell, self.ledger)

    @property
    def min_cell(self) -> int:
        """Smallest count that may be shown."""
        return int(self.policy["min_cell"])

    @property
    def size(self) -> int:
        """Number of instances."""
        return int(self.ledger["instances"])
