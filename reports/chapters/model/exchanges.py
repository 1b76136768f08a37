"""Exchanges of labels: the relation of the two labels, and the branches exchanged most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.charts.charts import pairs_spec
from reports.charts.svg import draw
from reports.words.labels import pair_label
from reports.words.parts import Figure, Key, Table
from reports.words.shown_numbers import Rows
from reports.words.table_specs import nodes, numbers, table
from reports.words.words import counted, number, tenths

LINES = 15
"""Largest number of pairs of branches in the figure; the table has all."""
_KINDS = {
    "related": "Of a label with one above or below it",
    "within": "Within a branch",
    "across": "Between branches",
}


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Facts on the number of exchanges, and the figure of those between branches."""

    facts: tuple[tuple[str, str], ...]
    figure: Figure | None


def exchanges(kinds: Rows, branches: Rows) -> Exchanges | None:
    """Make the chapter; None if there are no exchanges.

    Args:
        kinds: The shared view's exchanges by relation of their labels.
        branches: The exchanges between pairs of branches, the largest excess first.
    """
    if not kinds:
        return None
    facts = tuple((_KINDS[row["kind"]], number(row["exchanges"])) for row in kinds)
    return Exchanges(facts, _figure(branches))


def _figure(rows: Rows) -> Figure | None:
    shown = [row for row in rows if row["excess"] is not None]
    if not shown:
        return None
    first = shown[0]
    more = sum(row["excess"] > 0 for row in shown)
    return Figure(
        id="exchanges",
        title="Branches whose labels are answered in place of each other",
        drawing=draw(pairs_spec([_dot_of(row) for row in shown[:LINES]], measured="exchanges")),
        alt=f"Dot plot of {counted(min(len(shown), LINES), 'pair')} of branches, with the "
        f"exchanges observed and expected. The largest excess, of {first['a']} and {first['b']}, "
        f"is {_signed(first['excess'])}: {number(first['observed'])} exchanges where "
        f"{tenths(first['expected'])} are expected. Of {counted(len(shown), 'pair')} "
        f"{more} have more exchanges than expected.",
        caption="Labels of one branch that are missed where a label of the other is falsely "
        "answered, in both directions, compared with what to expect of labels that are mistaken as "
        "often. At the right, how many exchanges are in excess. A label in several branches counts "
        "in each.",
        key=(
            Key("observed", "exchanges of the two branches", "dot"),
            Key("expected", "expected", "ring"),
        ),
        table=_table(rows),
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
    ('+12.3', '−3.0', 'withheld')
    """
    text = tenths(excess)
    return text.replace("-", "−") if excess is None or excess < 0 else f"+{text}"


def _table(rows: Rows) -> Table:
    return table(
        "exchanges-numbers",
        "Exchanges between branches, the largest excess first",
        rows,
        nodes("Branch", "a", "title_a"),
        nodes("With", "b", "title_b"),
        numbers("Exchanges", "observed"),
        numbers("Expected", "expected", tenths),
        numbers("In excess", "excess", _signed),
    )
