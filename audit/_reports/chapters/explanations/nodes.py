"""The chapter on nodes: below which a model's reasons differ from those elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from math import tanh

from audit._reports.chapters.explanations.parts import models, several_models
from audit._reports.charts.charts import means_spec
from audit._reports.charts.svg import draw
from audit._reports.words.explanation_words import MEASURES
from audit._reports.words.parts import Chapter, Figure, Key, Node, Table, chapter
from audit._reports.words.shown_numbers import Row, Rows, bounds, count, line_label, plain
from audit._reports.words.table_specs import (
    Spec,
    across,
    chances,
    decimals,
    differences,
    interval_beside,
    nodes,
    numbers,
    optional_table,
    pivoted,
    table,
)
from audit._reports.words.words import capitalised, counted, more_in_table, node_label, number

DRAWN = 20
"""Largest number of nodes in the picture."""
LISTED = 200
"""Largest number of nodes in its table."""
ALIGNMENT = "importance_alignment"
"""The measure that is averaged after Fisher's transform, and shown as Delta-A before it."""
_SAME = ("model", "mean", "low", "high", "rest", "difference", "instances", "examples")
"""What nodes with the same examples have in common."""


def where(explanations: Mapping[str, Rows], rate: float) -> Chapter | None:
    """Nodes that differ most from the rest; None if no node can be compared with the rest."""
    rows = [row for row in explanations["branches"] if row["method"] is None]
    of = {name: [row for row in rows if row["measure"] == name] for name in MEASURES}
    main = next((name for name, own in of.items() if ranked(own)), None)
    if main is None:
        return None
    tested = [_on_scale(row) for row in ranked(of[main])]
    several, model = several_models(of[main]), models(of[main])
    others = {name: own for name, own in of.items() if name != main and own}
    return chapter(
        [_figure(main, tested, several, _table(main, tested, model), rate)],
        [_other_measures(tested[:DRAWN], others, model)],
    )


def ranked(rows: Rows) -> list[Row]:
    """Nodes that were tested, by how far the interval of their difference lies from zero.

    Of nodes with the same numbers, which hold the same examples, the deepest is kept.
    """
    tested = [row for row in rows if row["difference"] is not None and row["family"] is not None]
    alike: dict[tuple[object, ...], Row] = {}
    for row in sorted(tested, key=lambda row: (row["depth"], row["node"])):
        alike[tuple(row[name] for name in _SAME)] = row
    return sorted(alike.values(), key=lambda row: (-_clear(row), row["node"], row["model"]))


def _clear(row: Row) -> float:
    low, high = row["difference_low"], row["difference_high"]
    return -1.0 if low is None or high is None else float(max(low, -high))


def _on_scale(row: Row) -> Row:
    """The node with its numbers as they are shown: Delta-A before the transform."""
    if row["measure"] != ALIGNMENT:
        return row
    known = [name for name in ("mean", "low", "high", "rest") if row[name] is not None]
    return {**row, **{name: tanh(row[name]) for name in known}}


def _figure(measure: str, tested: Rows, several: bool, behind: Table, rate: float) -> Figure:
    title, meaning = MEASURES[measure]
    lines = sorted(tested[:DRAWN], key=lambda row: (row["difference"], row["node"]))
    least, most = lines[0], lines[-1]
    below = sum(row["q_value"] is not None and row["q_value"] <= rate for row in tested)
    return Figure(
        id="explained-nodes",
        title=f"Where the reasons differ from the rest: {title.lower()} by node",
        drawing=draw(means_spec([_line(row, several) for row in lines], title, left=290)),
        alt=f"Dot plot of {counted(len(lines), 'node')}: the lowest, {_name(least, several)}, has "
        f"{plain(least, 'mean', 2)} where the rest has {plain(least, 'rest', 2)}; the last, "
        f"{_name(most, several)}, {plain(most, 'mean', 2)} where the rest has "
        f"{plain(most, 'rest', 2)}.",
        caption=f"{capitalised(meaning)}. A dot is the mean over the examples "
        "labelled at or below the node, over all methods; the ring, that of all other "
        "examples. The nodes with the most certain difference from the rest are drawn, "
        "those furthest below the rest first; of nodes with the same examples, the most "
        f"specific. Of {counted(len(tested), 'line')} that were tested, {below} "
        f"{'lies' if below == 1 else 'lie'} below the rest with a q-value up to "
        f"{number(rate)}. At the right, the instances with such a label."
        + more_in_table(len(tested) - len(lines), "line"),
        key=(
            Key("observed", "below the node, with its 95% interval", "dot"),
            Key("expected", "all other examples", "ring"),
        ),
        table=behind,
    )


def _line(row: Row, several: bool) -> dict[str, object]:
    title = node_label(row["node"], row["title"], 28 if several else 42)
    return {
        "label": f"{line_label(row['model'], 12)} · {title}" if several else title,
        "value": row["mean"],
        **bounds(row),
        "beside": row["rest"],
        "counts": f"{plain(row, 'mean', 2)} on {count(row, 'instances')}",
    }


def _name(row: Row, several: bool) -> str:
    node = Node(row["node"], row["title"] or "").text
    return f"{node} of {row['model']}" if several else node


def _table(measure: str, tested: Rows, model: Spec | None) -> Table:
    listed = tested[:LISTED]
    further = len(tested) - len(listed)
    left_out = f"; {counted(further, 'further line')} in result.json" if further else ""
    difference = differences(
        "Difference (z)" if measure == ALIGNMENT else "Difference", "difference"
    )
    return table(
        "explained-nodes-numbers",
        f"{MEASURES[measure][0]} by node, the surest difference first{left_out}",
        listed,
        nodes("Node"),
        model,
        interval_beside(decimals("Below it", "mean")),
        decimals("Elsewhere", "rest"),
        interval_beside(difference, "difference_low", "difference_high"),
        decimals("Smallest detectable", "smallest"),
        chances("q (lower)", "q_value"),
        numbers("Instances", "instances"),
    )


def _other_measures(drawn: Rows, others: Mapping[str, Rows], model: Spec | None) -> Table | None:
    """What else was measured of the nodes drawn."""
    beside = [row for own in others.values() for row in own]
    lines = pivoted([*drawn, *beside], ["node", "model"], "measure")
    columns = [
        across("measure", name, column)
        for name in others
        for column in (decimals(MEASURES[name][0], "mean"), decimals("Elsewhere", "rest"))
    ]
    return optional_table(
        "explained-nodes-beside",
        "What else was measured below the nodes drawn, as means of all methods",
        lines[: len(drawn)] if others else (),
        nodes("Node"),
        model,
        *columns,
    )
