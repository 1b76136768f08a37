"""The view of a run: the content of ``result.json``, made of exact or of told numbers alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from audit.base.plurals import filled
from audit.results.finding_lines import largest_first, mostly, nodes_by_parts
from audit.results.findings import CheckResult, Finding, Waived
from audit.results.mended import mended
from audit.results.model_overview import model_overview
from audit.results.order import between, by_first, merged, worst
from audit.results.overview import overview
from audit.results.parts import OTHERS, ModelPart
from audit.results.record import Record
from audit.results.since import since_reference
from audit.sharing.told import Declared, Rounding
from audit.sharing.words import said

SCHEMA_VERSION = "5.1"


def view(run: Record) -> dict[str, Any]:
    """The view of a run as plain data, from nothing but the numbers that the run holds."""
    shown = {check.name: _kept(check, run) for check in run.checks}
    found = merged(shown.values(), between)
    first = [one.id for one in worst(found)]
    named = [one.check for one in found]
    order = by_first(run.checks, lambda check: (check.status, check.name), named)
    checks = [_check(check, shown[check.name], run) for check in order]
    tables = {**overview(run, checks), **model_overview(run)}
    return {
        "schema_version": SCHEMA_VERSION,
        "rounding": run.rounding.as_dict(),
        "identity": dict(run.identity),
        "ledger": dict(run.ledger),
        "readings": [dict(reading) for reading in run.readings],
        "policy": dict(run.policy),
        "status": run.status,
        "worst": first,
        "checks": checks,
        "since_reference": _since(run, checks, tables["coverage"]["depths"]),
        **_parts(run),
        "waivers": [dict(waiver) for waiver in run.waivers],
        "overview": tables,
    }


def _kept(check: CheckResult, run: Record) -> tuple[Finding, ...]:
    """The findings that are shown."""
    return check.standing[: int(run.policy["max_findings"])]


def _check(check: CheckResult, shown: Sequence[Finding], run: Record) -> dict[str, Any]:
    columns = [check.evidence[name] for name in check.evidence]
    columns += [column for name, column in check.of_parts.items() if name not in check.evidence]
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
        "counts": [
            *(column.name for column in columns if column.kind in ("count", "sum")),
            *(("denominator",) if check.counts not in ("whole", "untold") else ()),
        ],
        "nodes": [heading for heading in check.nodes.split("|") if heading],
        "columns": check.evidence.stored(),
        "part_columns": check.of_parts.stored(),
        "findings": [finding_view(one, check.evidence, run.titles, run.rounding) for one in shown],
    }


def finding_view(
    finding: Finding, columns: Declared, titles: Mapping[str, str | None], rounding: Rounding
) -> dict[str, Any]:
    """A finding of the view: its numbers, and its sentence with these.

    Args:
        columns: What its numbers are.
    """
    evidence = dict(finding.evidence)
    parts = largest_first(finding.parts)
    most = mostly(finding, evidence, parts, titles, rounding)
    words = said(evidence, columns, rounding)
    return {
        "id": finding.id,
        "severity": finding.judged_severity,
        "nodes": _titled(nodes_by_parts(finding, parts), titles),
        "statement": filled(finding.statement, evidence | {"mostly": most}, words),
        "evidence": evidence,
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
    """``waiver`` if the finding does not count, and ``to_fix`` if somebody is to fix it."""
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


def _since(
    run: Record, checks: Sequence[Mapping[str, Any]], depths: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    before = run.reference
    if before is None:
        return None
    same = before["hierarchy"] == run.identity["hierarchy"]["sha256"]
    return since_reference(
        before, checks, {check.name: check.ids for check in run.checks}, depths if same else []
    )


def _parts(run: Record) -> dict[str, Any]:
    """What a model and analyses add."""
    entries = dict(ModelPart.absent() if run.model is None else run.model.view())
    entries |= mended(run)
    others, declared = dict[str, Any](), dict[str, Any]()
    for part in run.analyses:
        own = part.shared(run.rounding)
        entries["metrics"] = [*entries["metrics"], *part.metrics(own)]
        (entries if part.listed else others)[part.name] = own
        declared[part.name] = part.declared(own, run.rounding)
    entries |= {"tables": declared} if declared else {}
    return {**entries, OTHERS: others} if others else entries
