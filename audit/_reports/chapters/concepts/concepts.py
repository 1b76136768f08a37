"""The chapters on concepts: what was tested, and the controls that accuracies are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.chapters.concepts.accuracies import accuracies
from audit._reports.chapters.concepts.curves import ablation, layers
from audit._reports.chapters.concepts.nodes import Nodes, nodes
from audit._reports.chapters.concepts.tests import Matrix, matrix
from audit._reports.charts.curves import DOT, Mark, accuracies_spec
from audit._reports.charts.svg import draw
from audit._reports.words.concept_words import FACETS_FROM, LEFT_OUT
from audit._reports.words.parts import Chapter, Facts, Figure, Key, Named, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, grouped, line_label, mean, names, plain
from audit._reports.words.table_specs import decimals, differences, numbers, table, texts
from audit._reports.words.words import UNDEFINED, counted, number, percent, words
from audit.results.printed import share_of

LISTED = 200
"""Largest number of classes in their table."""


@dataclass(frozen=True, slots=True)
class Concepts:
    """What the report says of concepts; a chapter is None where there is nothing to say."""

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
        numbers("Share", lambda row: share_of(row["instances"], facts["instances"]), percent),
        total={"what": "With representations", "instances": facts["instances"]},
    )


JUDGED = {"seen": "classes seen", "unseen": "classes unseen"}
NUMBERS = (
    "chance", "linear", "auc", "control_task", "selectivity", "random_network",
)  # fmt: skip
MARKS = (
    Mark("random_network", "expected", "square"),
    Mark("control_task", "expected", own=False),
    DOT,
)
DRAWN = 24
"""Largest number of lines of the picture; the table has all."""


def controls(concepts: Mapping[str, Any]) -> Chapter | None:
    """Means over splits; None without any."""
    rows = _means(concepts["controls"])
    if not rows:
        return None
    made, limit = _table(rows), concepts["facts"]["parameters"]["limit"]
    return chapter(
        [_figure([row for row in rows if row["linear"] is not None], made, limit)], [made]
    )


def _means(rows: Rows) -> list[dict[str, Any]]:
    """Means over splits by dimension and by what is judged; None where any is missing."""
    return [
        {
            "dimension": own[0]["dimension"],
            "judged": own[0]["judged"],
            "splits": len(own),
            **{name: mean([row[name] for row in own]) for name in NUMBERS},
            "least": least([row["linear"] for row in own]),
            "most": least([row["linear"] for row in own], -1),
        }
        for own in grouped(rows, ["dimension", "judged"])
    ]


def least(numbers: Sequence[float | None], sign: int = 1) -> float | None:
    """The smallest number, the largest for a negative sign; None if one is missing."""
    known = sorted(one for one in numbers if one is not None)
    return known[0 if sign > 0 else -1] if known and len(known) == len(numbers) else None


def _figure(rows: Rows, behind: Table, limit: float) -> Figure | None:
    drawn = rows[:DRAWN]
    if not drawn:
        return None
    spec = accuracies_spec(
        [_line(line, row) for line, row in enumerate(drawn)],
        [""],
        limit,
        MARKS,
        left=210,
        right=130,
    )
    return Figure(
        id="concept-controls",
        title="What a linear probe reads, compared with its controls",
        drawing=draw(spec),
        alt=f"Dot plot of {counted(len(drawn), 'line')}: "
        + "; ".join(
            f"{row['dimension']} with {JUDGED[row['judged']]}, linear {plain(row, 'linear', 2)}, "
            f"chance {plain(row, 'chance', 2)}"
            for row in drawn[:6]
        )
        + ".",
        caption="Means over splits; the bar behind a dot runs from the lowest split to the "
        "highest. Selectivity is the distance from the ring to the dot: where it is small, the "
        "probe reads any grouping of the classes as well as their concepts, so its accuracy says "
        "little. What can also be read from a network with random weights was not learned.",
        key=(
            Key("observed", "linear probe", "dot"),
            Key("expected", "control task: concepts given to classes at random", "ring"),
            *(
                [Key("expected", "random network", "square")]
                if any(row["random_network"] is not None for row in drawn)
                else []
            ),
            Key("expected", "chance", "tick"),
            Key("limit", f"limit, {number(limit)}", "across"),
        ),
        table=behind,
    )


def _line(line: int, row: Row) -> dict[str, Any]:
    return {
        "line": line,
        "label": line_label(f"{row['dimension']}, {JUDGED[row['judged']]}"),
        "panel": 0,
        "value": row["linear"],
        "low": row["least"],
        "high": row["most"],
        "counts": f"{plain(row, 'linear', 2)}, AUC {plain(row, 'auc', 2)}",
        **{name: row[name] for name in ("chance", "control_task", "random_network")},
    }


def _table(rows: Rows) -> Table:
    network = any(row["random_network"] is not None for row in rows)
    return table(
        "concept-controls-numbers",
        "The probes of dimensions and their controls: mean accuracies over splits",
        rows,
        texts("Dimension", "dimension"),
        texts("Judged on", "judged", JUDGED),
        decimals("Linear", "linear"),
        decimals("AUC", "auc"),
        decimals("Chance", "chance"),
        decimals("Control task", "control_task"),
        differences("Selectivity", "selectivity"),
        decimals("Random network", "random_network") if network else None,
        numbers("Splits", "splits"),
    )
