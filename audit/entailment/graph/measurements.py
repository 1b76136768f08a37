"""The tables that the audit of an entailment graph leaves.

An *edge* is an instance and a concept within one relation. It is *valid* if a tuple states it as
valid, and *denied* if tuples state it as invalid alone. Its *context* is the head that it was
judged under; where the instance is the whole head, there is one context for the relation. A
*component* is a strongly connected component of the valid edges with more than one text.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from audit.base.schemas import schema

EDGES = schema(("relation instance concept", pl.String), ("valid invalid heads", pl.Int64))
"""One row per edge, sorted by its first three columns: ``valid`` and ``invalid`` count the tuples
that state it, ``heads`` the head events that it was judged under."""

SUMMARY = schema(
    ("relation", pl.String),
    (
        "tuples self_edges texts edges valid_edges denied_edges contradictory_edges "
        "components synonym_components texts_on_cycles chains chains_valid "
        "chains_denied chains_open redundant_edges tops leaves deepest",
        pl.Int64,
    ),
    ("mean_depth mean_children", pl.Float64),
    ("most_children", pl.Int64),
)
"""One row per relation, in report order. ``self_edges`` counts tuples whose instance is their
concept; they are no edges. ``synonym_components`` are those each of whose edges is valid in both
directions. ``chains`` are a -> b -> c of valid edges with a other than c; a -> c is valid, denied,
or open, which means that nobody judged it. From ``tops`` on the numbers are of the condensation of
the valid edges: ``tops`` have no concept above them, ``leaves`` no instance below;
depth is the longest path from a top; ``mean_children`` is over texts that are no leaves."""

SHAPE = schema(("relation measure", pl.String), ("value texts", pl.Int64))
"""How many texts of the condensation have a ``depth``, how many ``children`` or ``parents``."""

COMPONENTS = schema(
    ("relation first", pl.String),
    ("texts edges", pl.Int64),
    ("synonyms one_context", pl.Boolean),
    ("head", pl.String),
    ("cycle", pl.List(pl.String)),
)
"""One row per component, the largest first. ``first`` is its first text in code-point order.
``synonyms``: each of its edges is valid in both directions. ``one_context``: a cycle that is not of
such edges alone is within one context, and ``head`` is the first head with one, null where the
instance is the head. ``cycle`` is a shortest one that has an edge valid in one direction only,
under one head where there is one; of synonyms, a pair of them."""

CONTRADICTIONS = schema(
    ("relation instance concept kind", pl.String),
    ("one_context", pl.Boolean),
    ("head", pl.String),
    ("valid invalid", pl.Int64),
)
"""Edges with an answer against another. ``kind`` is ``edge`` (stated as valid and as invalid) or
``cycle`` (denied, though valid edges lead in a cycle through both of its texts). ``one_context``:
it is so within one context; ``head`` is the first one, null where the instance is the head."""

VIOLATIONS = schema(
    ("relation instance through concept", pl.String),
    ("chains", pl.Int64),
    ("one_context", pl.Boolean),
    ("head", pl.String),
    ("invalid", pl.Int64),
)
"""Denied edges a -> c with valid a -> b and b -> c. ``chains`` counts the texts b, ``through`` is
the first of them. ``one_context``: all three were judged within one context, whose first ``head``
is named, null where the instance is the head."""

REDUNDANT = schema(("relation instance through concept", pl.String), ("valid", pl.Int64))
"""Valid edges between texts on no cycle beside which a longer path of valid edges, past such texts
alone, leads from the one to the other; ``through`` is the first concept on such a path."""

CONCEPTS = schema(
    ("relation concept", pl.String),
    ("edges of", pl.Int64),
    ("share share_low share_high", pl.Float64),
    ("says_nothing", pl.Boolean),
)
"""Concepts of each relation, those of most valid edges first: ``share`` is theirs of its ``of``
valid edges, with its Wilson interval. ``says_nothing``: its words name nothing, as "thing"
and "activity" do."""

LINT = schema(
    ("relation rule severity", pl.String),
    ("n of", pl.Int64),
    ("unit", pl.String),
    ("first", pl.List(pl.String)),
)
"""What `audit.hierarchies.lint` says about the condensation of each relation's valid edges as a
hierarchy: ``n`` of ``of`` things, and the texts of the first."""

NEIGHBOURHOODS = schema(("finding relation child parent", pl.String), ("valid invalid", pl.Int64))
"""Edges among the texts around the worst findings, a dozen texts each; ``finding`` is the id."""


@dataclass(frozen=True, eq=False)
class GraphMeasurements:
    """The audit of the graph that an entailment dataset states.

    Args:
        members: Columns ``relation, text, first``: the texts of components, by their first one.
    """

    edges: pl.DataFrame
    relations: pl.DataFrame
    shape: pl.DataFrame
    components: pl.DataFrame
    contradictions: pl.DataFrame
    violations: pl.DataFrame
    redundant: pl.DataFrame
    concepts: pl.DataFrame
    lint: pl.DataFrame
    neighbourhoods: pl.DataFrame
    members: pl.DataFrame
