"""The chapters of each analysis, and plain tables for one that no chapter is written for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from audit._reports.chapters.concepts.tests import tested_in_words
from audit._reports.words.entailment_words import EVIDENCE as OF_TUPLES
from audit._reports.words.part_tables import (
    CONCEPTS,
    ENTAILMENT,
    EXPLANATIONS,
    PREFERENCE,
    Groups,
    heading,
)
from audit._reports.words.parts import Cell, Codes, Facts, Figure, Table
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import Spec, table
from audit._reports.words.words import UNDEFINED, decimal, number, percent, precise
from audit.results.parts import OTHERS

LISTED = 200
"""Largest number of rows of a table."""


@dataclass(frozen=True, slots=True)
class PlainAnalysis:
    """What the report says of an analysis that is not known here."""

    facts: Facts
    tables: tuple[Table, ...]
    read: Table | None = None
    figures: tuple[Figure, ...] = ()


def plain_analysis(name: str, entry: Mapping[str, Any]) -> PlainAnalysis:
    """The chapter on an entry of ``result.json``."""
    rest = {one: rows for one, rows in entry.items() if one != "facts" and rows}
    return PlainAnalysis(
        facts=tuple(_facts(entry["facts"])),
        tables=tuple(_table(f"{name}-{one}", one, rows) for one, rows in rest.items()),
    )


def _facts(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        called = f"{above}, {heading(name).lower()}" if above else heading(name)
        if isinstance(value, Mapping):
            yield from _facts(value, called)
        else:
            yield called, _text(value)


def _table(id: str, name: str, rows: Rows) -> Table:
    further = len(rows) - LISTED
    left_out = f"; {number(further)} more in result.json" if further > 0 else ""
    return table(
        id,
        f"{heading(name)}{left_out}",
        rows[:LISTED],
        *(_column(rows, one) for one in rows[0]),
    )


def _column(rows: Rows, name: str) -> Spec:
    """The column of a field; it is of numbers where one of the rows has a number there."""
    numeric = any(
        isinstance(row[name], int | float) and not isinstance(row[name], bool) for row in rows
    )
    return Spec(heading(name), lambda row: _cell(row[name]), numeric)


def _cell(value: Any) -> Cell:
    return Codes(tuple(map(_text, value))) if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    match value:
        case None:
            return UNDEFINED
        case bool():
            return "yes" if value else "no"
        case float():
            return precise(value)
        case int():
            return number(value)
        case list():
            return ", ".join(map(_text, value))
    return str(value)


def preference(shared: Mapping[str, Any]) -> PlainAnalysis | None:
    """The chapter on preference; None without it."""
    entry = shared.get("preference")
    return None if entry is None else plain_analysis("preference", entry)


def preferred_in_words(shared: Mapping[str, Any]) -> str:
    """The shares of the metrics, in a sentence."""
    rows = shared.get("preference", {"measured": ()})["measured"]
    told = [f"{row['metric']} {percent(row['value'])}" for row in rows if row["value"] is not None]
    return f"Of the questions that count, the first side is preferred: {', '.join(told)}." * bool(
        told
    )


class Heading(NamedTuple):
    """A section on an analysis; ``chapter`` is the attribute of its chapters that it shows."""

    id: str
    title: str
    chapter: str = ""


@dataclass(frozen=True, slots=True)
class LabelsAlone:
    """How labels are called that came with something else: no release stands beside them.

    Args:
        instance: What an instance is.
        labels: What their labels are; empty where each has one, which is no news.
        title: Title of a report without one of its own.
        row: What a row of the ledger is.
        identity: Facts on the audit that are shown with those of the analysis.
    """

    instance: str
    labels: str
    title: str
    row: str
    identity: tuple[str, ...] = ("Hierarchy", "Normaliser", "Policy", "Counts")

    def ledger_facts(self, ledger: Mapping[str, Any]) -> Facts:
        """Facts on the labels, in place of those on a release."""
        instances = (f"{self.instance.capitalize()}s", number(ledger["instances"]))
        if not self.labels:
            return (instances,)
        each = f"{self.labels.capitalize()} per instance"
        return (
            instances,
            ("Without a label that is a node", number(ledger["instances_without_labels"])),
            (f"{each}, mean", decimal(ledger["labels_per_instance"]["mean"], 1)),
        )


@dataclass(frozen=True)
class Chapters:
    """How an analysis is shown.

    Args:
        name: The analysis.
        build: Makes the chapters of a shared view; None for one without the analysis.
        sections: The sections of the report, in order.
        format: Format of data that are its labels alone.
        alone: How these are called.
        tables: Its tables in words.
        record: What a row of its tables with an id is about, if that has a page of its own; empty
            where the ids are of instances.
        node: Column of its tables that says which node of the hierarchy a row is about.
        evidence: Names of evidence of its checks, in words.
        sentence: A further sentence of the verdict on a shared view; empty without one.
    """

    name: str
    build: Callable[[Mapping[str, Any]], Any]
    sections: tuple[Heading, ...]
    format: str
    alone: LabelsAlone
    tables: Groups
    record: str = ""
    node: str = "node"
    evidence: Mapping[str, str] = field(default_factory=dict)
    sentence: Callable[[Mapping[str, Any]], str] = lambda shared: ""


def _of_module(name: str) -> Callable[[Mapping[str, Any]], Any]:
    """What makes the chapters of an analysis; its modules are loaded for audits that have it."""

    def build(shared: Mapping[str, Any]) -> Any:
        if name not in shared:
            return None
        module = import_module(f"audit._reports.chapters.{name}.{name}")
        return getattr(module, name)(shared)

    return build


CHAPTERS = (
    Chapters(
        "explanations",
        _of_module("explanations"),
        (
            Heading("explained", "What was explained"),
            Heading("reasons", "Do the reasons align?", "reasons"),
            Heading("where", "Where the reasons differ", "where"),
            Heading("agreement", "Do the methods agree?", "agreement"),
            Heading("against", "Against the evidence", "evidence"),
        ),
        "attributions",
        LabelsAlone(
            "explained instance",
            "explained labels",
            "Explanations of labels",
            "A row is one explained label of one instance, counted once however many methods, "
            "models and runs explain it.",
        ),
        EXPLANATIONS,
    ),
    Chapters(
        "concepts",
        _of_module("concepts"),
        (
            Heading("tested", "What was tested"),
            Heading("matrix", "Does the model have the concepts?", "matrix"),
            Heading("accuracies", "What the verdicts rest on", "accuracies"),
            Heading("nodes", "Node by node", "nodes"),
            Heading("layers", "Layer by layer", "layers"),
            Heading("controls", "Controls beside the probes", "controls"),
            Heading("ablation", "What further ablation removes", "ablation"),
        ),
        "representations",
        LabelsAlone(
            "tested instance",
            "tested labels",
            "Concepts in representations",
            "A row is one label of one instance that has representations.",
        ),
        CONCEPTS,
        sentence=tested_in_words,
    ),
    Chapters(
        "entailment",
        _of_module("entailment"),
        (
            Heading("tuples", "What was read"),
            Heading("around", "The graph around the findings", "around"),
            Heading("dataset", "The dataset", "dataset"),
            Heading("votes", "Votes and annotators", "votes"),
            Heading("graph", "The graph", "graph"),
            Heading("detection", "Separating valid from invalid", "detection"),
            Heading("generation", "Generated concepts", "generation"),
        ),
        "entailment",
        LabelsAlone(
            "tuple",
            "",
            "Entailment graph",
            "A row is one record of a tuple; its label is the relation.",
            ("Policy", "Counts"),
        ),
        ENTAILMENT,
        record="tuple",
        node="relation",
        evidence=OF_TUPLES,
    ),
    Chapters(
        "preference",
        preference,
        (Heading("preferred", "Which answers the model prefers"),),
        "questions",
        LabelsAlone(
            "question",
            "",
            "Preference of a language model",
            "A row is one question; its label is the specific answer.",
            ("Policy", "Counts"),
        ),
        PREFERENCE,
        node="answer",
        sentence=preferred_in_words,
    ),
)
"""By the names of analyses; one that is not among them is shown with plain tables."""
OF_NAME: Mapping[str, Chapters] = {one.name: one for one in CHAPTERS}


@dataclass(frozen=True, slots=True)
class Analysed:
    """An analysis of a report with what is said of it, `PlainAnalysis` if it is not known here."""

    name: str
    chapters: Any

    @property
    def known(self) -> bool:
        """Whether there are chapters written for it."""
        return self.name in OF_NAME

    @property
    def sections(self) -> tuple[Heading, ...]:
        """Those of its sections that have something to show."""
        if not self.known:
            return (Heading(f"{OTHERS}-{self.name}", heading(self.name)),)
        every = OF_NAME[self.name].sections
        return tuple(one for one in every if not one.chapter or getattr(self.chapters, one.chapter))


def analysed(shared: Mapping[str, Any]) -> tuple[Analysed, ...]:
    """What is said of each analysis of a shared view, in report order."""
    built = ((one.name, one.build(shared)) for one in CHAPTERS)
    known = (Analysed(name, chapters) for name, chapters in built if chapters is not None)
    others = shared.get(OTHERS, {}).items()
    return (*known, *(Analysed(name, plain_analysis(name, entry)) for name, entry in others))


def shown(shared: Mapping[str, Any]) -> Iterator[Chapters]:
    """How the known analyses of a shared view are shown."""
    return (one for one in CHAPTERS if one.name in shared)


def labels_alone(shared: Mapping[str, Any]) -> LabelsAlone | None:
    """How labels are called that came with an analysis and are all the data; else None."""
    format = shared["identity"]["data"]["format"]
    return next((one.alone for one in CHAPTERS if one.format == format), None)
