"""The chapters on concepts: what was tested, and whether representations hold the concepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.chapters.concepts.accuracies import accuracies
from audit._reports.chapters.concepts.controls import controls
from audit._reports.chapters.concepts.curves import ablation, layers
from audit._reports.chapters.concepts.nodes import Nodes, nodes
from audit._reports.chapters.concepts.tests import Matrix, matrix
from audit._reports.words.concept_words import FACETS_FROM, LEFT_OUT
from audit._reports.words.parts import Chapter, Facts, Figure, Named, Table
from audit._reports.words.shown_numbers import UNDEFINED, Rows, names
from audit._reports.words.table_specs import decimals, numbers, table, texts, written
from audit._reports.words.words import counted, number, percent, words

LISTED = 200
"""Largest number of classes in their table."""


@dataclass(frozen=True, slots=True)
class Concepts:
    """What the report says of concepts; a chapter is None where there is nothing to say.

    Args:
        facts: What was tested.
        by: Sentences on layers, the model's answers and the random network.
        dimensions: The dimensions and how many instances have a concept in each.
        classes: The classes that labels form.
        read: What was read, and what was left out.
        parameters: Limits and sizes by name.
    """

    facts: Facts
    by: tuple[str, ...]
    dimensions: Table
    classes: Table
    read: Table
    parameters: Mapping[str, float]
    matrix: Matrix
    accuracies: Chapter | None
    controls: Chapter | None
    layers: Chapter | None
    ablation: Chapter | None
    nodes: Nodes | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All pictures, in report order."""
        chapters = (self.accuracies, self.nodes, self.layers, self.controls, self.ablation)
        return tuple(figure for one in chapters if one for figure in one.figures)


def concepts(shared: Mapping[str, Any]) -> Concepts | None:
    """The chapters; None for an audit without concepts."""
    tested = shared.get("concepts")
    if tested is None:
        return None
    facts = tested["facts"]
    return Concepts(
        facts=_facts(facts, tested["dimensions"]),
        by=_by(facts),
        dimensions=_dimensions(tested["dimensions"]),
        classes=_classes(tested["classes"]),
        read=_read(facts),
        parameters=facts["parameters"],
        matrix=matrix(tested),
        accuracies=accuracies(tested),
        controls=controls(tested),
        layers=layers(tested),
        ablation=ablation(tested),
        nodes=nodes(tested),
    )


def _facts(facts: Mapping[str, Any], dimensions: Rows) -> Facts:
    layer = facts["layer"]
    features = counted(facts["features"][layer], "feature")
    return (
        ("Instances in tests", f"{number(facts['used'])} of {number(facts['instances'])}"),
        ("Labels", f"{number(facts['labels'])} different"),
        ("Dimensions", names(row["dimension"] for row in dimensions)),
        ("Classes", number(facts["classes"])),
        ("Layer tested", f"{layer}, {features}"),
        ("Layers", number(len(facts["layers"]))),
        ("Splits", number(facts["parameters"]["seeds"])),
        ("Concepts from", names(FACETS_FROM[one] for one in facts["facets_from"].split(" and "))),
    )


def _by(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Layers by name, and what stands for the model's answers and for a random network."""
    every = facts["layers"]
    opening = "The only layer is" if len(every) == 1 else "The layers are, in order,"
    predictions = "" if facts["predicted"] else _elsewhere(facts.get("answers_from"))
    return (
        f"{opening} {names(every)}.",
        f"Once a dimension is removed, the model answers by {facts['predictor']}.{predictions}",
        _network(facts["baseline"]),
    )


def _elsewhere(answers_from: str | None) -> str:
    """A sentence on predictions that the representations come without."""
    instead = "" if answers_from is None else ": nodes are compared with those of the run"
    return f" The file has no predictions{instead}."


def _network(baseline: str) -> str:
    """A sentence on what the random network of the controls is.

    >>> _network("none: no layer is left")
    'The controls have no random network: no layer is left.'
    """
    why = baseline.removeprefix("none: ")
    if why != baseline:
        return f"The controls have no random network: {why}."
    return f"The random network of the controls is {baseline}."


def _dimensions(rows: Rows) -> Table:
    unfit = any(row["reason"] for row in rows)
    return table(
        "concept-dimensions",
        "Dimensions of concepts; chance is the share of the most frequent concept",
        rows,
        texts("Dimension", "dimension"),
        texts("Kind", "kind"),
        numbers("Concepts", "concepts"),
        numbers("Slices", "slices"),
        numbers("With one concept", "instances"),
        numbers("With none", "without_concept"),
        numbers("With several", "several_concepts"),
        decimals("Chance", "chance"),
        texts("Why it is not tested", lambda row: row["reason"] or UNDEFINED) if unfit else None,
    )


def _classes(rows: Rows) -> Table:
    further = len(rows) - LISTED
    left_out = f"; {number(further)} more in result.json" if further > 0 else ""
    return table(
        "concept-classes",
        f"Classes: labels that are described alike{left_out}",
        rows[:LISTED],
        texts("Class", "class"),
        texts("Labels", lambda row: _first(row["labels"])),
        numbers("Instances", "instances"),
    )


def _first(labels: Sequence[str]) -> str:
    more = f" and {number(len(labels) - 8)} more" if len(labels) > 8 else ""
    return f"{', '.join(labels[:8])}{more}"


def _read(facts: Mapping[str, Any]) -> Table:
    left_out = [
        {"what": Named(f"Left out: {words(name, LEFT_OUT)}", name), "instances": instances}
        for name, instances in facts["left_out"].items()
    ]
    return table(
        "concepts-read",
        "Which instances with representations took part in tests",
        [{"what": "Took part", "instances": facts["used"]}, *left_out],
        texts("Instances", "what"),
        numbers("Number", "instances"),
        written("Share", lambda row: _share(row["instances"], facts["instances"])),
        total={"what": "With representations", "instances": facts["instances"]},
    )


def _share(some: Any, every: int) -> str:
    return percent(some / every) if isinstance(some, int) and every else UNDEFINED
