"""The findings of a run as a window shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from audit.explorer.run.vocabulary import Row
from audit.results.findings import CheckResult, Finding
from audit.results.result import AuditResult
from audit.results.shared_findings import shared_finding


def shared_findings(shared: Mapping[str, Any]) -> Sequence[Row]:
    """Findings as they are shared, in report order."""
    above = {line["node"]: line["above"] for line in shared["overview"]["lineage"]}
    return [
        {
            **finding,
            "check": check["name"],
            "folded": (),
            "branches": _branches_above(finding, above),
            "cases": None,
        }
        for check in shared["checks"]
        for finding in check["findings"]
    ]


def _branches_above(finding: Row, above: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The topmost node that the picture of the hierarchy has above each node of a finding."""
    tops = (above[node["id"]][:1] for node in finding["nodes"] if node["id"] in above)
    return tuple(dict.fromkeys(top for tops_ in tops for top in tops_))


def full_findings(result: AuditResult) -> Sequence[Row]:
    """All findings that a policy did not drop, folded ones included, with exact numbers."""
    titles = dict(result.nodes.select("node", "title").iter_rows())
    branches = dict(result.nodes.select("node", "branches").iter_rows())
    cases = _cases(result)
    return [
        {
            **shared_finding(finding, 1, titles),
            "check": check.name,
            "folded": finding.folded_into,
            "branches": _branches(finding, branches),
            "cases": None if cases is None else cases.get(finding.id, 0),
        }
        for check in result.checks
        for finding in _in_order(check)
    ]


def _in_order(check: CheckResult) -> list[Finding]:
    return [finding for finding in check.in_order() if not finding.judgement.dropped]


def _branches(finding: Finding, branches: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(b for node in finding.nodes for b in branches.get(node) or ()))


def _cases(result: AuditResult) -> dict[str, int] | None:
    if result.cases is None:
        return None
    counted = result.cases.group_by(pl.col("finding").cast(pl.String)).len().collect()
    return dict(counted.iter_rows())
