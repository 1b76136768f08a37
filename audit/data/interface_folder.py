"""A folder of the interface published with *Abstraction Alignment*: its graph, and lists beside it.

``labels.json`` and ``scores.json`` are lists with an entry for each instance; ``instances.json``,
which ``audit export`` adds, holds their ids, else they are numbered from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import read_json
from audit.data.class_names import Classes
from audit.data.label_format import (
    Columns,
    LabelFormat,
    Layout,
    RawLabels,
    raw_labels,
    refuse_named,
)
from audit.data.prediction_format import PredictionFormat, RawPredictions, listed
from audit.data.sources import File, Folder, Source
from audit.hierarchies.formats.interface import GRAPH, read_nodes

LABELS, SCORES, CONFUSION, INSTANCES = (
    "labels.json",
    "scores.json",
    "coconfusion.json",
    "instances.json",
)


class InterfaceFolder:
    """The files of such a folder."""

    def __init__(self, source: Source) -> None:
        folder = folder_of(source)
        if folder is None or not (folder / GRAPH).is_file():
            raise InputError(
                f"a folder with {GRAPH} is required", found=_instead(source), where=source
            )
        self.path = folder

    def file(self, name: str) -> Path:
        """Path of one of its files."""
        return self.path / name

    def sources(self, name: str) -> tuple[Path, ...]:
        """The files that are read for a list: the graph, the list, and the ids if there are any."""
        names = (GRAPH, name, INSTANCES)
        return tuple(self.file(one) for one in sorted(names) if self.file(one).is_file())

    def entries(self, name: str, kind: type) -> list[Any]:
        """A list of the folder whose entries are of a kind; raises SchemaError if it is not so."""
        path = self.file(name)
        stated = read_json(path)
        listed = isinstance(stated, list) and stated
        wrong = [one for one in stated if not isinstance(one, kind)] if listed else [stated]
        if wrong:
            raise SchemaError(
                f"a list with {_KINDS[kind]} for each instance is required",
                found=first_cases(str(one)[:40] for one in wrong),
                where=path,
            )
        return list(stated)

    @property
    def nodes(self) -> dict[str, str]:
        """The node of each name."""
        return {one.name: one.node for one in read_nodes(self.file(GRAPH))}

    @property
    def numbered(self) -> bool:
        """Whether there are no ids, so that instances are numbered from 0."""
        return not self.file(INSTANCES).is_file()

    def instances(self, n: int) -> pl.Series:
        """The ids of n instances; raises SchemaError if the folder holds others."""
        ids = [*map(str, range(n))] if self.numbered else self.entries(INSTANCES, str)
        if len(ids) != n or len(set(ids)) != n:
            raise SchemaError(
                f"a different id for each of the {n:,} instances is required",
                found=f"{len(ids):,} ids, {len(set(ids)):,} of them different",
                where=self.file(INSTANCES),
            )
        return pl.Series("instance", ids, dtype=pl.String)


_KINDS: Mapping[type, str] = {list: "a list", dict: "an object", str: "a text"}


def folder_of(source: Source) -> Path | None:
    """The folder that a source is, or that its file is in; None for what is in no file."""
    if isinstance(source, Folder):
        return source.path
    return source.path.parent if isinstance(source, File) else None


def holds(source: Source, name: str) -> bool:
    """Whether a source is a folder with the graph and a list, or that list beside the graph."""
    folder = folder_of(source)
    if folder is None or (isinstance(source, File) and source.path.name != name):
        return False
    return (folder / GRAPH).is_file() and (folder / name).is_file()


def _instead(source: Source) -> str:
    if isinstance(source, Folder):
        names = first_cases(entry.path.name for entry in source.entries)
        return names or "an empty folder"
    return (
        "none beside it" if isinstance(source, File) and source.path.exists() else "nothing there"
    )


def read_labels(source: Source, columns: Columns) -> RawLabels:
    """Read ``labels.json``: for each instance the names of its nodes, as the graph spells them.

    A name that the graph lacks is a label as it is written.
    """
    refuse_named(columns, source, "id", "label", "group", "split", "strata", "rules")
    folder = InterfaceFolder(source)
    entries = folder.entries(LABELS, list)
    ids = folder.instances(len(entries))
    names = [name for entry in entries for name in entry]
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise SchemaError(
            "every label must be a text", found=first_cases(map(str, wrong)), where=source
        )
    nodes = folder.nodes
    labels = pl.Series([nodes.get(name, name) for name in names], dtype=pl.String)
    rows = pl.DataFrame({"instance": _repeated(ids, entries), "label": labels})
    told = {
        "sources": folder.sources(LABELS),
        "numbered": folder.numbered,
        "layout": Layout(None, (LABELS,)),
    }
    return raw_labels(rows, ids.to_frame(), source, columns.rules, **told)


def read_scores(source: Source, classes: Classes | None) -> RawPredictions:
    """Read ``scores.json``: for each instance the score of each node, by the node's number.

    A node that is not listed has score 0.
    """
    folder = InterfaceFolder(source)
    entries = folder.entries(SCORES, dict)
    ids = folder.instances(len(entries))
    numbers = [number for entry in entries for number in entry]
    values = [value for entry in entries for value in entry.values()]
    _refuse_others(values, source)
    nodes = {str(one.number): one.node for one in read_nodes(folder.file(GRAPH))}
    strangers = [number for number in dict.fromkeys(numbers) if number not in nodes]
    if strangers:
        raise SchemaError(
            "every score must be of a node of the graph",
            found=f"the numbers {first_cases(strangers)}",
            where=folder.file(SCORES),
        )
    frame = pl.DataFrame(
        {
            "instance": _repeated(ids, entries),
            "node": pl.Series([nodes[number] for number in numbers], dtype=pl.String),
            "score": pl.Series(values, dtype=pl.Float64, strict=False),
        }
    )
    raw = listed(frame, ids, source)
    return replace(raw, sources=folder.sources(SCORES), numbered=folder.numbered)


def _repeated(ids: pl.Series, entries: Iterable[Any]) -> pl.Series:
    """The id of each instance once for each value of its entry."""
    return ids.gather([row for row, entry in enumerate(entries) for _ in entry])


def _refuse_others(values: list[object], source: Source) -> None:
    wrong = [v for v in values if isinstance(v, bool) or not isinstance(v, int | float)]
    if wrong or not values:
        raise SchemaError(
            "every score must be a number",
            found=first_cases(map(str, wrong)) or "no score",
            where=source,
        )


FORMAT = LabelFormat(
    name="interface",
    title="a folder of the paper's interface: abstraction_graph.json and labels.json",
    matches=lambda source: holds(source, LABELS),
    read=read_labels,
    of_folders=True,
    own_files=(GRAPH, LABELS, SCORES, CONFUSION, INSTANCES),
)
OF_SCORES = PredictionFormat(
    name="interface",
    title="a folder of the paper's interface: abstraction_graph.json and scores.json",
    matches=lambda source: holds(source, SCORES),
    read=read_scores,
    of_folders=True,
)
