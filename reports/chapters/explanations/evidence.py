"""The chapter on evidence and model: plausibility, faithfulness, oracles, and accuracy."""

from __future__ import annotations

from collections.abc import Mapping

from reports.chapters.explanations.parts import dots, in_order, named, several_models
from reports.charts.explanation_charts import means_spec
from reports.charts.svg import draw
from reports.words.explanation_words import FAITHFUL, ORACLES, RANKINGS, RULES, SETS, SUBSETS
from reports.words.parts import Cell, Chapter, Column, Figure, Key, Table, chapter, column
from reports.words.shown_numbers import (
    UNDEFINED,
    Row,
    Rows,
    chance,
    count,
    interval,
    plain,
    signed,
    with_interval,
)
from reports.words.words import counted, number

DRAWN = 40
"""Largest number of lines of a picture; the table has all."""
RANKING = "average_precision"
"""The measure of plausibility that is drawn."""
LOST = "comprehensiveness"
"""The measure of faithfulness that is drawn."""


def against_evidence(explanations: Mapping[str, Rows]) -> Chapter | None:
    """Plausibility, faithfulness and what goes with them; None without any of it."""
    plausible = explanations.get("plausibility", ())
    faithful = explanations.get("faithfulness", ())
    rankings, lost = _rankings_table(plausible), _faithfulness_table(faithful)
    figures = (_plausibility_figure(plausible), _faithfulness_figure(faithful))
    tables = (
        rankings,
        _sets_table(plausible),
        lost,
        _randomised_table(explanations.get("randomised", ())),
        _oracles_table(explanations.get("oracles", ())),
        _accuracy_table(explanations.get("accuracy", ())),
    )
    return chapter(figures, tables)


def _rows_to_draw(rows: Rows, metric: str, name: str) -> list[Row]:
    known = (row for row in rows if row["metric"] == metric and row[name] is not None)
    return in_order(known)[:DRAWN]


def _plausibility_figure(rows: Rows) -> Figure | None:
    drawn, several = _rows_to_draw(rows, RANKING, "value"), several_models(rows)
    if not drawn:
        return None
    first, last = (pick(drawn, key=lambda row: row["value"]) for pick in (max, min))
    return Figure(
        id="plausibility",
        title="How well scores point to what people point to",
        drawing=draw(
            means_spec(dots(drawn, several, "value", beside="chance"), "average precision")
        ),
        alt=f"Dot plot of {counted(len(drawn), 'line')}: average precision from "
        f"{plain(last, 'value', 2)} ({named(last, several)}) to {plain(first, 'value', 2)} "
        f"({named(first, several)}).",
        caption="Average precision of the tokens that people marked, in the order of their "
        "scores: 1 where all marked tokens come first. The ring is the mean of all orders. "
        "A method can point to people’s evidence where the model uses something else.",
        key_title="Each line",
        key=(
            Key("observed", "mean over instances, with its 95% interval", "dot"),
            Key("expected", "tokens in random order", "ring"),
        ),
        table=Table(
            id="plausibility-numbers",
            caption="Average precision against people’s evidence",
            columns=column(
                _heading(several), "Average precision", "95% interval", "By chance", "Instances",
                numeric=" nnnn",
            ),
            rows=tuple(
                (
                    named(row, several),
                    plain(row, "value"),
                    interval(row),
                    plain(row, "chance"),
                    count(row),
                )
                for row in in_order(row for row in rows if row["metric"] == RANKING)
            ),
        ),
    )  # fmt: skip


def _heading(several: bool) -> str:
    return "Model and method" if several else "Method"


def _rankings_table(rows: Rows) -> Table | None:
    """A line per model and method, a column per measure of a ranking."""
    return _pivoted(
        rows,
        {name: (title, name) for name, title in RANKINGS.items() if name != RANKING},
        "plausibility-rankings",
        "Other measures of an order against people’s evidence; in brackets, by chance",
    )


