"""The chapter on votes: agreement, weak labels, and annotators beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from reports.chapters.entailment.by_relation import KEPT, by_relation, with_total
from reports.charts.parts import dots_spec
from reports.charts.svg import draw
from reports.words.entailment_words import AGREEMENT
from reports.words.parts import Cell, Chapter, Figure, Key, Ranged, Table, chapter
from reports.words.shown_numbers import Row, Rows, count, line_label, plain, ranged, share
from reports.words.table_specs import (
    chances,
    interval_below,
    numbers,
    shares,
    table,
    texts,
    written,
)
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
    measured = [
        {"measure": wording.title, "relation": row["relation"], "cell": _agreed(row)}
        for name, wording in AGREEMENT.items()
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


def _weak(rows: Rows, carrying: float) -> Table | None:
    return with_total(
        "entailment-weak",
        f"Labels that less than {carrying:.0%} of their votes carry",
        rows,
        numbers("Weak", "weak"),
        numbers("Of them ties", "ties"),
        numbers("Of them against most votes", "against"),
        numbers("Tuples with votes", "tuples"),
        interval_below(shares("Weak, share")),
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
        key=(Key("observed", "share, with its 95% interval", "dot"),),
        table=table(
            "entailment-annotators-numbers",
            "Annotators beside the majority of the others",
            rows,
            texts("Annotator", lambda row: str(row["annotator"])),
            written("With the majority", _agreeing),
            interval_below(shares("Share", "rate")),
            shares("Others", "others"),
            written("Difference in points", _difference),
            shares("Sensitivity", "sensitivity"),
            shares("Specificity", "specificity"),
            chances("q-value", "q_value"),
        ),
    )


def _agreeing(row: Row) -> str:
    return f"{count(row, 'agreeing')} of {count(row, 'compared')}"


def _line(row: Row) -> dict[str, Any]:
    return {
        "label": line_label(str(row["annotator"])),
        "share": row["rate"],
        "low": row["low"],
        "high": row["high"],
        "counts": _agreeing(row),
    }


def _difference(row: Row) -> Cell:
    ends = (row["difference_low"], row["difference_high"])
    if row["difference"] is None or None in ends:
        return plain(row, "difference")
    low, high = (points(end) for end in ends)
    return Ranged(points(row["difference"]), f"{low} to {high}")
