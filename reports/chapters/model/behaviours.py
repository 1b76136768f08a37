"""The chapter on model behaviour: how often each kind of behaviour occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.charts.parts import dots_spec
from reports.charts.svg import draw
from reports.words.parts import Codes, Figure, Key, Named, Table, column
from reports.words.words import counted, number, percent, shortened, span

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Behaviours:
    """Kinds of behaviour as a table, as a figure if shares can be shown, and with examples."""

    figure: Figure | None
    table: Table
    withheld: bool
    """Whether there are matching instances, but none may be named."""


def behaviours(rows: Rows) -> Behaviours | None:
    """Make the chapter; None if no behaviours were queried."""
    if not rows:
        return None
    table = _table(rows)
    named = any(row["examples"] for row in rows)
    return Behaviours(
        figure=_figure(rows, table),
        table=_examples(rows) if named else table,
        withheld=not named and any(row["instances"] != 0 for row in rows),
    )


def _figure(rows: Rows, table: Table) -> Figure | None:
    drawn = [row for row in rows if row["share"] is not None]
    if not drawn:
        return None
    most = max(drawn, key=lambda row: row["share"])
    return Figure(
        id="behaviours",
        title="Kinds of behaviour",
        drawing=draw(
            dots_spec(
                [
                    {
                        "label": shortened(row["title"], 54),
                        "share": row["share"],
                        **_bounds(row),
                        "counts": f"{number(row['instances'])} of {number(row['of'])}",
                    }
                    for row in drawn
                ],
                "share of the instances with a prediction",
                left=330,
            )
        ),
        alt=f"Dot plot of {counted(len(drawn), 'kind')} of behaviour. The most frequent, "
        f"“{most['title']}”, is that of {percent(most['share'])} of the instances.",
        caption="Each kind is counted by itself: an instance may show several kinds, or none.",
        key_title="Each line",
        key=(Key("observed", "share, with its 95% interval", "dot"),),
        table=table,
    )


def _bounds(row: Mapping[str, Any]) -> dict[str, float]:
    low, high = row["low"], row["high"]
    known = low is not None and high is not None
    return {"low": low, "high": high} if known else {"low": row["share"], "high": row["share"]}


def _table(rows: Rows) -> Table:
    return Table(
        id="behaviours-numbers",
        caption="Kinds of behaviour",
        columns=column(
            "Behaviour", "Instances", "Out of", "Share", "95% interval", numeric=" nnnn"
        ),
        rows=tuple((_behaviour_name(row), *_counts(row), _interval(row)) for row in rows),
    )


def _examples(rows: Rows) -> Table:
    return Table(
        id="behaviours-examples",
        caption="Examples of each kind",
        columns=column(
            "Behaviour", "Instances", "Out of", "Share", "Examples, by instance", numeric=" nnn"
        ),
        rows=tuple(
            (
                _behaviour_name(row),
                *_counts(row),
                Codes(tuple(row["examples"])) if row["examples"] else "none",
            )
            for row in rows
        ),
    )


def _counts(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return number(row["instances"]), number(row["of"]), percent(row["share"])


def _interval(row: Mapping[str, Any]) -> str:
    return span(percent(row["low"]), percent(row["high"]))


def _behaviour_name(row: Mapping[str, Any]) -> Named:
    return Named(row["title"], row["name"])
