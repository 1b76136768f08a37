"""The folder of a comparison: written beside and renamed when whole, sealed by a manifest."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audit.base.files import sha256_of
from audit.results.result import to_json_bytes
from audit.runs.compare.finding_changes import finding_frame
from audit.runs.compare.result import SCHEMA_VERSION, Comparison
from audit.runs.folder import (
    RESTRICTED,
    RESULT,
    FolderKind,
    write_manifest,
    write_restricted_manifest,
    writing_run,
)

COMPARISON = FolderKind("comparison", "comparison.json")
HTML = "comparison.html"


@contextmanager
def writing_comparison(
    comparison: Comparison,
    shared: Mapping[str, Any],
    out: Path,
    *,
    runs: Sequence[Path] = (),
    command: Sequence[str] = (),
    started: datetime,
    overwrite: bool = False,
    forced: Sequence[str] = (),
) -> Iterator[Path]:
    """A temporary folder with ``comparison.json`` and the tables, for a report to be added.

    It takes the place of ``out``, sealed, when the block ends without an error.

    Args:
        comparison: What to write.
        shared: Its shared view.
        out: The folder.
        runs: Folders of OLD and NEW, for the manifest.
        command: As typed, for the manifest.
        started: When the work began, for the manifest.
        overwrite: Whether an earlier comparison may be replaced.
        forced: What is broken of the runs, where they are compared in spite of that.

    Raises:
        OutputError: If ``out`` is there and is no comparison, or is one and ``overwrite`` is
            False.
    """
    with writing_run(out, overwrite=overwrite, kind=COMPARISON) as folder:
        (folder / COMPARISON.content).write_bytes(to_json_bytes(shared))
        restricted = folder / RESTRICTED
        restricted.mkdir()
        comparison.nodes.write_parquet(restricted / "node_changes.parquet")
        comparison.pairs.write_parquet(restricted / "pair_changes.parquet")
        comparison.edits.write_parquet(restricted / "hierarchy_edits.parquet")
        finding_frame(comparison.checks).write_parquet(restricted / "finding_changes.parquet")
        yield folder
        write_restricted_manifest(folder, ())
        manifest = _manifest(comparison, runs, command, started)
        write_manifest(folder, {**manifest, "forced": list(forced)})


def write_comparison(comparison: Comparison, out: str | Path, *, overwrite: bool = False) -> Path:
    """Write a comparison without its HTML, for use from Python; raises as `writing_comparison`."""
    out, shared = Path(out), comparison.shared()
    with writing_comparison(
        comparison, shared, out, started=datetime.now(UTC), overwrite=overwrite
    ):
        pass
    return out


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
