"""Runs as their readers have them: ``result.json``, and the time in the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audit.base.errors import InputError
from audit.base.files import read_json, sha256_of
from audit.runs.folder import HTML, PDF, RUN, no_run
from audit.runs.manifest import MANIFEST, RESULT
from audit.runs.sealed_run import SealedRun, refuse_faults, schema_errors

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


def read_shared_runs(places: Sequence[Path]) -> tuple[SharedRun, ...]:
    """Read runs, each from its folder or its ``result.json``; no restricted file is opened."""
    return tuple(map(_read, places))


def in_order(runs: Sequence[SharedRun], *, as_named: bool) -> list[SharedRun]:
    """Runs in the order of their times; as they are named where one has none, or if asked."""
    times = [run.started for run in runs]
    if as_named or None in times:
        return list(runs)
    return sorted(runs, key=lambda run: run.started or _NONE)


def _read(place: Path) -> SharedRun:
    if place.is_file():
        shared = read_json(place)
        _refuse_schema_errors(schema_errors(shared), place)
        return SharedRun(place.resolve().parent.name, None, shared, sha256_of(place))
    if not place.is_dir():
        raise no_run(place)
    run = SealedRun(place)
    if run.kind is not RUN or RESULT not in run.found or MANIFEST not in run.found:
        raise no_run(place)
    refuse_faults(place, run.faults(restricted=False, remade=(HTML, PDF)))
    _refuse_schema_errors(run.schema_errors, place / RESULT)
    settings = run.manifest.settings if run.manifest else None
    return SharedRun(
        name=place.resolve().name,
        started=_moment(run.stated.get("started")),
        shared=run.shared,
        seal=str(run.stated.get("seal", "")),
        given_title=(settings.title if settings else None) or "",
    )


def _refuse_schema_errors(errors: Sequence[str], file: Path) -> None:
    if errors:
        required = f"a {RESULT} that holds to its schema is required"
        raise InputError(required, found=errors[0], where=file)


def _moment(text: object) -> datetime | None:
    """A moment in UTC; None for what is none, or has no time zone."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.astimezone(UTC)
