"""The chapters on a model: metrics, behaviour, confusions, model and data compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit._reports.chapters.exchanges import Exchanges, exchanges
from audit._reports.chapters.model_metrics import (
    absent_metrics,
    accuracy_figure,
    metric_tables,
    subtree_tables,
)
from audit._reports.charts.charts import beside_spec
from audit._reports.charts.parts import dots_spec, ends
from audit._reports.charts.svg import draw
from audit._reports.words.metric_words import threshold
from audit._reports.words.parts import Codes, Facts, Figure, Key, Table
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import (
    named,
    nodes,
    numbers,
    spans,
    table,
    texts,
    written,
)
from audit._reports.words.words import (
    RELATION,
    UNDEFINED,
    counted,
    decimal,
    number,
    pair_label,
    percent,
    shortened,
    span,
    words,
)


@dataclass(frozen=True, slots=True)
class Behaviours:
    """Kinds of behaviour as a table, as a figure if shares can be shown, and with examples."""

    figure: Figure | None
    table: Table


def behaviours(rows: Rows) -> Behaviours | None:
    """Make the chapter; None if no behaviours were queried."""
    if not rows:
        return None
    counts = table(
        "behaviours-numbers", "Kinds of behaviour", rows, *_COLUMNS, spans("95% interval")
    )
    examples = any(row["examples"] for row in rows)
    return Behaviours(
        figure=_behaviour_figure(rows, counts),
        table=_examples(rows) if examples else counts,
    )


def _behaviour_figure(rows: Rows, counts: Table) -> Figure | None:
    drawn = [row for row in rows if row["share"] is not None]
    if not drawn:
        return None
    most = max(drawn, key=lambda row: row["share"])
    return Figure(
        id="behaviours",
        title="Kinds of behaviour",
        drawing=draw(
            dots_spec(
                [
                    {
                        "label": shortened(row["title"], 54),
                        "share": row["share"],
                        **ends(row, "share"),
                        "counts": f"{number(row['instances'])} of {number(row['of'])}",
                    }
                    for row in drawn
                ],
                "share of the instances with a prediction",
                left=330,
            )
        ),
        alt=f"Dot plot of {counted(len(drawn), 'kind')} of behaviour. The most frequent, "
        f"“{most['title']}”, is shown by {percent(most['share'])} of the instances.",
        caption="Each kind is counted by itself: an instance may show several kinds, or none.",
        key=(Key("observed", "share, with its 95% interval", "dot"),),
        table=counts,
    )


_COLUMNS = (
    named("Behaviour", "title", "name"),
    numbers("Instances", "instances"),
    numbers("Out of", "of"),
    numbers("Share", "share", percent),
)


def _examples(rows: Rows) -> Table:
    return table(
        "behaviours-examples",
        "Examples of each kind",
        rows,
        *_COLUMNS,
        texts(
            "Examples, by instance",
            lambda row: Codes(tuple(row["examples"])) if row["examples"] else "none",
        ),
    )


@dataclass(frozen=True, slots=True)
class Model:
    """What the report says of a model."""

    facts: Facts
    decided: str
    tables: tuple[Table, ...]
    by_node: tuple[Table, ...]
    absent: str
    """What cannot be measured, and why."""
    accuracy: Figure | None
    behaviours: Behaviours | None
    exchanges: Exchanges | None
    beside: Figure | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All pictures, in report order."""
        chapters = (self.behaviours, self.exchanges)
        drawn = (chapter.figure for chapter in chapters if chapter is not None)
        return tuple(filter(None, (self.accuracy, *drawn, self.beside)))


