"""Data and model side by side: how often two nodes occur together in each, and their confusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.charts.charts import beside_spec
from reports.charts.svg import draw
from reports.words.labels import pair_label
from reports.words.metric_words import threshold
from reports.words.parts import Figure, Key, Table
from reports.words.shown_numbers import UNDEFINED, Rows
from reports.words.table_specs import nodes, numbers, table, texts, written
from reports.words.words import RELATION, counted, decimal, percent, span, words


def beside_figure(rows: Rows, predictions: Mapping[str, Any]) -> Figure | None:
    """Figure of pairs of nodes in data and model; None without any.

    Args:
        rows: The shared view's pairs, the most confused first.
        predictions: The ledger of the predictions, with the thresholds that the numbers depend on.
    """
    if not rows:
        return None
    return Figure(
        id="beside",
        title="Pairs that the model confuses most, in the data and in the model",
        drawing=draw(beside_spec([_marks_of(row) for row in rows])),
        alt=_alt(rows),
        caption="Pairs of labelled nodes, neither above the other, the most confused first. "
        + decided(predictions)
        + " Confusion is the mean entropy between the two scores where both reach "
        f"{threshold(predictions['confusion_threshold'])}; it is not a share of instances, though "
        "it has the same bounds. A mark is missing where its number is withheld.",
        key=(
            Key("observed", "labelled together, in the data", "dot"),
            Key("model", "predicted together, by the model", "ring"),
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
            f"{decimal(first['confusion'], 4)}; the data labels both on {percent(first['rate'])} "
            "of the instances."
        )
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
