"""Scores in a folder of the interface published with *Abstraction Alignment*."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.data.class_names import Classes
from audit.data.interface_folder import SCORES, InterfaceFolder, holds
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.prediction_formats.scores import listed
from audit.data.sources import Source


def read(source: Source, classes: Classes | None) -> RawPredictions:
    """Read ``scores.json``: for each instance the score of each node, by the node's number.

    A node that is not listed has score 0.

    Raises:
        InputError: If the graph is not beside it, or a file cannot be read.
        SchemaError: If an entry is not an object of numbers, or names a number that is not a node.
    """
    folder = InterfaceFolder(source)
    entries = folder.entries(SCORES, dict)
    instances = pl.Series("instance", folder.instances(len(entries)), dtype=pl.String)
    numbers = [number for entry in entries for number in entry]
    values = [value for entry in entries for value in entry.values()]
    _refuse_others(values, source)
    nodes = {str(one.number): one.node for one in folder.nodes()}
    strangers = [number for number in dict.fromkeys(numbers) if number not in nodes]
    if strangers:
        raise SchemaError(
            "every score must be of a node of the graph",
            found=f"the numbers {first_cases(strangers)}",
            where=folder.file(SCORES),
        )
    at = [row for row, entry in enumerate(entries) for _ in entry]
    frame = pl.DataFrame(
        {
            "instance": instances.gather(at),
            "node": pl.Series([nodes[number] for number in numbers], dtype=pl.String),
            "score": pl.Series(values, dtype=pl.Float64, strict=False),
        }
    )
    return replace(listed(frame, instances, source), sources=folder.sources(SCORES))


def matches(source: Source) -> bool:
    """Whether the folder holds the graph and scores."""
    return holds(source, SCORES)


def _refuse_others(values: list[object], source: Source) -> None:
    wrong = [v for v in values if isinstance(v, bool) or not isinstance(v, int | float)]
    if wrong or not values:
        raise SchemaError(
            "every score must be a number",
            found=first_cases(map(str, wrong)) or "no score",
            where=source,
        )


FORMAT = PredictionFormat(
    name="interface",
    title="a folder of the paper's interface: abstraction_graph.json and scores.json",
    matches=matches,
    read=read,
    of_folders=True,
)
