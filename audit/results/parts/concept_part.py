"""The part of a result on concepts: whether representations hold those of their labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.results.parts.part import ReadTable, ResultPart, Tables
from audit.results.shared_tables import SharedTable, shared_rows

PREFIX = "concepts_"

_TEST = ("test", "dimension", "seen", "ablation", "probe")

SHARED: Mapping[str, SharedTable] = {
    "tests": SharedTable((*_TEST, "verdict", "interval_verdict", "reason", "parts"), (), ()),
    "parts": SharedTable(
        (*_TEST, "read", "requirement", "verdict", "interval_verdict", "classes", "seeds"),
        (
            "accuracy", "low", "high", "low_90", "high_90", "chance", "auc", "p_above_chance",
            "q_above_chance",
        ),
        ("instances",),
    ),
    "values": SharedTable(
        (*_TEST, "read", "seed", "verdict"), ("accuracy", "chance"), ("instances",)
    ),
    "classes": SharedTable(("class", "labels", "concepts"), (), ("instances",)),
    "dimensions": SharedTable(
        ("dimension", "kind", "concepts", "slices", "reason"),
        ("chance",),
        ("instances", "without_concept", "several_concepts"),
    ),
    "controls": SharedTable(
        ("dimension", "judged", "seed"),
        ("chance", "linear", "auc", "control_task", "selectivity", "nonlinear", "random_network"),
        (),
    ),
    "layer_curves": SharedTable(
        ("layer", "place", "measure", "dimension", "seeds"),
        ("value", "low", "high", "chance"),
        ("instances",),
    ),
    "iterations": SharedTable(
        ("dimension", "ablation", "iteration", "read", "probe", "seed", "removed"),
        ("accuracy", "chance", "variance_kept"),
        (),
    ),
    "nodes": SharedTable(
        (
            "node", "title", "depth", "parent", "siblings", "sibling", "family", "state",
            "best_layer", "folded_into",
        ),
        (
            "readable", "readable_low", "readable_high", "absent_p", "absent_q", "separable",
            "separable_low", "separable_high", "entangled_p", "entangled_q", "probed", "predicted",
            "unused", "unused_low", "unused_high", "unused_p", "unused_q", "best_separable",
        ),
        ("instances", "sibling_instances", "taken_for_sibling", "sibling_taken_for_it"),
    ),
}  # fmt: skip
"""Every shared table, by name; `audit.concepts.measurements` says what its columns are."""


@dataclass(frozen=True, eq=False)
class ConceptPart(ResultPart):
    """What was measured of concepts.

    Args:
        facts: What was tested and how, and the number of ``instances``.
        frames: The tables of `SHARED`, by name.
        points: Accuracies by seed and class; never shared.
    """

    name: ClassVar[str] = "concepts"

    facts: Mapping[str, Any]
    frames: Mapping[str, pl.DataFrame]
    points: pl.DataFrame

    def tables(self) -> Tables:
        """Each table, and the facts as one row of JSON."""
        facts = pl.DataFrame({"facts": [json.dumps(self.facts)]})
        kept = {**self.frames, "points": self.points, "facts": facts}
        return {PREFIX + name: frame for name, frame in kept.items()}

    def shared(self, min_cell: int) -> Mapping[str, Any]:
        """``concepts``: the facts and every table."""
        totals = {"instances": self.facts["instances"]}
        tables = {
            name: shared_rows(frame, SHARED[name], totals, min_cell)
            for name, frame in self.frames.items()
        }
        return {"concepts": {"facts": dict(self.facts), **tables}}

    @classmethod
    def read(cls, table: ReadTable, shared: Mapping[str, Any]) -> Self | None:
        """The part of a run with concepts."""
        if "concepts" not in shared:
            return None
        facts = json.loads(table(PREFIX + "facts").collect().item())
        frames = {name: table(PREFIX + name).collect() for name in SHARED}
        return cls(facts, frames, table(PREFIX + "points").collect())
