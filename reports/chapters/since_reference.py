"""The chapter on changes since the reference run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.words.parts import Badge, Cell, Code, Named, Node, Nodes, Table, column
from reports.words.words import (
    SEVERITY,
    STATUS,
    TONE,
    WITHHELD,
    Value,
    counted,
    listed,
    number,
    percent,
    points,
    ratio,
    span,
)

CHANGE: Mapping[str, str] = {"new": "New", "worse": "Worse", "gone": "Gone", "known": "Known"}
"""Words for the changes of findings, in table order."""
EFFECTS: Mapping[str | None, tuple[str, ...]] = {
    "share": ("shares", "Findings of either run that are measured by a share", "Reference", "Now"),
    "ratio": ("ratios", "Findings of either run that are measured by a ratio", "Reference", "Now"),
    None: ("others", "Other findings of either run"),
}
"""Table for each kind of effect: its name, its caption, and its columns of numbers."""
NODES = 3
"""Largest number of nodes named for a finding."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SinceReference:
    """Content of the chapter."""

    sentences: tuple[str, ...]
    checks: Table
    depths: Table | None
    findings: tuple[Table, ...]
    residuals: Table | None


def since_reference(shared: Mapping[str, Any]) -> SinceReference | None:
    """Make the chapter; None without a reference."""
    found = shared["since_reference"]
    if found is None:
        return None
    return SinceReference(
        sentences=tuple(_sentences(found, shared)),
        checks=_checks(found["checks"]),
        depths=_depths(found["depths"]),
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
    changes = listed([f"{n:,} {CHANGE[change].lower()}" for change, n in totals.items()])
    checks = counted(len(asked), "check")
    yield f"Of the findings of the {checks} that both runs could ask: {changes}."


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


def _depths(rows: Rows) -> Table | None:
    """Shares of labels by depth; None where nothing of them may be shown."""
    if all(row["before"] is None for row in rows):
        return None
    return Table(
        id="since-depths-table",
        caption="Share of labels at each depth",
        columns=column("Depth", "Reference", "Now", "Difference, points", numeric="nnnn"),
        rows=tuple(_depth_row(row) for row in rows),
    )


def _depth_row(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    before, now = row["before"], row["now"]
    difference = WITHHELD if before is None else points(now - before)
    return number(row["depth"]), percent(before), percent(now), difference


def _status(status: str | None) -> Cell:
    return "not asked" if status is None else Badge(STATUS[status], TONE.get(status, "plain"))


def _findings(findings: Rows) -> tuple[Table, ...]:
    """A table of each effect, so that a column holds numbers of one kind."""
    order = list(CHANGE)
    ranked = sorted(findings, key=lambda finding: order.index(finding["change"]))
    by_effect = {
        effect: [finding for finding in ranked if finding["effect"] == effect] for effect in EFFECTS
    }
    return tuple(_findings_table(effect, rows) for effect, rows in by_effect.items() if rows)


def _findings_table(effect: str | None, findings: Rows) -> Table:
    name, caption, *columns = EFFECTS[effect]
    return Table(
        id=f"since-{name}-table",
        caption=caption,
        columns=column(
            "About", "Change", "Check", "Severity", *columns, numeric="    " + "n" * len(columns)
        ),
        rows=tuple(_finding_row(finding) for finding in findings),
    )


def _finding_row(finding: Mapping[str, Any]) -> tuple[Cell, ...]:
    named = [Node(node["id"], node["title"] or "") for node in finding["nodes"]]
    return (
        Nodes(tuple(named[:NODES]), len(named[NODES:])),
        CHANGE[finding["change"]],
        Code(finding["check"]),
        Badge(SEVERITY[finding["severity"]], TONE[finding["severity"]]),
        *(_effects(finding) if finding["effect"] else ()),
    )


def _effects(finding: Mapping[str, Any]) -> tuple[str, str]:
    """The effect in the reference and now; a dash in the run without the finding."""
    wording = percent if finding["effect"] == "share" else _times
    return (
        "–" if finding["change"] == "new" else wording(finding["before"]),
        "–" if finding["change"] == "gone" else wording(finding["now"]),
    )


def _times(value: float | None) -> str:
    return WITHHELD if value is None else f"×{ratio(value)}"


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
            "Below", "Reference", "Its share", "Now", "Share now", "Difference, points", "Interval",
            numeric=" nnnnnn",
        ),
        rows=tuple(_residual_row(finding) for finding in findings),
    )  # fmt: skip


def _residual_row(finding: Mapping[str, Any]) -> tuple[Cell, ...]:
    (node,), evidence = finding["nodes"], finding["evidence"]
    return (
        Node(node["id"], node["title"] or ""),
        _of(evidence["elsewhere"], evidence["of_elsewhere"]),
        percent(evidence["elsewhere_share"]),
        _of(evidence["instances"], evidence["of"]),
        percent(evidence["share"]),
        points(evidence["difference"]),
        span(points(evidence["difference_low"]), points(evidence["difference_high"])),
    )


def _of(count: Value, total: Value) -> str:
    return WITHHELD if count is total is None else f"{number(count)} of {number(total)}"
