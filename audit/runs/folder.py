"""The run folder: written beside and renamed when whole, sealed by a manifest, read back."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, OutputError
from audit.base.files import read_json, sha256_of
from audit.results.disclosure import Earlier, Quantity
from audit.results.disclosure.earlier_table import earlier_frame, earlier_of
from audit.results.result import (
    COUNTED,
    SCHEMA_VERSION,
    AuditResult,
    CheckResult,
    Finding,
    Judgement,
    Part,
    Waived,
    to_json_bytes,
)
from audit.runs.seal_key import SealKey

RESULT, MANIFEST, RESTRICTED = "result.json", "manifest.json", "restricted"
HTML, PDF = "report.html", "report.pdf"
POLICY, FINDINGS = "policy.json", "findings.parquet"
DENOMINATORS = "denominators.json"
REFERENCE, EARLIER = "reference.json", "earlier.parquet"
OF_DATA = ("data", "predictions")
"""Roles of inputs that hold records: their digests stand in ``restricted/`` alone."""

_METRICS: dict[str, Any] = {
    "part": pl.String,
    "name": pl.String,
    "scope": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "parameters": pl.String,
}
_BEHAVIOURS: dict[str, Any] = {
    "name": pl.String,
    "title": pl.String,
    "instances": pl.Int64,
    "of": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
    "examples": pl.List(pl.String),
}
_EXCHANGES: dict[str, Any] = {
    "kind": pl.String,
    "a": pl.String,
    "b": pl.String,
    "observed": pl.Int64,
    "expected": pl.Float64,
}


@dataclass(frozen=True, slots=True)
class FolderKind:
    """What a sealed folder is called, and the file beside its manifest that tells it."""

    name: str
    content: str


RUN = FolderKind("run", RESULT)


@contextmanager
def writing_run(out: Path, *, overwrite: bool = False, kind: FolderKind = RUN) -> Iterator[Path]:
    """A temporary folder beside ``out`` that takes its place when the block ends without an error.

    Raises:
        OutputError: If ``out`` is there and is none of its kind, or is one and ``overwrite`` is
            False.
    """
    refuse_occupied(out, overwrite=overwrite, kind=kind)
    out = out.resolve()
    with _writable(out):
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=_nearest_folder(out)))
    try:
        yield folder
        with _writable(out):
            folder.chmod(0o755)
            out.parent.mkdir(parents=True, exist_ok=True)
            _replace(folder, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _writable(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            "a folder that can be written is required",
            found=error.strerror or str(error),
            where=out,
        ) from None


def _nearest_folder(out: Path) -> Path:
    """The deepest folder above ``out`` that is there, so that a failure leaves no new one."""
    return next(parent for parent in out.parents if parent.exists())


def refuse_occupied(out: Path, *, overwrite: bool, kind: FolderKind = RUN) -> None:
    """Raise OutputError where ``out`` is none of its kind, or is one and ``overwrite`` is False."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not is_sealed(out, kind):
        raise OutputError(
            f"the output must be a new folder or an earlier {kind.name}",
            found=f"something that is no {kind.name}",
            where=out,
            hint="choose another place with --out",
        )
    if not overwrite:
        raise OutputError(
            f"an earlier {kind.name} is not replaced without being asked",
            found=f"a {kind.name}",
            where=out,
            hint="add --overwrite, or choose another place with --out",
        )


def is_run(folder: Path) -> bool:
    """Whether a folder is one that an audit left."""
    return is_sealed(folder, RUN)


def is_sealed(folder: Path, kind: FolderKind) -> bool:
    """Whether a folder holds a manifest and what makes it one of its kind."""
    return (folder / MANIFEST).is_file() and (folder / kind.content).is_file()