def model(shared: Mapping[str, Any]) -> Model | None:
    """The chapters; None without predictions."""
    predictions = shared["ledger"]["predictions"]
    if predictions is None:
        return None
    metrics, overview = shared["metrics"], shared["overview"]
    return Model(
        facts=_facts(predictions, shared["ledger"]["instances"]),
        decided=decided(predictions),
        tables=metric_tables(metrics, shared["metrics_beside"]),
        by_node=subtree_tables(
            metrics,
            {scope["node"]: scope["title"] for scope in overview["scopes"]},
            {row["node"]: row["depth"] for row in overview["scopes"]},
        ),
        absent=absent_metrics(shared["metrics_absent"]),
        accuracy=accuracy_figure(metrics),
        behaviours=behaviours(overview["behaviours"]),
        exchanges=exchanges(overview),
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


def beside_figure(rows: Rows, predictions: Mapping[str, Any]) -> Figure | None:
    """Figure of pairs of nodes in data and model; None without any."""
    if not rows:
        return None
    together = [n for row in rows for n in (row["rate"], row["co_predicted_rate"])]
    marks = [_marks_of(row) for row in rows]
    keys: tuple[Key, ...] = (
        Key("observed", "labelled together, in the data", "dot"),
        Key("model", "predicted together, by the model", "ring"),
    )
    if not any(together):
        marks, keys = [{**row, "data": None, "predicted": None} for row in marks], ()
    return Figure(
        id="beside",
        title="Pairs that the model confuses most, in the data and in the model",
        drawing=draw(beside_spec(marks)),
        alt=_alt(rows),
        caption="Pairs of labelled nodes, neither above the other, the most confused first. "
        + decided(predictions)
        + " Confusion is the mean entropy between the two scores where both reach "
        f"{threshold(predictions['confusion_threshold'])}; it is not a share of instances, though "
        "it has the same bounds.",
        key=(
            *keys,
            Key("model", "confusion of the two, in the model, with its 95% interval", "diamond"),
        ),
        table=_table(rows),
    )


def decided(predictions: Mapping[str, Any]) -> str:
    """A sentence on what counts as predicted."""
    if predictions["set_valued"]:
        return "A node counts as predicted when it is in the instance’s set."
    if predictions["single_label"]:
        return "The node with the highest score is the one predicted."
    at = threshold(predictions["decision_threshold"])
    return f"A node counts as predicted from a score of {at}."


def _marks_of(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "label": pair_label(row),
        "relation": words(row["relation"], RELATION),
        "data": row["rate"],
        "predicted": row["co_predicted_rate"],
        "confusion": row["confusion"],
        "low": row["confusion_low"],
        "high": row["confusion_high"],
    }


def _alt(rows: Rows) -> str:
    text = f"Dot plot of {counted(len(rows), 'pair')} of nodes, up to three marks per line."
    shown = [row for row in rows if row["confusion"] is not None]
    if shown:
        first = shown[0]
        text += (
            f" The most confused, {first['a']} and {first['b']}, has confusion "
            f"{decimal(first['confusion'], 4)}"
        )
        rate = first["rate"]
        text += "." if rate is None else f"; the data labels both on {percent(rate)} of instances."
    both = [row for row in rows if None not in (row["rate"], row["co_predicted_rate"])]
    more = sum(row["co_predicted_rate"] > row["rate"] for row in both)
    return (
        f"{text} The model predicts {more} of {len(both)} together more often than the data does."
    )


def _table(rows: Rows) -> Table:
    def entropy(mean: float) -> str:
        return decimal(mean, 4)

    return table(
        "beside-numbers",
        "Pairs in the data and in the model",
        rows,
        nodes("First node", "a", "title_a"),
        nodes("Second node", "b", "title_b"),
        texts("Relation", "relation", RELATION),
        numbers("Labelled together", "joint"),
        numbers("Share", "rate", percent),
        numbers("Predicted together", "co_predicted"),
        numbers("Share", "co_predicted_rate", percent),
        numbers("Confusion", "confusion", entropy),
        written(
            "95% interval",
            lambda row: (
                UNDEFINED
                if row["confusion_low"] is None
                else span(entropy(row["confusion_low"]), entropy(row["confusion_high"]))
            ),
        ),
    )
