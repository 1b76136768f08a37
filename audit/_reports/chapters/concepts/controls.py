"""Controls beside the probes: what else reads as much, and what reads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from audit._reports.charts.curves import DOT, Mark, accuracies_spec
from audit._reports.charts.svg import draw
from audit._reports.words.parts import Chapter, Figure, Key, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, grouped, line_label, plain
from audit._reports.words.table_specs import decimals, differences, numbers, table, texts
from audit._reports.words.words import counted, number

JUDGED = {"seen": "classes seen", "unseen": "classes unseen"}
NUMBERS = (
    "chance", "linear", "auc", "control_task", "selectivity", "nonlinear", "random_network",
)  # fmt: skip
MARKS = (
    Mark("random_network", "expected", "square"),
    Mark("control_task", "expected", own=False),
    Mark("nonlinear", "model", "diamond"),
    DOT,
)
DRAWN = 24
"""Largest number of lines of the picture; the table has all."""


def controls(concepts: Mapping[str, Any]) -> Chapter | None:
    """Means over splits; None without any."""
    rows = _means(concepts["controls"])
    if not rows:
        return None
    made, limit = _table(rows), concepts["facts"]["parameters"]["limit"]
    return chapter(
        [_figure([row for row in rows if row["linear"] is not None], made, limit)], [made]
    )


def _means(rows: Rows) -> list[dict[str, Any]]:
    """Means over splits by dimension and by what is judged; None where any is missing."""
    return [
        {
            "dimension": own[0]["dimension"],
            "judged": own[0]["judged"],
            "splits": len(own),
            **{name: mean([row[name] for row in own]) for name in NUMBERS},
            "least": least([row["linear"] for row in own]),
            "most": least([row["linear"] for row in own], -1),
        }
        for own in grouped(rows, ["dimension", "judged"])
    ]


def mean(numbers: Sequence[float | None]) -> float | None:
    """The mean; None if a number is missing, or all are.

    >>> mean([0.25, 0.75]), mean([0.5, None])
    (0.5, None)
    """
    known = [one for one in numbers if one is not None]
    return sum(known) / len(known) if known and len(known) == len(numbers) else None


def least(numbers: Sequence[float | None], sign: int = 1) -> float | None:
    """The smallest number, the largest for a negative sign; None if one is missing."""
    known = sorted(one for one in numbers if one is not None)
    return known[0 if sign > 0 else -1] if known and len(known) == len(numbers) else None


def _figure(rows: Rows, behind: Table, limit: float) -> Figure | None:
    drawn = rows[:DRAWN]
    if not drawn:
        return None
    spec = accuracies_spec(
        [_line(line, row) for line, row in enumerate(drawn)],
        [""],
        limit,
        MARKS,
        left=210,
        right=130,
    )
    return Figure(
        id="concept-controls",
        title="What a linear probe reads, compared with its controls",
        drawing=draw(spec),
        alt=f"Dot plot of {counted(len(drawn), 'line')}: "
        + "; ".join(
            f"{row['dimension']} with {JUDGED[row['judged']]}, linear {plain(row, 'linear', 2)}, "
            f"not linear {plain(row, 'nonlinear', 2)}, chance {plain(row, 'chance', 2)}"
            for row in drawn[:6]
        )
        + ".",
        caption="Means over splits; the bar behind a dot reaches from the split with the least to "
        "that with the most. Selectivity is the distance from the ring to the dot: where "
        "it is small, the probe reads any grouping of the classes as well as their "
        "concepts, so its accuracy says little. Where another probe reads what a linear "
        "one does not, the concept is there in another form. What can also be read from a "
        "network with random weights was not learned.",
        key=(
            Key("observed", "linear probe", "dot"),
            Key("expected", "control task: concepts dealt to classes at random", "ring"),
            Key("model", "probe that is not linear", "diamond"),
            *(
                [Key("expected", "random network", "square")]
                if any(row["random_network"] is not None for row in drawn)
                else []
            ),
            Key("expected", "chance", "tick"),
            Key("limit", f"limit, {number(limit)}", "across"),
        ),
        table=behind,
    )


def _line(line: int, row: Row) -> dict[str, Any]:
    return {
        "line": line,
        "label": line_label(f"{row['dimension']}, {JUDGED[row['judged']]}"),
        "panel": 0,
        "value": row["linear"],
        "low": row["least"],
        "high": row["most"],
        "counts": f"{plain(row, 'linear', 2)}, AUC {plain(row, 'auc', 2)}",
        **{name: row[name] for name in ("chance", "control_task", "nonlinear", "random_network")},
    }


def _table(rows: Rows) -> Table:
    network = any(row["random_network"] is not None for row in rows)
    return table(
        "concept-controls-numbers",
        "The probes of dimensions and their controls: mean accuracies over splits",
        rows,
        texts("Dimension", "dimension"),
        texts("Judged on", "judged", JUDGED),
        decimals("Linear", "linear"),
        decimals("AUC", "auc"),
        decimals("Chance", "chance"),
        decimals("Control task", "control_task"),
        differences("Selectivity", "selectivity"),
        decimals("Not linear", "nonlinear"),
        decimals("Random network", "random_network") if network else None,
        numbers("Splits", "splits"),
    )
