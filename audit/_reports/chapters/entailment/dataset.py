"""The chapters on the dataset and on votes: its tuples, and how far votes agree."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from audit._reports.chapters.entailment.by_relation import by_relation, with_total
from audit._reports.words.entailment_words import AGREEMENT, ALL
from audit._reports.words.parts import Cell, Chapter, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, count, plain, ranged, share
from audit._reports.words.table_specs import (
    across,
    decimals,
    interval_below,
    numbers,
    pivoted,
    shares,
    texts,
)
from audit._reports.words.words import number

PLACES = 2


def dataset(entailment: Mapping[str, Any]) -> Chapter | None:
    """The tables of AbsPyramid on any dataset, then the elements and the splits of its tuples."""
    parameters = entailment["facts"]["parameters"]
    return chapter(
        (),
        (
            _totals(entailment["quality_totals"]),
            _valid(entailment["quality_totals"]),
            _diversity(entailment["quality_diversity"], parameters),
            _references(entailment["quality_references"], entailment["facts"]["generation_set"]),
            _generation_set(entailment["quality_generation_set"]),
        ),
    )


def _splits(rows: Rows) -> list[str]:
    """The splits in report order, without all together."""
    return list(dict.fromkeys(row["split"] for row in rows if row["split"] != ALL))


def _totals(rows: Rows) -> Table | None:
    return with_total(
        "entailment-totals",
        "Tuples by relation and split",
        pivoted(rows, ["relation"], "split"),
        *(across("split", split, numbers(split, "tuples")) for split in (*_splits(rows), ALL)),
    )


def _valid(rows: Rows) -> Table | None:
    return with_total(
        "entailment-valid",
        "Valid tuples, and their share of the tuples of each split with its 95% interval",
        pivoted(rows, ["relation"], "split"),
        across("split", ALL, numbers("Valid", "valid")),
        *(
            across("split", split, interval_below(shares(f"Share, {split}")))
            for split in (*_splits(rows), ALL)
        ),
    )


def _diversity(rows: Rows, parameters: Mapping[str, float]) -> Table | None:
    limit = number(parameters["unique_at_most"])
    return with_total(
        "entailment-diversity",
        "Words, unique concepts, and social events. A concept is unique if its BLEU-1 against the "
        f"other concepts of its head and instance is at most {limit}; for edges, which do not "
        "depend on the head, against those of its instance",
        rows,
        numbers("Words", "vocabulary"),
        shares("Unique, of tuples", "unique"),
        shares("Without brevity penalty", "unique_without_penalty"),
        numbers("Tuples", "tuples"),
        shares("Unique, of edges", "unique_edges"),
        shares("Without brevity penalty", "unique_edges_without_penalty"),
        numbers("Edges", "edges"),
        interval_below(shares("Social, of heads", "social"), "social_low", "social_high"),
        numbers("Heads", "heads"),
    )


def _references(rows: Rows, generation_set: bool) -> Table | None:
    what = "of the generation set" if generation_set else "of the valid tuples"
    return with_total(
        "entailment-references",
        f"References per instance, {what}: valid tuples over the heads with an instance that have "
        "one",
        pivoted(rows, ["relation"], "split"),
        across("split", ALL, numbers("Valid tuples", "valid")),
        across("split", ALL, numbers("Instances with one", "instances")),
        across("split", ALL, numbers("All instances", "identified")),
        across("split", ALL, decimals("References per instance", "references", PLACES)),
        *(
            across(
                "split", split, decimals(f"References per instance, {split}", "references", PLACES)
            )
            for split in _splits(rows)
        ),
    )


def _generation_set(rows: Rows) -> Table | None:
    return with_total(
        "entailment-generation-set",
        "The generation set and the valid tuples of the dataset, which should be the same; each "
        "tuple counts once",
        rows,
        numbers("Valid here", "valid"),
        numbers("In the generation set", "generation"),
        numbers("In both", "both"),
        numbers("Only valid here", "only_detection"),
        numbers("Only in the generation set", "only_generation"),
        numbers("Invalid there", "not_valid"),
    )


def votes(entailment: Mapping[str, Any]) -> Chapter | None:
    """Agreement by relation; None without votes."""
    if not entailment["facts"]["voted"]:
        return None
    return chapter((), (_agreement(entailment["quality_agreement"]),))


def _agreement(rows: Rows) -> Table | None:
    measured = [
        {"measure": title, "relation": row["relation"], "cell": _agreed(row)}
        for name, title in AGREEMENT.items()
        for row in rows
        if row["measure"] == name
    ]
    sizes = [
        {"measure": title, "relation": relation, "cell": count(row, name)}
        for title, name in (("Tuples", "tuples"), ("Votes", "votes"))
        for relation, row in {row["relation"]: row for row in rows}.items()
    ]
    return by_relation(
        "entailment-agreement",
        "Agreement of votes on tuples with two votes or more, with 95% intervals",
        [*measured, *sizes],
        ["measure"],
        [texts("Measure", "measure")],
        itemgetter("cell"),
    )


def _agreed(row: Row) -> Cell:
    if row["reason"]:
        return str(row["reason"])
    if row["measure"] in ("pairwise", "unanimous"):
        return ranged(share(row, "value"), row)
    return ranged(plain(row, "value"), row)