def _sets_table(rows: Rows) -> Table | None:
    """A line per model, method and rule, a column per measure of a set."""
    known = {row["metric"] for row in rows}
    names = [name for name in SETS if any(f"{name}_{rule}" in known for rule in RULES)]
    if not names:
        return None
    several = several_models(rows)
    lines: list[tuple[Cell, ...]] = []
    for own in _by_line(rows):
        for rule, chosen in RULES.items():
            cells = [own.get(f"{name}_{rule}") for name in names]
            there = [row for row in cells if row is not None]
            if there:
                lines.append(
                    (
                        named(there[0], several),
                        chosen,
                        *(_with_chance(row) for row in cells),
                        count(there[0]),
                    )
                )
    return Table(
        id="plausibility-sets",
        caption="Chosen tokens against those that people marked; in brackets, by chance",
        columns=column(
            _heading(several), "Tokens chosen", *(SETS[name] for name in names), "Instances",
            numeric="  " + "n" * (len(names) + 1),
        ),
        rows=tuple(lines),
    )  # fmt: skip


def _by_line(rows: Rows) -> list[dict[str, Row]]:
    """Rows of each model and method by their metric."""
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in in_order(rows):
        lines.setdefault((row["model"], row["method"]), {})[row["metric"]] = row
    return list(lines.values())


def _pivoted(
    rows: Rows, metrics: Mapping[str, tuple[str, str]], id_: str, caption: str
) -> Table | None:
    known = {row["metric"] for row in rows}
    names = [name for name in metrics if name in known]
    if not names:
        return None
    several = several_models(rows)
    return Table(
        id=id_,
        caption=caption,
        columns=column(
            _heading(several),
            *(metrics[name][0] for name in names),
            numeric=" " + "n" * len(names),
        ),
        rows=tuple(
            (
                named(next(iter(own.values())), several),
                *(_with_chance(own.get(name)) for name in names),
            )
            for own in _by_line(rows)
        ),
    )


def _with_chance(row: Row | None) -> str:
    if row is None:
        return UNDEFINED
    text = plain(row, "value")
    return text if row.get("chance") is None else f"{text} ({plain(row, 'chance')})"


def _faithfulness_figure(rows: Rows) -> Figure | None:
    drawn, several = _rows_to_draw(rows, LOST, "above_random"), several_models(rows)
    if not drawn:
        return None
    first, last = (pick(drawn, key=lambda row: row["above_random"]) for pick in (max, min))
    return Figure(
        id="faithfulness",
        title="How much the model loses without the tokens that a method puts first",
        drawing=draw(
            means_spec(
                dots(drawn, several, "above_random", sign=True, ends=("above_low", "above_high")),
                "comprehensiveness above that of tokens in random order",
            )
        ),
        alt=f"Dot plot of {counted(len(drawn), 'line')}: comprehensiveness above that of random "
        f"tokens from {signed(last, 'above_random', 2)} ({named(last, several)}) to "
        f"{signed(first, 'above_random', 2)} ({named(first, several)}).",
        caption="How far the score of the label falls without the first tokens of a method, above "
        "how far it falls without as many tokens in random order. At zero, the model does not use "
        "what the method puts first any more than other tokens.",
        key_title="Each line",
        key=(Key("observed", "mean over instances, with its 95% interval", "dot"),),
        table=Table(
            id="faithfulness-comprehensiveness",
            caption="Comprehensiveness beside tokens in random order",
            columns=_faithfulness_columns(several, "Comprehensiveness"),
            rows=tuple(_faithfulness_row(row, several) for row in _of(rows, [LOST])),
        ),
    )


def _faithfulness_table(rows: Rows) -> Table | None:
    """The measures that are not drawn; all of them where nothing is."""
    others = [
        name for name in FAITHFUL if name != LOST or not _rows_to_draw(rows, LOST, "above_random")
    ]
    found = _of(rows, others)
    if not found:
        return None
    several = several_models(rows)
    head, *rest = _faithfulness_columns(several, "Value")
    return Table(
        id="faithfulness-numbers",
        caption="Other measures of faithfulness; above random is positive where a method is more "
        "faithful than a random order",
        columns=(head, *column("Measure", "Faithful is"), *rest),
        rows=tuple(
            (name, *_title(row), *numbers)
            for row in found
            for name, *numbers in [_faithfulness_row(row, several)]
        ),
    )


