"""Labels that a model mistakes for each other: by branch, by pair, and answers in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit._reports.charts.charts import pairs_spec
from audit._reports.charts.svg import draw
from audit._reports.words.parts import Figure, Key, Table
from audit._reports.words.shown_numbers import Rows
from audit._reports.words.table_specs import (
    nodes,
    numbers,
    optional_table,
    table,
    texts,
)
from audit._reports.words.words import RELATION, counted, number, pair_label, percent, tenths

LINES = 15
"""Largest number of pairs of branches in the figure; the table has all."""
_KINDS = {
    "related": "Of a label with one above or below it",
    "within": "Within a branch",
    "across": "Between branches",
}


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Facts on the number of confusions, a figure of branches, tables of pairs and of answers."""

    facts: tuple[tuple[str, str], ...]
    figure: Figure | None
    passing: int | None
    pairs: Table | None
    answers: Table | None


def exchanges(overview: Mapping[str, Any]) -> Exchanges | None:
    """Make the chapter, from the overview of the shared view; None if there are no exchanges."""
    kinds, pairs = overview["exchanges"], overview["exchanged_pairs"]
    if not kinds:
        return None
    facts = tuple((_KINDS[row["kind"]], number(row["exchanges"])) for row in kinds)
    figure = _exchange_figure(overview["branch_exchanges"])
    passes = [row["passes"] for row in pairs]
    passing = None if None in passes else sum(passes)
    return Exchanges(facts, figure, passing, _pair_table(pairs), _answer_table(overview["answers"]))


def _pair_table(rows: Rows) -> Table | None:
    return optional_table(
        "exchanged-pairs",
        "Labels mistaken for each other, the most beyond chance first",
        rows,
        nodes("Label", "a", "title_a"),
        nodes("With", "b", "title_b"),
        texts("Relation", "relation", RELATION),
        numbers("Mistaken", "observed"),
        numbers("Expected", "expected", tenths),
        numbers("In excess", "excess", _signed),
        texts("Finding", "passes", {"True": "yes", "False": "no"}),
    )


def _answer_table(rows: Rows) -> Table | None:
    return optional_table(
        "answers-numbers",
        "Answers given falsely at least three times as often as missed, the largest difference "
        "first",
        rows,
        nodes("Answer"),
        numbers("Falsely given", "falsely"),
        numbers("Missed", "missed"),
        numbers("Rightly given", "hits"),
        numbers("Given in all", "answers"),
        numbers("False, of all given", "share", percent),
        numbers("Labelled", "labelled"),
    )


def _exchange_figure(rows: Rows) -> Figure | None:
    shown = [row for row in rows if row["excess"] is not None]
    more = sum(row["excess"] > 0 for row in shown)
    if not more:
        return None
    first = shown[0]
    return Figure(
        id="exchanges",
        title="Branches whose labels are mistaken for each other",
        drawing=draw(pairs_spec([_dot_of(row) for row in shown[:LINES]], measured="confusions")),
        alt=f"Dot plot of {counted(min(len(shown), LINES), 'pair')} of branches, with the "
        f"confusions observed and expected. The largest excess, of {first['a']} and {first['b']}, "
        f"is {_signed(first['excess'])}: {number(first['observed'])} confusions where "
        f"{tenths(first['expected'])} are expected. Of {counted(len(shown), 'pair')} {more} "
        f"{'has' if more == 1 else 'have'} more confusions than expected.",
        caption="Labels of one branch that are missed where a label of the other is falsely "
        "answered, in both directions, compared with what to expect if errors fell at random. At "
        "the right, how many confusions are in excess. A label in several branches counts in each.",
        key=(
            Key("observed", "confusions of the two branches", "dot"),
            Key("expected", "expected", "ring"),
        ),
        table=_exchange_table(rows),
    )


def _dot_of(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "label": pair_label(row),
        "observed": row["observed"],
        "expected": row["expected"],
        "low": None,
        "high": None,
        "times": _signed(row["excess"]),
    }


def _signed(excess: float | None) -> str:
    """How many more, or fewer.

    >>> _signed(12.34), _signed(-3.0), _signed(None)
    ('+12.3', '−3.0', '–')
    """
    text = tenths(excess)
    return text.replace("-", "−") if excess is None or excess < 0 else f"+{text}"


def _exchange_table(rows: Rows) -> Table:
    return table(
        "exchanges-numbers",
        "Confusions between branches, the largest excess first",
        rows,
        nodes("Branch", "a", "title_a"),
        nodes("With", "b", "title_b"),
        numbers("Mistaken", "observed"),
        numbers("Expected", "expected", tenths),
        numbers("In excess", "excess", _signed),
    )
