"""Labels in a folder of the interface published with *Abstraction Alignment*."""

from __future__ import annotations

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.data.columns import raw_labels, refuse_named
from audit.data.interface_folder import (
    CONFUSION,
    INSTANCES,
    LABELS,
    SCORES,
    InterfaceFolder,
    holds,
)
from audit.data.label_format import Columns, LabelFormat, RawLabels
from audit.data.sources import Source
from audit.hierarchies.formats.interface import GRAPH


def read(source: Source, columns: Columns) -> RawLabels:
    """Read ``labels.json``: for each instance the names of its nodes, as the graph spells them.

    A name that the graph lacks is a label as it is written.

    Raises:
        InputError: If the graph is not beside it, or a file cannot be read.
        SchemaError: If an entry is not a list of texts, or the user named a column.
    """
    refuse_named(columns, source, "id", "label", "group", "split", "strata")
    folder = InterfaceFolder(source)
    entries = folder.entries(LABELS, list)
    ids = pl.Series("instance", folder.instances(len(entries)), dtype=pl.String)
    names = [name for entry in entries for name in entry]
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise SchemaError(
            "every label must be a text", found=first_cases(map(str, wrong)), where=source
        )
    nodes = {one.name: one.node for one in folder.nodes()}
    at = [row for row, entry in enumerate(entries) for _ in entry]
    rows = pl.DataFrame(
        {"instance": ids.gather(at), "label": [nodes.get(name, name) for name in names]},
        schema_overrides={"label": pl.String},
    )
    return raw_labels(rows, ids.to_frame(), source, files=folder.sources(LABELS))


def matches(source: Source) -> bool:
    """Whether the folder holds the graph and labels."""
    return holds(source, LABELS)


FORMAT = LabelFormat(
    name="interface",
    title="a folder of the paper's interface: abstraction_graph.json and labels.json",
    matches=matches,
    read=read,
    of_folders=True,
    own_files=(GRAPH, LABELS, SCORES, CONFUSION, INSTANCES),
)
