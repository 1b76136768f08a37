"""The log beside a copy: whether it fits data and reference, and what of it may be counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import polars as pl

from audit.base.errors import InputError
from audit.base.files import sha256_of
from audit.results.columns import MENDED
from audit.results.mended import Mended
from audit.results.result import AuditResult
from audit.runs.fixes.changes import CERTAIN, Change, read_log

_Key: TypeAlias = tuple[str, str, str]


def mended_by(log: Path, reference: AuditResult | None, data: Sequence[Path]) -> Mended:
    """What a log tells of the changes that made a copy."""
    if reference is None:
        raise _refused(log, "--changes needs --reference RUN, of the data before", "none")
    told = read_log(log)
    if told.run != reference.sha256:
        raise _refused(
            log,
            "a log of changes to the data of the reference is required",
            f"one of another run, {told.run[:16]}",
            "name with --reference the run that was given to audit apply",
        )
    if not told.files:
        raise _refused(log, "a log of a corrected copy is required", "one of a list of corrections")
    became = {one.before: one.after for one in told.files.values()}
    before = [one["sha256"] for one in reference.inputs if one["role"] == "data"]
    if sorted(became.get(one, one) for one in before) != sorted(map(sha256_of, data)):
        raise _refused(
            log,
            "the copy as `audit apply` wrote it is required",
            "data that differ from those of the reference by more than the log says",
            "audit the copy beside the log, before anything else is changed in it",
        )
    return Mended(_counted(told.changes, reference, log))


def _counted(changes: Sequence[Change], reference: AuditResult, log: Path) -> pl.DataFrame:
    """Changes and records by finding, decision and decider."""
    proposed, proposals = _proposed(reference)
    made, records = Counter[_Key](), defaultdict[_Key, set[str]](set)
    for one in changes:
        accepted = proposed.get((one.finding, one.instance, one.label))
        if accepted is None:
            raise _refused(
                log,
                "changes that the reference proposes are required",
                f"a change of {one.instance} that it does not propose, for the finding "
                f"{one.finding!r}",
            )
        sure = one.by == CERTAIN
        decision = "proposed" if (one.kind, one.new) in accepted else "otherwise"
        key = one.finding, CERTAIN if sure else decision, "" if sure else one.by
        made[key] += 1
        records[key].add(one.instance)
    rows = [
        (reference.sha256, *key, n, len(records[key]), proposals[key[0]])
        for key, n in sorted(made.items())
    ]
    return pl.DataFrame(rows, schema=MENDED.types, orient="row")


def _proposed(
    reference: AuditResult,
) -> tuple[dict[tuple[str, str, str], set[tuple[str, str]]], Counter[str]]:
    """What accepting makes of each label by finding and instance; proposals of each finding."""
    of = defaultdict[tuple[str, str, str], set[tuple[str, str]]](set)
    names = ("finding", "instance", "label", "change", "proposed", "candidates")
    rows = (
        reference.proposals.select(names).collect().rows()
        if reference.proposals is not None
        else []
    )
    for finding, instance, label, change, label_to_write, candidates in rows:
        new = label_to_write or (candidates[0] if len(candidates or ()) == 1 else "")
        of[str(finding), instance, label or ""].add((change, new))
    return of, Counter(str(row[0]) for row in rows)


def _refused(log: Path, required: str, found: str, hint: str = "") -> InputError:
    return InputError(required, found=found, where=log, hint=hint)
