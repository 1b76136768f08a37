"""The chapters on evidence: plausibility, accuracy, and importance alignment."""

from __future__ import annotations

from collections.abc import Mapping

from audit._reports.chapters.explanations.parts import (
    dots,
    in_order,
    methods,
    named,
    several_models,
)
from audit._reports.charts.charts import means_spec
from audit._reports.charts.svg import draw
from audit._reports.words.explanation_words import (
    MATCHES,
    ORACLES,
    RANKINGS,
    RULES,
    SETS,
    SUBSETS,
)
from audit._reports.words.parts import Chapter, Figure, Key, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, plain
from audit._reports.words.table_specs import (
    across,
    chances,
    decimals,
    differences,
    interval_beside,
    intervals,
    numbers,
    optional_table,
    pivoted,
    shares,
    table,
    texts,
    written,
)
from audit._reports.words.words import UNDEFINED, capitalised, counted


def reasons(explanations: Mapping[str, Rows]) -> Chapter | None:
    """Delta-A of all models and methods: a picture for each oracle; None without evidence."""
    rows = explanations.get("alignment", ())
    by_oracle = {name: [row for row in rows if row["oracle"] == name] for name in ORACLES}
    given = [(name, own, _alignment_table(name, own)) for name, own in by_oracle.items() if own]
    figures = [_alignment_figure(*one) for one in given]
    of_models = _models_table(explanations.get("models", ()))
    return chapter(figures, (*(made for *_, made in given), of_models))


def _alignment_figure(oracle: str, rows: Rows, behind: Table) -> Figure | None:
    main = [row for row in rows if row["subset"] == "all" and row["delta_a"] is not None]
    if not main:
        return None
    several, drawn = several_models(rows), in_order(main)
    first, last = (pick(main, key=lambda row: row["delta_a"]) for pick in (max, min))
    clear = sum((row["low"] or 0) > 0 for row in main)
    return Figure(
        id=f"alignment-{oracle}",
        title=ORACLES[oracle][0],
        drawing=draw(means_spec(dots(drawn, several, "delta_a", size="clusters"), "Delta-A")),
        alt=f"Dot plot of {counted(len(main), 'line')}, one for each method and model: Delta-A "
        f"from {plain(last, 'delta_a', 2)} ({named(last, several)}) to "
        f"{plain(first, 'delta_a', 2)} ({named(first, several)}). The intervals of {clear} lie "
        "above zero.",
        caption="How much better the scores of tokens fit the explanation of their own example "
        "than those of others. At zero, the explanation of another example, drawn at random, fits "
        f"as well; 1 is the most. For each token, this oracle says {ORACLES[oracle][1]}. At the "
        "right, Delta-A and the number of independent instances, or of groups of them.",
        key=(Key("observed", "Delta-A, with its 95% interval", "dot"),),
        table=behind,
    )


def _alignment_table(oracle: str, rows: Rows) -> Table:
    order = list(SUBSETS)
    absent = any(row["absent"] for row in rows)
    return table(
        f"alignment-{oracle}-numbers",
        f"Importance alignment. {ORACLES[oracle][0]}",
        sorted(in_order(rows), key=lambda row: order.index(row["subset"])),
        methods(rows),
        texts("Examples", "subset", SUBSETS),
        decimals("Delta-A", "delta_a"),
        intervals(),
        chances("q", "q"),
        numbers("Tested together", "family"),
        shares("Undefined draws", "undefined_share"),
        numbers("Instances", "clusters"),
        texts("Why it is missing", lambda row: row["absent"] or UNDEFINED) if absent else None,
    )


def _models_table(rows: Rows) -> Table | None:
    """Models beside the reference model."""
    if not rows:
        return None
    notes = any(row["absent"] or row["warnings"] for row in rows)
    return table(
        "alignment-models",
        f"By how much C − C_R of each model, or of each size and family, lies above that of "
        f"{rows[0]['reference']}, by a mixed-effects model with a random intercept for each "
        "example, and of sizes with a random slope",
        rows,
        texts("Method", "method"),
        texts("Oracle", lambda row: ORACLES[row["oracle"]][0]),
        texts("Model", lambda row: row["model"] or UNDEFINED),
        interval_beside(differences("Difference (z)", "estimate")),
        chances("p", "p"),
        decimals("Variance of examples", "cov_re"),
        decimals("Variance of residuals", "residual_variance"),
        numbers("Examples", "examples"),
        texts("Notes", lambda row: row["absent"] or row["warnings"] or "") if notes else None,
    )


DRAWN = 40
"""Largest number of lines of a picture; the table has all."""
RANKING = "average_precision"
"""The measure of plausibility that is drawn."""


