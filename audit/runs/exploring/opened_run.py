"""Open a run for looking at it: in full, or as its shared view where nothing else is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.files import read_json
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.exploration import (
    ExploredRun,
    InstanceQuery,
    Media,
    NodeView,
    Page,
    PairView,
    Row,
    Source,
    Span,
)
from audit.results.explored_tables import ExploredTable
from audit.results.result import AuditResult
from audit.results.shared_nodes import shared_titles
from audit.runs.exploring.findings import full_findings, shared_findings
from audit.runs.exploring.instance_list import InstanceList
from audit.runs.exploring.media import MediaFile
from audit.runs.exploring.node_places import NodePlaces
from audit.runs.exploring.pair_rows import PairRows
from audit.runs.exploring.part_tables import part_tables
from audit.runs.exploring.partners import Partners, RangedPartners
from audit.runs.folder import INSTANCES, refuse_no_run
from audit.runs.manifest import RESTRICTED, RESULT
from audit.runs.pair_layout import ends_of, twin_of
from audit.runs.read import read_run
from audit.runs.sealed_run import SealedRun, refuse_faults


def open_run(
    folder: Path,
    name: str,
    *,
    day: date | None = None,
    show_instances: bool = False,
    media: Path | None = None,
    unsealed: bool = False,
) -> ExploredRun:
    """A run to look at; without its restricted folder, its shared view alone.

    Args:
        folder: Folder of the run.
        name: What it is called.
        day: Day that it was made or judged; None if it is not known.
        show_instances: Whether single instances may be looked at.
        media: Table of their texts and pictures.
        unsealed: As in `audit.read_run`.

    Raises:
        InputError: As `audit.read_run`; if instances are asked for that the run does not keep; as
            `MediaFile`.
    """
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
        return open_shared(folder, name, day=day, unsealed=unsealed)
    result = read_run(folder, unsealed=unsealed)
    return FullRun(
        name,
        str(folder),
        read_json(folder / RESULT),
        result,
        _partners(folder, result),
        {part.name: part_tables(folder, part) for part in result.analyses},
        day=day,
        judged_with=_judged_with(folder),
        shows_instances=show_instances,
        media=None if media is None else MediaFile(media, result),
    )


def _partners(folder: Path, result: AuditResult) -> Mapping[Source, Partners]:
    """The pairs of a run by their nodes."""
    tables: dict[Source, str] = {"data": "pairs"}
    if result.model is not None:
        tables["model"] = "model_pairs"
    return {
        source: _ranges(folder / RESTRICTED / f"{name}.parquet", result.nodes["node"])
        for source, name in tables.items()
    }


def _ranges(table: Path, nodes: pl.Series) -> RangedPartners:
    for path in (twin_of(table), ends_of(table)):
        if not path.is_file():
            raise InputError(
                "a run with all its tables is required",
                found=f"no {path.name}",
                where=path.parent,
                hint="audit the data again; without the folder, only the shared view is shown",
            )
    return RangedPartners(table, nodes)


def open_shared(
    folder: Path, name: str, *, day: date | None = None, unsealed: bool = False
) -> SharedRun:
    """What may be shared of a run, whatever else is there; arguments as in `open_run`.

    Raises:
        InputError: If the folder is no run, or what is shared has changed since it was sealed.
    """
    refuse_no_run(folder)
    refuse_faults(folder, () if unsealed else SealedRun(folder).faults(restricted=False))
    shared = read_json(folder / RESULT)
    return SharedRun(name, str(folder), shared, day, judged_with=_judged_with(folder))


def _judged_with(folder: Path) -> Sequence[str]:
    """The earlier run that a run was judged beside, and the key that it was sealed with."""
    run = SealedRun(folder)
    read = [str(one.path.parent) for one in run.inputs if one.role == "reference"]
    beside = ["--reference", *read[:1]] if read else []
    return [*beside, "--seal-key", "FILE"] if run.keyed else beside


class SharedRun:
    """A run of which there is only what may be shared: what ``result.json`` says."""

    in_full = False
    shows_instances = False
    media = None

    def __init__(
        self,
        name: str,
        folder: str,
        shared: Mapping[str, Any],
        day: date | None,
        *,
        judged_with: Sequence[str] = (),
    ) -> None:
        self.name, self.folder, self.shared, self.day = name, folder, shared, day
        self.judged_with = judged_with
        self.has_model = shared["ledger"]["predictions"] is not None
        self._titles = shared_titles(shared)
        tree = shared["overview"]["tree"]
        self.root = next((row["node"] for row in tree if row["parent"] is None), "")

    def findings(self) -> Sequence[Row]:
        """Findings as they are shared, with their checks."""
        return shared_findings(self.shared)

    def cases(self, finding: str, span: Span) -> Page:
        """None: instances are not shared."""
        return Page((), 0)

    def has_node(self, node: str) -> bool:
        """Whether the shared view says anything about a node."""
        return node in self._titles

    def node(self, node: str) -> NodeView | None:
        """None: what lies beside and below a node is not shared in full."""
        return None

    def top_branch(self, node: str) -> int | None:
        """None: nodes cannot be looked at."""
        return None

    def children(self, node: str) -> Sequence[Row]:
        """None: counts of single nodes are not shared."""
        return ()

    def partners(
        self, node: str, source: Source, relation: str | None, order: str, span: Span
    ) -> Page:
        """None: counts of single pairs are not shared."""
        return Page((), 0)

    def pair(self, a: str, b: str) -> PairView | None:
        """None: counts of single pairs are not shared."""
        return None

    def branches(self, node: str, source: Source) -> Sequence[Row]:
        """None: counts of single pairs are not shared."""
        return ()

    def search(self, text: str, span: Span) -> Page:
        """Nodes of the shared view whose id or title contains a text, in page order."""
        wanted = text.strip().lower()
        pictured = {row["node"]: row for row in self.shared["overview"]["tree"]}
        nothing = {"instances": None, "depth": None}
        rows = [
            {
                "node": node,
                "title": title,
                "support": pictured.get(node, nothing)["instances"],
                "depth": pictured.get(node, nothing)["depth"],
            }
            for node, title in self._titles.items()
            if wanted in node.lower() or wanted in (title or "").lower()
        ]
        return span.of(sorted(rows, key=lambda row: row["node"].lower() != wanted))

    def title(self, node: str) -> str:
        """Title of a node of the shared view; empty for any other."""
        return self._titles.get(node) or ""

    def tables(self, part: str) -> Mapping[str, ExploredTable]:
        """None: restricted tables are not shared."""
        return {}

    def metrics(self) -> Sequence[Row]:
        """The metrics that are shared."""
        return [
            {**row, "title": self._titles.get(row["scope"]) or ""} for row in self.shared["metrics"]
        ]

    def instances(self, query: InstanceQuery, span: Span) -> Page:
        """None: instances are not shared."""
        return Page((), 0)

    def instance(self, instance: str) -> Row | None:
        """None: instances are not shared."""
        return None

    def neighbours(self, instance: str, query: InstanceQuery) -> tuple[str | None, str | None]:
        """None: instances are not shared."""
        return None, None


class FullRun:
    """A run with its restricted tables; every count is exact."""

    in_full = True

    def __init__(
        self,
        name: str,
        folder: str,
        shared: Mapping[str, Any],
        result: AuditResult,
        partners: Mapping[Source, Partners],
        tables: Mapping[str, Mapping[str, ExploredTable]],
        *,
        day: date | None,
        judged_with: Sequence[str] = (),
        shows_instances: bool,
        media: Media | None,
    ) -> None:
        self._partners, self._tables, self.day = partners, tables, day
        self.name, self.folder, self.shared, self._result = name, folder, shared, result
        self.judged_with = judged_with
        self.shows_instances, self.media = shows_instances, media
        self.has_model = result.model is not None

    @property
    def result(self) -> AuditResult:
        """What was read of it."""
        return self._result

    @cached_property
    def _hierarchy(self) -> Hierarchy:
        return Hierarchy.build(
            self._result.edges,
            self._result.nodes.select("node", "title", "assignable"),
            name=str(self._result.identity["hierarchy"]["name"]),
        )

    @cached_property
    def _places(self) -> NodePlaces:
        return NodePlaces(self._result, self._hierarchy)

    @cached_property
    def _pairs(self) -> PairRows:
        return PairRows(self._result, self._hierarchy, self._partners)

    @cached_property
    def _instances(self) -> InstanceList:
        return InstanceList(self._result, self._hierarchy)

    @cached_property
    def _findings(self) -> Sequence[Row]:
        return full_findings(self._result)

    @cached_property
    def root(self) -> str:
        """The root of the hierarchy; empty where no labels were counted on one."""
        used = not self._result.nodes.is_empty()
        return self._hierarchy.nodes[self._hierarchy.root] if used else ""

    def findings(self) -> Sequence[Row]:
        """All findings, folded ones included, with exact numbers."""
        return self._findings

    def cases(self, finding: str, span: Span) -> Page:
        """Instances behind a finding; empty if the data were only counted."""
        cases = self._result.cases
        known = any(one["id"] == finding for one in self._findings)
        if cases is None or not known:
            return Page((), 0)
        ids = cases.filter(pl.col("finding").cast(pl.String) == finding).select("instance")
        rows = ids.collect()
        return Page(rows.slice(span.offset, span.limit).to_dicts(), len(rows))

    def has_node(self, node: str) -> bool:
        """Whether the hierarchy has a node of this id."""
        return node in self._hierarchy

    def node(self, node: str) -> NodeView | None:
        """A node in its place; None if the hierarchy lacks it."""
        return self._places.view(node) if node in self._hierarchy else None

    def top_branch(self, node: str) -> int | None:
        """Number of the top branch that a node is in; None for none, or several."""
        return self._places.top_branch(node) if node in self._hierarchy else None

    def children(self, node: str) -> Sequence[Row]:
        """The children of a node, the most frequent first; empty if the hierarchy lacks it."""
        return self._places.children(node) if node in self._hierarchy else ()

    def partners(
        self, node: str, source: Source, relation: str | None, order: str, span: Span
    ) -> Page:
        """All pairs with a node at either end, seen from it."""
        if node not in self._hierarchy or (source == "model" and not self.has_model):
            return Page((), 0)
        return self._pairs.partners(node, source, relation, order, span)

    def pair(self, a: str, b: str) -> PairView | None:
        """Two nodes beside each other; None if the hierarchy lacks one, or they are the same."""
        if a == b or a not in self._hierarchy or b not in self._hierarchy:
            return None
        on_both = [one["id"] for one in self._findings if {a, b} <= _ids(one)]
        return self._pairs.view(a, b, on_both)

    def branches(self, node: str, source: Source) -> Sequence[Row]:
        """Pairs of the most frequent children of a node."""
        if node not in self._hierarchy or (source == "model" and not self.has_model):
            return ()
        return self._pairs.among(self._hierarchy.children(node), source)

    def search(self, text: str, span: Span) -> Page:
        """Nodes whose id or title holds a text, whatever its case."""
        return self._places.search(text, span)

    def title(self, node: str) -> str:
        """Title of a node; empty if it has none, or is unknown."""
        return self._places.title(node)

    def tables(self, part: str) -> Mapping[str, ExploredTable]:
        """Restricted tables of a part of the run by name; empty if the run lacks it."""
        return self._tables.get(part, {})

    def metrics(self) -> Sequence[Row]:
        """All metrics of the model, with the titles of the nodes that they are about."""
        return [{**row, "title": self._places.title(row["scope"])} for row in self._result.metrics]

    def instances(self, query: InstanceQuery, span: Span) -> Page:
        """Instances of a query; empty if they are not to be looked at."""
        return self._instances.page(query, span) if self.shows_instances else Page((), 0)

    def instance(self, instance: str) -> Row | None:
        """The tree of an instance; None if there is none, or it is not to be looked at."""
        return self._instances.view(instance) if self.shows_instances else None

    def neighbours(self, instance: str, query: InstanceQuery) -> tuple[str | None, str | None]:
        """The instances before and after one in the order of a query."""
        return self._instances.neighbours(instance, query) if self.shows_instances else (None, None)


def _ids(finding: Row) -> set[str]:
    return {node["id"] for node in finding["nodes"]}
