"""A plugin with one thing for each door: a format, a hierarchy, a check and an analysis."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from audit.base.progress import Progress
from audit.checks.analysis import Analysis
from audit.checks.check import Check, Outcome
from audit.data.label_format import Columns, LabelFormat, RawLabels, raw_labels
from audit.data.sources import Source
from audit.disclosure import carried, count_of, derived
from audit.hierarchies.formats.format import BuiltInHierarchy
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.findings import INSTANCES, NODE, Finding
from audit.results.parts import AnalysisPart
from audit.results.shared_tables import SharedTable


def _read(source: Source, columns: Columns) -> RawLabels:
    pairs = [line.strip().split("//") for _, line in source.lines()]
    rows = pl.DataFrame(pairs, schema=["instance", "label"], orient="row")
    return raw_labels(rows, rows.select("instance"), source, columns.rules)


SLASHES = LabelFormat(
    name="slashes",
    title="id//label on each line",
    matches=lambda source: source.suffix == ".slashes",
    read=_read,
)


def _animals() -> Hierarchy:
    parents = {"cat": "mammal", "dog": "mammal", "owl": "bird"}
    parents |= {"mammal": "animal", "bird": "animal"}
    edges = pl.DataFrame({"child": [*parents], "parent": [*parents.values()]})
    return Hierarchy.build(edges, name="animals")


ANIMALS = BuiltInHierarchy("animals", "Three animals", _animals)


def _find(measured: Measurements) -> Outcome:
    """Report nodes that more than half of the instances carry; the cells are named."""
    used = measured.nodes.filter(pl.col("depth") > 0, pl.col("support") * 2 > measured.n_instances)
    findings = [
        Finding(
            check="common_node",
            severity="note",
            nodes=(node,),
            statement="{instances} instances carry this node.",
            evidence={
                "instances": count_of(carried(node), support, measured.n_instances),
                "share": derived(support / measured.n_instances, "instances"),
            },
            curator="Ask whether it says anything.",
            data_user="Ask whether it says anything.",
            touched=support,
        )
        for node, support in used.select("node", "support").iter_rows()
    ]
    return Outcome(measured.n_instances, "instances", tuple(findings))


COMMON_NODE = Check(
    "common_node", "Do most instances carry a node?", _find, columns=(NODE, INSTANCES)
)


class Lengths(Analysis[pl.DataFrame]):
    """How many labels instances have."""

    name: ClassVar[str] = "lengths"

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> pl.DataFrame:
        """Count instances by their numbers of labels."""
        each = np.diff(measured.loaded.dataset.direct.indptr)
        return pl.DataFrame({"labels": each}).group_by("labels").len("instances").sort("labels")

    def kept(self, found: pl.DataFrame, measured: Measurements) -> AnalysisPart:
        """Keep the table; its counts of instances are protected by the rule beside it."""
        return AnalysisPart(
            name=self.name,
            facts={"most": int(found["labels"].max() or 0)},
            totals={"instances": measured.n_instances},
            frames={"by_length": found},
            rules={"by_length": SharedTable(("labels",), (), ("instances",))},
            restricted={},
        )
