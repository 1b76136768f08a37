"""The part of a result on an entailment graph: the dataset, its graph, and predictions on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import polars as pl

from audit.results.parts.part import ReadTable, ResultPart, Tables
from audit.results.shared_tables import SharedTable, shared_rows

PREFIX = "entailment_"
SHOWN = 20
"""Rows of a table of cases that are shared, the first of each relation; a run keeps all."""


class EntailmentTable(NamedTuple):
    """What is shared of a table.

    Args:
        rule: Its columns.
        cases: Whether its rows are cases, of which the first `SHOWN` are shared, of each relation
            where they have one.
    """

    rule: SharedTable
    cases: bool = False


_ANSWERING = ("kind", "model", "trained_on", "relation", "split")
_CASE = ("relation", "instance", "concept")

_SHARE = ("share", "low", "high")

SHARED: Mapping[str, EntailmentTable] = {
    "quality_totals": EntailmentTable(
        SharedTable(("relation", "split"), _SHARE, ("tuples", "valid"))
    ),
    "quality_diversity": EntailmentTable(
        SharedTable(
            ("relation",),
            (
                "unique", "unique_without_penalty", "unique_edges", "unique_edges_without_penalty",
                "social", "social_low", "social_high",
            ),
            ("tuples", "vocabulary", "edges", "heads", "social_heads"),
        )
    ),
    "quality_references": EntailmentTable(
        SharedTable(
            ("relation", "split"), ("references",), ("valid", "instances", "identified")
        )
    ),
    "quality_generation_set": EntailmentTable(
        SharedTable(
            ("relation",),
            (),
            ("valid", "generation", "both", "only_detection", "only_generation", "not_valid"),
        )
    ),
    "quality_consistency": EntailmentTable(
        SharedTable(("relation", "fault"), _SHARE, ("tuples", "faulty"))
    ),
    "quality_shared_keys": EntailmentTable(
        SharedTable(("split", "other"), _SHARE, ("keys", "shared"))
    ),
    "quality_near": EntailmentTable(
        SharedTable(("split", "other"), _SHARE, ("heads", "near", "same_instance"))
    ),
    "quality_agreement": EntailmentTable(
        SharedTable(
            ("relation", "measure", "reason"), ("value", "low", "high"), ("tuples", "votes")
        )
    ),
    "quality_weak": EntailmentTable(
        SharedTable(("relation",), _SHARE, ("tuples", "weak", "ties", "against"))
    ),
    "quality_annotators": EntailmentTable(
        SharedTable(
            ("annotator",),
            (
                "rate", "low", "high", "others", "difference", "difference_low",
                "difference_high", "sensitivity", "specificity", "p_value", "q_value",
            ),
            ("votes", "compared", "agreeing"),
        ),
        cases=True,
    ),
    "graph_relations": EntailmentTable(
        SharedTable(
            ("relation", "deepest", "most_children"),
            ("mean_depth", "mean_children"),
            (
                "tuples", "self_edges", "texts", "edges", "valid_edges", "denied_edges",
                "contradictory_edges", "components", "synonym_components", "texts_on_cycles",
                "chains", "chains_valid", "chains_denied", "chains_open", "redundant_edges",
                "tops", "leaves",
            ),
        )
    ),
    "graph_shape": EntailmentTable(
        SharedTable(("relation", "measure", "value"), (), ("texts",))
    ),
    "graph_components": EntailmentTable(
        SharedTable(
            ("relation", "first", "synonyms", "one_context", "head", "cycle"),
            (),
            ("texts", "edges"),
        ),
        cases=True,
    ),
    "graph_contradictions": EntailmentTable(
        SharedTable((*_CASE, "kind", "one_context", "head"), (), ("valid", "invalid")), cases=True
    ),
    "graph_violations": EntailmentTable(
        SharedTable((*_CASE, "through", "one_context", "head"), (), ("invalid", "chains")),
        cases=True,
    ),
    "graph_redundant": EntailmentTable(
        SharedTable((*_CASE, "through"), (), ("valid",)), cases=True
    ),
    "graph_concepts": EntailmentTable(
        SharedTable(
            ("relation", "concept", "says_nothing", "catch_all"),
            ("share", "share_low", "share_high", "typical", "excess"),
            ("edges", "of", "beside"),
        ),
        cases=True,
    ),
    "graph_twins": EntailmentTable(
        SharedTable(
            ("relation", "first", "second"),
            ("jaccard",),
            ("shared", "first_children", "second_children"),
        ),
        cases=True,
    ),
    "graph_wordnet": EntailmentTable(
        SharedTable(
            ("relation", "stated"),
            ("share", "share_low", "share_high"),
            ("edges", "in_wordnet", "agreeing"),
        )
    ),
    "graph_lint": EntailmentTable(
        SharedTable(("relation", "rule", "severity", "unit", "first"), (), ("n", "of"))
    ),
    "graph_neighbourhoods": EntailmentTable(
        SharedTable(("finding", "relation", "child", "parent"), (), ("valid", "invalid"))
    ),
    "detection_measured": EntailmentTable(
        SharedTable(
            (*_ANSWERING, "measure", "absent"),
            ("value", "low", "high", "expected", "positive_share"),
            ("n", "groups"),
        )
    ),
    "detection_differences": EntailmentTable(
        SharedTable(
            ("model", "trained_on", "relation", "split", "measure", "against"),
            ("difference", "low", "high"),
            ("n",),
        )
    ),
    "detection_reliability": EntailmentTable(
        SharedTable(
            (*_ANSWERING, "from", "to"),
            ("mean_score", "valid_share", "low", "high"),
            ("n",),
        )
    ),
    "detection_consistency": EntailmentTable(
        SharedTable(
            ("kind", "model", "trained_on", "relation"),
            ("closed_share",),
            ("chains", "closed", "broken", "open"),
        )
    ),
    "detection_coverage": EntailmentTable(
        SharedTable(
            ("model", "trained_on", "relation", "split"),
            (),
            ("tuples", "answered", "unparsable", "missing"),
        )
    ),
    "generation_measured": EntailmentTable(
        SharedTable(
            ("model", "relation", "split", "measure"),
            ("value", "low", "high", "references"),
            ("n",),
        )
    ),
    "generation_coverage": EntailmentTable(
        SharedTable(
            ("model", "relation", "split"), (), ("instances", "generated", "blank", "missing")
        )
    ),
    "generation_ratings": EntailmentTable(
        SharedTable(("model", "relation", "level"), _SHARE, ("ratings", "items"))
    ),
    "generation_agreement": EntailmentTable(
        SharedTable(
            ("model", "relation", "measure"),
            ("value", "low", "high"),
            ("items", "ratings", "raters"),
        )
    ),
}  # fmt: skip
"""Every shared table, by what measured it and its name there; `audit.entailment` says what its
columns are."""


@dataclass(frozen=True, eq=False)
class EntailmentPart(ResultPart):
    """What was measured of an entailment graph.

    Args:
        facts: What was read and how, and the number of ``tuples``.
        frames: The tables of `SHARED` that were measured, by name.
        restricted: Tables that are never shared, by name.
    """

    name: ClassVar[str] = "entailment"

    facts: Mapping[str, Any]
    frames: Mapping[str, pl.DataFrame]
    restricted: Mapping[str, pl.DataFrame]

    def tables(self) -> Tables:
        """Each table, and the facts as one row of JSON."""
        facts = pl.DataFrame({"facts": [json.dumps(self.facts)]})
        kept = {**self.frames, **self.restricted, "facts": facts}
        return {PREFIX + name: frame for name, frame in kept.items()}

    def shared(self, min_cell: int) -> Mapping[str, Any]:
        """``entailment``: the facts and every table, of cases the first ones."""
        totals = {"instances": self.facts["tuples"]}
        tables = {
            name: shared_rows(_first(frame, SHARED[name]), SHARED[name].rule, totals, min_cell)
            for name, frame in self.frames.items()
        }
        return {"entailment": {"facts": dict(self.facts), **tables}}

    @classmethod
    def read(cls, table: ReadTable, shared: Mapping[str, Any]) -> Self | None:
        """The part of a run with an entailment graph."""
        if "entailment" not in shared:
            return None
        facts = json.loads(table(PREFIX + "facts").collect().item())
        frames = {
            name: table(PREFIX + name).collect() for name in SHARED if name in shared["entailment"]
        }
        restricted = {name: table(PREFIX + name).collect() for name in facts["restricted"]}
        return cls(facts, frames, restricted)


def _first(frame: pl.DataFrame, table: EntailmentTable) -> pl.DataFrame:
    if not table.cases:
        return frame
    if "relation" not in frame.columns:
        return frame.head(SHOWN)
    return frame.filter(pl.int_range(pl.len()).over("relation") < SHOWN)
