"""Runs as their readers have them: ``result.json``, and the time in the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audit.base.errors import InputError
from audit.runs.folder import HTML, PDF, RUN, no_run
from audit.runs.manifest import MANIFEST, RESULT
from audit.runs.sealed_run import SealedRun, refuse_faults

_NONE = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SharedRun:
    """What one run shares.

    Args:
        started: When the audit began, in UTC; None if its manifest does not say.
        given_title: The title that the run was given; empty without one.
    """

    name: str
    started: datetime | None
    shared: Mapping[str, Any]
    seal: str
    given_title: str = ""

    @property
    def title(self) -> str:
        """The title that was given, else the policy's; empty without either."""
        return self.given_title or self.shared["identity"]["data"]["title"] or ""


def read_shared_runs(folders: Sequence[Path]) -> tuple[SharedRun, ...]:
    """Read the shared files of runs; nothing in ``restricted/`` is opened."""
    return tuple(map(_read, folders))


def in_order(runs: Sequence[SharedRun], *, as_named: bool) -> list[SharedRun]:
    """Runs in the order of their times; as they are named where one has none, or if asked."""
    times = [run.started for run in runs]
    if as_named or None in times:
        return list(runs)
    return sorted(runs, key=lambda run: run.started or _NONE)


def _read(folder: Path) -> SharedRun:
    if not folder.is_dir():
        raise no_run(folder)
    run = SealedRun(folder)
    if run.kind is not RUN or RESULT not in run.found or MANIFEST not in run.found:
        raise no_run(folder)
    refuse_faults(folder, run.faults(restricted=False, remade=(HTML, PDF)))
    manifest = run.manifest
    if run.schema_errors:
        raise InputError(
            f"a {RESULT} that holds to its schema is required",
            found=run.schema_errors[0],
            where=folder / RESULT,
        )
    settings = manifest.settings if manifest else None
    return SharedRun(
        name=folder.resolve().name,
        started=_moment(run.stated.get("started")),
        shared=run.shared,
        seal=str(run.stated.get("seal", "")),
        given_title=(settings.title if settings else None) or "",
    )


def _moment(text: object) -> datetime | None:
    """A moment in UTC; None for what is none, or has no time zone."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.astimezone(UTC)
