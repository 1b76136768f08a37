"""The chapter on what has changed since the reference run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.evidence import times
from reports.parts import Badge, Cell, Code, Named, Node, Nodes, Table, column
from reports.words import (
    SEVERITY,
    STATUS,
    TONE,
    WITHHELD,
    counted,
    listed,
    number,
    percent,
    points,
    span,
)

CHANGE: Mapping[str, str] = {"new": "New", "worse": "Worse", "gone": "Gone", "known": "Known"}
"""Words for what became of a finding, in the order of the table."""
NODES = 3
"""Nodes named of a finding at most."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SinceReference:
    """What the report says of the run that this one was held against."""

    sentences: tuple[str, ...]
    checks: Table
    findings: Table | None
    residuals: Table | None


def since_reference(shared: Mapping[str, Any]) -> SinceReference | None:
    """The chapter; None without a reference."""
    found = shared["since_reference"]
    if found is None:
        return None
    return SinceReference(
        sentences=tuple(_sentences(found, shared)),
        checks=_checks(found["checks"]),
        findings=_findings([one for one in found["findings"] if not _is_difference(one)]),
        residuals=_residuals(_differences(shared["checks"])),
    )


def _sentences(found: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[str]:
    before, now = STATUS[found["status"]].lower(), STATUS[shared["status"]].lower()
    worst = f"still “{now}”" if before == now else f"“{now}”, and was “{before}”"
    yield (
        f"The reference has {counted(found['instances'], 'instance')}, this release "
        f"{counted(shared['ledger']['instances'], 'instance')}. The worst status is {worst}."
    )
    asked = [check for check in found["checks"] if check["new"] is not None]
    totals = {change: sum(check[change] for check in asked) for change in CHANGE}
    told = listed([f"{n:,} {CHANGE[change].lower()}" for change, n in totals.items()])
    yield f"Of the findings of the {counted(len(asked), 'check')} that both runs could ask: {told}."


def _checks(checks: Rows) -> Table:
    return Table(
        id="since-checks-table",
        caption="Checks that applied in the reference or now",
        columns=column(
            "Check", "Reference", "Now", *CHANGE.values(), numeric="   " + "n" * len(CHANGE)
        ),
        rows=tuple(
            (
                Named(check["title"], check["name"]),
                _status(check["status_before"]),
                _status(check["status"]),
                *("–" if check[change] is None else number(check[change]) for change in CHANGE),
            )
            for check in checks
            if {check["status_before"], check["status"]} != {"not_applicable"}
        ),
    )


def _status(status: str | None) -> Cell:
    return "not asked" if status is None else Badge(STATUS[status], TONE.get(status, "plain"))


def _findings(findings: Rows) -> Table | None:
    order = list(CHANGE)
    ranked = sorted(findings, key=lambda finding: order.index(finding["change"]))
    if not ranked:
        return None
    return Table(
        id="since-findings-table",
        caption="Findings shown of either run",
        columns=column(
            "About", "Change", "Check", "Severity", "Effect", "Reference", "Now",
            numeric="     nn",
        ),
        rows=tuple(_finding_row(finding) for finding in ranked),
    )  # fmt: skip


def _finding_row(finding: Mapping[str, Any]) -> tuple[Cell, ...]:
    named = [Node(node["id"], node["title"] or "") for node in finding["nodes"]]
    left_out = len(named) - NODES
    more = (Node(f"and {left_out:,} more"),) if left_out > 0 else ()
    effect = finding["effect"]
    return (
        Nodes((*named[:NODES], *more)),
        CHANGE[finding["change"]],
        Code(finding["check"]),
        SEVERITY[finding["severity"]],
        effect or "–",
        "–" if finding["change"] == "new" else _effect(effect, finding["before"]),
        "–" if finding["change"] == "gone" else _effect(effect, finding["now"]),
    )


def _effect(name: str | None, value: float | None) -> str:
    if name is None:
        return "–"
    if value is None:
        return WITHHELD
    return percent(value) if name == "share" else times(value)


def _differences(checks: Rows) -> list[Mapping[str, Any]]:
    """Findings on residual shares that differ from the reference's."""
    return [
        finding
        for check in checks
        if check["name"] == "residual_overuse"
        for finding in check["findings"]
        if _is_difference(finding)
    ]


def _is_difference(finding: Mapping[str, Any]) -> bool:
    """Whether a finding is itself one of a difference from the reference."""
    return str(finding["id"]).endswith(":reference:")


def _residuals(findings: Rows) -> Table | None:
    if not findings:
        return None
    return Table(
        id="since-residuals-table",
        caption="Residual shares that differ from the reference",
        columns=column(
            "Below", "Reference", "Share", "Now", "Share", "Difference, points", "Interval",
            numeric=" nnnnnn",
        ),
        rows=tuple(_residual_row(finding) for finding in findings),
    )  # fmt: skip


def _residual_row(finding: Mapping[str, Any]) -> tuple[Cell, ...]:
    (node,), evidence = finding["nodes"], finding["evidence"]
    return (
        Node(node["id"], node["title"] or ""),
        f"{number(evidence['elsewhere'])} of {number(evidence['of_elsewhere'])}",
        percent(evidence["elsewhere_share"]),
        f"{number(evidence['instances'])} of {number(evidence['of'])}",
        percent(evidence["share"]),
        points(evidence["difference"]),
        span(points(evidence["difference_low"]), points(evidence["difference_high"])),
    )