def _replace(folder: Path, out: Path) -> None:
    """Put a whole folder in the place of another; the old one goes last."""
    if not out.exists():
        folder.rename(out)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}-old-", dir=out.parent))
    out.rename(old / out.name)
    try:
        folder.rename(out)
    except OSError:
        (old / out.name).rename(out)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def replacing_reports(run: Path, forced: Sequence[str] = ()) -> Iterator[Path]:
    """A temporary folder whose reports replace those of a run, which is then sealed again.

    Args:
        run: Its folder.
        forced: What is broken of it, where its reports are replaced in spite of that.
    """
    manifest = read_json(run / MANIFEST)
    with tempfile.TemporaryDirectory(prefix=".report-", dir=run) as temporary:
        yield Path(temporary)
        for name in (HTML, PDF):
            if (Path(temporary) / name).is_file():
                (Path(temporary) / name).replace(run / name)
    write_manifest(run, {**manifest, **_forced(manifest, forced)})


def _forced(manifest: Mapping[str, Any], broken: Sequence[str]) -> dict[str, Any]:
    """What was broken whenever somebody went on in spite of it."""
    return {"forced": [*manifest.get("forced", ()), *broken]}


@contextmanager
def judging_run(
    run: Path,
    result: AuditResult,
    *,
    command: Sequence[str],
    judging: Mapping[str, Any],
    key: SealKey | None = None,
    forced: Sequence[str] = (),
) -> Iterator[Path]:
    """A temporary folder with a run's tables and what was judged of them anew.

    Reports are written into it. It takes the run's place, sealed, when the block ends without an
    error; what the run had and the folder lacks is gone then, so that no report tells the earlier
    judgement.
    """
    manifest = read_json(run / MANIFEST)
    with writing_run(run, overwrite=True) as folder:
        (folder / RESULT).write_bytes(to_json_bytes(result.shared()))
        shutil.copytree(
            run / RESTRICTED,
            folder / RESTRICTED,
            copy_function=_linked,
            ignore=shutil.ignore_patterns(FINDINGS, DENOMINATORS, REFERENCE, EARLIER, MANIFEST),
        )
        _write_judged(result, folder / RESTRICTED)
        yield folder
        judged = {
            "identity": dict(result.identity),
            "judged": list(command),
            "judging": judging,
            **_forced(manifest, forced),
        }
        write_restricted_manifest(folder, result.inputs, result.data_sha256)
        write_manifest(folder, {**manifest, **judged, **_restricted(folder, result.inputs, key)})


