"""The folder of a comparison: written to a temporary folder, renamed when complete, and sealed."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audit.base.files import sha256_of
from audit.results.result import to_json_bytes
from audit.runs.compare.finding_changes import finding_frame
from audit.runs.compare.result import SCHEMA_VERSION, Comparison
from audit.runs.folder import FolderKind, writing_run
from audit.runs.manifest import RESTRICTED, RESULT, write_manifest, write_restricted_manifest

COMPARISON = FolderKind("comparison", "comparison.json")
HTML = "comparison.html"


def write_comparison(comparison: Comparison, out: str | Path, *, overwrite: bool = False) -> Path:
    """Write a comparison without its HTML, for use from Python.

    Raises:
        OutputError: If ``out`` exists and is not a comparison, or is one and ``overwrite`` is
            False.
    """
    out, started = Path(out), datetime.now(UTC)
    with writing_run(out, overwrite=overwrite, kind=COMPARISON) as folder:
        write_changes(comparison, comparison.shared(), folder)
        seal_comparison(folder, comparison, started=started)
    return out


def write_changes(comparison: Comparison, shared: Mapping[str, Any], folder: Path) -> None:
    """Write ``comparison.json`` (the shared view) and the restricted tables."""
    (folder / COMPARISON.content).write_bytes(to_json_bytes(shared))
    restricted = folder / RESTRICTED
    restricted.mkdir()
    comparison.nodes.write_parquet(restricted / "node_changes.parquet")
    comparison.pairs.write_parquet(restricted / "pair_changes.parquet")
    comparison.edits.write_parquet(restricted / "hierarchy_edits.parquet")
    finding_frame(comparison.checks).write_parquet(restricted / "finding_changes.parquet")
    if comparison.model is not None:
        comparison.model.metrics.write_parquet(restricted / "metric_changes.parquet")
        comparison.model.confusions.write_parquet(restricted / "confusion_changes.parquet")


def seal_comparison(
    folder: Path,
    comparison: Comparison,
    *,
    runs: Sequence[Path] = (),
    command: Sequence[str] = (),
    started: datetime,
    forced: Sequence[str] = (),
) -> None:
    """Write both manifests.

    Args:
        folder: The folder to seal.
        comparison: The comparison in it.
        runs: Folders of OLD and NEW.
        command: The command line, as typed.
        started: When the comparison began.
        forced: Broken seals of the runs, if they are compared in spite of them.
    """
    write_restricted_manifest(folder)
    manifest = _manifest(comparison, runs, command, started)
    write_manifest(folder, {**manifest, "forced": list(forced)})


def _manifest(
    comparison: Comparison, runs: Sequence[Path], command: Sequence[str], started: datetime
) -> dict[str, Any]:
    sides = {"old": comparison.old, "new": comparison.new}
    return {
        "schema_version": SCHEMA_VERSION,
        "identity": {side: dict(run.identity) for side, run in sides.items()},
        "inputs": [
            {"role": role, "path": str(run / RESULT), "sha256": sha256_of(run / RESULT)}
            for role, run in zip(sides, runs, strict=False)
        ],
        "restricted": None,
        "command": list(command),
        "host": socket.gethostname(),
        "started": started.isoformat(timespec="seconds"),
    }
