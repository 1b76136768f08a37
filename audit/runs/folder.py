"""The run folder: written beside and renamed when whole, sealed by a manifest, read back."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.disk import exchange, flush, on_disk, working_beside
from audit.base.errors import InputError, OutputError, first_cases
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

RESULT, MANIFEST, RESTRICTED = "result.json", "manifest.json", "restricted"
HTML, PDF = "report.html", "report.pdf"
POLICY, FINDINGS = "policy.json", "findings.parquet"
REFERENCE, EARLIER = "reference.json", "earlier.parquet"

_TABLES = ("nodes", "edges", "residuals", "strata", "branch_pairs", "findings")
_SOMETIMES = ("metrics", "behaviours", "exchanges", "model_pairs", "drift_values", "drift_nodes")
_READ = (
    *(POLICY, REFERENCE, EARLIER),
    *(f"{name}.parquet" for name in (*_TABLES, *_SOMETIMES, "pairs", "cases")),
)
"""Restricted files that a result is read from."""

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

    No other audit writes to ``out`` from the beginning of the block on. It outlives a loss of power
    once it is in place.

    Raises:
        OutputError: If ``out`` is there, at the beginning or at the end, and is none of its kind,
            or is one and ``overwrite`` is False; or if another audit writes to it.
    """
    refuse_occupied(out, overwrite=overwrite, kind=kind)
    out = out.resolve()
    with working_beside(out) as folder:
        yield folder
        with on_disk(out):
            for path in (*folder.rglob("*"), folder):
                flush(path)
            _put_in_place(folder, out, overwrite=overwrite, kind=kind)
            flush(out.parent)


def _put_in_place(folder: Path, out: Path, *, overwrite: bool, kind: FolderKind) -> None:
    """Rename a whole folder to ``out``; what appeared there meanwhile, and is to stay, stays."""
    refuse_occupied(out, overwrite=overwrite, kind=kind)
    if is_sealed(out, kind):
        exchange(folder, out)
        if is_sealed(folder, kind):
            return
        exchange(folder, out)
    else:
        with suppress(OSError):
            if out.is_dir():
                out.rmdir()
            folder.rename(out)
            return
    refuse_occupied(out, overwrite=False, kind=kind)
    folder.rename(out)


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


def refuse_no_run(folder: Path) -> None:
    """Raise InputError where a folder is none that an audit left."""
    if not is_run(folder):
        raise InputError(
            "the folder of a run is required",
            found=f"no {MANIFEST} and {RESULT} in it" if folder.exists() else "nothing there",
            where=folder,
            hint="a run is what `audit run` leaves",
        )


def is_run(folder: Path) -> bool:
    """Whether a folder is one that an audit left."""
    return is_sealed(folder, RUN)


def is_sealed(folder: Path, kind: FolderKind) -> bool:
    """Whether a folder holds a manifest and what makes it one of its kind."""
    return (folder / MANIFEST).is_file() and (folder / kind.content).is_file()


@contextmanager
def rewriting_run(run: Path) -> Iterator[Path]:
    """As `writing_run`, with a run's own place: from the beginning on it stays as it is.

    Raises:
        InputError: If there is no run.
        OutputError: If another audit writes to it.
    """
    refuse_no_run(run)
    with writing_run(run, overwrite=True) as folder:
        yield folder


def seal_reports(run: Path, folder: Path) -> None:
    """Add to a folder of new reports what else a run holds, and seal it."""
    shutil.copytree(
        run, folder, copy_function=_linked, ignore=_all_but_reports(folder), dirs_exist_ok=True
    )
    write_manifest(folder, read_json(run / MANIFEST))


def _all_but_reports(folder: Path) -> Callable[[str, list[str]], set[str]]:
    """Leaves out the manifest, reports that are there anew, and what a killed process left."""
    new = {path.name for path in folder.iterdir()}

    def ignored(place: str, names: list[str]) -> set[str]:
        return {name for name in names if name in (MANIFEST, *new) or name.startswith(".report-")}

    return ignored