def _linked(source: str, target: str) -> str:
    """A second name of a file where the disk allows it, so that no large table is copied."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def write_run(result: AuditResult, out: str | Path, *, overwrite: bool = False) -> Path:
    """Write a run without reports, for use from Python; the command line adds HTML and PDF.

    Raises:
        OutputError: If ``out`` is there and is no run, or is a run and ``overwrite`` is False.
    """
    out, started = Path(out), datetime.now(UTC)
    with writing_run(out, overwrite=overwrite) as folder:
        write_tables(result, folder)
        seal(folder, result, command=[], started=started)
    return out


def write_tables(result: AuditResult, folder: Path) -> None:
    """Write ``result.json`` and the restricted tables."""
    (folder / RESULT).write_bytes(to_json_bytes(result.shared()))
    restricted = folder / RESTRICTED
    restricted.mkdir(exist_ok=True)
    (restricted / POLICY).write_bytes(to_json_bytes(result.counted_with))
    result.nodes.write_parquet(restricted / "nodes.parquet")
    result.edges.write_parquet(restricted / "edges.parquet")
    result.residuals.write_parquet(restricted / "residuals.parquet")
    result.strata.write_parquet(restricted / "strata.parquet")
    result.branch_pairs.write_parquet(restricted / "branch_pairs.parquet")
    _write_judged(result, restricted)
    result.pairs.sink_parquet(restricted / "pairs.parquet")
    if result.cases is not None:
        result.cases.sink_parquet(restricted / "cases.parquet")
    if result.drift_values is not None and result.drift_nodes is not None:
        result.drift_values.write_parquet(restricted / "drift_values.parquet")
        result.drift_nodes.write_parquet(restricted / "drift_nodes.parquet")
    if result.model_pairs is not None:
        result.model_pairs.sink_parquet(restricted / "model_pairs.parquet")
        _metric_frame(result).write_parquet(restricted / "metrics.parquet")
        _behaviour_frame(result).write_parquet(restricted / "behaviours.parquet")
        _exchange_frame(result).write_parquet(restricted / "exchanges.parquet")


def _write_judged(result: AuditResult, restricted: Path) -> None:
    """What another judgement may change: the findings, and what is kept of the reference."""
    result.findings.write_parquet(restricted / FINDINGS)
    looked_at = {check.name: check.denominator for check in result.checks}
    (restricted / DENOMINATORS).write_bytes(to_json_bytes(looked_at))
    if result.reference is not None:
        (restricted / REFERENCE).write_bytes(to_json_bytes(result.reference))
        earlier_frame(result.earlier).write_parquet(restricted / EARLIER)


def seal(
    folder: Path,
    result: AuditResult,
    *,
    command: Sequence[str],
    started: datetime,
    settings: Mapping[str, Any] | None = None,
    key: SealKey | None = None,
    forced: Sequence[str] = (),
) -> None:
    """Write both manifests: digests of inputs and outputs, versions, the command, settings, times.

    Args:
        folder: Of the run.
        result: What it holds.
        command: As typed.
        started: When the work began.
        settings: That the audit can be made again with.
        key: Of the digest of what may not be shared; None: what may be shared has none.
        forced: What is broken of runs that were read in spite of that.
    """
    write_restricted_manifest(folder, result.inputs, result.data_sha256)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "identity": dict(result.identity),
        **_restricted(folder, result.inputs, key),
        "command": list(command),
        "settings": settings,
        "host": socket.gethostname(),
        "started": started.isoformat(timespec="seconds"),
        **_forced({}, forced),
    }
    write_manifest(folder, manifest)


def _restricted(
    folder: Path, inputs: Sequence[Mapping[str, str]], key: SealKey | None
) -> dict[str, Any]:
    """What the manifest says of data and restricted files, which tells nothing without the key."""
    listed = (folder / RESTRICTED / MANIFEST).read_bytes()
    public = [
        {name: value for name, value in source.items() if name != "sha256"}
        if source["role"] in OF_DATA
        else dict(source)
        for source in inputs
    ]
    keyed = {"hmac_sha256": key.digest(RESTRICTED, listed)} if key else None
    return {"inputs": public, "restricted": keyed}


def write_restricted_manifest(
    folder: Path, inputs: Sequence[Mapping[str, str]], data_sha256: str | None = None
) -> None:
    """List the restricted files, and the inputs, with their digests, beside these files.

    Who has all but a few counts of a file could try these until its digest is met: so no digest
    of such a file stands in what may be shared.
    """
    restricted = folder / RESTRICTED
    within = (path for path in restricted.rglob("*") if path != restricted / MANIFEST)
    listed: dict[str, Any] = {
        "data_sha256": data_sha256,
        "inputs": [dict(source) for source in inputs],
        "outputs": _digests(folder, within),
    }
    listed["seal"] = seal_of(listed)
    (restricted / MANIFEST).write_bytes(to_json_bytes(listed))


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Seal a folder: write what is true at its writing: outputs, versions, the time, its seal."""
    restricted = folder / RESTRICTED
    within = (path for path in folder.rglob("*") if restricted not in path.parents)
    sealed = {
        **manifest,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "outputs": _digests(folder, (path for path in within if path != folder / MANIFEST)),
    }
    sealed["seal"] = seal_of(sealed)
    (folder / MANIFEST).write_bytes(to_json_bytes(sealed))


