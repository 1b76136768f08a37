"""The chapter on the dataset: what tuples there are, and whether they and splits are sound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.chapters.entailment.by_relation import relations
from reports.chapters.shown_numbers import (
    UNDEFINED,
    Chapter,
    Row,
    Rows,
    chapter,
    count,
    plain,
    ranged,
    share,
)
from reports.words.entailment_words import ALL, FAULTS
from reports.words.parts import Cell, Table, column
from reports.words.words import number, percent, words

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
            _elements(entailment["quality_consistency"]),
            _shared(entailment["quality_shared_keys"]),
            _near(entailment["quality_near"], parameters),
        ),
    )


def _splits(rows: Rows) -> list[str]:
    """The splits in report order, all together last."""
    names = list(dict.fromkeys(row["split"] for row in rows if row["split"] != ALL))
    return [*names, ALL]


def _by_split(rows: Rows) -> dict[tuple[str, str], Row]:
    return {(row["relation"], row["split"]): row for row in rows}


def _lines(rows: Rows, line: Any) -> tuple[tuple[tuple[Cell, ...], ...], tuple[Cell, ...]]:
    """A line per relation, and that of all relations, if there are several, as the total."""
    names = relations(rows)
    lines = [(name, *line(name)) for name in names if name != ALL]
    several = len(lines) > 1
    return tuple(lines), ("All relations", *line(ALL)) if several else ()


def _totals(rows: Rows) -> Table:
    of, splits = _by_split(rows), _splits(rows)

    def line(relation: str) -> list[Cell]:
        cells = [of.get((relation, split)) for split in splits]
        return [UNDEFINED if row is None else count(row, "tuples") for row in cells]

    lines, total = _lines(rows, line)
    return Table(
        id="entailment-totals",
        caption="Tuples by relation and split",
        columns=column("Relation", *splits, numeric=" " + "n" * len(splits)),
        rows=lines,
        total=total,
    )


def _valid(rows: Rows) -> Table:
    of, splits = _by_split(rows), _splits(rows)

    def line(relation: str) -> list[Cell]:
        cells = [of.get((relation, split)) for split in splits]
        whole = of.get((relation, ALL))
        valid = UNDEFINED if whole is None else count(whole, "valid")
        return [valid, *(UNDEFINED if row is None else ranged(share(row), row) for row in cells)]

    lines, total = _lines(rows, line)
    return Table(
        id="entailment-valid",
        caption="Valid tuples, and their share of the tuples of each split with its 95% interval",
        columns=column(
            "Relation", "Valid", *(f"Share, {split}" for split in splits),
            numeric=" n" + "n" * len(splits),
        ),
        rows=lines,
        total=total,
    )  # fmt: skip


def _diversity(rows: Rows, parameters: Mapping[str, float]) -> Table | None:
    if not rows:
        return None
    of = {row["relation"]: row for row in rows}

    def line(relation: str) -> list[Cell]:
        row = of[relation]
        return [
            count(row, "vocabulary"),
            share(row, "unique"),
            share(row, "unique_without_penalty"),
            count(row, "tuples"),
            share(row, "unique_edges"),
            share(row, "unique_edges_without_penalty"),
            count(row, "edges"),
            ranged(share(row, "social"), row, "social_low", "social_high"),
            count(row, "heads"),
        ]

    lines, total = _lines(rows, line)
    limit = number(parameters["unique_at_most"])
    return Table(
        id="entailment-diversity",
        caption="Words, unique concepts, and social events. A concept is unique if its BLEU-1 "
        f"against the other concepts of its head and instance is at most {limit}; for edges, which "
        "do not depend on the head, against those of its instance",
        columns=column(
            "Relation", "Words", "Unique, of tuples", "Without brevity penalty", "Tuples",
            "Unique, of edges", "Without brevity penalty", "Edges", "Social, of heads", "Heads",
            numeric=" nnnnnnnnn",
        ),
        rows=lines,
        total=total,
    )  # fmt: skip


def _references(rows: Rows, generation_set: bool) -> Table | None:
    if not rows:
        return None
    of, splits = _by_split(rows), _splits(rows)

    def line(relation: str) -> list[Cell]:
        whole = of[relation, ALL]
        each = [of.get((relation, split)) for split in splits[:-1]]
        return [
            *(count(whole, name) for name in ("valid", "instances", "identified")),
            plain(whole, "references", PLACES),
            *(UNDEFINED if row is None else plain(row, "references", PLACES) for row in each),
        ]

    lines, total = _lines(rows, line)
    what = "of the generation set" if generation_set else "of the valid tuples"
    return Table(
        id="entailment-references",
        caption=f"References per instance, {what}: valid tuples over the heads with an instance "
        "that have one",
        columns=column(
            "Relation", "Valid tuples", "Instances with one", "Instances at all",
            "References per instance", *(f"The same, {split}" for split in splits[:-1]),
            numeric=" nnnn" + "n" * len(splits),
        ),
        rows=lines,
        total=total,
    )  # fmt: skip


def _generation_set(rows: Rows) -> Table | None:
    if not rows:
        return None
    names = ("valid", "generation", "both", "only_detection", "only_generation", "not_valid")
    of = {row["relation"]: row for row in rows}
    lines, total = _lines(rows, lambda relation: [count(of[relation], name) for name in names])
    return Table(
        id="entailment-generation-set",
        caption="The generation set and the valid tuples of the dataset, which should be the "
                "same; each tuple counts once",
        columns=column(
            "Relation", "Valid here", "In the generation set", "In both", "Only valid here",
            "Only in the generation set", "Invalid there", numeric=" nnnnnn",
        ),
        rows=lines,
        total=total,
    )  # fmt: skip


def _elements(rows: Rows) -> Table | None:
    if not rows:
        return None
    return Table(
        id="entailment-elements",
        caption="Whether the elements of tuples fit each other: tuples in which they do not",
        columns=column("Relation", "What does not fit", "Tuples", "Of", "Share", numeric="  nnn"),
        rows=tuple(
            (
                row["relation"],
                words(row["fault"], FAULTS),
                count(row, "faulty"),
                count(row, "tuples"),
                ranged(share(row), row),
            )
            for row in rows
        ),
    )


def _shared(rows: Rows) -> Table | None:
    if not rows:
        return None
    return Table(
        id="entailment-shared",
        caption="Heads with an instance that occur in two splits: how many of the later one occur "
        "in the earlier one too",
        columns=column("Later split", "Earlier split", "In both", "Of", "Share", numeric="  nnn"),
        rows=tuple(
            (
                row["other"],
                row["split"],
                count(row, "shared"),
                count(row, "keys"),
                ranged(share(row), row),
            )
            for row in rows
        ),
    )


def _near(rows: Rows, parameters: Mapping[str, float]) -> Table | None:
    if not rows:
        return None
    similar = number(parameters["near_similarity"])
    return Table(
        id="entailment-near",
        caption="Heads of the later split that are nearly one of the earlier split: the Jaccard "
        f"coefficient of their runs of {number(parameters['shingle_characters'])} characters is "
        f"{similar} or more. By {number(parameters['hashes'])} hashes in "
        f"{number(parameters['bands'])} bands, {percent(parameters['missed_at_similarity'])} of "
        f"pairs at {similar} are missed",
        columns=column(
            "Later split", "Earlier split", "Nearly the same", "Of", "Share",
            "With the same instance", numeric="  nnnn",
        ),
        rows=tuple(
            (
                row["other"],
                row["split"],
                count(row, "near"),
                count(row, "heads"),
                ranged(share(row), row),
                count(row, "same_instance"),
            )
            for row in rows
        ),
    )  # fmt: skip