def against_evidence(explanations: Mapping[str, Rows]) -> Chapter | None:
    """Plausibility and what goes with it; None without any of it."""
    plausible = explanations.get("plausibility", ())
    tables = (
        _rankings_table(plausible),
        _sets_table(plausible),
        _spans_table(explanations.get("spans", ())),
        _oracles_table(explanations.get("oracles", ())),
        _accuracy_table(explanations.get("accuracy", ())),
    )
    return chapter([_plausibility_figure(plausible)], tables)


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
        key=(
            Key("observed", "mean over instances, with its 95% interval", "dot"),
            Key("expected", "tokens in random order", "ring"),
        ),
        table=table(
            "plausibility-numbers",
            "Average precision against people’s evidence",
            in_order(row for row in rows if row["metric"] == RANKING),
            methods(rows),
            decimals("Average precision", "value"),
            intervals(),
            decimals("By chance", "chance"),
            numbers("Instances", "n"),
        ),
    )


def _rankings_table(rows: Rows) -> Table | None:
    """A line per model and method, a column per measure of a ranking."""
    known = {row["metric"] for row in rows}
    names = [name for name in RANKINGS if name in known and name != RANKING]
    return optional_table(
        "plausibility-rankings",
        "Other measures of an order against people’s evidence; in brackets, by chance. Kendall’s "
        "tau and Spearman’s correlation, the mean over instances, take graded marks as they are; "
        "the others take tokens that are marked from 0.5 on",
        pivoted(in_order(rows), ["model", "method"], "metric") if names else (),
        methods(rows),
        *(across("metric", name, written(RANKINGS[name], _with_chance)) for name in names),
    )


def _sets_table(rows: Rows) -> Table | None:
    """A line per model, method and rule, a column per measure of a set."""
    chosen = [
        {**row, "set": name, "rule": rule}
        for rule in RULES
        for name in SETS
        for row in rows
        if row["metric"] == f"{name}_{rule}"
    ]
    names = [name for name in SETS if any(row["set"] == name for row in chosen)]
    return optional_table(
        "plausibility-sets",
        "Chosen tokens against those that people marked; in brackets, by chance",
        pivoted(in_order(chosen), ["model", "method", "rule"], "set"),
        methods(rows),
        texts("Tokens chosen", "rule", RULES),
        *(across("set", name, written(SETS[name], _with_chance)) for name in names),
        numbers("Instances", "n"),
    )


def _spans_table(rows: Rows) -> Table | None:
    """A line per model, method, rule and match."""
    return optional_table(
        "plausibility-spans",
        "Spans of neighbouring chosen tokens against those that people marked, for each label of "
        "each instance. Micro F1 sums the spans of all instances; macro F1 is the mean over labels",
        in_order(rows),
        methods(rows),
        texts("Tokens chosen", "rule", RULES),
        texts("Counted as right", "match", MATCHES),
        decimals("Precision", "precision"),
        decimals("Recall", "recall"),
        interval_beside(decimals("Micro F1", "micro"), "micro_low", "micro_high"),
        interval_beside(decimals("Macro F1", "macro"), "macro_low", "macro_high"),
        numbers("Labels", "labels"),
        numbers("Instances", "n"),
    )


def _with_chance(row: Row) -> str:
    text = plain(row, "value")
    return text if row["chance"] is None else f"{text} ({plain(row, 'chance')})"


def _oracles_table(rows: Rows) -> Table | None:
    return optional_table(
        "oracles-numbers",
        "How far the oracles agree on the tokens that matter",
        rows,
        texts("Method", lambda row: row["method"] or "any"),
        texts("Oracle", lambda row: _oracle(row["oracle"])),
        texts("With", lambda row: _oracle(row["other"])),
        decimals("Spearman over tokens", "spearman"),
        decimals("Pearson over tokens", "pearson"),
        interval_beside(decimals("Mean Spearman of an example", "mean_spearman")),
        numbers("Examples", "examples"),
    )


def _oracle(name: str) -> str:
    return capitalised(ORACLES[name][0].removeprefix("With ") if name in ORACLES else name)


def _accuracy_table(rows: Rows) -> Table | None:
    """Delta-A with accuracy over models and their runs, or why it is absent."""
    return optional_table(
        "accuracy-numbers",
        "Whether models that are more often right are better aligned: correlation of Delta-A with "
        "accuracy, over models and their runs",
        _merged_reasons(rows),
        texts("Method", "method"),
        texts("Oracle", lambda row: _oracle(row["oracle"])),
        texts("Examples", "subset", SUBSETS),
        texts("Accuracy on", lambda row: row["data"] or "these examples"),
        interval_beside(decimals("Correlation", "r")),
        chances("p", "p"),
        numbers("Points", "n"),
        numbers("Models", "models"),
        texts("Why it is missing", lambda row: row["absent"] or UNDEFINED),
    )


def _merged_reasons(rows: Rows) -> Rows:
    """The rows; where none has a correlation, for one and the same reason, one for each oracle."""
    reasons = {(row["absent"], row["n"], row["models"]) for row in rows}
    if len(reasons) > 1 or any(row["absent"] is None for row in rows):
        return rows
    first = {(row["oracle"], row["data"]): row for row in reversed(rows)}
    return [{**row, "method": "every method", "subset": "all"} for row in first.values()]
