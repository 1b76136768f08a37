"""The chapter on the graph that tuples state: its size and shape, and what is odd about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reports.chapters.entailment.by_relation import by_relation, first_rows, relations
from reports.chapters.shown_numbers import (
    UNDEFINED,
    Chapter,
    Row,
    Rows,
    chapter,
    count,
    plain,
    ranged,
    share,
)
from reports.words.entailment_words import RULES, STATED
from reports.words.parts import Badge, Table, column
from reports.words.words import SEVERITY, TONE, WITHHELD, number, words

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
MEASURES: Mapping[str, str] = {
    "depth": "Depth",
    "children": "Instances",
    "parents": "Concepts",
}
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
            _wordnet(rows("wordnet")),
        ),
    )


def cases(entailment: Mapping[str, Any]) -> tuple[Table, ...]:
    """The first cases of each fault, and the concepts with most edges."""
    rows = _in_order(entailment)
    tables = (
        _components(rows("components")),
        _contradictions(rows("contradictions")),
        _violations(rows("violations")),
        _redundant(rows("redundant")),
        _twins(rows("twins")),
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
        ("What",),
        (
            ((called,), [{"relation": row["relation"], "at": (row, name)} for row in rows])
            for name, called in NUMBERS
        ),
        lambda cell: _number(*cell["at"]),
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
        ("What", "How many"),
        (
            ((called, _class(low, high)), _texts(rows, measure, low, high, order))
            for measure, called in MEASURES.items()
            for low, high in zip(STEPS, (*STEPS[1:], None), strict=True)
            if any(row["measure"] == measure and _within(row, low, high) for row in rows)
        ),
        lambda cell: str(cell["texts"]),
    )


def _class(low: int, high: int | None) -> str:
    if high is None:
        return f"{number(low)} or more"
    return number(low) if high == low + 1 else f"{number(low)} to {number(high - 1)}"


def _within(row: Row, low: int, high: int | None) -> bool:
    return bool(low <= row["value"] and (high is None or row["value"] < high))


def _texts(
    rows: Rows, measure: str, low: int, high: int | None, order: Sequence[str]
) -> list[dict[str, str]]:
    """The number of texts of each relation in a class; withheld if a part of it is."""
    own = [row for row in rows if row["measure"] == measure and _within(row, low, high)]
    lines = []
    for relation in order:
        counts = [row["texts"] for row in own if row["relation"] == relation]
        exact = all(isinstance(one, int) for one in counts)
        alone = number(counts[0]) if len(counts) == 1 else WITHHELD
        lines.append({"relation": relation, "texts": number(sum(counts)) if exact else alone})
    return lines


def _lint(rows: Rows) -> Table | None:
    if not rows:
        return None
    return Table(
        id="entailment-lint",
        caption="What audit lint says about the valid edges of each relation as a hierarchy, with "
        "the texts of a component taken as one",
        columns=column(
            "Relation", "What", "Severity", "How many", "Of", "Counted", "First",
            numeric="   nn",
        ),
        rows=tuple(
            (
                row["relation"],
                words(row["rule"], RULES),
                Badge(SEVERITY[row["severity"]], TONE[row["severity"]]),
                number(row["n"]),
                number(row["of"]),
                row["unit"],
                _listed(row["first"]),
            )
            for row in rows
        ),
    )  # fmt: skip


def _listed(texts: Sequence[str] | None) -> str:
    return ", ".join(_quoted(text) for text in texts or ())


def _quoted(text: str) -> str:
    return f"“{text}”"


def _wordnet(rows: Rows) -> Table | None:
    if not rows:
        return None
    return Table(
        id="entailment-wordnet",
        caption="Agreement with WordNet: of the edges whose texts are both nouns of WordNet, in "
        "how many some sense of the concept is one of the instance or above it. Denied edges "
        "should have few",
        columns=column(
            "Relation",
            "Edges",
            "How many",
            "Both in WordNet",
            "Agreeing",
            "Share",
            numeric="  nnnn",
        ),
        rows=tuple(
            (
                row["relation"],
                words(row["stated"], STATED),
                count(row, "edges"),
                count(row, "in_wordnet"),
                count(row, "agreeing"),
                ranged(share(row), row, "share_low", "share_high"),
            )
            for row in rows
        ),
    )


def _head_of(row: Row) -> str:
    """Under which head a case stands; a dash where it needs several, or has none."""
    if not row["one_context"]:
        return "different heads"
    return UNDEFINED if row["head"] is None else str(row["head"])


def _components(rows: Rows) -> Table | None:
    return _cases(
        "components",
        "Texts that entail each other",
        column("Relation", "Shortest cycle", "Kind", "Under", "Texts", "Edges", numeric="    nn"),
        rows,
        lambda row: (
            row["relation"],
            " → ".join(row["cycle"] or ()),
            "synonyms" if row["synonyms"] else "cycle",
            UNDEFINED if row["synonyms"] else _head_of(row),
            number(row["texts"]),
            number(row["edges"]),
        ),
    )


def _contradictions(rows: Rows) -> Table | None:
    kinds = {"edge": "stated both ways", "cycle": "denied on a cycle"}
    return _cases(
        "contradictions",
        "Edges with an answer against another, by tuples that state them",
        column(
            "Relation", "Instance", "Concept", "How", "Under", "Valid", "Invalid", numeric="     nn"
        ),
        rows,
        lambda row: (
            *(row[name] for name in ("relation", "instance", "concept")),
            kinds.get(row["kind"], row["kind"]),
            _head_of(row),
            number(row["valid"]),
            number(row["invalid"]),
        ),
    )


def _violations(rows: Rows) -> Table | None:
    return _cases(
        "violations",
        "Denied edges that follow from two valid ones",
        column(
            "Relation", "Instance", "First through", "Concept", "Under", "Ways", "Invalid tuples",
            numeric="     nn",
        ),
        rows,
        lambda row: (
            *(row[name] for name in ("relation", "instance", "through", "concept")),
            _head_of(row),
            number(row["chains"]),
            number(row["invalid"]),
        ),
    )  # fmt: skip


def _redundant(rows: Rows) -> Table | None:
    return _cases(
        "redundant",
        "Valid edges beside a longer path of valid edges",
        column("Relation", "Instance", "First through", "Concept", "Valid tuples", numeric="    n"),
        rows,
        lambda row: (
            *(row[name] for name in ("relation", "instance", "through", "concept")),
            number(row["valid"]),
        ),
    )


def _twins(rows: Rows) -> Table | None:
    return _cases(
        "twins",
        "Siblings with nearly the same instances",
        column(
            "Relation", "First", "Second", "In common", "Of the first", "Of the second", "Jaccard",
            numeric="   nnnn",
        ),
        rows,
        lambda row: (
            *(row[name] for name in ("relation", "first", "second")),
            *(count(row, name) for name in ("shared", "first_children", "second_children")),
            plain(row, "jaccard", 2),
        ),
    )  # fmt: skip


def _concepts(rows: Rows) -> Table | None:
    seen: dict[str, int] = {}
    kept = []
    for row in rows:
        place = seen[row["relation"]] = seen.get(row["relation"], 0) + 1
        if place <= LISTED or row["catch_all"]:
            kept.append(row)
    return _cases(
        "concepts",
        "Concepts with the most valid edges. The ratio compares them with the other concepts of "
        "the same instances",
        column(
            "Relation", "Concept", "Valid edges", "Of", "Share", "The others have, on average",
            "Times as many", "Remark", numeric="  nnnnn",
        ),
        kept,
        lambda row: (
            row["relation"],
            row["concept"],
            count(row, "edges"),
            count(row, "of"),
            ranged(share(row), row, "share_low", "share_high"),
            plain(row, "typical", 2),
            plain(row, "excess", 2),
            _remark(row),
        ),
    )  # fmt: skip


def _remark(row: Row) -> str:
    remarks = ("a catch-all" * row["catch_all"], "names nothing" * row["says_nothing"])
    return ", ".join(filter(None, remarks)) or UNDEFINED


def _cases(name: str, caption: str, columns: Any, rows: Rows, cells: Any) -> Table | None:
    if not rows:
        return None
    return Table(
        id=f"entailment-{name}",
        caption=first_rows(caption, f"graph_{name}"),
        columns=columns,
        rows=tuple(cells(row) for row in rows),
    )