def write_judged_tables(run: Path, result: AuditResult, folder: Path) -> None:
    """Write into a folder a run's tables and what was judged of them anew.

    No report of the run is among them, so that none tells the earlier judgement.
    """
    (folder / RESULT).write_bytes(to_json_bytes(result.shared()))
    shutil.copytree(
        run / RESTRICTED,
        folder / RESTRICTED,
        copy_function=_linked,
        ignore=shutil.ignore_patterns(FINDINGS, REFERENCE, EARLIER),
    )
    _write_judged(result, folder / RESTRICTED)


def seal_judged(
    run: Path,
    folder: Path,
    result: AuditResult,
    *,
    command: Sequence[str],
    judging: Mapping[str, Any],
) -> None:
    """Seal what `write_judged_tables` wrote, and the reports of it."""
    judged = {
        "identity": dict(result.identity),
        "inputs": [dict(source) for source in result.inputs],
        "judged": list(command),
        "judging": judging,
    }
    write_manifest(folder, {**read_json(run / MANIFEST), **judged})


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
) -> None:
    """Write the manifest: digests of inputs and outputs, versions, the command, settings, times."""
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "identity": dict(result.identity),
        "inputs": [dict(source) for source in result.inputs],
        "command": list(command),
        "settings": settings,
        "host": socket.gethostname(),
        "started": started.isoformat(timespec="seconds"),
    }
    write_manifest(folder, manifest)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Seal a folder: write what is true at its writing: outputs, versions, the time, its seal."""
    outputs = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    sealed = {
        **manifest,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "outputs": {path.relative_to(folder).as_posix(): sha256_of(path) for path in outputs},
    }
    sealed["seal"] = seal_of(sealed)
    (folder / MANIFEST).write_bytes(to_json_bytes(sealed))


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
        InputError: If the folder is no run, is one of another schema version, or has changed since
            it was sealed.
    """
    folder = Path(folder)
    refuse_no_run(folder)
    shared = read_json(folder / RESULT)
    version = shared.get("schema_version") if isinstance(shared, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(
            f"a run of schema version {SCHEMA_VERSION} is required",
            found=repr(version),
            where=folder / RESULT,
            hint="read it with the version of hierarchy-audit that wrote it",
        )
    manifest = _read_manifest(folder)
    tables = {name: pl.read_parquet(_table_file(folder, name)) for name in _TABLES}
    return AuditResult(
        identity=shared["identity"],
        ledger=shared["ledger"],
        policy=shared["policy"],
        checks=_read_checks(shared["checks"], tables["findings"]),
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
        inputs=tuple(manifest["inputs"]),
        sha256=sha256_of(folder / RESULT),
    )


def refuse_changed(folder: Path, names: Iterable[str]) -> None:
    """Raise InputError where files of a run are not as its manifest seals them.

    Every byte of them is read. Files that are missing are passed over.
    """
    sealed = read_json(folder / MANIFEST)["outputs"]
    files = [name for name in names if (folder / name).is_file()]
    changed = [name for name in files if sha256_of(folder / name) != sealed.get(name)]
    if changed:
        raise InputError(
            "a run as it was sealed is required",
            found=f"other bytes in {first_cases(changed)}",
            where=folder,
            hint="audit verify RUN tells all that has changed",
        )


def _read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run whose tables are as it seals them."""
    manifest = read_json(folder / MANIFEST)
    kinds = {"outputs": dict, "inputs": list}
    if not isinstance(manifest, dict) or not all(
        isinstance(manifest.get(key), kind) for key, kind in kinds.items()
    ):
        raise InputError(
            "the manifest of a run is required", found="another JSON", where=folder / MANIFEST
        )
    refuse_changed(folder, [RESULT, *(f"{RESTRICTED}/{name}" for name in _READ)])
    return manifest


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
    shared: Sequence[dict[str, Any]], findings: pl.DataFrame
) -> tuple[CheckResult, ...]:
    rows = findings.partition_by("check", as_dict=True)
    return tuple(
        CheckResult(
            name=check["name"],
            title=check["title"],
            denominator=check["denominator"],
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
