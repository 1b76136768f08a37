"""Compare two runs: changes per node, pair and check, and the sealed folder that holds them."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audit.base.errors import InputError
from audit.base.files import sha256_as_read
from audit.base.reading import refuse_changed
from audit.hierarchies.same import refuse_other, shared_nodes
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.compare.causes import causes, same_data
from audit.runs.compare.edits import Release, common_nodes, hierarchy_edits
from audit.runs.compare.finding_changes import check_changes, finding_frame
from audit.runs.compare.finding_tests import FindingTests
from audit.runs.compare.model_changes import model_changes
from audit.runs.compare.node_changes import node_changes
from audit.runs.compare.pair_changes import pair_changes
from audit.runs.compare.result import Comparison
from audit.runs.folder import COMPARISON, COMPARISON_VERSION, writing_run
from audit.runs.manifest import RESTRICTED, RESULT, write_manifest, write_restricted_manifest


def compare_runs(old: AuditResult, new: AuditResult, *, same_hierarchy: bool = False) -> Comparison:
    """Compare two runs of one hierarchy.

    Args:
        old: The earlier run, from `audit.read_run` or `audit.run_audit`.
        new: The later run.
        same_hierarchy: Whether both hierarchies are one classification, though few nodes are in
            both.

    Returns:
        The comparison. Swapping the runs negates every difference. Intervals and p values of labels
        take groups as independent of each other, instances where there are none, and the releases
        as having none in common; those of models pair the instances that both runs keep.

    Raises:
        InputError: If the runs are on different hierarchies, or one of them has no instances.

    Time grows with the number of pairs of both runs; only joint counts are held in memory.
    """
    _refuse_empty(old, new)
    shared = shared_nodes(*(r.nodes.select("node", "title").iter_rows() for r in (old, new)))
    if not same_hierarchy:
        names = [str(run.identity["hierarchy"]["name"]) for run in (old, new)]
        refuse_other(shared, (names[0], names[1]), "two runs of one hierarchy are required")
    before, after = Release(old), Release(new)
    common = common_nodes(before, after)
    edits = hierarchy_edits(before, after)
    same = same_data(old, new)
    pairs = pair_changes(before, after, common, same_data=same)
    tests = None if same else FindingTests(before, after, pairs.table)
    return Comparison(
        old=old,
        new=new,
        causes=causes(old, new, edits, int((~common.as_it_is).sum()), shared),
        edits=edits,
        node_changes=node_changes(before, after, common, same_data=same),
        pair_changes=pairs,
        checks=check_changes(old, new, tests),
        model=model_changes(old, new, same_data=same),
    )


def _refuse_empty(old: AuditResult, new: AuditResult) -> None:
    for which, run in (("OLD", old), ("NEW", new)):
        if not run.ledger["instances"]:
            raise InputError("a run with instances is required", found=f"none in {which}")


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
    refuse_changed(*runs)
    write_restricted_manifest(folder)
    manifest = _manifest(comparison, runs, command, started)
    write_manifest(folder, {**manifest, "forced": list(forced)})


def _manifest(
    comparison: Comparison, runs: Sequence[Path], command: Sequence[str], started: datetime
) -> dict[str, Any]:
    sides = {"old": comparison.old, "new": comparison.new}
    return {
        "schema_version": COMPARISON_VERSION,
        "identity": {side: dict(run.identity) for side, run in sides.items()},
        "inputs": [
            {"role": role, "path": str(run / RESULT), "sha256": sha256_as_read(run / RESULT)}
            for role, run in zip(sides, runs, strict=False)
        ],
        "restricted": None,
        "command": list(command),
        "host": socket.gethostname(),
        "started": started.isoformat(timespec="seconds"),
    }
