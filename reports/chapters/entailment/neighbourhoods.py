"""Pictures of the graph around the worst findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import unquote

from reports.charts.graph_picture import GraphEdge, State, draw_graph
from reports.words.parts import Figure, Key
from reports.words.shown_numbers import Row, Rows
from reports.words.table_specs import numbers, table, texts
from reports.words.words import counted, listed, shortened

AROUND: Mapping[str, str] = {
    "cycle": "A cycle of {relation}, around “{last}”",
    "contradiction": "Contradictions of {relation}, {last}",
    "transitivity": "Denied conclusions of {relation}, {last}",
    "catch_all": "Around a catch-all of {relation}, “{last}”",
}
"""Titles of pictures by check, of the relation and the last part of a finding’s key."""
WHERE: Mapping[str, str] = {
    "one context": "under one head",
    "across contexts": "across heads",
}
MOST_NAMED = 8
"""Edges of each state that the text alternative names."""
KEY = (
    Key("observed", "valid", "edge"),
    Key("limit", "denied: stated as invalid alone", "denied"),
    Key("model", "stated as valid and as invalid", "both"),
)


def neighbourhoods(entailment: Mapping[str, Any]) -> tuple[Figure, ...]:
    """A picture for each finding with a neighbourhood, in the order of checks.

    There is none where counts are bounds, which do not say how an edge is stated.
    """
    rows = entailment["graph_neighbourhoods"]
    if any(isinstance(row[name], str) for row in rows for name in ("valid", "invalid")):
        return ()
    groups = groupby(rows, lambda row: str(row["finding"]))
    return tuple(
        _figure(place, finding, list(rows)) for place, (finding, rows) in enumerate(groups)
    )


def _figure(place: int, finding: str, rows: Rows) -> Figure:
    drawn = list(dict.fromkeys(row[end] for row in rows for end in ("child", "parent")))
    number_of = {text: spot for spot, text in enumerate(drawn)}
    edges = [
        GraphEdge(number_of[row["child"]], number_of[row["parent"]], _state(row)) for row in rows
    ]
    states = {edge.state for edge in edges}
    kept = [key for key, state in zip(KEY, _STATES, strict=True) if state in states]
    return Figure(
        id=f"around-{place}",
        title=_title(finding),
        drawing=draw_graph(drawn, edges),
        alt=f"Graph of {counted(len(drawn), 'text')}. {' '.join(_edge_sentences(rows))}",
        caption="Arrows lead from an instance to its concept. Drawn are the texts of the finding’s "
        "first cases and those nearest to them, a dozen at most, and all edges among these.",
        key_title="Arrows",
        key=tuple(kept),
        table=table(
            f"around-{place}-numbers",
            f"{_title(finding)}: tuples that state each edge",
            rows,
            texts("Instance", "child"),
            texts("Concept", "parent"),
            numbers("Valid", "valid"),
            numbers("Invalid", "invalid"),
        ),
    )


_STATES: tuple[State, ...] = ("valid", "denied", "both")


def _state(row: Row) -> State:
    """How tuples state an edge."""
    if not row["valid"]:
        return "denied"
    return "both" if row["invalid"] else "valid"


def _title(finding: str) -> str:
    check, relation, *key = map(unquote, finding.split(":"))
    last = key[-1] if key else ""
    title = AROUND.get(check, "{relation}, {last}")
    return title.format(relation=relation, last=shortened(WHERE.get(last, last), 60))


def _edge_sentences(rows: Rows) -> Sequence[str]:
    """The edges of each state in words."""
    called = ("Valid", "Denied", "Valid and denied")
    return [
        f"{name}: {_edges([row for row in rows if _state(row) == state])}."
        for name, state in zip(called, _STATES, strict=True)
        if any(_state(row) == state for row in rows)
    ]


def _edges(rows: Rows) -> str:
    named = [f"{row['child']} to {row['parent']}" for row in rows[:MOST_NAMED]]
    rest = len(rows) - MOST_NAMED
    return listed([*named, f"{rest} more in the table"] if rest > 0 else named)
