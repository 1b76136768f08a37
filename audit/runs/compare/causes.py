"""Possible causes of a difference between two runs: data, hierarchy, normaliser, tool, policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from audit.base.plurals import counted
from audit.hierarchies.same import SharedNodes
from audit.results.result import AuditResult
from audit.sharing.words import count_said

CauseName: TypeAlias = Literal["data", "hierarchy", "normaliser", "tool", "policy"]


@dataclass(frozen=True, slots=True)
class Cause:
    """One possible cause: its value in each run, and a sentence on what follows."""

    name: CauseName
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
    unlisted = new.rounding.width and new.identity["normaliser"]
    sentences = {
        "data": _data(old, new),
        "hierarchy": f"{_hierarchy(edits, edited, unlisted=bool(unlisted))} {shared}.",
        "normaliser": _inseparable("The normaliser", "code"),
        "tool": _inseparable("The version of the tool", "code and every rule"),
        "policy": "Findings were judged by two policies, so that one can be new or gone without "
        "any change in the data: judge the older run again with `audit report --policy` to see the "
        "part of the data.",
    }
    other_data = not same_data(old, new)
    return tuple(
        _cause(
            name, was, now, sentences[name], changed=was != now if name != "data" else other_data
        )
        for name, was, now in _values(old.identity, new.identity)
    )


def _cause(
    name: CauseName, was: str | None, now: str | None, sentence: str, *, changed: bool
) -> Cause:
    unchanged = (
        "Both runs counted the same data, so that no difference between their labels is chance."
        if name == "data"
        else f"Both runs have the same {name}."
    )
    return Cause(name, changed, was, now, sentence if changed else unchanged)


def _values(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[CauseName, str | None, str | None]]:
    yield "data", None, None
    yield "hierarchy", old["hierarchy"]["sha256"], new["hierarchy"]["sha256"]
    yield "normaliser", old["normaliser"], new["normaliser"]
    yield "tool", _tool(old), _tool(new)
    yield "policy", old["policy"]["sha256"], new["policy"]["sha256"]


def _tool(identity: Mapping[str, Any]) -> str:
    return f"{identity['tool']['name']} {identity['tool']['version']}"


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
    own = edits.filter(~pl.col("from_labels"))
    counts = Counter(own["edit"].to_list())
    words = {
        "added": "added",
        "removed": "removed",
        "moved": "moved",
        "retitled": "retitled",
        "assignable_changed": "allowed or no longer allowed as labels",
    }
    counted_edits = [f"{counts[edit]:,} {word}" for edit, word in words.items() if counts[edit]]
    placed = len(edits) - len(own)
    sentences = [
        f"Nodes edited: {', '.join(counted_edits)}." if counted_edits else "Same hierarchy."
    ]
    if placed or (unlisted and not counted_edits):
        but = counted(placed, "unlisted codes") if placed else "unlisted codes"
        sentences[0] = sentences[0].removesuffix(".") + f", but for {but} in only one of the runs."
    if edited:
        sentences.append(
            f"Nodes with other nodes below them than before: {edited:,}; their counts are not "
            "compared."
        )
    return " ".join(sentences)


def _inseparable(what: str, acts_on: str) -> str:
    return (
        f"{what} differs, which acts on every {acts_on} alike: its part cannot be found from the "
        "tables of two runs. Audit one of the two datasets with both to see it."
    )
