"""The chapters on changes since the reference run, and on what was mended in its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.charts.value_charts import stacked_bars
from audit._reports.words.parts import Figure, Key, Table
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import (
    Spec,
    badges,
    codes,
    named,
    node_list,
    numbers,
    optional_table,
    table,
    texts,
    written,
)
from audit._reports.words.words import (
    SEVERITY,
    STATUS,
    UNDEFINED,
    counted,
    listed,
    number,
    percent,
    points,
    ratio,
)
from audit.results.printed import difference_of

CHANGE: Mapping[str, str] = {
    "new": "Listed now",
    "worse": "Worse",
    "gone": "No longer listed",
    "known": "Known",
}
"""Words for the changes of findings, in table order."""
CHANGED = ("new", "worse", "gone")
MOVED = ("worse", "gone")
"""Changes that the findings themselves do not tell: they say which ones the reference has."""
EFFECTS: Mapping[str | None, tuple[str, str]] = {
    "share": ("shares", "Findings of either run that are measured by a share"),
    "ratio": ("ratios", "Findings of either run that are measured by a ratio"),
    None: ("others", "Other findings of either run"),
}
"""Table for each kind of effect: its name and its caption."""
NODES = 3
"""Largest number of nodes named for a finding."""


@dataclass(frozen=True, slots=True)
class SinceReference:
    """Content of the chapter."""

    sentences: tuple[str, ...]
    checks: Table | None
    depths: Table | None
    findings: tuple[Table, ...]
    residuals: int
    """Number of residual shares that differ, which findings tell."""


def since_reference(shared: Mapping[str, Any]) -> SinceReference | None:
    """Make the chapter; None without a reference."""
    found = shared["since_reference"]
    if found is None:
        return None
    return SinceReference(
        sentences=tuple(_sentences(found, shared)),
        checks=_checks(found["checks"]),
        depths=_depths(found["depths"]),
        findings=_findings([one for one in found["findings"] if one["change"] in MOVED]),
        residuals=sum(
            _is_difference(finding) for check in shared["checks"] for finding in check["findings"]
        ),
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
    yield f"Findings of the {checks} that both runs applied: {changes}."


def _checks(checks: Rows) -> Table | None:
    """Those with another result, or with findings that are new, worse or gone.

    A check that could not be applied to the reference says nothing of a change.
    """
    return optional_table(
        "since-checks-table",
        "Checks that tell something else than in the reference",
        [
            check
            for check in checks
            if check["status_before"] != "not_applicable"
            and (check["status_before"] != check["status"] or any(check[one] for one in CHANGED))
        ],
        named("Check", "title", "name"),
        badges("Reference", "status_before", STATUS, absent="not asked"),
        badges("Now", "status", STATUS, absent="not asked"),
        *(numbers(called, change, absent=UNDEFINED) for change, called in CHANGE.items()),
    )


def _depths(rows: Rows) -> Table | None:
    """Shares of labels by depth, where both are told; None where none is."""
    return optional_table(
        "since-depths-table",
        "Share of labels at each depth",
        [row for row in rows if None not in (row["before"], row["now"])],
        numbers("Depth", "depth"),
        numbers("Reference", "before", percent),
        numbers("Now", "now", percent),
        written("Difference, points", lambda row: points(difference_of(row["now"], row["before"]))),
    )


def _findings(findings: Rows) -> tuple[Table, ...]:
    """A table of each effect, so that a column holds numbers of one kind."""
    order = list(CHANGE)
    ranked = sorted(findings, key=lambda finding: order.index(finding["change"]))
    by_effect = {
        effect: [finding for finding in ranked if finding["effect"] == effect] for effect in EFFECTS
    }
    return tuple(_findings_table(effect, rows) for effect, rows in by_effect.items() if rows)


def _findings_table(effect: str | None, findings: Rows) -> Table:
    name, caption = EFFECTS[effect]
    return table(
        f"since-{name}-table",
        caption,
        findings,
        texts("About", lambda finding: node_list(finding["nodes"], NODES)),
        texts("Change", "change", CHANGE),
        codes("Check", "check"),
        badges("Severity", "severity", SEVERITY),
        *((effects("Reference", "before", "new"), effects("Now", "now", "gone")) if effect else ()),
    )


def effects(heading: str, field: str, absent_of: str) -> Spec:
    """The effects in one of the runs; a dash where a finding is not in it."""

    def cell(finding: Mapping[str, Any]) -> str:
        if finding["effect"] is None or finding["change"] == absent_of:
            return UNDEFINED
        write = percent if finding["effect"] == "share" else _times
        return write(finding[field])

    return written(heading, cell)


def _times(value: float | None) -> str:
    return UNDEFINED if value is None else f"×{ratio(value)}"


def _is_difference(finding: Mapping[str, Any]) -> bool:
    """Whether a finding is itself one of a difference from the reference."""
    return str(finding["id"]).endswith(":reference:")


MOST_BARS = 20
BECAME: Mapping[str, str] = {"gone": "gone", "there": "still there"}
DECIDED: Mapping[str, str] = {
    "proposed": "accepted as proposed",
    "otherwise": "decided otherwise",
    "certain": "certain, applied without being asked",
}
_BECOMING = {
    "gone": ("pass", "gone"),
    "there": ("expected", "still there"),
    "new": ("limit", "listed now"),
}
"""Role and words of what becomes of findings, in the order of a bar."""


@dataclass(frozen=True, slots=True)
class WhatWasMended:
    """Content of the chapter."""

    sentences: tuple[str, ...]
    figure: Figure | None
    findings: Table | None
    decisions: Table


def what_was_mended(
    entry: Mapping[str, Any] | None, since: Mapping[str, Any] | None
) -> WhatWasMended | None:
    """Make the chapter of ``mended`` and ``since_reference``; None where no changes are known."""
    if entry is None or since is None:
        return None
    asked = [
        {**one, "there": one["known"] + one["worse"]}
        for one in since["checks"]
        if one["new"] is not None
    ]
    moved = {one["id"]: one for one in since["findings"]}
    nothing = dict.fromkeys(("effect", "change", "before", "now"))
    return WhatWasMended(
        sentences=tuple(_mended_sentences(entry, asked)),
        figure=_mended_figure([one for one in asked if one["gone"] or one["new"] or one["there"]]),
        findings=optional_table(
            "mended-findings-table",
            "Findings that were worked on",
            [{**moved.get(one["id"], nothing), **one} for one in entry["findings"]],
            texts("About", lambda one: node_list(one["nodes"], NODES)),
            codes("Check", "check"),
            badges("Severity", "severity", SEVERITY),
            numbers("Records changed", "records"),
            effects("Reference", "before", "new"),
            effects("Now", "now", "gone"),
            texts("Became", lambda one: BECAME.get(one["became"], "not asked")),
            left_out=entry["not_shown"],
        ),
        decisions=table(
            "mended-decisions-table",
            "How it was decided, and by whom",
            entry["decisions"],
            texts("Decision", "decision", DECIDED),
            texts("By", lambda one: one["by"] or _nobody(one)),
            numbers("Records changed", "records"),
        ),
    )


def _nobody(decision: Mapping[str, Any]) -> str:
    return "the classification or the file" if decision["decision"] == "certain" else "not named"


def _mended_sentences(entry: Mapping[str, Any], asked: Rows) -> Iterator[str]:
    became = [one["became"] for one in entry["findings"]]
    each = [
        f"{became.count(one):,} {'is' if became.count(one) == 1 else 'are'} {said}"
        for one, said in BECAME.items()
        if one in became
    ]
    if each:
        yield f"Of {counted(len(became), 'finding')} that changes were made for, {listed(each)}."
    made, gone = (sum(one[kind] for one in asked) for kind in ("new", "gone"))
    others = gone - became.count("gone")
    if others > 0:
        yield f"{counted(others, 'further finding')} {'is' if others == 1 else 'are'} gone too."
    yield (
        f"{counted(made, 'finding')} {'was' if made == 1 else 'were'} not listed before."
        if made
        else "All were listed before."
    )


def _mended_figure(rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    """What became of the findings of each check, those with most that are gone or new first."""
    ranked = sorted(rows, key=lambda one: (-one["gone"] - one["new"], -one["there"], one["name"]))
    drawn = ranked[:MOST_BARS]
    if not drawn:
        return None
    bars = [
        (one["name"], [(role, one[kind], said) for kind, (role, said) in _BECOMING.items()])
        for one in drawn
    ]
    totals = {kind: sum(one[kind] for one in rows) for kind in _BECOMING}
    return Figure(
        id="mended",
        title="What became of the findings",
        drawing=stacked_bars(bars),
        alt=f"Bars of {counted(len(drawn), 'check')}. In all, "
        + listed([f"{totals[kind]:,} {said}" for kind, (_, said) in _BECOMING.items()])
        + ".",
        caption="Findings of each check in the reference and now.",
        key=tuple(Key(role, said) for role, said in _BECOMING.values()),
        table=table(
            "mended-numbers",
            "What became of the findings",
            drawn,
            named("Check", "title", "name"),
            *(numbers(said.capitalize(), kind, number) for kind, (_, said) in _BECOMING.items()),
        ),
        key_title="Findings",
    )
