"""The part of a result on explanations: whether models decide for the reasons that people give."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import polars as pl

from audit.results.explanation_metrics import explanation_metrics
from audit.results.parts.part import ReadTable, ResultPart, Tables
from audit.results.shared_tables import SharedTable, shared_rows

PREFIX = "explanations_"


_COMPARED = ("model", "first", "second", "together", "methods", "rule", "k")
_AGREEMENT = (
    "agreement", "low", "high", "chance_sizes", "chance_permuted", "above_chance", "above_low",
    "above_high", "corrected_sizes", "corrected_permuted",
)  # fmt: skip

SHARED: Mapping[str, SharedTable] = {
    "alignment": SharedTable(
        ("method", "model", "oracle", "subset", "absent", "family"),
        (
            "delta_a", "low", "high", "correlation", "delta_a_zeros", "p_t", "p_permutation", "q",
            "undefined_share",
        ),
        ("clusters", "examples"),
    ),
    "oracles": SharedTable(
        ("method", "oracle", "other"),
        ("spearman", "pearson", "mean_spearman", "low", "high"),
        ("examples",),
    ),
    "accuracy": SharedTable(
        ("method", "oracle", "subset", "n", "models", "absent"), ("r", "low", "high", "p"), ()
    ),
    "agreement": SharedTable(
        _COMPARED, _AGREEMENT, ("n",)
    ),
    "lengths": SharedTable(
        ("tokens_from", "tokens_to", *_COMPARED), _AGREEMENT, ("n",)
    ),
    "differences": SharedTable(
        ("model", "first", "second", "k"),
        ("dynamic", "fixed", "difference", "low", "high"),
        ("n",),
    ),
    "gains": SharedTable(("model", "method", "pairs", "k"), ("gain", "low", "high"), ("n",)),
    "chosen": SharedTable(
        ("model", "method", "k"),
        ("tokens", "peaks", "low", "high", "sd", "permuted_peaks", "tied", "constant"),
        ("n",),
    ),
    "runs": SharedTable(
        ("model", "seed", "median"), ("difference", "low", "high", "per_token"), ("instances",)
    ),
    "plausibility": SharedTable(
        ("method", "model", "metric"), ("value", "low", "high", "chance"), ("n",)
    ),
    "faithfulness": SharedTable(
        ("method", "model", "metric"),
        ("value", "low", "high", "random", "above_random", "above_low", "above_high"),
        ("n",),
    ),
    "randomised": SharedTable(
        ("method", "model"),
        (
            "correlation", "low", "high", "absolute_correlation", "absolute_low", "absolute_high",
        ),
        ("n",),
    ),
    "models": SharedTable(
        ("method", "oracle", "model", "reference", "warnings", "absent"),
        ("estimate", "error", "low", "high", "p", "cov_re", "residual_variance"),
        ("examples",),
    ),
    "branches": SharedTable(
        ("node", "title", "depth", "model", "method", "measure", "family"),
        (
            "mean", "low", "high", "rest", "difference", "difference_low", "difference_high",
            "smallest", "p_value", "q_value",
        ),
        ("instances", "examples"),
    ),
}  # fmt: skip
"""Every table of explanations, by name."""


@dataclass(frozen=True, eq=False)
class ExplanationPart(ResultPart):
    """What was measured of explanations.

    Args:
        facts: How it was measured, and totals: ``instances`` and ``examples`` that are explained
            among them.
        frames: The tables by name, those of `SHARED` that there are.
        nodes: Every measure by node, columns of `audit.explanations.node_results`; never shared.
        examples: The examples that are most and least aligned, with their tokens, scores and marks:
            columns of `audit.explanations.shown_examples`; never shared without ``show_text``.
    """

    name: ClassVar[str] = "explanations"

    facts: Mapping[str, Any]
    frames: Mapping[str, pl.DataFrame]
    nodes: pl.DataFrame | pl.LazyFrame
    examples: pl.DataFrame

    def tables(self) -> Tables:
        """Each table, and the facts as one row of JSON."""
        own = {PREFIX + name: frame for name, frame in self.frames.items()}
        facts = pl.DataFrame({"facts": [json.dumps(self.facts)]})
        kept = {"nodes": self.nodes, "examples": self.examples, "facts": facts}
        return own | {PREFIX + name: frame for name, frame in kept.items()}

    def shared(self, min_cell: int) -> Mapping[str, Any]:
        """``explanations``: the facts, every table, and the examples if their text may be shown.

        Beside them ``metrics``, the headline numbers again.
        """
        totals = {"instances": self.facts["instances"], "examples": self.facts["examples"]}
        tables = {
            name: shared_rows(frame, SHARED[name], totals, min_cell)
            for name, frame in self.frames.items()
        }
        shown = self.facts["show_text"] and min_cell == 1
        examples = [_plain(row) for row in self.examples.to_dicts()] if shown else []
        return {
            "metrics": explanation_metrics(tables, self.facts["k"]),
            "explanations": {"facts": dict(self.facts), **tables, "examples": examples},
        }

    @classmethod
    def read(cls, table: ReadTable, shared: Mapping[str, Any]) -> Self | None:
        """The part of a run with explanations."""
        if "explanations" not in shared:
            return None
        names = [name for name in SHARED if name in shared["explanations"]]
        facts = json.loads(table(PREFIX + "facts").collect().item())
        frames = {name: table(PREFIX + name).collect() for name in names}
        examples = table(PREFIX + "examples").collect()
        return cls(facts, frames, table(PREFIX + "nodes"), examples)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in row.items()
    }
