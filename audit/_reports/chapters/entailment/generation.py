"""The chapter on generated concepts: measures against references, and what people say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.words.entailment_words import AGREEMENT, GENERATION
from audit._reports.words.parts import Chapter, Table, chapter
from audit._reports.words.shown_numbers import UNDEFINED, Rows, plain
from audit._reports.words.table_specs import (
    across,
    decimals,
    interval_below,
    numbers,
    optional_table,
    pivoted,
    shares,
    texts,
    written,
)

OF_BLEU = ("bleu_1", "bleu_2", "brevity_penalty")
"""Measures in a table of their own, beside those that the paper prints."""


def generation(entailment: Mapping[str, Any]) -> Chapter | None:
    """Measures by model and relation, and ratings; None without generated concepts."""
    rows = entailment.get("generation_measured", ())
    printed = [name for name in GENERATION if name not in OF_BLEU]
    return chapter(
        (),
        (
            _measures(rows, printed, "printed", "Generated concepts against the references"),
            _measures(
                rows, OF_BLEU, "bleu", "BLEU as defined, cumulative and with the brevity penalty"
            ),
            _coverage(entailment.get("generation_coverage", ()), rows),
            _ratings(entailment.get("generation_ratings", ())),
            _agreement(entailment.get("generation_agreement", ())),
        ),
    )


def _measures(rows: Rows, names: Sequence[str], id_: str, caption: str) -> Table | None:
    kept = [name for name in names if any(row["measure"] == name for row in rows)]
    lines = pivoted(rows, ["model", "relation"], "measure")
    return optional_table(
        f"entailment-generation-{id_}",
        f"{caption}, with 95% intervals",
        lines if kept else (),
        texts("Model", "model"),
        texts("Relation", "relation"),
        *(
            across("measure", name, interval_below(decimals(GENERATION[name].title, "value")))
            for name in kept
        ),
        *(across("measure", name, numbers("Instances", "n")) for name in kept[:1]),
    )


def _coverage(rows: Rows, measured: Rows) -> Table | None:
    of = {(row["model"], row["relation"]): plain(row, "references", 2) for row in measured}
    return optional_table(
        "entailment-generated",
        "Instances for which models have a text; a blank one scores 0",
        rows,
        texts("Model", "model"),
        texts("Relation", "relation"),
        numbers("With a text", "generated"),
        numbers("Of them blank", "blank"),
        numbers("Without a text", "missing"),
        numbers("Instances with a reference", "instances"),
        written(
            "References of those with a text, mean",
            lambda row: of.get((row["model"], row["relation"]), UNDEFINED),
        ),
    )


def _ratings(rows: Rows) -> Table | None:
    levels = sorted({row["level"] for row in rows})
    return optional_table(
        "entailment-ratings",
        "How people rate generated concepts: the share of ratings at each level, with its 95% "
        "interval",
        pivoted(rows, ["model", "relation"], "level"),
        texts("Model", "model"),
        texts("Relation", "relation"),
        *(across("level", level, interval_below(shares(level))) for level in levels),
        numbers("Ratings", "ratings"),
        numbers("Texts", "items"),
    )


def _agreement(rows: Rows) -> Table | None:
    return optional_table(
        "entailment-raters",
        "How far they agree, on texts with two ratings or more",
        rows,
        texts("Model", "model"),
        texts("Relation", "relation"),
        texts("Measure", "measure", {name: wording.title for name, wording in AGREEMENT.items()}),
        interval_below(decimals("Agreement", "value")),
        numbers("Texts", "items"),
        numbers("Ratings", "ratings"),
        numbers("Raters", "raters"),
    )
