"""The summary of a comparison in a terminal, and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from audit.cli.terminal.tables import filled, one_line, table

LARGEST = 10
"""Number of changed nodes shown."""
_KINDS = ("new", "gone", "worse", "better")


def comparison_summary(shared: Mapping[str, Any]) -> Group:
    """Summary of a comparison: what changed between two runs, and why."""
    parts: list[RenderableType] = [*_causes(shared["causes"]), *_models(shared["model"])]
    parts += _exchanges(shared["exchanges"]["rows"])
    nodes = [
        (row["node"], row["title"] or "", *_change_cells(row))
        for row in shared["nodes"]["rows"][:LARGEST]
    ]
    if nodes:
        headings = ("node", "title", "OLD", "NEW", "change in points", "95% interval")
        parts.append(filled(table(*headings, right=4), nodes))
    checks = [
        (
            check["name"],
            check["status_old"] or "-",
            check["status_new"] or "-",
            *(str(check["changes"][kind]) for kind in _KINDS),
        )
        for check in shared["checks"]
        if check["status_old"] != check["status_new"] or any(check["changes"][k] for k in _KINDS)
    ]
    if checks:
        parts.append(filled(table("check", "OLD", "NEW", *_KINDS, right=4), checks))
    totals = shared["totals"]
    names = (
        "nodes",
        "exchanges",
        "pairs",
        "edits",
        *(("metrics", "confusions") if shared["model"] else ()),
    )
    changed = ", ".join(f"{totals[name]:,} {name}" for name in names)
    found = ", ".join(f"{totals[name]:,} {name}" for name in _KINDS)
    return Group(*parts, Text(f"changed: {changed}; findings: {found}"))


def machine_comparison(
    shared: Mapping[str, Any], out: Path, not_written: Sequence[Exception]
) -> dict[str, Any]:
    """The output of ``audit compare --json``."""
    return {
        "comparison": str(out),
        "changed": shared["changed"],
        "causes": {cause["name"]: cause["changed"] for cause in shared["causes"]},
        "totals": shared["totals"],
        "model": shared["model"],
        "checks": [
            {key: value for key, value in check.items() if key not in ("findings", "not_shown")}
            for check in shared["checks"]
        ],
        "not_written": [str(error) for error in not_written],
    }


def _causes(causes: Iterable[Mapping[str, Any]]) -> Iterator[Text]:
    changed = [cause for cause in causes if cause["changed"]]
    for cause in changed:
        yield Text(one_line(f"{cause['name']} differs: {cause['statement']}"))
    if not changed:
        yield Text("data, hierarchy, normaliser, tool and policy are the same")


def _models(model: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    """Whether the predictions differ, and each metric in both runs."""
    if model is None:
        return
    from audit._reports.comparison.models import models

    sentence = models(model)
    assert sentence is not None, "a model has its words"
    yield Text(one_line(sentence.predictions))
    if sentence.metrics is not None:
        yield Text(one_line(sentence.intervals), "dim")
        headings = ("metric", "OLD", "NEW", "difference", "95% interval")
        rows = (
            (f"{name} {of}".strip(" –"), *numbers) for name, of, *numbers in sentence.metrics.rows
        )
        yield filled(table(*headings, right=4), (tuple(map(str, row)) for row in rows))


def _exchanges(rows: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Siblings that stand for each other, a sentence each."""
    from audit._reports.comparison.words import exchange_sentence

    for row in rows[:LARGEST]:
        yield Text(one_line(exchange_sentence(row)))


def _change_cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    old, new = (
        f"{value:,}" if isinstance(value, int) else str(value)
        for value in (row["support_old"], row["support_new"])
    )
    if row["difference"] is None:
        return old, new, "withheld", "withheld"
    low, high = 100 * row["low"], 100 * row["high"]
    return old, new, f"{100 * row['difference']:+.2f}", f"{low:+.2f} to {high:+.2f}"
