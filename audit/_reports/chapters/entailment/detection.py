"""The chapter on detection: how well scores separate valid from invalid tuples, and fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from audit._reports.chapters.entailment.by_relation import by_relation, relations
from audit._reports.charts.curves import CURVES, Mark, accuracies_spec, reliability_spec
from audit._reports.charts.svg import draw
from audit._reports.words.entailment_words import (
    ABSENT,
    ACCURACY,
    AGAINST,
    ALL,
    BASELINES,
    CALIBRATION,
    DETECTION,
    MACRO_F1,
    ROC_AUC,
)
from audit._reports.words.parts import Cell, Chapter, Figure, Key, Ranged, Table, chapter
from audit._reports.words.shown_numbers import (
    Row,
    Rows,
    bounds,
    count,
    grouped,
    line_label,
    plain,
    ranged,
    signed,
)
from audit._reports.words.table_specs import (
    across,
    decimals,
    interval_below,
    numbers,
    optional_table,
    pivoted,
    shares,
    table,
    texts,
)
from audit._reports.words.words import counted, first_of, more_in_table, number, words

SHAPES = {"circle": "dot", "diamond": "diamond", "square": "square", "triangle-up": "up",
          "cross": "cross", "triangle-down": "down"}  # fmt: skip
"""Shapes in the key, by marks of curves."""


def reliability(entailment: Mapping[str, Any]) -> Figure | None:
    """Curves of the models with scores, over all relations; None without any."""
    rows = entailment["detection_reliability"]
    several = len({row["relation"] for row in rows}) > 1
    own = [
        row
        for row in rows
        if (not several or row["relation"] == ALL) and row["valid_share"] is not None
    ]
    curves = grouped(own, ["model", "trained_on"])
    if not curves:
        return None
    return Figure(
        id="entailment-reliability",
        title="Are scores what they say?",
        drawing=draw(
            reliability_spec([list(map(_point, curve)) for curve in curves[: len(CURVES)]])
        ),
        alt=f"Curves of {counted(len(curves[: len(CURVES)]), 'model')}. {called(curves[0][0])}: "
        + ", ".join(
            f"{plain(row, 'valid_share', 2)} at a score of {plain(row, 'mean_score', 2)}"
            for row in curves[0]
        )
        + ".",
        caption="Tuples in ten bins of scores: the share that is valid over the mean score, with "
        "its 95% interval. On the dashed line both are equal; below it, the model’s scores are too "
        "high." + more_in_table(len(curves) - len(CURVES), "model"),
        key_title="Model",
        key=tuple(
            Key(role, called(curve[0]), SHAPES[shape])
            for curve, (role, shape) in zip(curves, CURVES, strict=False)
        ),
        table=table(
            "entailment-reliability-numbers",
            "Tuples by score",
            own,
            texts("Model", called),
            texts("Scores", lambda row: f"{number(row['from'])} to {number(row['to'])}"),
            decimals("Mean score", "mean_score"),
            interval_below(decimals("Valid, share", "valid_share")),
            numbers("Tuples", "n"),
        ),
    )


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("mean_score", "valid_share")} | bounds(row)


MODEL, LABELS = "model", "labels"
"""Kinds of rows."""
LEADING = (ACCURACY, MACRO_F1, ROC_AUC)
"""Measures that the paper prints; models are compared with baselines by these."""
DRAWN = 30
"""Lines of the picture at most."""
IN_DOMAIN, MAJORITY, WHOLE = "in_domain", "majority", "all"
"""Names of a comparison, a baseline, and of what is measured without a test set."""
EMPTY, FULL = Mark("other", "expected", own=False), Mark("own", "observed")
"""Marks of baselines and of models."""
TICKS = (0.0, 0.5, 1.0)


def detection(entailment: Mapping[str, Any]) -> Chapter | None:
    """A picture, and a table for each of the leading measures; None if there is nothing."""
    rows = _informative(entailment["detection_measured"])
    tables = [_measure(rows, name) for name in LEADING]
    return chapter((_figure(rows, tables[LEADING.index(MACRO_F1)]),), _unless_drawn(tables))


def further(entailment: Mapping[str, Any]) -> tuple[Table, ...]:
    """Other measures, differences, consistency, and what was answered."""
    rows = _informative(entailment["detection_measured"])
    tables = (
        *(_measure(rows, name) for name in DETECTION if name not in LEADING),
        *(_differences(entailment["detection_differences"], name) for name in LEADING),
        _transfer(entailment["detection_differences"]),
        _consistency(entailment["detection_consistency"]),
        _coverage(entailment["detection_coverage"]),
    )
    return tuple(table for table in tables if table is not None)


def _informative(rows: Rows) -> Rows:
    """The rows; none where there is no model, and no tuple is invalid, or none valid."""
    informative = any(
        row["kind"] == MODEL or row["positive_share"] not in (None, 0, 1) for row in rows
    )
    return rows if informative else ()


def _unless_drawn(tables: Sequence[Table | None]) -> tuple[Table | None, ...]:
    """The tables but the one that stands behind the picture."""
    return tuple(table for name, table in zip(LEADING, tables, strict=True) if name != MACRO_F1)


def _of(rows: Rows) -> str:
    """The tuples that are measured, in words: those that baselines answer."""
    last = relations(rows)[-1]
    whole = next(row for row in rows if row["relation"] == last and row["model"] == MAJORITY)
    tuples = f"{count(whole)} tuples"
    return (
        f"all {tuples}" if whole["split"] == WHOLE else f"the {tuples} of the {whole['split']} set"
    )


def named(row: Row) -> str:
    """A model with what it was trained on, or a baseline in words."""
    if row["kind"] != MODEL:
        return words(row["model"], BASELINES)
    return called(row)


def called(row: Row) -> str:
    """A model with what it was trained on."""
    trained_on = row["trained_on"]
    return str(row["model"]) if trained_on is None else f"{row['model']}, trained on {trained_on}"


def _models_first(rows: Rows) -> list[Row]:
    return sorted(rows, key=lambda row: row["kind"] != MODEL)


def _answering(rows: Rows) -> list[list[Row]]:
    """The rows of each model and baseline, models first."""
    return grouped(_models_first(rows), ["kind", "model", "trained_on"])


def _measure(rows: Rows, measure: str) -> Table | None:
    own = [row for row in rows if row["measure"] == measure]
    if not own:
        return None
    return by_relation(
        f"entailment-{measure}".replace("_", "-"),
        f"{DETECTION[measure]}, on {_of(rows)}, by relation",
        [row for answers in _answering(own) for row in _with_closed_form(answers)],
        ["kind", "model", "trained_on", "closed"],
        [texts("Model or baseline", _line_name)],
        _value,
    )


def _with_closed_form(answers: Rows) -> list[Row]:
    """The rows, and those of baselines once more, by what they have to expect."""
    stated = [row for row in answers if row["kind"] != MODEL and row["expected"] is not None]
    measured = [{**row, "closed": False} for row in answers]
    return [*measured, *({**row, "closed": True} for row in stated)]


def _line_name(row: Row) -> str:
    return f"{named(row)}, in closed form" if row["closed"] else named(row)


def _value(row: Row) -> Cell:
    if row["closed"]:
        return plain(row, "expected")
    if row["value"] is None and row["absent"]:
        return words(row["absent"], ABSENT)
    text = plain(row, "value")
    if row["measure"] == CALIBRATION and row["expected"] is not None:
        return Ranged(text, f"{plain(row, 'expected')} expected")
    return ranged(text, row)


def _figure(rows: Rows, table: Table | None) -> Figure | None:
    own = [row for row in rows if row["measure"] == MACRO_F1 and row["value"] is not None]
    if not own or table is None:
        return None
    panels = relations(own)
    answering = _answering(own)
    lines = [
        _line(place, row, panels)
        for place, answers in enumerate(answering[:DRAWN])
        for row in answers
    ]
    return Figure(
        id="entailment-models",
        title="Macro F1 of models and baselines, by relation",
        drawing=draw(
            accuracies_spec(
                lines, panels, None, (EMPTY, FULL), left=232, title="macro F1", ticks=TICKS
            )
        ),
        alt=f"Dot plot of {counted(len(answering), 'model or baseline', 'models and baselines')}: "
        f"{_best(answering)}.",
        caption="Macro F1 with its 95% interval, by a bootstrap over heads with an instance. Full "
        "dots are models, empty ones baselines, which use only what their name says; a tick is "
        "what a coin or the majority has in closed form."
        + more_in_table(len(answering) - DRAWN, "line"),
        key=(
            Key("observed", "model", "dot"),
            Key("expected", "baseline", "ring"),
            Key("expected", "in closed form", "tick"),
        ),
        table=replace(table, id=f"{table.id}-numbers"),
    )


def _line(place: int, row: Row, panels: Sequence[str]) -> dict[str, Any]:
    own = row["kind"] == MODEL
    return {
        "line": place,
        "label": line_label(named(row)),
        "panel": panels.index(row["relation"]),
        "own": row["value"] if own else None,
        "other": None if own else row["value"],
        **bounds(row),
        "chance": None if own else row["expected"],
        "counts": "",
    }


def _best(answering: Sequence[Rows]) -> str:
    """Models and baselines in words, by the last relation that they have."""
    last = [rows[-1] for rows in answering]
    return first_of([f"{named(row)} {plain(row, 'value', 2)} on {row['relation']}" for row in last])


def _differences(rows: Rows, measure: str) -> Table | None:
    return by_relation(
        f"entailment-less-{measure}".replace("_", "-"),
        f"{DETECTION[measure]} of models less that of baselines on the same tuples, with 95% "
        "intervals",
        [row for row in rows if row["measure"] == measure and row["against"] != IN_DOMAIN],
        ["model", "trained_on", "against"],
        [texts("Model", called), texts("Less that of", "against", AGAINST)],
        _difference,
    )


def _difference(row: Row) -> Cell:
    return ranged(signed(row, "difference"), row)


def _transfer(rows: Rows) -> Table | None:
    return by_relation(
        "entailment-transfer",
        "Transfer: macro F1 less that of the same model trained on the relation that is tested, "
        "with 95% intervals",
        [row for row in rows if row["measure"] == MACRO_F1 and row["against"] == IN_DOMAIN],
        ["model", "trained_on"],
        [texts("Model", "model"), texts("Trained on", "trained_on")],
        _difference,
    )


def _consistency(rows: Rows) -> Table | None:
    lines = pivoted(_models_first(rows), ["model", "trained_on", "relation"], "kind")
    return optional_table(
        "entailment-consistency",
        "Whether predictions agree with each other: of chains a → b → c of predicted edges, how "
        "many have a → c predicted valid (closed), predicted invalid (broken), or not judged "
        "(open). Chains share their edges, so that the share has no interval",
        [line for line in lines if MODEL in line["kind"] and line["chains"] != 0],
        texts("Model", called),
        texts("Relation", "relation"),
        numbers("Chains", "chains"),
        numbers("Closed", "closed"),
        numbers("Broken", "broken"),
        numbers("Open", "open"),
        shares("Closed, of judged", "closed_share"),
        across("kind", LABELS, numbers("Chains in the labels", "chains")),
        across("kind", LABELS, shares("Closed in the labels, of judged", "closed_share")),
    )


def _coverage(rows: Rows) -> Table | None:
    return optional_table(
        "entailment-coverage",
        "What models answered. Measures are of the answered tuples; an answer that is neither "
        "valid nor invalid counts only in the strict accuracy",
        rows,
        texts("Model", called),
        texts("Relation", "relation"),
        numbers("Answered", "answered"),
        numbers("Neither", "unparsable"),
        numbers("No answer", "missing"),
        numbers("Tuples", "tuples"),
    )
