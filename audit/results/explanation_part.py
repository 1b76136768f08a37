"""The part of a result on explanations: whether models decide for the reasons that people give."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import polars as pl

from audit.results.disclosure import DIGITS, shown_in_steps
from audit.results.part import ReadTable, Tables

PREFIX = "explanations_"


class SharedTable(NamedTuple):
    """What is shared of a table.

    Args:
        keys: Columns that say what a row is about.
        values: Columns of numbers, withheld where the first of ``counts`` is small.
        counts: Columns that count instances or examples; the first is the least.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...]
    counts: tuple[str, ...]


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

_TOTALS = {"examples": "examples"}
"""Facts that counts are part of; other counts are part of ``instances``."""
_CHANCES = ("p_t", "p_permutation", "q", "p_value", "q_value", "p")


@dataclass(frozen=True, eq=False)
class ExplanationPart:
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
    nodes: pl.DataFrame
    examples: pl.DataFrame

    def tables(self) -> Tables:
        """Each table, and the facts as one row of JSON."""
        own = {PREFIX + name: frame for name, frame in self.frames.items()}
        facts = pl.DataFrame({"facts": [json.dumps(self.facts)]})
        kept = {"nodes": self.nodes, "examples": self.examples, "facts": facts}
        return own | {PREFIX + name: frame for name, frame in kept.items()}

    def shared(self, min_cell: int) -> Mapping[str, Any]:
        """``explanations``: the facts, every table, and the examples if their text may be shown."""
        tables = {
            name: [_row(row, SHARED[name], self.facts, min_cell) for row in frame.to_dicts()]
            for name, frame in self.frames.items()
        }
        shown = self.facts["show_text"] and min_cell == 1
        examples = [_plain(row) for row in self.examples.to_dicts()] if shown else []
        return {"explanations": {"facts": dict(self.facts), **tables, "examples": examples}}

    @classmethod
    def absent(cls) -> Mapping[str, Any]:
        """Nothing: only audits of explanations have the entry."""
        return {}

    @classmethod
    def read(cls, table: ReadTable, shared: Mapping[str, Any]) -> Self | None:
        """The part of a run with explanations."""
        if "explanations" not in shared:
            return None
        names = [name for name in SHARED if name in shared["explanations"]]
        facts = json.loads(table(PREFIX + "facts").collect().item())
        frames = {name: table(PREFIX + name).collect() for name in names}
        nodes, examples = (table(PREFIX + name).collect() for name in ("nodes", "examples"))
        return cls(facts, frames, nodes, examples)


def _row(
    row: Mapping[str, Any], rule: SharedTable, facts: Mapping[str, Any], min_cell: int
) -> dict[str, Any]:
    small = bool(rule.counts) and (row[rule.counts[0]] or 0) < min_cell
    return {
        **{key: row[key] for key in rule.keys if key in row},
        **{
            name: None if small else _number(name, row[name], min_cell)
            for name in rule.values
            if name in row
        },
        **{
            name: shown_in_steps(row[name], facts[_TOTALS.get(name, "instances")], min_cell)
            for name in rule.counts
        },
    }


def _number(name: str, value: float | None, min_cell: int) -> float | None:
    """A number without the digits from which the counts behind it could be computed."""
    if value is None or not math.isfinite(value):
        return None
    if min_cell <= 1 or value == 0:
        return value
    if name in _CHANCES:
        return float(f"{value:.0e}")
    return round(value, DIGITS)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in row.items()
    }
