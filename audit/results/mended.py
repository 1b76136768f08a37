"""What was mended in the data of the reference: counts of the changes that made the copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from audit.base.schemas import schema
from audit.disclosure import Shown, shown_in_steps
from audit.results.parts import Tables
from audit.results.record import Record

MENDED = "mended"
MENDED_CHANGES = schema(
    ("run finding decision by", pl.String), ("changes records proposals", pl.Int64)
)
"""Digest of the reference; per finding of it, decision and decider the labels that were changed and
the records with such; and how many proposals the finding had."""
_COUNTS = ("instances", "rows")
_Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Mended:
    """The changes that turned the data of the reference into these; nothing else differs.

    Args:
        changes: The columns of `MENDED_CHANGES`. A decision is ``proposed`` (accepted),
            ``otherwise`` (another label, or none) or ``certain`` (applied without being asked).
    """

    changes: pl.DataFrame

    def tables(self) -> Tables:
        """The changes, by finding, decision and decider."""
        return {MENDED: self.changes}

    @property
    def wholly(self) -> frozenset[str]:
        """Ids of the findings all of whose proposals led to a change."""
        of = self.changes.group_by("finding").agg(pl.sum("changes"), pl.first("proposals"))
        return frozenset(of.filter(pl.col("changes") >= pl.col("proposals"))["finding"])

    def records(
        self, *keys: str, among: Mapping[str, int] | None = None
    ) -> dict[tuple[str, ...], int]:
        """Records with changes by some columns; of all findings, or of some."""
        of = pl.lit(True) if among is None else pl.col("finding").is_in([*among])
        summed = self.changes.filter(of).group_by(keys).agg(pl.sum("records"))
        return {tuple(row[:-1]): row[-1] for row in summed.iter_rows()}


def mended(run: Record) -> Mapping[str, _Row]:
    """``mended`` of ``result.json``; nothing without changes of the reference's data.

    Records are counted in steps of the smallest count, and only those of findings whose own count
    the reference shows, as parts of it: so nothing follows for what else is withheld.
    """
    own, before, given = run.part(Mended), run.reference, run.identity.get("reference")
    if own is None or before is None or given is None or {given["sha256"]} != {*own.changes["run"]}:
        return {}
    min_cell, records = int(before["min_cell"]), own.records("finding")
    shown = [(check["name"], one) for check in before["checks"] for one in check["findings"]]
    of = {id_: n for (id_,), n in records.items()} if min_cell <= 1 else _counts(shown)
    counted = {id_: of[id_] for (id_,) in records if id_ in of}
    told, total = own.records("decision", "by", among=counted), sum(counted.values())
    findings = [
        {
            "check": check,
            **{key: one[key] for key in ("id", "severity", "nodes")},
            "records": _in_steps(records[one["id"],], of.get(one["id"]), min_cell),
            "became": _became(run, check, one["id"]),
        }
        for check, one in shown
        if (one["id"],) in records
    ]
    decisions = [
        {"decision": key[0], "by": key[1], "records": _in_steps(told.get(key), total, min_cell)}
        for key in sorted(own.records("decision", "by"))
    ]
    not_shown = len(records) - len(findings)
    return {MENDED: {"findings": findings, "not_shown": not_shown, "decisions": decisions}}


def _counts(shown: list[tuple[str, Mapping[str, Any]]]) -> dict[str, int]:
    """How many records each finding of the reference is about, where it shows that."""
    first = {one["id"]: [one["counts"].get(name) for name in _COUNTS] for _, one in shown}
    return {id_: n for id_, counts in first.items() for n in counts[::-1] if isinstance(n, int)}


def _in_steps(records: int | None, of: int | None, min_cell: int) -> Shown:
    if records is None or of is None or records > of:
        return None
    return shown_in_steps(records, of, min_cell)


def _became(run: Record, check: str, finding: str) -> str | None:
    """Whether a finding is ``gone`` or still ``there``; None where its check is not asked now."""
    found = next((one for one in run.checks if one.name == check), None)
    if found is None or found.crashed or found.not_applicable:
        return None
    return "there" if finding in found.ids.standing | found.ids.folded else "gone"
