"""A comparison of two runs: what changed and why, the view that may be shared, and its folder."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.files import refuse_changed, sha256_as_read
from audit.hierarchies.relations import refuse_other, shared_nodes
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.compare.causes import causes, same_data
from audit.runs.compare.edits import Release, common_nodes, hierarchy_edits
from audit.runs.compare.finding_changes import (
    FindingTests,
    check_changes,
    finding_frame,
)
from audit.runs.compare.model_changes import (
    metric_rows,
    model_changes,
)
from audit.runs.compare.shared_view import Compared, Listed, SharedView
from audit.runs.compare.use_changes import node_changes, pair_changes
from audit.runs.folder import COMPARISON, COMPARISON_VERSION
from audit.runs.manifest import RESTRICTED, RESULT, write_manifest, write_restricted_manifest


class Comparison(Compared):
    """Changes from one run to another, and their possible causes.

    ``shared()`` returns the view that may be published; the tables themselves are exact.
    `audit.compare_runs` gives one.

    >>> import audit
    >>> tree = {"pet": {"cat": {}, "dog": {}}}
    >>> runs = [audit.run_audit(audit.load_labels(labels, tree)) for labels in (
    ...     [["cat"]] * 90 + [["dog"]] * 10, [["cat"]] * 10 + [["dog"]] * 90)]
    >>> comparison = audit.compare_runs(*runs)
    >>> comparison
    Comparison(2 nodes)
    >>> comparison.nodes.select("node", "rate_old", "rate_new", "changed").rows()
    [('cat', 0.9, 0.1, True), ('dog', 0.1, 0.9, True), ('pet', 1.0, 1.0, False)]
    """

    @property
    def exchanges(self) -> pl.DataFrame:
        """Siblings of which some lost what others gained while their parent did not change.

        ``parent``, the nodes of which there are ``fewer`` and ``more``, and the share of the
        instances that ``moved``; a row an exchange, the largest first.
        """
        return self._exact.exchanges

    @property
    def changed(self) -> bool:
        """Whether the comparison shows any difference, or predictions that are not the same."""
        return self._exact.changed

    @cached_property
    def _exact(self) -> Listed:
        return Listed.of(self)

    @property
    def measures(self) -> list[dict[str, Any]]:
        """``measured`` as ``comparison.json`` lists it, a row a number."""
        return metric_rows(self.measured)

    def shared(self) -> dict[str, Any]:
        """The view that may be published: the content of ``comparison.json`` and of the HTML.

        Where instances are persons' records it is made of told numbers: tests choose what is
        listed, if these differ too. The same runs give the same bytes.
        """
        return SharedView(self).view()

    def __repr__(self) -> str:
        totals = [f"{count:,} {name}" for name, count in self._exact.totals.items() if count]
        if self.model is not None and self.model.predictions != "same":
            totals.insert(0, "other predictions")
        return f"Comparison({', '.join(totals) or 'nothing changed'})"

    def _repr_markdown_(self) -> str:
        rows = "\n".join(
            f"| {check.name} | {check.status_old or '–'} | {check.status_new or '–'} "
            f"| {check.total_old:,} | {check.total_new:,} |"
            for check in self.checks
        )
        heading = "| check | old | new | findings old | findings new |\n|---|---|---|---:|---:|"
        return f"**{self!r}**\n\n{heading}\n{rows}\n"


def compare_runs(old: AuditResult, new: AuditResult) -> Comparison:
    """Compare two runs of one hierarchy.

    Args:
        old: The earlier run, from `audit.read_run` or `audit.run_audit`.
        new: The later run.

    Returns:
        The comparison. Swapping the runs negates every difference. Intervals and p values of labels
        take groups as independent of each other, instances where there are none, and the releases
        as having none in common; those of models pair the instances that both runs keep.

    Raises:
        InputError: If the runs are on different hierarchies, or one of them has no instances.

    Time grows with the number of pairs of both runs; only joint counts are held in memory.

    >>> import audit
    >>> labels = audit.load_labels([["cat"], ["dog"], ["cat"]], {"pet": {"cat": {}, "dog": {}}})
    >>> audit.compare_runs(audit.run_audit(labels), audit.run_audit(labels)).changed
    False
    """
    for which, run in (("OLD", old), ("NEW", new)):
        if not run.size:
            raise InputError("a run with instances is required", found=f"none in {which}")
    shared = shared_nodes(*(r.nodes.select("node", "title").iter_rows() for r in (old, new)))
    names = [str(run.identity["hierarchy"]["name"]) for run in (old, new)]
    refuse_other(shared, (names[0], names[1]), "two runs of one hierarchy are required")
    before, after = Release(old), Release(new)
    common = common_nodes(before, after)
    edits = hierarchy_edits(before, after)
    same = same_data(old, new)
    pairs = pair_changes(before, after, common, same_data=same)
    tests = None if same else FindingTests(before, after, pairs.table)
    edited = int((~common.as_it_is).sum())
    return Comparison(
        old=old,
        new=new,
        causes=causes(old, new, edits, edited, shared),
        edits=edits,
        node_changes=node_changes(before, after, common, same_data=same),
        pair_changes=pairs,
        checks=check_changes(old, new, tests),
        edited=edited,
        model=model_changes(old, new, same_data=same),
    )


def write_changes(comparison: Comparison, shared: Mapping[str, Any], folder: Path) -> None:
    """Write ``comparison.json`` (the shared view) and the restricted tables."""
    (folder / COMPARISON.content).write_bytes(to_json_bytes(shared))
    tables = {
        "node_changes": comparison.nodes,
        "pair_changes": comparison.pairs,
        "hierarchy_edits": comparison.edits,
        "finding_changes": finding_frame(comparison.checks),
    }
    if comparison.model is not None:
        tables["metric_changes"] = comparison.model.metrics.drop("beyond_old", "beyond_new")
        tables["confusion_changes"] = comparison.model.confusions
    (folder / RESTRICTED).mkdir()
    for name, table in tables.items():
        table.write_parquet(folder / RESTRICTED / f"{name}.parquet")


def seal_comparison(
    folder: Path,
    comparison: Comparison,
    runs: Sequence[Path],
    *,
    command: Sequence[str],
    started: datetime,
) -> None:
    """Write both manifests of a comparison of runs in their folders."""
    refuse_changed(*runs)
    write_restricted_manifest(folder)
    sides = {"old": comparison.old, "new": comparison.new}
    manifest = {
        "schema_version": COMPARISON_VERSION,
        "identity": {side: dict(run.identity) for side, run in sides.items()},
        "inputs": [
            {"role": role, "path": str(run / RESULT), "sha256": sha256_as_read(run / RESULT)}
            for role, run in zip(sides, runs, strict=True)
        ],
        "command": list(command),
        "host": socket.gethostname(),
        "started": started.isoformat(timespec="seconds"),
    }
    write_manifest(folder, manifest)
