"""A plugin with one thing for each door: a layout, a hierarchy, a check and an analysis."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from audit.base import declared
from audit.base.progress import Progress
from audit.checks.analysis import Analysis
from audit.checks.check import Check, Outcome
from audit.data.columns import Layout
from audit.hierarchies.formats.format import BuiltInHierarchy
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Found, Measurements
from audit.results.findings import Finding

PICTURES = Layout(
    name="pictures",
    title="Pictures of animals: one a row",
    source="https://example.org/pictures",
    needs=("picture", "animals"),
    id=("picture",),
    labels={"animals": None},
    sep="//",
)


def _animals() -> Hierarchy:
    parents = {"cat": "mammal", "dog": "mammal", "owl": "bird"}
    parents |= {"mammal": "animal", "bird": "animal"}
    edges = pl.DataFrame({"child": [*parents], "parent": [*parents.values()]})
    return Hierarchy.build(edges, name="animals")


ANIMALS = BuiltInHierarchy("animals", "Three animals", _animals)


def _find(measured: Measurements) -> Outcome:
    """Report nodes that more than half of the instances carry."""
    used = measured.nodes.filter(pl.col("depth") > 0, pl.col("support") * 2 > measured.n_instances)
    findings = [
        Finding(
            check="common_node",
            severity="note",
            nodes=(node,),
            statement="{instances} instances carry this node.",
            evidence={
                "instances": support,
                "of": measured.n_instances,
                "share": support / measured.n_instances,
            },
            curator="Ask whether it says anything.",
            data_user="Ask whether it says anything.",
            touched=support,
        )
        for node, support in used.select("node", "support").iter_rows()
    ]
    return Outcome(measured.n_instances, "instances", tuple(findings))


COMMON_NODE = Check(
    "common_node",
    "Do most instances carry a node?",
    _find,
    nodes="Node",
    evidence=declared.Columns(
        declared.share("share", "Share", of="instances of"),
        declared.count("instances", "Instances"),
        declared.exact("of", reason="all instances audited"),
    ),
)


BY_LENGTH = declared.Table(
    declared.Columns(declared.whole("labels", "Labels"), declared.count("instances", "Instances")),
    title="Instances by their number of labels",
    row="a number of labels",
    listed="instances",
)


class Lengths(Analysis):
    """How many labels instances have."""

    name: ClassVar[str] = "lengths"
    tables: ClassVar = {"by_length": BY_LENGTH}
    facts = declared.Columns(declared.chance("most"))

    def measure(self, measured: Measurements, seed: int, progress: Progress) -> Found:
        """Count instances by their numbers of labels."""
        each = np.diff(measured.loaded.dataset.direct.indptr)
        found = pl.DataFrame({"labels": each}).group_by("labels").len("instances").sort("labels")
        most = max(found["labels"].to_list(), default=0)
        return Found({"by_length": found}, {"most": most})
