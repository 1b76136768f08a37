"""Open a run for looking at it: in full, or as its shared view where nothing else is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.explorer.run.instance_list import InstanceList
from audit.explorer.run.media import MediaFile
from audit.explorer.run.node_places import NodePlaces
from audit.explorer.run.paged_tables import Page, PartTable, Row, Source, Span, part_tables
from audit.explorer.run.pair_rows import PairRows
from audit.explorer.run.partners import Partners
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.findings import Finding
from audit.results.order import in_report_order, ordered
from audit.results.result import AuditResult
from audit.results.shared_findings import shared_finding
from audit.results.shared_tables import shared_titles
from audit.runs.fixes.sheet import Proposals
from audit.runs.folder import INSTANCES, refuse_no_run
from audit.runs.manifest import RESTRICTED
from audit.runs.read import read_run, read_shared
from audit.runs.sealed_run import SealedRun, refuse_faults


@dataclass(frozen=True, eq=False)
class RestrictedTables:
    """The restricted tables of a run, whose counts are exact; those of parts are by name."""

    result: AuditResult
    partners: Mapping[Source, Partners]
    parts: Mapping[str, Mapping[str, PartTable]]

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy, in the order of the table of nodes."""
        return self.result.hierarchy

    @cached_property
    def places(self) -> NodePlaces:
        """Its nodes."""
        return NodePlaces(self.result, self.hierarchy)

    @cached_property
    def pairs(self) -> PairRows:
        """Its pairs of nodes."""
        return PairRows(self.result, self.hierarchy, self.partners)


@dataclass(frozen=True, eq=False)
class OpenedRun:
    """A run that is looked at.

    Args:
        day: Day that the run was made or judged; None if it is not known.
        judged_with: Options besides the policy that judge it again as it was.
        restricted: Its restricted tables; None where there is only what may be shared.
        shows_instances: Whether single instances were asked for, and the run keeps them.
    """

    name: str
    folder: str
    shared: Mapping[str, Any]
    day: date | None = None
    judged_with: Sequence[str] = ()
    restricted: RestrictedTables | None = None
    shows_instances: bool = False
    media: MediaFile | None = None

    @property
    def in_full(self) -> bool:
        """Whether the restricted tables are there, so that counts are shown unsuppressed."""
        return self.restricted is not None

    @property
    def has_model(self) -> bool:
        """Whether the run has predictions."""
        return self.shared["ledger"]["predictions"] is not None

    @cached_property
    def root(self) -> str:
        """The root of the hierarchy; empty if no node can be looked at."""
        if self.restricted is None:
            tree = self.shared["overview"]["tree"]
            return next((row["node"] for row in tree if row["parent"] is None), "")
        used, hierarchy = not self.restricted.result.nodes.is_empty(), self.restricted.hierarchy
        return hierarchy.nodes[hierarchy.root] if used else ""

    @cached_property
    def findings(self) -> Sequence[Row]:
        """All findings in report order.

        Each has the fields of a finding of ``result.json``, and ``check``, ``folded`` (ids of the
        findings that explain it), ``branches`` (of its nodes) and ``cases`` (number of instances
        behind it, None if unknown). In full, numbers are exact.
        """
        if self.restricted is None:
            return _shared_findings(self.shared)
        return _full_findings(self.restricted.result)

    def finding(self, id: str) -> Row | None:
        """The finding of an id; None if there is none."""
        return self._by_id.get(id)

    def findings_on(self, *nodes: str) -> list[Row]:
        """The findings that name all of some nodes."""
        named = [(finding, {node["id"] for node in finding["nodes"]}) for finding in self.findings]
        return [finding for finding, ids in named if ids.issuperset(nodes)]

    def cases(self, finding: str, span: Span) -> Page:
        """Rows ``instance``: the instances behind a finding; none if the data were only counted.

        Where single instances may be looked at, with the columns of `records`.
        """
        cases = None if self.restricted is None else self.restricted.result.cases
        if cases is None:
            return Page()
        ids = cases.filter(pl.col("finding").cast(pl.String) == finding).select("instance")
        page, named = span.of(ids.collect().to_dicts()), self.finding(finding)
        if self.instances is None or named is None:
            return page
        return Page(self.instances.records(page.rows, nodes_named(named)), page.total)

    def has_node(self, node: str) -> bool:
        """Whether a node of this id has a page; labels that are refused have none."""
        return node in (self.spoken_of if self.restricted is None else self.restricted.hierarchy)

    def title(self, node: str) -> str:
        """Title of a node; empty if it has none, or cannot be looked at."""
        if self.restricted is None:
            return self.spoken_of.get(node, {}).get("title") or ""
        return self.restricted.places.title(node)

    def search(self, text: str, span: Span) -> Page:
        """Nodes as `NodePlaces.search` has them; of a shared view, those that it speaks of."""
        if self.restricted is not None:
            return self.restricted.places.search(text, span)
        wanted = text.strip().lower()
        rows = [
            {**row, "support": row["instances"]}
            for row in self.spoken_of.values()
            if wanted in row["node"].lower() or wanted in (row["title"] or "").lower()
        ]
        return span.of(sorted(rows, key=lambda row: row["node"].lower() != wanted))

    def tables(self, part: str) -> Mapping[str, PartTable]:
        """Restricted tables of a part of the run by name; none if it lacks the part, or these."""
        return {} if self.restricted is None else self.restricted.parts.get(part, {})

    def metrics(self) -> Sequence[Row]:
        """Rows ``name, scope, title, value, low, high, n, parameters`` of the model."""
        full = self.restricted
        rows = self.shared["metrics"] if full is None else full.result.metric_rows
        return [{**row, "title": self.title(row["scope"])} for row in rows]

    @cached_property
    def proposals(self) -> Proposals | None:
        """What would mend its findings; None in a shared view, and where data were only counted."""
        full = self.restricted
        return None if full is None or full.result.proposals is None else Proposals(full.result)

    @cached_property
    def instances(self) -> InstanceList | None:
        """Its instances; None where they are not to be looked at."""
        if self.restricted is None or not self.shows_instances:
            return None
        return InstanceList(self.restricted.result, self.restricted.hierarchy)

    @cached_property
    def _by_id(self) -> Mapping[str, Row]:
        return {finding["id"]: finding for finding in self.findings}

    @cached_property
    def spoken_of(self) -> Mapping[str, Row]:
        """Rows ``node, title, depth, instances, residual_share`` of the shared view by node."""
        pictured = {row["node"]: row for row in self.shared["overview"]["tree"]}
        nothing = dict.fromkeys(("depth", "instances", "residual_share"))
        return {
            node: {"node": node, "title": title, **pictured.get(node, nothing)}
            for node, title in shared_titles(self.shared).items()
        }


