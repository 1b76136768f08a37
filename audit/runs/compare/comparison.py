"""A comparison of two runs: what changed and why, the view that may be shared, and its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.files import refuse_changed, sha256_as_read
from audit.hierarchies.relations import refuse_other
from audit.results.result import AuditResult, to_json_bytes
from audit.runs.compare.findings import COLUMNS, checks_of, finding_changes
from audit.runs.compare.models import metric_rows, model_changes
from audit.runs.compare.records import record_changes
from audit.runs.compare.releases import Release, Releases
from audit.runs.compare.told import ToldRuns
from audit.runs.compare.use import node_changes, pair_changes
from audit.runs.compare.view import Compared, View, causes
from audit.runs.folder import COMPARISON, COMPARISON_VERSION
from audit.runs.manifest import RESTRICTED, RESULT, made_by, write_manifest


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
        instances that ``moved``, with its interval; a row an exchange, the largest first.
        """
        return self._exact.exchanges

    @property
    def branches(self) -> pl.DataFrame:
        """Nodes that changed as a whole, the largest first: ``below`` lists the nodes below that
        changed by the same factor; other columns as in ``nodes``."""
        return self._exact.branches

    @property
    def causes(self) -> list[dict[str, Any]]:
        """What may make the runs differ (data, hierarchy, policy, version and so on), in a fixed
        order, each with its value in either run, whether it changed, and what follows."""
        runs = self._exact.runs
        return causes(self, self.old, self.new, self.edits, runs.shared_nodes)

    @property
    def checks(self) -> list[dict[str, Any]]:
        """Every check of either run: its title, statuses and numbers of findings."""
        return checks_of(self.old, self.new)

    @property
    def changed(self) -> bool:
        """Whether it shows any difference, or other predictions of the same instances."""
        return self._exact.changed

    @cached_property
    def _exact(self) -> View:
        """What the comparison lists, in exact numbers."""
        return View(self, ToldRuns(self.old, self.new, exact=True))

    @property
    def measures(self) -> list[dict[str, Any]]:
        """What analyses measured over all instances, as both runs tell it, a row a number."""
        return metric_rows(self._exact.measures)

    def shared(self) -> dict[str, Any]:
        """The view that may be published: the content of ``comparison.json`` and of the HTML.

        Where instances are persons' records it is made of told numbers: tests choose what is
        listed, if these differ too. The same runs give the same bytes.
        """
        return View(self, self.told).shared()

    def __repr__(self) -> str:
        totals = [f"{count:,} {name}" for name, count in self._exact.totals.items() if count]
        if self.model is not None and self.model.predictions != "same":
            totals.insert(0, "other predictions")
        return f"Comparison({', '.join(totals) or 'nothing changed'})"

    def _repr_markdown_(self) -> str:
        rows = "\n".join(
            f"| {one['name']} | {one['status_old'] or '–'} | {one['status_new'] or '–'} "
            f"| {one['total_old']:,} | {one['total_new']:,} |"
            for one in self.checks
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
        as having none in common.

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
    names = [str(run.identity["hierarchy"]["name"]) for run in (old, new)]
    shared = ToldRuns(old, new, exact=True).shared_nodes
    refuse_other(shared, (names[0], names[1]), "two runs of one hierarchy are required")
    of = Releases(Release(old), Release(new))
    pairs = pair_changes(of)
    return Comparison(
        old=old,
        new=new,
        same_data=of.same_data,
        edits=of.edits,
        edited=int((~of.common["alike"]).sum()),
        nodes=node_changes(of),
        pairs=pairs,
        findings=finding_changes(of, pairs),
        model=model_changes(old, new, same_data=of.same_data),
        records=record_changes(old, new),
    )


def write_changes(comparison: Comparison, shared: Mapping[str, Any], folder: Path) -> None:
    """Write ``comparison.json`` (the shared view) and the restricted tables."""
    (folder / COMPARISON.content).write_bytes(to_json_bytes(shared))
    tables = {
        "node_changes": comparison.nodes,
        "pair_changes": comparison.pairs,
        "hierarchy_edits": comparison.edits,
        "finding_changes": comparison.findings.select(*COLUMNS),
    }
    if comparison.model is not None:
        tables["metric_changes"] = comparison.model.metrics.drop("beyond_old", "beyond_new")
    if comparison.records is not None:
        tables["label_changes"] = comparison.records.labels
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
    write_manifest(folder, {"data_sha256": None, "inputs": []}, restricted=True)
    sides = {"old": comparison.old, "new": comparison.new}
    manifest = {
        "schema_version": COMPARISON_VERSION,
        "identity": {side: dict(run.identity) for side, run in sides.items()},
        "inputs": [
            {"role": role, "path": str(run / RESULT), "sha256": sha256_as_read(run / RESULT)}
            for role, run in zip(sides, runs, strict=True)
        ],
        **made_by(command, started),
    }
    write_manifest(folder, manifest)
