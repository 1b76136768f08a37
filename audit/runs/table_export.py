"""Exports of a run: what it shares as tables, and the layout of *Abstraction Alignment*.

The layout is that of the interface published with the paper: ``abstraction_graph.json``,
``labels.json`` and ``coconfusion.json``, and with predictions ``scores.json``, as the paper's code
writes them, and ``instances.json`` with the ids. They hold exact data of single instances.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base.disk import exchange, on_disk, replacing, working_beside
from audit.base.errors import InputError, OutputError
from audit.base.spreadsheets import defused, write_workbook
from audit.data.interface_folder import CONFUSION, INSTANCES, LABELS, SCORES
from audit.hierarchies.formats.interface import GRAPH
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.order import in_report_order
from audit.results.result import AuditResult
from audit.runs.instances import in_id_order, kept_instances
from audit.runs.read import read_run


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Args:
        nodes: Number of nodes of the graph: those that some instance carries, and the root.
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
    files = {GRAPH, LABELS, SCORES, INSTANCES, CONFUSION}
    with new_export(out, overwrite=overwrite, names=files.__contains__) as folder:
        return _write_interface(run, folder, unsealed=unsealed)


def _write_interface(run: str | Path, folder: Path, *, unsealed: bool) -> Exported:
    result, values = read_run(run, unsealed=unsealed), kept_instances(run)
    if values.is_empty():
        raise InputError("a run with labels is required", found="no label", where=run)
    hierarchy = result.hierarchy
    graph = _Graph.of(hierarchy, values)
    scored = bool(values["score"].is_not_null().any())
    lists, confusion = _label_lists(values, graph, scored), _confusion(result, graph)
    for name, content in {GRAPH: graph.records(), **lists, CONFUSION: confusion}.items():
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        (folder / name).write_text(text, "utf-8")
    instances = len(lists[INSTANCES])
    return Exported(
        instances=instances,
        nodes=len(graph.nodes),
        pairs=len(confusion),
        scored=scored,
        left_out=int(result.ledger["instances"]) - instances,
        several_parents=int((np.diff(hierarchy.edges.indptr)[graph.nodes] > 1).sum()),
    )


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


def _label_lists(values: pl.DataFrame, graph: _Graph, scored: bool) -> dict[str, list[Any]]:
    """The ids, labels and, if there are any, scores of the instances, in the order of the ids."""
    named = (
        in_id_order(values)
        .collect()
        .join(graph.frame(), on="node", how="left", maintain_order="left")
    )
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


@contextmanager
def new_export(folder: Path, *, overwrite: bool, names: Callable[[str], bool]) -> Iterator[Path]:
    """Yield a folder that takes the place of ``folder`` whole when the block ends."""
    inside = list(folder.iterdir()) if folder.is_dir() else []
    others = [entry.name for entry in inside if not (entry.is_file() and names(entry.name))]
    if folder.exists() and (not folder.is_dir() or others or (inside and not overwrite)):
        found = f"something else ({', '.join(sorted(others)[:3])})" if others else "a file"
        raise OutputError(
            "the output must be a new folder or an earlier export",
            found="an earlier export" if inside and not others else found,
            where=folder,
            hint="add --overwrite, or name another folder"
            if inside and not others
            else "name another folder",
        )
    out = folder.resolve()
    with working_beside(out) as begun, on_disk(out):
        yield begun
        if out.exists():
            exchange(begun, out)
        else:
            begun.rename(out)


Tables = Mapping[str, pl.DataFrame]
_OWN_TABLES = ("checks", "waivers")


def write_pairs(run: Path, file: Path, *, overwrite: bool) -> int:
    """Write the whole table of pairs as Parquet, exact; returns the number of pairs.

    The metadata of the file says under ``sharing`` that it is not for sharing.
    """
    pairs = read_run(run, unsealed=True).pairs
    with replacing(file, overwrite=overwrite) as begun:
        pairs.sink_parquet(begun, metadata={"sharing": "exact counts, not for sharing"})
        return int(pl.scan_parquet(begun).select(pl.len()).collect().item())


def write_csv_folder(tables: Tables, folder: Path, *, overwrite: bool) -> None:
    """Write a CSV file for each table; what a spreadsheet would take for a formula is defused."""
    with new_export(folder, overwrite=overwrite, names=lambda name: name.endswith(".csv")) as begun:
        for name, table in tables.items():
            defused(table).write_csv(begun / f"{name}.csv")


def write_xlsx(tables: Tables, file: Path, *, overwrite: bool) -> None:
    """Write a workbook with a sheet for each table."""
    with replacing(file, overwrite=overwrite) as begun:
        write_workbook(tables, begun)


def exported_tables(shared: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
    """The tables of a shared view, by name.

    ``summary`` has every single value with its place, ``checks`` a row a check, ``findings`` a row
    a finding, those to act on first, ``evidence`` a row for each number of a finding (part 0) or of
    a part of it, and ``waivers`` a row a waiver. Every other list of records is a table called by
    its place (``metrics``, ``overview_pairs``). A column is of numbers if all its values are, else
    of text as they are shown ("<11", "withheld"); lists and records in a cell are JSON. Lists
    without rows are left out.
    """
    rest = _without(shared, *_OWN_TABLES)
    rows: dict[str, Sequence[Mapping[str, Any]]] = {
        "summary": [{"place": place, "value": value} for place, value in _values(rest, "")],
        "checks": [_without(check, "findings") for check in shared["checks"]],
        "findings": [_finding(check, one) for check, one in in_report_order(shared)],
        "evidence": list(_evidence(shared)),
        "waivers": shared["waivers"],
        **dict(_lists(rest, "")),
    }
    return {name: _frame(table) for name, table in rows.items() if table}


def _values(record: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    """Single values of a record and of those in it, with their places."""
    for name, value in record.items():
        at = f"{place}.{name}" if place else name
        if isinstance(value, Mapping):
            yield from _values(value, at)
        elif not _is_table(value):
            yield at, _plain(value)


def _lists(record: Mapping[str, Any], place: str) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Lists of records in a record and in those in it, called by their places."""
    for name, value in record.items():
        at = f"{place}_{name}" if place else name
        if isinstance(value, Mapping):
            yield from _lists(value, at)
        elif _is_table(value):
            yield at, value


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _finding(check: str, finding: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of `AuditResult.findings` as far as they are shared, then what else is told."""
    evidence = finding["evidence"]
    return {
        "check": check,
        **{name: finding[name] for name in ("id", "severity")},
        "sentence": finding["statement"],
        "nodes": _ids(finding["nodes"]),
        "titles": "; ".join(node["title"] or "" for node in finding["nodes"]),
        **{name: evidence.get(name) for name in ("instances", "share", "low", "high")},
        **_without(finding, "id", "severity", "statement", "evidence", "parts", "nodes"),
    }


def _evidence(shared: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for check in shared["checks"]:
        for finding in check["findings"]:
            for place, one in enumerate((finding, *finding["parts"])):
                for name, value in one["evidence"].items():
                    about = {"finding": finding["id"], "part": place, "nodes": _ids(one["nodes"])}
                    yield about | {"name": name, "value": value}


def _ids(nodes: list[Mapping[str, Any]]) -> str:
    return "; ".join(node["id"] for node in nodes)


def _without(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame([_column(name, [_plain(row.get(name)) for row in rows]) for name in names])


def _plain(value: Any) -> Any:
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, (Mapping, list, bool)) else value
    )


def _column(name: str, values: list[Any]) -> pl.Series:
    full = [value for value in values if value is not None]
    if full and not any(isinstance(value, str) for value in full):
        whole = all(isinstance(value, int) for value in full)
        return pl.Series(name, values, pl.Int64 if whole else pl.Float64, strict=False)
    return pl.Series(name, [None if value is None else str(value) for value in values], pl.String)