def nodes_named(finding: Row) -> list[str]:
    """The nodes of a finding; of one that names none, those of its parts."""
    return [
        node["id"]
        for one in ([finding] if finding["nodes"] else finding["parts"])
        for node in one["nodes"]
    ]


def open_run(
    folder: Path,
    name: str,
    *,
    day: date | None = None,
    show_instances: bool = False,
    media: Path | None = None,
) -> OpenedRun:
    """A run to look at; without its restricted folder, its shared view alone."""
    refuse_no_run(folder)
    kept = (folder / RESTRICTED / INSTANCES).is_file()
    if show_instances and not kept:
        raise InputError(
            "a run that keeps its instances is required",
            found=f"no {RESTRICTED}/{INSTANCES}",
            where=folder,
            hint="make it with: audit run ... --keep-instances, or leave out --show-instances",
        )
    if not (folder / RESTRICTED).is_dir():
        return open_shared(folder, name, day=day)
    result = read_run(folder)
    parts = {part.name: part_tables(folder, part) for part in result.analyses}
    return OpenedRun(
        name,
        str(folder),
        read_shared(folder),
        day,
        _judged_with(folder),
        RestrictedTables(result, _partners(folder, result), parts),
        shows_instances=show_instances,
        media=None if media is None else MediaFile(media, result),
    )


def _partners(folder: Path, result: AuditResult) -> Mapping[Source, Partners]:
    """The pairs of a run by their nodes."""
    found: dict[Source, Partners] = {
        "data": Partners(folder / RESTRICTED / "pairs.parquet", result.pair_table)
    }
    if result.model is not None:
        file = folder / RESTRICTED / "model_pairs.parquet"
        found["model"] = Partners(file, result.model.pair_table)
    return found


def open_shared(folder: Path, name: str, *, day: date | None = None) -> OpenedRun:
    """What may be shared of a run, whatever else is there; arguments as in `open_run`."""
    refuse_no_run(folder)
    refuse_faults(folder, SealedRun(folder).faults(restricted=False))
    return OpenedRun(name, str(folder), read_shared(folder), day, _judged_with(folder))


def _judged_with(folder: Path) -> Sequence[str]:
    """The earlier runs that a run was judged beside."""
    run = SealedRun(folder)
    read = (str(one.path.parent) for one in run.inputs if one.role == "reference")
    return [typed for one in read for typed in ("--reference", one)]


def _shared_findings(shared: Mapping[str, Any]) -> Sequence[Row]:
    """Findings as they are shared, in report order."""
    above = {line["node"]: line["above"] for line in shared["overview"]["lineage"]}
    return [
        {
            **finding,
            "check": check,
            "folded": (),
            "branches": _branches_above(finding, above),
            "cases": None,
        }
        for check, finding in in_report_order(shared)
    ]


def _branches_above(finding: Row, above: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The topmost node that the picture of the hierarchy has above each node of a finding."""
    tops = (above[node["id"]][:1] for node in finding["nodes"] if node["id"] in above)
    return tuple(dict.fromkeys(top for tops_ in tops for top in tops_))


def _full_findings(result: AuditResult) -> Sequence[Row]:
    """All findings that a policy did not drop, folded ones included, with exact numbers."""
    titles = dict(result.nodes.select("node", "title").iter_rows())
    branches = dict(result.nodes.select("node", "branches").iter_rows())
    cases = _cases(result)
    return [
        {
            **shared_finding(finding, 1, titles),
            "check": finding.check,
            "folded": finding.folded_into,
            "branches": _branches(finding, branches),
            "cases": None if cases is None else cases.get(finding.id, 0),
        }
        for finding in ordered(result.checks)
        if not finding.judgement.dropped
    ]


def _branches(finding: Finding, branches: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(b for node in finding.nodes for b in branches.get(node) or ()))


def _cases(result: AuditResult) -> dict[str, int] | None:
    if result.cases is None:
        return None
    counted = result.cases.group_by(pl.col("finding").cast(pl.String)).len().collect()
    return dict(counted.iter_rows())
