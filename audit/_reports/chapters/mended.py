"""The chapter on what was mended in the data of the reference, and what became of its findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.chapters.since_reference import effects
from audit._reports.charts.value_charts import stacked_bars
from audit._reports.words.parts import Figure, Key, Table
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import (
    badges,
    codes,
    named,
    node_list,
    numbers,
    optional_table,
    table,
    texts,
)
from audit._reports.words.words import SEVERITY, counted, listed, number

NODES = 3
"""Largest number of nodes named for a finding."""
MOST_BARS = 20
BECAME: Mapping[str, str] = {"gone": "gone", "there": "still there"}
DECIDED: Mapping[str, str] = {
    "proposed": "accepted as proposed",
    "otherwise": "decided otherwise",
    "certain": "certain, applied without being asked",
}
_KINDS = {
    "gone": ("pass", "gone"),
    "there": ("expected", "still there"),
    "new": ("limit", "new"),
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
        sentences=tuple(_sentences(entry, asked)),
        figure=_figure([one for one in asked if one["gone"] or one["new"] or one["there"]]),
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


def _sentences(entry: Mapping[str, Any], asked: Rows) -> Iterator[str]:
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
        yield f"With them went {counted(others, 'further finding')}."
    yield (
        f"{counted(made, 'finding')} {'is' if made == 1 else 'are'} new."
        if made
        else "None is new."
    )


def _figure(rows: Sequence[Mapping[str, Any]]) -> Figure | None:
    """What became of the findings of each check, those with most that are gone or new first."""
    ranked = sorted(rows, key=lambda one: (-one["gone"] - one["new"], -one["there"], one["name"]))
    drawn = ranked[:MOST_BARS]
    if not drawn:
        return None
    bars = [
        (one["name"], [(role, one[kind], said) for kind, (role, said) in _KINDS.items()])
        for one in drawn
    ]
    totals = {kind: sum(one[kind] for one in rows) for kind in _KINDS}
    return Figure(
        id="mended",
        title="What became of the findings",
        drawing=stacked_bars(bars),
        alt=f"Bars of {counted(len(drawn), 'check')}. In all, "
        + listed([f"{totals[kind]:,} {said}" for kind, (_, said) in _KINDS.items()])
        + ".",
        caption="Findings of each check in the reference and now.",
        key=tuple(Key(role, said) for role, said in _KINDS.values()),
        table=table(
            "mended-numbers",
            "What became of the findings",
            drawn,
            named("Check", "title", "name"),
            *(numbers(said.capitalize(), kind, number) for kind, (_, said) in _KINDS.items()),
        ),
        key_title="Findings",
    )
