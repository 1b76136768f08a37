"""Possible causes of a difference between two runs: data, hierarchy, normaliser, tool, policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from audit.base.plurals import counted
from audit.hierarchies.relations import SharedNodes
from audit.results.result import AuditResult
from audit.runs.compare.edits import EDITS
from audit.sharing.words import count_said

_INSEPARABLE = (
    "{} differs, which acts on every {} alike: its part cannot be found from the tables of two "
    "runs. Audit one of the two datasets with both to see it."
)
_OF_POLICY = (
    "Findings were judged by two policies, so that one can be new or gone without any change in "
    "the data: judge the older run again with `audit report --policy` to see the part of the data."
)


@dataclass(frozen=True, slots=True)
class Cause:
    """One possible cause: its value in each run, and a sentence on what follows."""

    name: str
    changed: bool
    old: str | None
    new: str | None
    statement: str


def same_data(old: AuditResult, new: AuditResult) -> bool:
    """Whether both runs counted the same data."""
    return old.data_sha256 == new.data_sha256


def causes(
    old: AuditResult, new: AuditResult, edits: pl.DataFrame, edited: int, shared: SharedNodes
) -> tuple[Cause, ...]:
    """All causes of a difference between two runs, exact or told ones, changed or not."""
    unlisted = bool(new.rounding.width and new.identity["normaliser"])
    follows = {
        "hierarchy": f"{_hierarchy(edits, edited, unlisted=unlisted)} {shared}.",
        "normaliser": _INSEPARABLE.format("The normaliser", "code"),
        "tool": _INSEPARABLE.format("The version of the tool", "code and every rule"),
        "policy": _OF_POLICY,
    }
    alike, was, now = same_data(old, new), _values(old.identity), _values(new.identity)
    counted_alike = "Both runs counted the same data, so that no difference between their labels is"
    data = f"{counted_alike} chance." if alike else _data(old, new)
    return (
        Cause("data", not alike, None, None, data),
        *(
            Cause(name, True, was[name], now[name], said)
            if was[name] != now[name]
            else Cause(name, False, was[name], now[name], f"Both runs have the same {name}.")
            for name, said in follows.items()
        ),
    )


def _values(identity: Mapping[str, Any]) -> dict[str, str | None]:
    tool = identity["tool"]
    return {
        "hierarchy": identity["hierarchy"]["sha256"],
        "normaliser": identity["normaliser"],
        "tool": f"{tool['name']} {tool['version']}",
        "policy": identity["policy"]["sha256"],
    }


def _data(old: AuditResult, new: AuditResult) -> str:
    was, now = map(_mapped, (old, new))
    rows = "row" if was == "1" else "rows"
    first, second = (f" and {was} {rows} mapped", f" and {now}") if was and now else ("", "")
    return f"OLD has {counted(old.size, new.called)}{first}, NEW {new.size:,}{second}."


def _mapped(run: AuditResult) -> str:
    """How many rows were mapped; empty where it is not told."""
    told = run.ledger["rows_mapped"]
    if told is None:
        return ""
    return count_said(told, run.rounding.bins("rows")) if run.rounding.width else f"{told:,}"


def _hierarchy(edits: pl.DataFrame, edited: int, *, unlisted: bool) -> str:
    """What was edited; ``unlisted``: codes that labels alone may name are left out."""
    own = Counter(edits.filter(~pl.col("from_labels"))["edit"].to_list())
    placed = len(edits) - own.total()
    said = ", ".join(f"{own[edit]:,} {word}" for edit, word in EDITS.items() if own[edit])
    said = f"Nodes edited: {said}" if said else "Same hierarchy"
    if placed or (unlisted and not own):
        but = counted(placed, "unlisted codes") if placed else "unlisted codes"
        said += f", but for {but} in only one of the runs"
    if not edited:
        return f"{said}."
    below = "Nodes with other nodes below them than before"
    return f"{said}. {below}: {edited:,}; their counts are not compared."
