"""Changes of labels, the log of those that were made, and what of it may be counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl
from pydantic import BaseModel, ValidationError

from audit.base.errors import InputError
from audit.base.files import read_json, sha256_of
from audit.results.columns import MENDED
from audit.results.mended import Mended
from audit.results.result import AuditResult

Kind: TypeAlias = Literal["replace", "remove", "add"]
CERTAIN = "certain"
"""Who decided what is certain, and was applied without being asked."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one instance's labels.

    Args:
        table: The code set of the label; empty where none is known.
        keep: How many equal labels stay where one is removed.
        by: Who decided, or `CERTAIN`; empty if nobody said so.
    """

    instance: str
    kind: Kind
    label: str = ""
    new: str = ""
    table: str = ""
    keep: int = 0
    finding: str = ""
    by: str = ""


class LoggedFile(BaseModel):
    """Digests of a file that differs in a copy."""

    before: str
    after: str


class Log(BaseModel):
    """The log beside a copy: of which run it is, which files became which, by which changes."""

    schema_version: Literal["1.0"]
    run: str
    changes: tuple[Change, ...]
    files: dict[str, LoggedFile]


def mended_by(log: Path, reference: AuditResult | None, data: Sequence[Path]) -> Mended:
    """What a log tells of the changes to the reference that made ``data``; InputError if not so."""
    if reference is None:
        raise _refused(log, "--changes needs --reference RUN, of the data before", "none")
    try:
        told = Log.model_validate(read_json(log))
    except ValidationError:
        required = "a log as `audit apply` wrote it is required"
        raise _refused(log, required, "another file, or a changed one") from None
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
    """Changes and records by finding, decision and decider: `MENDED`."""
    assert reference.proposals is not None, "a copy is made by proposals"
    key = ["finding", "instance", "label"]
    only = pl.when(pl.col("candidates").list.len() == 1).then(pl.col("candidates").list.first())
    proposed = reference.proposals.select(
        pl.col("finding").cast(pl.String),
        "instance",
        pl.col("label").fill_null(""),
        kind="change",
        new=pl.coalesce("proposed", only, pl.lit("")),
    ).collect()
    made = pl.DataFrame(map(asdict, changes), infer_schema_length=None)
    if len(unknown := made.join(proposed, on=key, how="anti")):
        row = unknown.row(0, named=True)
        raise _refused(
            log,
            "changes that the reference proposes are required",
            f"a change of {row['instance']} that it does not propose, for the finding "
            f"{row['finding']!r}",
        )
    accepted = [*key, "kind", "new"]
    found = made.join(
        proposed.unique(accepted).with_columns(accepted=True), on=accepted, how="left"
    )
    sure, decision = pl.col("by") == CERTAIN, pl.when("accepted").then(pl.lit("proposed"))
    counted = found.group_by(
        "finding",
        decision=pl.when(sure)
        .then(pl.lit(CERTAIN))
        .otherwise(decision.otherwise(pl.lit("otherwise"))),
        by=pl.when(sure).then(pl.lit("")).otherwise("by"),
    ).agg(changes=pl.len(), records=pl.col("instance").n_unique())
    every = counted.join(proposed.group_by("finding").len("proposals"), on="finding")
    rows = every.with_columns(run=pl.lit(reference.sha256)).sort("finding", "decision", "by")
    return rows.select(pl.col(name).cast(kind) for name, kind in MENDED.types.items())


def _refused(log: Path, required: str, found: str, hint: str = "") -> InputError:
    return InputError(required, found=found, where=log, hint=hint)
