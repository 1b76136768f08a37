"""The section of a comparison on models: its sentences and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.comparison.words import chance
from audit._reports.words.metric_words import change, change_unit, cut, heading, others, value
from audit._reports.words.parts import Table
from audit._reports.words.table_specs import Spec, nodes, numbers, optional_table, texts, written
from audit._reports.words.words import UNDEFINED, counted, number, span

Shared = Mapping[str, Any]

_STATES: Mapping[str, str] = {
    "same": "The predictions are the same in both runs.",
    "differ": "The predictions of the two runs differ.",
    "alike": "The files of the predictions differ, although every number counted of them is the "
    "same. Runs made with --keep-instances can be compared instance by instance.",
    "only_old": "OLD has predictions, NEW has none.",
    "only_new": "NEW has predictions, OLD has none.",
}
_INTERVALS = (
    "Intervals take the runs as independent, so that they are too wide where both models predicted "
    "the same instances."
)
_UNTESTED = (
    "Changes of confused pairs are not tested: that takes instances that both runs keep "
    "(--keep-instances)."
)


@dataclass(frozen=True, slots=True)
class Models:
    """What the section on models shows."""

    predictions: str
    intervals: str
    metrics: Table | None
    metrics_changed: str
    tested: str
    confusions: Table | None


def models(model: Shared | None) -> Models | None:
    """The section on models; None if neither run has predictions."""
    if model is None:
        return None
    metrics, confusions = model["metrics"], model["confusions"]
    return Models(
        predictions=predictions_sentence(model),
        intervals=_INTERVALS,
        metrics=metric_changes_table(metrics["rows"]),
        metrics_changed=f"Of {counted(metrics['total'], 'metric')} over all instances, the "
        f"intervals of {number(metrics['changed'])} do not hold 0.",
        tested=_told_of_tests(model),
        confusions=confusion_changes_table(confusions["rows"]),
    )


def _told_of_tests(model: Shared) -> str:
    changed, family = model["confusions"]["changed"], model["confusions"]["family"]
    if model["common"] is None:
        return _UNTESTED if model["metrics"]["rows"] else ""
    together = "" if family is None else f"; {number(family)} were tested together"
    return f"The concept confusion of {counted(changed, 'pair')} of labels differs{together}."


def predictions_sentence(model: Shared) -> str:
    """Whether the predictions differ, and of how many instances."""
    state = _STATES[model["predictions"]]
    if model["common"] is None or model["predictions"] == "same":
        return state
    return (
        f"{state} Of {number(model['common'])} instances that both predicted, "
        f"{number(model['scores_differ'])} have other scores and "
        f"{number(model['answers_differ'])} other predicted labels."
    )


def metric_changes_table(rows: Sequence[Shared], id_: str = "metric-change-table") -> Table | None:
    """Metrics of all instances on both sides; None without any."""
    return optional_table(
        id_,
        "Metrics over all instances in both runs",
        rows,
        texts("Metric", lambda row: heading(row["name"])),
        texts("Of", lambda row: cut(row) or "; ".join(others(row)) or UNDEFINED),
        _side("old", "OLD"),
        _side("new", "NEW"),
        written("Difference", _difference),
        _interval(lambda row, bound: change(row["name"], row[bound])),
    )


def confusion_changes_table(rows: Sequence[Shared]) -> Table | None:
    """Pairs that one model confuses more than the other; None without any."""
    return optional_table(
        "confusion-change-table",
        "Concept confusion of pairs of labels in both runs, the greatest difference first",
        rows,
        nodes("First label", "a", "title_a"),
        nodes("Second label", "b", "title_b"),
        numbers("OLD", "old", "{:.4f}".format),
        numbers("NEW", "new", "{:.4f}".format),
        numbers("Difference", "difference", _signed),
        _interval(lambda row, bound: _signed(row[bound])),
        written("q-value", lambda row: chance(row["q_value"])),
    )


def _side(key: str, name: str) -> Spec:
    return written(name, lambda row: _value(row, key))


def _value(row: Shared, side: str) -> str:
    if row[f"n_{side}"] is None:
        return "not measured"
    own = {"value": row[side], "n": row[f"n_{side}"], "beyond": row.get(f"beyond_{side}")}
    return value({**row, **own})


def _difference(row: Shared) -> str:
    """The difference; a dash where one side has no value, or rounding hides it."""
    if row["difference"] is None:
        return UNDEFINED
    return change(row["name"], row["difference"]) + change_unit(row["name"])


def _interval(end: Callable[[Shared, str], str]) -> Spec:
    """The column of intervals of differences, a dash where there is none."""
    return written(
        "95% interval",
        lambda row: (
            UNDEFINED
            if row["difference"] is None or row["low"] is None
            else span(end(row, "low"), end(row, "high"))
        ),
    )


def _signed(apart: float) -> str:
    return f"{apart:+.4f}".replace("-", "\N{MINUS SIGN}")
