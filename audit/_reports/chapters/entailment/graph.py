"""The chapter on the graph that tuples state: its shape, what is odd about it, and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import unquote

from audit._reports.chapters.entailment.by_relation import by_relation, first_rows, relations
from audit._reports.charts.graph_picture import GraphEdge, State, draw_graph
from audit._reports.words.entailment_words import RULES
from audit._reports.words.parts import Chapter, Figure, Key, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, plain
from audit._reports.words.table_specs import (
    Spec,
    badges,
    interval_below,
    numbers,
    optional_table,
    shares,
    table,
    texts,
)
from audit._reports.words.words import SEVERITY, UNDEFINED, counted, listed, number, shortened
from audit.results.printed import Count

AROUND: Mapping[str, str] = {
    "cycle": "A cycle of {relation}, around “{last}”",
    "contradiction": "Contradictions of {relation}, {last}",
    "transitivity": "Denied conclusions of {relation}, {last}",
}
"""Titles of pictures by check, of the relation and the last part of a finding’s key."""
WHERE: Mapping[str, str] = {"one context": "under one head", "across contexts": "across heads"}
MOST_NAMED = 8
"""Edges of each state that the text alternative names."""
KEY = (
    Key("observed", "valid", "edge"),
    Key("limit", "denied: stated as invalid alone", "denied"),
    Key("model", "stated as valid and as invalid", "both"),
)


_STATES: tuple[State, ...] = ("valid", "denied", "both")


def neighbourhoods(entailment: Mapping[str, Any]) -> tuple[Figure, ...]:
    """A picture for each finding with a neighbourhood, in the order of checks.

    There is none where counts are rounded, which do not say how an edge is stated.
    """
    rows = entailment["graph_neighbourhoods"]
    if any(isinstance(row[name], Count) for row in rows for name in ("valid", "invalid")):
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


NUMBERS = (
    ("tuples", "Tuples"),
    ("self_edges", "Of them with an instance equal to the concept: no edge"),
    ("texts", "Texts"),
    ("edges", "Edges"),
    ("valid_edges", "Of them valid"),
    ("denied_edges", "Of them denied: stated as invalid alone"),
    ("contradictory_edges", "Of them stated as valid and as invalid"),
    ("components", "Components: texts that entail each other in cycles"),
    ("synonym_components", "Of them synonyms: each edge is valid in both directions"),
    ("texts_on_cycles", "Texts in components"),
    ("chains", "Chains of two valid edges, a → b → c"),
    ("chains_valid", "Of them with a valid a → c"),
    ("chains_denied", "Of them with a denied a → c"),
    ("chains_open", "Of them open: nobody judged a → c"),
    ("redundant_edges", "Valid edges that follow from others"),
    ("tops", "Tops: texts without a concept"),
    ("leaves", "Leaves: texts without an instance"),
    ("deepest", "Depth: the longest path from a top"),
    ("mean_depth", "Depth, mean over texts"),
    ("mean_children", "Instances of a text that is not a leaf, mean"),
    ("most_children", "Instances of a text, most"),
)
"""Numbers of a relation, each with its words."""
_MEANS = ("mean_depth", "mean_children")
STEPS = (0, 1, 2, 3, 4, 5, 10, 20, 50, 100, 1_000)
"""Where the classes of numbers of texts begin."""
MEASURES: Mapping[str, str] = {"depth": "Depth", "children": "Instances", "parents": "Concepts"}
"""What is counted of texts."""
LISTED = 5
"""Concepts of each relation in their table."""


def graph(entailment: Mapping[str, Any]) -> Chapter | None:
    """The numbers of each relation, and what the graph holds that it should not."""
    rows = _in_order(entailment)
    return chapter(
        (),
        (
            _numbers(entailment["graph_relations"]),
            _shape(entailment["graph_shape"], relations(entailment["graph_relations"])),
            _lint(rows("lint")),
        ),
    )


def cases(entailment: Mapping[str, Any]) -> tuple[Table, ...]:
    """The first cases of each fault, and the concepts with most edges."""
    rows = _in_order(entailment)
    tables = (
        _contradictions(rows("contradictions")),
        _violations(rows("violations")),
        _redundant(rows("redundant")),
        _concepts(rows("concepts")),
    )
    return tuple(table for table in tables if table is not None)


def _in_order(entailment: Mapping[str, Any]) -> Callable[[str], Rows]:
    """The rows of a table of the graph, by relation in report order."""
    places = {name: n for n, name in enumerate(relations(entailment["graph_relations"]))}
    return lambda name: sorted(
        entailment[f"graph_{name}"], key=lambda row: places.get(row["relation"], len(places))
    )


def _numbers(rows: Rows) -> Table | None:
    return by_relation(
        "entailment-graph",
        "The graph of each relation: every text is a node, an instance and its concept are an edge",
        [
            {"what": what, "relation": row["relation"], "number": _number(row, name)}
            for name, what in NUMBERS
            for row in rows
        ],
        ["what"],
        [texts("What", "what")],
        itemgetter("number"),
    )


def _number(row: Row, name: str) -> str:
    if name in _MEANS:
        return plain(row, name, 2)
    return UNDEFINED if row[name] is None else number(row[name])


def _shape(rows: Rows, order: Sequence[str]) -> Table | None:
    return by_relation(
        "entailment-shape",
        "Texts by depth, and by how many instances and concepts they have, the texts of a "
        "component being one",
        list(_classes(rows, order)),
        ["what", "class"],
        [texts("What", "what"), texts("How many", "class")],
        itemgetter("texts"),
    )


def _classes(rows: Rows, order: Sequence[str]) -> Iterator[dict[str, str]]:
    """The number of texts of each relation in each class that has some."""
    for measure, what in MEASURES.items():
        for low, high in zip(STEPS, (*STEPS[1:], None), strict=True):
            own = [row for row in rows if row["measure"] == measure and _within(row, low, high)]
            class_ = {"what": what, "class": _class(low, high)}
            for relation in order if own else ():
                counts = [row["texts"] for row in own if row["relation"] == relation]
                yield {**class_, "relation": relation, "texts": number(sum(counts))}


def _class(low: int, high: int | None) -> str:
    if high is None:
        return f"{number(low)} or more"
    return number(low) if high == low + 1 else f"{number(low)} to {number(high - 1)}"


def _within(row: Row, low: int, high: int | None) -> bool:
    return bool(low <= row["value"] and (high is None or row["value"] < high))


def _lint(rows: Rows) -> Table | None:
    return optional_table(
        "entailment-lint",
        "What audit lint says about the valid edges of each relation as a hierarchy, with the "
        "texts of a component taken as one",
        rows,
        texts("Relation", "relation"),
        texts("What", "rule", RULES),
        badges("Severity", "severity", SEVERITY),
        numbers("How many", "n"),
        numbers("Of", "of"),
        texts("Counted", "unit"),
        texts("First", lambda row: ", ".join(f"“{text}”" for text in row["first"] or ())),
    )


def _head_of(row: Row) -> str:
    """Under which head a case stands; a dash where it needs several, or has none."""
    if not row["one_context"]:
        return "different heads"
    return UNDEFINED if row["head"] is None else str(row["head"])


def _contradictions(rows: Rows) -> Table | None:
    return _cases(
        "contradictions",
        "Edges whose answers contradict each other, by tuples that state them",
        rows,
        texts("Instance", "instance"),
        texts("Concept", "concept"),
        texts("How", "kind", {"edge": "stated both ways", "cycle": "denied on a cycle"}),
        texts("Under", _head_of),
        numbers("Valid", "valid"),
        numbers("Invalid", "invalid"),
    )


def _violations(rows: Rows) -> Table | None:
    return _cases(
        "violations",
        "Denied edges that follow from two valid ones",
        rows,
        texts("Instance", "instance"),
        texts("First through", "through"),
        texts("Concept", "concept"),
        texts("Under", _head_of),
        numbers("Ways", "chains"),
        numbers("Invalid tuples", "invalid"),
    )


def _redundant(rows: Rows) -> Table | None:
    return _cases(
        "redundant",
        "Valid edges beside a longer path of valid edges",
        rows,
        texts("Instance", "instance"),
        texts("First through", "through"),
        texts("Concept", "concept"),
        numbers("Valid tuples", "valid"),
    )


def _concepts(rows: Rows) -> Table | None:
    seen: Counter[str] = Counter()
    kept = []
    for row in rows:
        seen[row["relation"]] += 1
        if seen[row["relation"]] <= LISTED:
            kept.append(row)
    return _cases(
        "concepts",
        "Concepts with the most valid edges",
        kept,
        texts("Concept", "concept"),
        numbers("Valid edges", "edges"),
        numbers("Of", "of"),
        interval_below(shares("Share"), "share_low", "share_high"),
        texts("Remark", _remark),
    )


def _remark(row: Row) -> str:
    return "names nothing in particular" if row["says_nothing"] else UNDEFINED


def _cases(name: str, caption: str, rows: Rows, *columns: Spec) -> Table | None:
    return optional_table(
        f"entailment-{name}",
        first_rows(caption, f"graph_{name}"),
        rows,
        texts("Relation", "relation"),
        *columns,
    )
