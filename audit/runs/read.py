"""Read runs back from their folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.files import read_json, sha256_of
from audit.base.tables import open_table
from audit.counting.pair_table import PairTable
from audit.counting.pair_verdicts import ReadTable
from audit.results.mended import MENDED, Mended
from audit.results.order import in_order
from audit.results.parts import DriftPart, ModelPart, ResultPart, read_analyses
from audit.results.record import COUNTED, read_checks
from audit.results.result import AuditResult
from audit.results.view import SCHEMA_VERSION
from audit.runs.folder import (
    INSTANCES,
    POLICY,
    PROPOSALS,
    RECORD,
    REFERENCE,
    REFUSED,
    refuse_no_run,
)
from audit.runs.manifest import MANIFEST, RESTRICTED, RESULT
from audit.runs.sealed_run import SHARED_ALONE, refuse_broken

_OF_DAMAGE = (
    *(AttributeError, LookupError, TypeError, ValueError),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)
_TABLES = ("nodes", "edges", "residuals", "findings")
"""Restricted tables that every run has."""


def read_run(folder: str | Path, *, unsealed: bool = False) -> AuditResult:
    """Read a run back; its ``shared()`` gives the bytes of its ``result.json`` again.

    Args:
        folder: Folder of the run.
        unsealed: Whether to read it without looking whether it changed since it was sealed.

    Raises:
        InputError: If the folder is not a run, has another schema version, has changed since it was
            sealed, or cannot be read.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog"]], {"pet": {"cat": {}, "dog": {}}})
    >>> run = audit.write_run(audit.run_audit(labels), "run")
    >>> audit.read_run(run).nodes["support"].to_list()
    [1, 1, 2]
    """
    folder = Path(folder)
    refuse_no_run(folder)
    read_shared(folder)
    if unsealed:
        with damage_refused([folder]):
            result = _read(folder)
            result.pair_table.refuse_damage()
            return result
    refuse_broken([folder])
    return _read(folder)


@contextmanager
def damage_refused(runs: Sequence[Path]) -> Iterator[None]:
    """Turn what damaged files of runs make their readers raise into one InputError.

    For runs that are read whatever their seal: of others it would hide mistakes of the program.
    """
    try:
        yield
    except _OF_DAMAGE:
        raise InputError(
            "a run that can be read is required, whatever its seal",
            found="files that do not look as an audit writes them",
            where=", ".join(map(str, runs)),
            hint="audit verify RUN shows what has changed",
        ) from None


def read_shared(folder: Path) -> dict[str, Any]:
    """The content of ``result.json``; InputError if it has another schema version."""
    shared = read_json(folder / RESULT)
    version = shared.get("schema_version") if isinstance(shared, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(
            f"a run of schema version {SCHEMA_VERSION} is required",
            found=repr(version),
            where=folder / RESULT,
            hint="read it with the version of hierarchy-audit that wrote it",
        )
    assert isinstance(shared, dict), "only an object has a version"
    return shared


def _read(folder: Path) -> AuditResult:
    record = read_json(_restricted_file(folder, RECORD))
    tables = {name: open_table(_table_file(folder, name)).frame() for name in _TABLES}
    listed = read_json(_restricted_file(folder, MANIFEST))

    def table(name: str) -> pl.LazyFrame:
        read = tables.get(name)
        return _lazy_table(_table_file(folder, name)) if read is None else read.lazy()

    return AuditResult(
        identity=record["identity"],
        ledger=record["ledger"],
        readings=tuple(record["readings"]),
        policy=record["policy"],
        checks=in_order([*read_checks(record["checks"], tables["findings"])]),
        nodes=tables["nodes"],
        edges=tables["edges"],
        pair_table=PairTable.read(table, record),
        residuals=tables["residuals"],
        cases=_read_cases(folder, record),
        proposals=_kept(folder, PROPOSALS),
        parts=_read_parts(folder, table, record, listed.get("analyses", {})),
        instances=_kept(folder, INSTANCES),
        refused=_kept(folder, REFUSED),
        waivers=tuple(record["waivers"]),
        counted_with=read_json(_restricted_file(folder, POLICY)),
        reference=_read_reference(folder, record),
        inputs=tuple(listed["inputs"]),
        data_sha256=listed["data_sha256"],
        sha256=sha256_of(folder / RESULT),
    )


def _read_cases(folder: Path, record: Mapping[str, Any]) -> pl.LazyFrame | None:
    """The instances behind each finding; None for a run whose data were only counted."""
    if record["identity"]["data"]["format"] == COUNTED:
        return None
    return _lazy_table(_table_file(folder, "cases"))


def _kept(folder: Path, name: str) -> pl.LazyFrame | None:
    """A table of single instances; None for a run that did not keep them."""
    path = folder / RESTRICTED / name
    return _lazy_table(path) if path.is_file() else None


def _read_parts(
    folder: Path,
    table: ReadTable,
    record: Mapping[str, Any],
    layouts: Mapping[str, Mapping[str, Any]],
) -> tuple[ResultPart, ...]:
    of_data: list[ResultPart | None] = [kind.read(table, record) for kind in (ModelPart, DriftPart)]
    if (changes := _kept(folder, f"{MENDED}.parquet")) is not None:
        of_data.append(Mended(changes.collect()))
    return (*(part for part in of_data if part is not None), *read_analyses(table, layouts))


def _read_reference(folder: Path, record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is kept of the reference; None for a run without one."""
    if not record["reference"]:
        return None
    kept: dict[str, Any] = read_json(_restricted_file(folder, REFERENCE))
    return kept


def _lazy_table(path: Path) -> pl.LazyFrame:
    """A table that is read only when it is needed; its columns are read at once."""
    open_table(path)
    return pl.scan_parquet(path)


def _table_file(folder: Path, name: str) -> Path:
    return _restricted_file(folder, f"{name}.parquet")


def _restricted_file(folder: Path, name: str) -> Path:
    path = folder / RESTRICTED / name
    if not path.is_file():
        raise InputError(
            "a whole run is required",
            found=f"no {RESTRICTED}/{name}",
            where=folder,
            hint=SHARED_ALONE,
        )
    return path
