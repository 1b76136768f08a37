"""What was mended in the data of the reference: counts of the changes that made the copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from audit.results.parts import Tables
from audit.results.record import Record

MENDED = "mended"


@dataclass(frozen=True, eq=False)
class Mended:
    """The changes that turned the data of the reference into these; nothing else differs.

    Args:
        changes: The columns of `audit.results.columns.MENDED`. A decision is ``proposed``
            (accepted), ``otherwise`` (another label, or none) or ``certain`` (applied without being
            asked).
    """

    changes: pl.DataFrame

    def tables(self) -> Tables:
        """One table, ``mended``: a row a finding, decision and decider, with counts of changes."""
        return {MENDED: self.changes}

    @property
    def wholly(self) -> frozenset[str]:
        """Ids of the findings all of whose proposals led to a change."""
        of = self.changes.group_by("finding").agg(pl.sum("changes"), pl.first("proposals"))
        return frozenset(of.filter(pl.col("changes") >= pl.col("proposals"))["finding"])

    def records(self, *keys: str) -> dict[tuple[str, ...], int]:
        """Sums of ``records`` by the values of the columns ``keys`` of ``changes``."""
        summed = self.changes.group_by(keys).agg(pl.sum("records"))
        return {tuple(row[:-1]): row[-1] for row in summed.iter_rows()}


def mended(run: Record) -> Mapping[str, Any]:
    """``mended`` of ``result.json``; nothing without changes of the reference's data."""
    own, before, given = run.part(Mended), run.reference, run.identity.get("reference")
    if own is None or before is None or given is None or {given["sha256"]} != {*own.changes["run"]}:
        return {}
    records = own.records("finding")
    findings = [
        {
            "check": check["name"],
            **{key: one[key] for key in ("id", "severity", "nodes")},
            "records": records[one["id"],],
            "became": _became(run, check["name"], one["id"]),
        }
        for check in before["checks"]
        for one in check["findings"]
        if (one["id"],) in records
    ]
    decisions = [
        {"decision": decision, "by": by, "records": n}
        for (decision, by), n in sorted(own.records("decision", "by").items())
    ]
    not_shown = len(records) - len(findings)
    return {MENDED: {"findings": findings, "not_shown": not_shown, "decisions": decisions}}


def _became(run: Record, check: str, finding: str) -> str | None:
    """Whether a finding is ``gone`` or still ``there``; None if its check did not run now."""
    found = next((one for one in run.checks if one.name == check), None)
    if found is None or found.crashed or found.not_applicable:
        return None
    return "there" if finding in found.ids.standing | found.ids.folded else "gone"
