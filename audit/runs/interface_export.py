"""A run as the data files of the interface published with *Abstraction Alignment*.

``abstraction_graph.json``, ``labels.json`` and ``coconfusion.json``, and with predictions
``scores.json``, as the paper's code writes them, and ``instances.json`` with the ids. They hold
exact data of single instances.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.disk import on_disk, working_beside
from audit.base.errors import InputError, OutputError
from audit.data.interface_folder import CONFUSION, INSTANCES, LABELS, SCORES
from audit.hierarchies.formats.interface import GRAPH
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult
from audit.runs.instances import kept_instances
from audit.runs.read import read_run


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Args:
        instances: Number of instances.
        nodes: Number of nodes of the graph: those that some instance carries, and the root.
        pairs: Number of pairs of nodes.
        scored: Whether there are scores.
        left_out: Number of the run's instances without labels and scores.
        several_parents: Number of nodes with several parents, of which the interface draws one.
    """

    instances: int
    nodes: int
    pairs: int
    scored: bool
    left_out: int
    several_parents: int


def export_interface(
    run: str | Path, out: Path, *, overwrite: bool = False, unsealed: bool = False
) -> Exported:
    """Write the interface's files of a run that keeps its instances.

    Confusion is equation 4 of the predictions; without predictions it is the share of instances
    that carry both nodes, as in the paper's export of MIMIC-III. Nodes that no instance carries are
    left out.

    Args:
        run: Folder of the run.
        out: Folder to write, which must be new or empty.
        overwrite: Whether an earlier folder of these files is replaced.
        unsealed: As in `audit.read_run`.

    Raises:
        InputError: If the run kept no instances; also as `audit.read_run`.
        OutputError: If ``out`` holds something else, or cannot be written.
    """
    _refuse_occupied(out, overwrite)
    result, values = read_run(run, unsealed=unsealed), kept_instances(run)
    if values.is_empty():
        raise InputError("a run with labels is required", found="no label", where=run)
    hierarchy = hierarchy_of(result)
    graph = _Graph.of(hierarchy, values)
    scored = bool(values["score"].is_not_null().any())
    lists, confusion = _lists(values, graph, scored), _confusion(result, graph)
    _write({GRAPH: graph.records(), **lists, CONFUSION: confusion}, out)
    instances = len(lists[INSTANCES])
    return Exported(
        instances=instances,
        nodes=len(graph.nodes),
        pairs=len(confusion),
        scored=scored,
        left_out=int(result.ledger["instances"]) - instances,
        several_parents=int((np.diff(hierarchy.edges.indptr)[graph.nodes] > 1).sum()),
    )


def hierarchy_of(result: AuditResult) -> Hierarchy:
    """The hierarchy of a run, from its tables."""
    nodes = result.nodes.select("node", "title", "assignable")
    name = str(result.identity["hierarchy"]["name"])
    return Hierarchy.build(result.edges, nodes, name=name)


@dataclass(frozen=True, eq=False)
class _Graph:
    """The nodes that are carried, and what the files call them."""

    hierarchy: Hierarchy
    nodes: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def of(cls, hierarchy: Hierarchy, values: pl.DataFrame) -> _Graph:
        own = [hierarchy.index(node) for node in values["node"].unique()]
        carried = np.unique([*hierarchy.closure[own].indices, hierarchy.root])
        return cls(hierarchy, carried.astype(np.int64))

    @property
    def number(self) -> Mapping[str, int]:
        """Number of each node, by its id."""
        return {self.hierarchy.nodes[node]: at for at, node in enumerate(self.nodes.tolist())}

    @property
    def names(self) -> list[str]:
        """What the interface shows: the id, and the title where there is one."""
        ids, titles = self.hierarchy.nodes, self.hierarchy.titles
        return [f"{ids[i]}: {titles[i]}" if titles[i] else ids[i] for i in self.nodes.tolist()]

    def records(self) -> list[dict[str, Any]]:
        number, hierarchy = self.number, self.hierarchy
        return [
            {"id": at, "name": name}
            | _parents([number[parent] for parent in hierarchy.parents(hierarchy.nodes[node])])
            | {"node": hierarchy.nodes[node], "title": hierarchy.titles[node]}
            | {"assignable": bool(hierarchy.assignable[node])}
            for at, (node, name) in enumerate(zip(self.nodes.tolist(), self.names, strict=True))
        ]

    def frame(self) -> pl.DataFrame:
        """``node, number, name``."""
        ids = [self.hierarchy.nodes[node] for node in self.nodes.tolist()]
        return pl.DataFrame({"node": ids, "number": range(len(ids)), "name": self.names})


def _parents(numbers: list[int]) -> dict[str, Any]:
    return {"parent": numbers[0], "parents": numbers} if numbers else {}


def _lists(values: pl.DataFrame, graph: _Graph, scored: bool) -> dict[str, list[Any]]:
    """The ids, labels and, if there are any, scores of the instances, in one order."""
    named = values.join(graph.frame(), on="node", how="left", maintain_order="left")
    by_instance = named.group_by("instance", maintain_order=True).agg(
        pl.col("name").filter(pl.col("label") > 0),
        pl.col("number").filter(pl.col("score") > 0),
        pl.col("score").filter(pl.col("score") > 0),
    )
    lists: dict[str, list[Any]] = {
        INSTANCES: by_instance["instance"].to_list(),
        LABELS: by_instance["name"].to_list(),
    }
    if scored:
        own = zip(by_instance["number"].to_list(), by_instance["score"].to_list(), strict=True)
        lists[SCORES] = [
            dict(zip(map(str, numbers), scores, strict=True)) for numbers, scores in own
        ]
    return lists


def _confusion(result: AuditResult, graph: _Graph) -> dict[str, float]:
    model = result.model
    pairs, value = (result.pairs, "rate") if model is None else (model.pairs, "confusion")
    frame = graph.frame().select("node", "number").lazy()
    placed = (
        pairs.select(pl.col("a", "b").cast(pl.String), value)
        .join(frame.rename({"node": "a", "number": "first"}), on="a")
        .join(frame.rename({"node": "b", "number": "second"}), on="b")
        .select(
            pl.concat_str(
                pl.min_horizontal("first", "second"),
                pl.max_horizontal("first", "second"),
                separator=",",
            ).alias("pair"),
            value,
        )
        .sort("pair")
        .collect()
    )
    return dict(placed.iter_rows())


def _refuse_occupied(out: Path, overwrite: bool) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    ours = (out / GRAPH).is_file()
    if not (ours and overwrite):
        raise OutputError(
            "an earlier export is replaced only when asked"
            if ours
            else "the output must be a new folder or an earlier export",
            found="an earlier export" if ours else "something else",
            where=out,
            hint="add --overwrite, or name another folder" if ours else "name another folder",
        )


def _write(files: Mapping[str, Any], out: Path) -> None:
    """Write the files beside ``out``, and put them in their place once all are whole."""
    out = out.resolve()
    with working_beside(out) as folder:
        for name, content in files.items():
            text = json.dumps(content, ensure_ascii=False, allow_nan=False)
            (folder / name).write_text(text, "utf-8")
        with on_disk(out):
            out.mkdir(parents=True, exist_ok=True)
            for name in (LABELS, SCORES, INSTANCES, CONFUSION, GRAPH):
                (out / name).unlink(missing_ok=True)
            for name in files:
                (folder / name).replace(out / name)