def _digests(folder: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Digest of each file by its name in the folder."""
    files = sorted(path for path in paths if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in files}


def seal_of(manifest: Mapping[str, Any]) -> str:
    """Digest of all that a manifest says but its own ``seal``."""
    rest = {key: value for key, value in manifest.items() if key != "seal"}
    return hashlib.sha256(to_json_bytes(rest)).hexdigest()


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    packages = ("hierarchy-audit", "polars", "numpy", "scipy", "weasyprint", "altair")
    return {
        "python": platform.python_version(),
        "platform": sys.platform,
        **{package: version(package) for package in packages},
    }


def read_run(folder: str | Path) -> AuditResult:
    """Read a run back; its ``shared()`` gives the bytes of its ``result.json`` again.

    Raises:
        InputError: If the folder is no run, or is one of another schema version.
    """
    folder = Path(folder)
    if not is_run(folder):
        raise InputError(
            "the folder of a run is required",
            found=f"no {MANIFEST} and {RESULT} in it" if folder.exists() else "nothing there",
            where=folder,
            hint="a run is what `audit run` leaves",
        )
    shared = read_json(folder / RESULT)
    if shared.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"a run of schema version {SCHEMA_VERSION} is required",
            found=repr(shared.get("schema_version")),
            where=folder / RESULT,
            hint="read it with the version of hierarchy-audit that wrote it",
        )
    tables = {
        name: pl.read_parquet(_table_file(folder, name))
        for name in ("nodes", "edges", "residuals", "strata", "branch_pairs", "findings")
    }
    listed = read_json(_restricted_file(folder, MANIFEST))
    return AuditResult(
        identity=shared["identity"],
        ledger=shared["ledger"],
        policy=shared["policy"],
        checks=_read_checks(
            shared["checks"],
            tables["findings"],
            read_json(_restricted_file(folder, DENOMINATORS)),
        ),
        nodes=tables["nodes"],
        edges=tables["edges"],
        pairs=pl.scan_parquet(_table_file(folder, "pairs")),
        residuals=tables["residuals"],
        strata=tables["strata"],
        branch_pairs=tables["branch_pairs"],
        cases=_read_cases(folder, shared),
        **_read_model(folder, shared),
        **_read_drift(folder, shared),
        waivers=tuple(shared["waivers"]),
        counted_with=_counted_with(folder),
        reference=_read_reference(folder, shared),
        earlier=_read_earlier(folder, shared),
        inputs=tuple(listed["inputs"]),
        data_sha256=listed["data_sha256"],
        sha256=sha256_of(folder / RESULT),
    )


def _read_cases(folder: Path, shared: Mapping[str, Any]) -> pl.LazyFrame | None:
    """The instances behind each finding; None for a run whose data were only counted."""
    if shared["identity"]["data"]["format"] == COUNTED:
        return None
    return pl.scan_parquet(_table_file(folder, "cases"))


def _metric_frame(result: AuditResult) -> pl.DataFrame:
    """``part, name, scope, value, low, high, n, parameters``; the last as JSON."""
    rows = [
        {**metric, "part": part, "parameters": json.dumps(metric["parameters"])}
        for part, metrics in (("metrics", result.metrics), ("beside", result.metrics_beside))
        for metric in metrics
    ]
    return pl.DataFrame(rows, schema=_METRICS)


def _behaviour_frame(result: AuditResult) -> pl.DataFrame:
    return pl.DataFrame([dict(behaviour) for behaviour in result.behaviours], schema=_BEHAVIOURS)


def _exchange_frame(result: AuditResult) -> pl.DataFrame:
    return pl.DataFrame([dict(line) for line in result.exchanges], schema=_EXCHANGES)


def _read_model(folder: Path, shared: Mapping[str, Any]) -> dict[str, Any]:
    """What a result holds of a model; nothing for a run without predictions."""
    if shared["ledger"]["predictions"] is None:
        return {}
    rows = pl.read_parquet(_table_file(folder, "metrics")).iter_rows(named=True)
    metrics: dict[str, list[dict[str, Any]]] = {"metrics": [], "beside": []}
    for row in rows:
        row["parameters"] = json.loads(row["parameters"])
        metrics[row.pop("part")].append(row)
    behaviours = pl.read_parquet(_table_file(folder, "behaviours"))
    exchanges = pl.read_parquet(_table_file(folder, "exchanges"))
    return {
        "metrics": tuple(metrics["metrics"]),
        "metrics_beside": tuple(metrics["beside"]),
        "metrics_absent": tuple(shared["metrics_absent"]),
        "behaviours": tuple(behaviours.iter_rows(named=True)),
        "exchanges": tuple(exchanges.iter_rows(named=True)),
        "model_pairs": pl.scan_parquet(_table_file(folder, "model_pairs")),
    }


def _counted_with(folder: Path) -> dict[str, Any]:
    policy: dict[str, Any] = read_json(_restricted_file(folder, POLICY))
    return policy


def _read_reference(folder: Path, shared: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is kept of the reference; None for a run without one."""
    if shared["since_reference"] is None:
        return None
    kept: dict[str, Any] = read_json(_restricted_file(folder, REFERENCE))
    return kept


def _read_earlier(folder: Path, shared: Mapping[str, Any]) -> Earlier | None:
    """What the readers have of a reference; None for a run without one of its hierarchy."""
    if shared["since_reference"] is None:
        return None
    return earlier_of(pl.read_parquet(_restricted_file(folder, EARLIER)))


def _read_drift(folder: Path, shared: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of drift; nothing for a run without drift columns."""
    if not shared["overview"]["coverage"]["drift"]:
        return {}
    names = ("drift_values", "drift_nodes")
    return {name: pl.read_parquet(_table_file(folder, name)) for name in names}


def _table_file(folder: Path, name: str) -> Path:
    return _restricted_file(folder, f"{name}.parquet")


def _restricted_file(folder: Path, name: str) -> Path:
    path = folder / RESTRICTED / name
    if not path.is_file():
        raise InputError(
            "a whole run is required",
            found=f"no {RESTRICTED}/{name}",
            where=folder,
            hint="a shared run without its restricted tables cannot be rendered again",
        )
    return path


def _read_checks(
    shared: Sequence[dict[str, Any]], findings: pl.DataFrame, looked_at: Mapping[str, int]
) -> tuple[CheckResult, ...]:
    rows = findings.partition_by("check", as_dict=True)
    return tuple(
        CheckResult(
            name=check["name"],
            title=check["title"],
            denominator=looked_at[check["name"]],
            denominator_unit=check["denominator_unit"],
            findings=tuple(
                _read_finding(row)
                for row in rows.get((check["name"],), pl.DataFrame()).iter_rows(named=True)
            ),
            not_applicable=check["reason"] if check["status"] == "not_applicable" else "",
            crashed=check["reason"] if check["status"] == "error" else "",
        )
        for check in shared
    )


def _read_finding(row: dict[str, Any]) -> Finding:
    return Finding(
        check=row["check"],
        severity=row["severity"],
        nodes=tuple(row["nodes"]),
        statement=row["statement"],
        evidence=_read_evidence(json.loads(row["evidence"])),
        curator=row["curator"],
        data_user=row["data_user"],
        touched=row["touched"],
        strength=row["strength"],
        parts=tuple(
            Part(tuple(part["nodes"]), _read_evidence(part["evidence"]))
            for part in json.loads(row["parts"])
        ),
        key=tuple(row["key"]),
        folded_into=tuple(row["folded_into"]),
        judgement=_read_judgement(json.loads(row["judgement"])),
        beside=tuple((a, b) for a, b in row["beside"]),
    )


def _read_judgement(stored: dict[str, Any]) -> Judgement:
    waiver = stored.pop("waiver")
    return Judgement(**stored, waiver=Waived(**waiver) if waiver else None)


def _read_evidence(stored: dict[str, Any]) -> dict[str, Quantity]:
    return {
        name: Quantity(q["value"], q["kind"], tuple(q["totals"]), tuple(q["sources"]))
        for name, q in stored.items()
    }
