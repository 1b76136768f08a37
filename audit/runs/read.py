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
from audit.results.record import read_checks
from audit.results.result import AuditResult
from audit.results.view import SCHEMA_VERSION
from audit.runs.folder import KEPT, RECORD, Kept, refuse_no_run
from audit.runs.manifest import MANIFEST, RESTRICTED, RESULT
from audit.runs.sealed_run import SHARED_ALONE, refuse_broken

_OF_DAMAGE = (
    *(AttributeError, LookupError, TypeError, ValueError),
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
)


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
    kept = {one.of: _content(folder, one) for one in KEPT}
    record, findings = kept.pop(RECORD.of), kept.pop("findings")
    listed = read_json(_restricted_file(folder, MANIFEST))

    def table(name: str) -> pl.LazyFrame:
        read = kept.get(name)
        return _lazy_table(folder, f"{name}.parquet") if read is None else read.lazy()

    return AuditResult(
        identity=record["identity"],
        ledger=record["ledger"],
        readings=tuple(record["readings"]),
        policy=record["policy"],
        checks=in_order([*read_checks(record["checks"], findings)]),
        pair_table=PairTable.read(table, record),
        parts=_read_parts(folder, table, record, listed.get("analyses", {})),
        waivers=tuple(record["waivers"]),
        inputs=tuple(listed["inputs"]),
        data_sha256=listed["data_sha256"],
        sha256=sha256_of(folder / RESULT),
        **kept,
    )


def _content(folder: Path, one: Kept) -> Any:
    """What a kept file holds: JSON, a frame if all runs have it or a lazy one; None if absent."""
    if not one.needed and not (folder / RESTRICTED / one.file).is_file():
        return None
    if one.file.endswith(".json"):
        return read_json(_restricted_file(folder, one.file))
    if one.needed:
        return open_table(_restricted_file(folder, one.file)).frame()
    return _lazy_table(folder, one.file)


def _read_parts(
    folder: Path,
    table: ReadTable,
    record: Mapping[str, Any],
    layouts: Mapping[str, Mapping[str, Any]],
) -> tuple[ResultPart, ...]:
    """Parts on model, drift and mending, if the run has them, then one for each of ``layouts``."""
    of_data: list[ResultPart | None] = [kind.read(table, record) for kind in (ModelPart, DriftPart)]
    if (folder / RESTRICTED / f"{MENDED}.parquet").is_file():
        of_data.append(Mended(table(MENDED).collect()))
    return (*filter(None, of_data), *read_analyses(table, layouts))


def _lazy_table(folder: Path, name: str) -> pl.LazyFrame:
    """A table that is read only when it is needed; its columns are read at once."""
    path = _restricted_file(folder, name)
    open_table(path)
    return pl.scan_parquet(path)


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
