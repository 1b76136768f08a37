"""The chapter on generated concepts: measures against references, and what people say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.chapters.shown_numbers import (
    UNDEFINED,
    Chapter,
    Rows,
    chapter,
    count,
    plain,
    ranged,
    share,
)
from reports.words.entailment_words import AGREEMENT, GENERATION
from reports.words.parts import Table, column
from reports.words.words import words

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


def _measures(rows: Rows, names: Any, id_: str, caption: str) -> Table | None:
    kept = [name for name in names if any(row["measure"] == name for row in rows)]
    if not kept:
        return None
    of = {(row["model"], row["relation"], row["measure"]): row for row in rows}
    lines = []
    for model, relation in dict.fromkeys((row["model"], row["relation"]) for row in rows):
        own = [of[model, relation, name] for name in kept]
        values = (ranged(plain(row, "value"), row) for row in own)
        lines.append((model, relation, *values, count(own[0])))
    return Table(
        id=f"entailment-generation-{id_}",
        caption=f"{caption}, with 95% intervals",
        columns=column(
            "Model",
            "Relation",
            *(GENERATION[name].title for name in kept),
            "Instances",
            numeric="  " + "n" * (len(kept) + 1),
        ),
        rows=tuple(lines),
    )


def _coverage(rows: Rows, measured: Rows) -> Table | None:
    if not rows:
        return None
    of = {(row["model"], row["relation"]): plain(row, "references", 2) for row in measured}
    return Table(
        id="entailment-generated",
        caption="Instances for which models have a text; a blank one scores 0",
        columns=column(
            "Model", "Relation", "With a text", "Of them blank", "Without a text",
            "Instances with a reference", "References of those with a text, mean",
            numeric="  nnnnn",
        ),
        rows=tuple(
            (
                row["model"],
                row["relation"],
                *(count(row, name) for name in ("generated", "blank", "missing", "instances")),
                of.get((row["model"], row["relation"]), UNDEFINED),
            )
            for row in rows
        ),
    )  # fmt: skip


def _ratings(rows: Rows) -> Table | None:
    if not rows:
        return None
    levels = sorted({row["level"] for row in rows})
    of = {(row["model"], row["relation"], row["level"]): row for row in rows}
    lines = []
    for model, relation in dict.fromkeys((row["model"], row["relation"]) for row in rows):
        own = [of.get((model, relation, level)) for level in levels]
        shares = (UNDEFINED if row is None else ranged(share(row), row) for row in own)
        known = next(row for row in own if row is not None)
        lines.append((model, relation, *shares, count(known, "ratings"), count(known, "items")))
    return Table(
        id="entailment-ratings",
        caption="How people rate generated concepts: the share of ratings at each level, with its "
        "95% interval",
        columns=column(
            "Model", "Relation", *levels, "Ratings", "Texts", numeric="  nn" + "n" * len(levels)
        ),
        rows=tuple(lines),
    )


def _agreement(rows: Rows) -> Table | None:
    if not rows:
        return None
    titles = {name: wording.title for name, wording in AGREEMENT.items()}
    return Table(
        id="entailment-raters",
        caption="How far they agree, on texts with two ratings or more",
        columns=column(
            "Model", "Relation", "Measure", "Agreement", "Texts", "Ratings", "Raters",
            numeric="   nnnn",
        ),
        rows=tuple(
            (
                row["model"],
                row["relation"],
                words(row["measure"], titles),
                ranged(plain(row, "value"), row),
                *(count(row, name) for name in ("items", "ratings", "raters")),
            )
            for row in rows
        ),
    )  # fmt: skip
