"""The chapter on importance alignment: do models decide for the reasons that people give?"""

from __future__ import annotations

from collections.abc import Mapping

from reports.chapters.explanations.parts import dots, in_order, named, several_models
from reports.charts.explanation_charts import means_spec
from reports.charts.svg import draw
from reports.words.explanation_words import ORACLES, SUBSETS
from reports.words.parts import Cell, Chapter, Figure, Key, Table, chapter, column
from reports.words.shown_numbers import (
    UNDEFINED,
    Row,
    Rows,
    chance,
    count,
    interval,
    missing,
    plain,
    signed,
    with_interval,
)
from reports.words.words import counted, percent


def reasons(explanations: Mapping[str, Rows]) -> Chapter | None:
    """Delta-A of all models and methods: a picture for each oracle; None without evidence."""
    rows = explanations.get("alignment", ())
    oracles = [name for name in ORACLES if any(row["oracle"] == name for row in rows)]
    of_oracles = [(name, [row for row in rows if row["oracle"] == name]) for name in oracles]
    tables = {name: _alignment_table(name, own) for name, own in of_oracles}
    figures = {name: _alignment_figure(name, own, tables[name]) for name, own in of_oracles}
    undrawn = (tables[name] for name in oracles if figures[name] is None)
    return chapter(figures.values(), (*undrawn, _models_table(explanations.get("models", ()))))


def _alignment_figure(oracle: str, rows: Rows, table: Table) -> Figure | None:
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
        "than those of others. Zero is what the explanation of another example, drawn at random, "
        f"fits as well; 1 is the most. Of a token, this oracle says {ORACLES[oracle][1]}. At the "
        "right, Delta-A and the number of independent instances, or of groups of them.",
        key_title="Each line",
        key=(Key("observed", "Delta-A, with its 95% interval", "dot"),),
        table=table,
    )


def _alignment_table(oracle: str, rows: Rows) -> Table:
    order = list(SUBSETS)
    several = several_models(rows)
    absent = any(row["absent"] for row in rows)
    ranked = sorted(in_order(rows), key=lambda row: order.index(row["subset"]))
    return Table(
        id=f"alignment-{oracle}-numbers",
        caption=f"Importance alignment. {ORACLES[oracle][0]}",
        columns=column(
            "Method" if not several else "Model and method", "Examples", "Delta-A",
            "95% interval", "p by permutation", "q", "Tested together", "Undefined draws",
            "Instances",
            *(["Why it is missing"] if absent else []),
            numeric="  nnnnnnn",
        ),
        rows=tuple(
            (*_alignment_row(row, several), *([row["absent"] or UNDEFINED] if absent else []))
            for row in ranked
        ),
    )  # fmt: skip


def _alignment_row(row: Row, several: bool) -> tuple[Cell, ...]:
    share = row["undefined_share"]
    return (
        named(row, several),
        SUBSETS[row["subset"]],
        plain(row, "delta_a"),
        interval(row),
        chance(row, "p_permutation"),
        chance(row, "q"),
        str(row["family"]),
        missing(row) if share is None else percent(share),
        count(row, "clusters"),
    )


def _models_table(rows: Rows) -> Table | None:
    """Models beside the reference model."""
    if not rows:
        return None
    notes = any(row["absent"] or row["warnings"] for row in rows)
    return Table(
        id="alignment-models",
        caption=f"By how much each model’s C − C_R lies above that of {rows[0]['reference']}, by a "
        "mixed-effects model with a random intercept for each example",
        columns=column(
            "Method", "Oracle", "Model", "Difference (z)", "p", "Variance of examples",
            "Variance of residuals", "Examples",
            *(["Notes"] if notes else []),
            numeric="   nnnnn",
        ),
        rows=tuple(
            (
                row["method"],
                ORACLES[row["oracle"]][0],
                row["model"] or UNDEFINED,
                with_interval(signed(row, "estimate"), row),
                chance(row, "p"),
                plain(row, "cov_re"),
                plain(row, "residual_variance"),
                count(row, "examples"),
                *([row["absent"] or row["warnings"] or ""] if notes else []),
            )
            for row in rows
        ),
    )  # fmt: skip
