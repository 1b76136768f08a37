"""Open a run for looking at it, with exact numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.files import sha256_of
from audit.explorer.run.instance_list import InstanceList
from audit.explorer.run.node_places import NodePlaces
from audit.explorer.run.paged_tables import Page, PartTable, Row, Source, Span, part_tables
from audit.explorer.run.pair_rows import PairRows
from audit.explorer.run.partners import Partners
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.finding_lines import EXACTLY
from audit.results.findings import Finding
from audit.results.order import ordered
from audit.results.result import AuditResult
from audit.results.view import finding_view
from audit.runs.analyses import attribution_rows
from audit.runs.folder import INSTANCES, refuse_no_run
from audit.runs.manifest import RESTRICTED, RESULT
from audit.runs.read import read_run


@dataclass(frozen=True, eq=False)
class OpenedRun:
    """A run that is looked at.

    Args:
        shared: The bytes of its ``result.json``, which may be shared.
        parts: Tables of each analysis, by name.
        day: Day that the run was made or judged; None if it is not known.
        shows_instances: Whether single instances were asked for, and the run keeps them.
    """

    name: str
    result: AuditResult
    shared: bytes
    partners: Mapping[Source, Partners]
    parts: Mapping[str, Mapping[str, PartTable]]
    day: date | None = None
    shows_instances: bool = False

    @cached_property
    def view(self) -> Mapping[str, Any]:
        """What its report shows, with exact numbers."""
        return self.result.exact()

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

    @property
    def has_model(self) -> bool:
        """Whether the run has predictions."""
        return self.view["ledger"]["predictions"] is not None

    @cached_property
    def root(self) -> str:
        """The root of the hierarchy; empty if no node can be looked at."""
        used = not self.result.nodes.is_empty()
        return self.hierarchy.nodes[self.hierarchy.root] if used else ""

    @cached_property
    def findings(self) -> Sequence[Row]:
        """All findings that a policy did not drop, folded ones included, in report order.

        Each has the fields of a finding of ``result.json``, and ``check``, ``folded`` (ids of the
        findings that explain it), ``branches`` (of its nodes) and ``cases`` (number of instances
        behind it, None if unknown).
        """
        branches = dict(self.result.nodes.select("node", "branches").iter_rows())
        cases = _cases(self.result)
        return [
            {
                **finding_view(finding, {}, self.result.titles, EXACTLY),
                "check": finding.check,
                "folded": finding.folded_into,
                "branches": _branches(finding, branches),
                "cases": None if cases is None else cases.get(finding.id, 0),
            }
            for finding in ordered(self.result.checks)
        ]

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
        cases = self.result.cases
        if cases is None:
            return Page()
        ids = cases.filter(pl.col("finding").cast(pl.String) == finding).select("instance")
        page, named = span.of(ids.collect().to_dicts()), self.finding(finding)
        if self.instances is None or named is None:
            return page
        return Page(self.instances.records(page.rows, nodes_named(named)), page.total)

    def has_node(self, node: str) -> bool:
        """Whether a node of this id has a page; labels that are refused have none."""
        return node in self.hierarchy

    def tables(self, part: str) -> Mapping[str, PartTable]:
        """Tables of a part of the run by name; none if it lacks the part."""
        return self.parts.get(part, {})

    def metrics(self) -> Sequence[Row]:
        """Rows ``name, scope, title, value, low, high, n, parameters`` of the model."""
        return [
            {**row, "title": self.places.title(row["scope"])} for row in self.result.metric_rows
        ]

    @cached_property
    def instances(self) -> InstanceList | None:
        """Its instances; None where they are not to be looked at."""
        return InstanceList(self.result, self.hierarchy) if self.shows_instances else None

    def attributions_of(self, instance: str) -> Sequence[Row]:
        """Its rows ``target, model, method, seed, tokens, scores``, by the first four."""
        if self._attributions is None:
            return ()
        return (
            self._attributions.filter(id=instance)
            .sort("target", "model", "method", "seed")
            .with_columns(pl.col("seed").cast(pl.String))
            .to_dicts()
        )

    @cached_property
    def _attributions(self) -> pl.DataFrame | None:
        """The file of attributions that it was made from; None if that is another one by now."""
        file = next((one for one in self.result.inputs if one["role"] == "attributions"), None)
        path = Path(file["path"] if file else "")
        if file is None or not path.is_file() or sha256_of(path) != file["sha256"]:
            return None
        return attribution_rows(path).filter(~pl.col("borrowed"))

    @cached_property
    def _by_id(self) -> Mapping[str, Row]:
        return {finding["id"]: finding for finding in self.findings}


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
) -> OpenedRun:
    """A run to look at."""
    refuse_no_run(folder)
    kept = (folder / RESTRICTED / INSTANCES).is_file()
    if show_instances and not kept:
        raise InputError(
            "a run that keeps its instances is required",
            found=f"no {RESTRICTED}/{INSTANCES}",
            where=folder,
            hint="make it with: audit run ... --keep-instances, or leave out --show-instances",
        )
    result = read_run(folder)
    parts = {part.name: part_tables(folder, part) for part in result.analyses}
    return OpenedRun(
        name,
        result,
        (folder / RESULT).read_bytes(),
        _partners(folder, result),
        parts,
        day,
        shows_instances=show_instances,
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


def _branches(finding: Finding, branches: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(b for node in finding.nodes for b in branches.get(node) or ()))


def _cases(result: AuditResult) -> dict[str, int] | None:
    if result.cases is None:
        return None
    counted = result.cases.group_by(pl.col("finding").cast(pl.String)).len().collect()
    return dict(counted.iter_rows())
