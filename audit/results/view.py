"""The view of a run: the content of ``result.json``, made of exact or of told numbers alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from audit.results.finding_lines import largest_first, nodes_by_parts, sentence
from audit.results.findings import CheckResult, Finding, Waived
from audit.results.mended import mended
from audit.results.order import in_order, merged, worst
from audit.results.overview import Rows, overview
from audit.results.parts import OTHERS
from audit.results.record import Record
from audit.results.since import since_reference
from audit.sharing.told import Declared, Rounding

SCHEMA_VERSION = "6.0"


def view(run: Record) -> dict[str, Any]:
    """The view of a run as plain data, from nothing but the numbers that the run holds."""
    most = int(run.policy["max_findings"])
    shown = {check.name: check.standing[:most] for check in run.checks}
    checks = [_check_view(check, shown[check.name], run) for check in in_order(run.checks)]
    tables = overview(run, checks)
    return {
        "schema_version": SCHEMA_VERSION,
        "rounding": run.rounding.as_dict(),
        "identity": dict(run.identity),
        "ledger": dict(run.ledger),
        "readings": [dict(reading) for reading in run.readings],
        "policy": dict(run.policy),
        "status": run.status,
        "worst": [one.id for one in worst(merged(shown.values()))],
        "checks": checks,
        "since_reference": _since(run, checks, tables["coverage"]["depths"]),
        **_parts(run),
        "waivers": [dict(waiver) for waiver in run.waivers],
        "overview": tables,
    }


def _check_view(check: CheckResult, shown: Sequence[Finding], run: Record) -> dict[str, Any]:
    columns = check.evidence | {
        name: column for name, column in check.of_parts.items() if name not in check.evidence
    }
    counts = [name for name, column in columns.items() if column.kind in ("count", "sum")]
    return {
        "name": check.name,
        "title": check.title,
        "status": check.status,
        "reason": check.not_applicable or check.crashed or None,
        "denominator": check.denominator,
        "denominator_unit": check.denominator_unit,
        "total": len(check.standing) + check.folded,
        "folded": check.folded,
        "not_shown": len(check.standing) - len(shown),
        "not_told": check.not_told,
        "counts": counts + ["denominator"] * (check.counts not in ("whole", "untold")),
        "nodes": [heading for heading in check.nodes.split("|") if heading],
        "columns": check.evidence.stored(),
        "part_columns": check.of_parts.stored(),
        "findings": [finding_view(one, check.evidence, run.titles, run.rounding) for one in shown],
    }


def finding_view(
    finding: Finding, columns: Declared, titles: Mapping[str, str | None], rounding: Rounding
) -> dict[str, Any]:
    """A finding of the view: its numbers, which ``columns`` declare, and its sentence with them."""
    parts, titles = largest_first(finding.parts), finding.titles(titles)
    return {
        "id": finding.id,
        "severity": finding.judged_severity,
        "nodes": _titled(nodes_by_parts(finding, parts), titles),
        "statement": sentence(finding, columns, titles, rounding),
        "evidence": dict(finding.evidence),
        "parts": [
            {"nodes": _titled(part.nodes, titles), "evidence": dict(part.evidence)}
            for part in parts
        ],
        "more_parts": finding.more_parts,
        "curator": finding.curator,
        "data_user": finding.data_user,
        **_answered_for(finding.judgement.waiver),
        "known": finding.judgement.known,
        "unasked": finding.judgement.unasked,
    }


def _answered_for(waiver: Waived | None) -> dict[str, dict[str, str] | None]:
    """``waiver``, None where the finding counts; ``to_fix`` only where somebody is to fix it."""
    if waiver is None:
        return {"waiver": None}
    if not waiver.to_fix:
        return {"waiver": asdict(waiver)}
    promised = {"owner": waiver.owner, "reason": waiver.reason, "expires": waiver.expires}
    return {"waiver": None, "to_fix": promised}


def _titled(
    nodes: tuple[str, ...], titles: Mapping[str, str | None]
) -> list[dict[str, str | None]]:
    return [{"id": node, "title": titles.get(node)} for node in nodes]


def _since(run: Record, checks: Rows, depths: Rows) -> dict[str, Any] | None:
    before = run.reference
    if before is None:
        return None
    if before["hierarchy"] != run.identity["hierarchy"]["sha256"]:
        depths = []
    return since_reference(before, checks, {check.name: check.ids for check in run.checks}, depths)


def _parts(run: Record) -> dict[str, Any]:
    """What a model, mended data and analyses add."""
    model, entries = run.model, dict[str, Any]()
    for name in ("metrics", "metrics_absent", "metrics_beside"):
        entries[name] = []
    if model is not None:
        entries["metrics"] = _with_beyond(model.metrics)
        entries["metrics_absent"] = [dict(one) for one in model.absent_metrics]
        entries["metrics_beside"] = _with_beyond(model.beside)
    entries |= mended(run)
    others, declared = dict[str, Any](), dict[str, Any]()
    for part in run.analyses:
        own = part.shared(run.rounding)
        entries["metrics"] += part.metrics(own)
        (entries if part.listed else others)[part.name] = own
        declared[part.name] = part.declared(own, run.rounding)
    return (
        entries | ({"tables": declared} if declared else {}) | ({OTHERS: others} if others else {})
    )


def _with_beyond(metrics: Sequence[Mapping[str, Any]]) -> Rows:
    """The metrics, each with an entry ``beyond``: its own, else None."""
    return [{**metric, "beyond": metric.get("beyond")} for metric in metrics]
