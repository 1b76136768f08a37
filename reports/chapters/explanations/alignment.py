"""The chapter on importance alignment: do models decide for the reasons that people give?"""

from __future__ import annotations

from collections.abc import Mapping

from reports.chapters.explanations.parts import dots, in_order, methods, named, several_models
from reports.charts.charts import means_spec
from reports.charts.svg import draw
from reports.words.explanation_words import ORACLES, SUBSETS
from reports.words.parts import Chapter, Figure, Key, Table, chapter
from reports.words.shown_numbers import UNDEFINED, Rows, plain
from reports.words.table_specs import (
    chances,
    decimals,
    differences,
    interval_beside,
    intervals,
    numbers,
    shares,
    table,
    texts,
    written,
)
from reports.words.words import counted


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
        "than those of others. Zero is what the explanation of another example, drawn at random, "
        f"fits as well; 1 is the most. Of a token, this oracle says {ORACLES[oracle][1]}. At the "
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
        chances("p by permutation", "p_permutation"),
        chances("q", "q"),
        written("Tested together", lambda row: str(row["family"])),
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
        f"By how much each model’s C − C_R lies above that of {rows[0]['reference']}, by a "
        "mixed-effects model with a random intercept for each example",
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