def _title(row: Row) -> tuple[str, str]:
    return FAITHFUL[row["metric"]]


def _of(rows: Rows, metrics: list[str]) -> list[Row]:
    return [row for name in metrics for row in in_order(r for r in rows if r["metric"] == name)]


def _faithfulness_columns(several: bool, value: str) -> tuple[Column, ...]:
    return column(
        _heading(several), value, "Random order", "Above random", "Instances", numeric=" nnnn"
    )


def _faithfulness_row(row: Row, several: bool) -> tuple[str, ...]:
    return (
        named(row, several),
        with_interval(plain(row, "value"), row),
        plain(row, "random"),
        with_interval(signed(row, "above_random"), row, "above_low", "above_high"),
        count(row),
    )


def _randomised_table(rows: Rows) -> Table | None:
    """Scores beside those of a model that has learned nothing."""
    if not rows:
        return None
    several = several_models(rows)
    absolute = ("absolute_low", "absolute_high")
    return Table(
        id="explanations-randomised",
        caption="Rank correlation of scores with those of the same model with shuffled parameters; "
        "near 1, a method does not depend on what the model has learned",
        columns=column(
            _heading(several), "Signed scores", "Absolute scores", "Instances", numeric=" nnn"
        ),
        rows=tuple(
            (
                named(row, several),
                with_interval(plain(row, "correlation"), row),
                with_interval(plain(row, "absolute_correlation"), row, *absolute),
                count(row),
            )
            for row in in_order(rows)
        ),
    )


def _oracles_table(rows: Rows) -> Table | None:
    if not rows:
        return None
    return Table(
        id="oracles-numbers",
        caption="How far the oracles agree on the tokens that matter",
        columns=column(
            "Method", "Oracle", "With", "Spearman over tokens", "Pearson over tokens",
            "Mean Spearman of an example", "Examples",
            numeric="   nnnn",
        ),
        rows=tuple(
            (
                row["method"] or "any",
                _oracle(row["oracle"]),
                _oracle(row["other"]),
                plain(row, "spearman"),
                plain(row, "pearson"),
                with_interval(plain(row, "mean_spearman"), row),
                count(row, "examples"),
            )
            for row in rows
        ),
    )  # fmt: skip


def _oracle(name: str) -> str:
    title = ORACLES[name][0].removeprefix("With ") if name in ORACLES else name
    return f"{title[:1].upper()}{title[1:]}"


def _accuracy_table(rows: Rows) -> Table | None:
    """Delta-A with accuracy over models and their runs, or why it is absent."""
    if not rows:
        return None
    return Table(
        id="accuracy-numbers",
        caption="Whether models that are more often right are better aligned: correlation of "
        "Delta-A with accuracy, over models and their runs",
        columns=column(
            "Method", "Oracle", "Examples", "Correlation", "p", "Points", "Models",
            "Why it is missing",
            numeric="   nnnn",
        ),
        rows=tuple(
            (
                row["method"],
                _oracle(row["oracle"]),
                SUBSETS[row["subset"]],
                with_interval(plain(row, "r"), row),
                chance(row, "p"),
                number(row["n"]),
                number(row["models"]),
                row["absent"] or UNDEFINED,
            )
            for row in _merged_reasons(rows)
        ),
    )  # fmt: skip


def _merged_reasons(rows: Rows) -> Rows:
    """The rows; where none has a correlation, for one and the same reason, one for each oracle."""
    reasons = {(row["absent"], row["n"], row["models"]) for row in rows}
    if len(reasons) > 1 or any(row["absent"] is None for row in rows):
        return rows
    first = {row["oracle"]: row for row in reversed(rows)}
    return [{**row, "method": "every method", "subset": "all"} for row in first.values()]
