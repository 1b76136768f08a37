"""The chapter on votes: agreement, weak labels, and annotators beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.chapters.entailment.by_relation import KEPT, by_relation
from reports.chapters.shown_numbers import (
    Chapter,
    Row,
    Rows,
    chance,
    chapter,
    count,
    line_label,
    plain,
    ranged,
    share,
)
from reports.charts.parts import dots_spec
from reports.charts.svg import draw
from reports.words.entailment_words import AGREEMENT, ALL
from reports.words.parts import Cell, Figure, Key, Ranged, Table, column
from reports.words.words import counted, number, points


def votes(entailment: Mapping[str, Any]) -> Chapter | None:
    """Agreement and weak labels by relation, and the annotators; None without votes."""
    if not entailment["facts"]["voted"]:
        return None
    parameters = entailment["facts"]["parameters"]
    return chapter(
        (_annotators(entailment["quality_annotators"], parameters),),
        (
            _agreement(entailment["quality_agreement"]),
            _weak(entailment["quality_weak"], parameters["carrying_share"]),
        ),
    )


def _agreement(rows: Rows) -> Table | None:
    sizes = {row["relation"]: row for row in rows}
    table = by_relation(
        "entailment-agreement",
        "Agreement of votes on tuples with two votes or more, with 95% intervals",
        ("Measure",),
        (
            ((wording.title,), [row for row in rows if row["measure"] == name])
            for name, wording in AGREEMENT.items()
        ),
        _agreed,
    )
    if table is None:
        return None
    lines = (
        (title, *(count(row, name) for row in sizes.values()))
        for title, name in (("Tuples", "tuples"), ("Votes", "votes"))
    )
    return Table(table.id, table.caption, table.columns, (*table.rows, *lines))


def _agreed(row: Row) -> Cell:
    if row["reason"]:
        return str(row["reason"])
    if row["measure"] in ("pairwise", "unanimous"):
        return ranged(share(row, "value"), row)
    return ranged(plain(row, "value"), row)


def _weak(rows: Rows, carrying: float) -> Table | None:
    if not rows:
        return None
    lines = [row for row in rows if row["relation"] != ALL]
    total = next((row for row in rows if row["relation"] == ALL), None)
    return Table(
        id="entailment-weak",
        caption=f"Labels that less than {carrying:.0%} of their votes carry",
        columns=column(
            "Relation", "Weak", "Of them ties", "Of them against most votes", "Tuples with votes",
            "Weak, share", numeric=" nnnnn",
        ),
        rows=tuple((row["relation"], *_weak_cells(row)) for row in lines),
        total=("All relations", *_weak_cells(total)) if total and len(lines) > 1 else (),
    )  # fmt: skip


def _weak_cells(row: Row) -> tuple[Cell, ...]:
    return (
        *(count(row, name) for name in ("weak", "ties", "against", "tuples")),
        ranged(share(row), row),
    )


def _annotators(rows: Rows, parameters: Mapping[str, float]) -> Figure | None:
    drawn = [row for row in rows if row["rate"] is not None]
    if not drawn:
        return None
    least = min(drawn, key=lambda row: (row["rate"], row["annotator"]))
    return Figure(
        id="entailment-annotators",
        title="Annotators beside the majority of the others",
        drawing=draw(dots_spec([_line(row) for row in drawn], "votes with the majority")),
        alt=f"Dot plot of {counted(len(drawn), 'annotator')}. The lowest, {least['annotator']}, "
        f"votes with the majority of the others on {share(least, 'rate')} of "
        f"{count(least, 'compared')} tuples.",
        caption="The share of an annotator’s votes that are those of most others, on tuples whose "
        "other votes have a majority, with its 95% interval; those that most surely agree less "
        "come first. Sensitivity and specificity are the shares of valid and of invalid tuples "
        "that the annotator finds by Dawid and Skene’s model. The q-value is that of so low a "
        f"rate among the others, for annotators with {number(parameters['least_compared'])} such "
        f"votes. Annotators beyond the first are in {KEPT.format('quality_annotators')}.",
        key_title="Each line",
        key=(Key("observed", "share, with its 95% interval", "dot"),),
        table=_annotator_table(rows),
    )


def _line(row: Row) -> dict[str, Any]:
    return {
        "label": line_label(str(row["annotator"])),
        "share": row["rate"],
        "low": row["low"],
        "high": row["high"],
        "counts": f"{count(row, 'agreeing')} of {count(row, 'compared')}",
    }


def _annotator_table(rows: Rows) -> Table:
    return Table(
        id="entailment-annotators-numbers",
        caption="Annotators beside the majority of the others",
        columns=column(
            "Annotator", "With the majority", "Share", "Others", "Difference in points",
            "Sensitivity", "Specificity", "q-value",
            numeric=" nnnnnnn",
        ),
        rows=tuple(
            (
                str(row["annotator"]),
                f"{count(row, 'agreeing')} of {count(row, 'compared')}",
                ranged(share(row, "rate"), row),
                share(row, "others"),
                _difference(row),
                share(row, "sensitivity"),
                share(row, "specificity"),
                chance(row, "q_value"),
            )
            for row in rows
        ),
    )  # fmt: skip


def _difference(row: Row) -> Cell:
    ends = (row["difference_low"], row["difference_high"])
    if row["difference"] is None or None in ends:
        return plain(row, "difference")
    low, high = (points(end) for end in ends)
    return Ranged(points(row["difference"]), f"{low} to {high}")
