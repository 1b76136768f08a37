"""The chapter on model behaviour: how often each kind of behaviour occurs."""

from __future__ import annotations

from dataclasses import dataclass

from reports.charts.parts import dots_spec, ends
from reports.charts.svg import draw
from reports.words.parts import Codes, Figure, Key, Table
from reports.words.shown_numbers import Rows
from reports.words.table_specs import named, numbers, spans, table, texts
from reports.words.words import counted, number, percent, shortened


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
    counts = _table(rows)
    examples = any(row["examples"] for row in rows)
    return Behaviours(
        figure=_figure(rows, counts),
        table=_examples(rows) if examples else counts,
        withheld=not examples and any(row["instances"] != 0 for row in rows),
    )


def _figure(rows: Rows, counts: Table) -> Figure | None:
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
                        **ends(row, "share"),
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
        key=(Key("observed", "share, with its 95% interval", "dot"),),
        table=counts,
    )


_COLUMNS = (
    named("Behaviour", "title", "name"),
    numbers("Instances", "instances"),
    numbers("Out of", "of"),
    numbers("Share", "share", percent),
)


def _table(rows: Rows) -> Table:
    return table("behaviours-numbers", "Kinds of behaviour", rows, *_COLUMNS, spans("95% interval"))


def _examples(rows: Rows) -> Table:
    return table(
        "behaviours-examples",
        "Examples of each kind",
        rows,
        *_COLUMNS,
        texts(
            "Examples, by instance",
            lambda row: Codes(tuple(row["examples"])) if row["examples"] else "none",
        ),
    )
