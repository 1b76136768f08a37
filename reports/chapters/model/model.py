"""The chapters on a model: its metrics, its behaviour, its exchanges, the data beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.chapters.data_and_model import beside_figure, decided
from reports.chapters.model import metric_tables
from reports.chapters.model.behaviours import Behaviours, behaviours
from reports.chapters.model.exchanges import Exchanges, exchanges
from reports.chapters.model.metric_figures import metric_figures
from reports.words.parts import Facts, Figure, Table
from reports.words.words import number


@dataclass(frozen=True, slots=True)
class Model:
    """What the report says of a model."""

    facts: Facts
    decided: str
    cuts: bool
    """Whether any metric lies between two cuts."""
    terms: Facts
    tables: tuple[Table, ...]
    absent: Table | None
    measured: tuple[Figure, ...]
    behaviours: Behaviours | None
    exchanges: Exchanges | None
    beside: Figure | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All pictures, in report order."""
        chapters = (self.behaviours, self.exchanges)
        drawn = (chapter.figure for chapter in chapters if chapter is not None)
        return tuple(filter(None, (*self.measured, *drawn, self.beside)))


def model(shared: Mapping[str, Any]) -> Model | None:
    """The chapters; None without predictions."""
    predictions = shared["ledger"]["predictions"]
    if predictions is None:
        return None
    metrics, overview = shared["metrics"], shared["overview"]
    return Model(
        facts=_facts(predictions, shared["ledger"]["instances"]),
        decided=decided(predictions),
        cuts=any("depth_from" in metric["parameters"] for metric in metrics),
        terms=metric_tables.terms(metrics),
        tables=metric_tables.whole(metrics, shared["metrics_beside"]),
        absent=metric_tables.absent(shared["metrics_absent"]),
        measured=metric_figures(
            metrics,
            {scope["node"]: scope["title"] for scope in overview["scopes"]},
            {row["node"]: row["depth"] for row in overview["scopes"]},
        ),
        behaviours=behaviours(overview["behaviours"]),
        exchanges=exchanges(overview["exchanges"], overview["branch_exchanges"]),
        beside=beside_figure(overview["data_beside_model"], predictions),
    )


def _facts(predictions: Mapping[str, Any], instances: int) -> Facts:
    matched, classes = predictions["instances_matched"], predictions["classes_read"]
    return (
        ("Instances with a prediction", f"{number(matched)} of {number(instances)}"),
        ("Labelled, not predicted", number(predictions["labels_without_predictions"])),
        ("Predicted, not labelled", number(predictions["predictions_without_labels"])),
        ("Classes that are nodes", f"{number(predictions['classes_mapped'])} of {number(classes)}"),
        ("Classes that the hierarchy lacks", number(predictions["unknown_classes"])),
        ("Form", "sets of nodes" if predictions["set_valued"] else "scores"),
    )
