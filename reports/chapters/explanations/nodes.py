"""The chapter on nodes: below which a model's reasons differ from those elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import tanh

from reports.chapters.explanations.parts import several_models
from reports.charts.explanation_charts import means_spec
from reports.charts.svg import draw
from reports.words.explanation_words import MEASURES
from reports.words.labels import node_label
from reports.words.parts import Cell, Chapter, Figure, Key, Node, Table, chapter, column
from reports.words.shown_numbers import (
    UNDEFINED,
    Row,
    Rows,
    bounds,
    chance,
    count,
    line_label,
    plain,
    signed,
    with_interval,
)
from reports.words.words import counted, number

DRAWN = 20
"""Largest number of nodes in the picture."""
LISTED = 200
"""Largest number of nodes in its table."""
ALIGNMENT = "importance_alignment"
"""The measure that is averaged after Fisher's transform, and shown as Delta-A before it."""
_SAME = ("model", "mean", "low", "high", "rest", "difference", "instances", "examples")
"""What nodes with the same examples have in common."""


def where(explanations: Mapping[str, Rows], rate: float) -> Chapter | None:
    """Nodes that differ most from the rest; None if no node can be compared with the rest.

    Args:
        explanations: The shared view's explanations.
        rate: The policy's false discovery rate.
    """
    rows = [row for row in explanations["branches"] if row["method"] is None]
    of = {name: [row for row in rows if row["measure"] == name] for name in MEASURES}
    main = next((name for name, own in of.items() if ranked(own)), None)
    if main is None:
        return None
    nodes, several = ranked(of[main]), several_models(of[main])
    others = {name: own for name, own in of.items() if name != main and own}
    table = _table(main, nodes, several)
    return chapter(
        [_figure(main, nodes, several, table, rate)],
        [_other_measures(nodes[:DRAWN], others, several)],
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


def shown(measure: str, row: Row) -> dict[str, float | None]:
    """The numbers of a node on the scale that they are shown on: Delta-A before the transform."""
    ends = {name: row[name] for name in ("mean", "low", "high", "rest")}
    if measure != ALIGNMENT:
        return ends
    return {name: None if value is None else tanh(value) for name, value in ends.items()}


def _figure(measure: str, nodes: Rows, several: bool, table: Table, rate: float) -> Figure:
    title, meaning = MEASURES[measure]
    lines = sorted(nodes[:DRAWN], key=lambda row: (row["difference"], row["node"]))
    least, most = lines[0], lines[-1]
    below = sum(row["q_value"] is not None and row["q_value"] <= rate for row in nodes)
    rest = len(nodes) - len(lines)
    more = f" The table has {counted(rest, 'line')} more." if rest else ""
    return Figure(
        id="explained-nodes",
        title=f"Where the reasons differ from the rest: {title.lower()} by node",
        drawing=draw(means_spec([_line(measure, row, several) for row in lines], title, left=290)),
        alt=f"Dot plot of {counted(len(lines), 'node')}: the lowest, {_name(least, several)}, has "
        f"{_mean(measure, least)} where the rest has {_rest(measure, least)}; the last, "
        f"{_name(most, several)}, {_mean(measure, most)} where the rest has "
        f"{_rest(measure, most)}.",
        caption=f"{meaning[:1].upper()}{meaning[1:]}. A dot is the mean over the examples "
        "labelled at or below the node, over all methods; the ring, that of all other "
        "examples. The nodes with the most certain difference from the rest are drawn, "
        "those furthest below the rest first; of nodes with the same examples, the most "
        f"specific. Of {counted(len(nodes), 'line')} that were tested, {below} "
        f"{'lies' if below == 1 else 'lie'} below the rest with a q-value up to "
        f"{number(rate)}. At the right, the instances with such a label.{more}",
        key_title="Each line",
        key=(
            Key("observed", "below the node, with its 95% interval", "dot"),
            Key("expected", "all other examples", "ring"),
        ),
        table=table,
    )


def _line(measure: str, row: Row, several: bool) -> dict[str, object]:
    numbers = shown(measure, row)
    title = node_label(row["node"], row["title"], 28 if several else 42)
    label = f"{line_label(row['model'], 12)} · {title}" if several else title
    return {
        "label": label,
        "value": numbers["mean"],
        **bounds(numbers),
        "beside": numbers["rest"],
        "counts": f"{_mean(measure, row)} on {count(row, 'instances')}",
    }


def _name(row: Row, several: bool) -> str:
    node = Node(row["node"], row["title"] or "").text
    return f"{node} of {row['model']}" if several else node


def _mean(measure: str, row: Row) -> str:
    return plain(shown(measure, row), "mean", 2)


def _rest(measure: str, row: Row) -> str:
    return plain(shown(measure, row), "rest", 2)


def _table(measure: str, nodes: Sequence[Row], several: bool) -> Table:
    listed = nodes[:LISTED]
    further = len(nodes) - len(listed)
    left_out = f"; {counted(further, 'further line')} in result.json" if further else ""
    return Table(
        id="explained-nodes-numbers",
        caption=f"{MEASURES[measure][0]} by node, the surest difference first{left_out}",
        columns=column(
            "Node", *(["Model"] if several else []), "Below it", "Elsewhere",
            "Difference" if measure != ALIGNMENT else "Difference (z)",
            "Smallest detectable", "q (lower)", "Instances",
            numeric=("  " if several else " ") + "nnnnnn",
        ),
        rows=tuple(
            (
                Node(row["node"], row["title"] or ""),
                *([row["model"]] if several else []),
                with_interval(plain(shown(measure, row), "mean"), shown(measure, row)),
                plain(shown(measure, row), "rest"),
                with_interval(
                    signed(row, "difference"), row, "difference_low", "difference_high"
                ),
                plain(row, "smallest"),
                chance(row, "q_value"),
                count(row, "instances"),
            )
            for row in listed
        ),
    )  # fmt: skip


def _other_measures(nodes: Rows, others: Mapping[str, Rows], several: bool) -> Table | None:
    """What else was measured of the nodes drawn."""
    if not others:
        return None
    found = {(name, row["node"], row["model"]): row for name, own in others.items() for row in own}
    rows: list[tuple[Cell, ...]] = []
    for node in nodes:
        own = [found.get((name, node["node"], node["model"])) for name in others]
        rows.append(
            (
                Node(node["node"], node["title"] or ""),
                *([node["model"]] if several else []),
                *(cell for row in own for cell in _compared(row)),
            )
        )
    headings = [text for name in others for text in (MEASURES[name][0], "Elsewhere")]
    return Table(
        id="explained-nodes-beside",
        caption="What else was measured below the nodes drawn, as means of all methods",
        columns=column(
            "Node",
            *(["Model"] if several else []),
            *headings,
            numeric=("  " if several else " ") + "n" * len(headings),
        ),
        rows=tuple(rows),
    )


def _compared(row: Row | None) -> tuple[str, str]:
    return (UNDEFINED, UNDEFINED) if row is None else (plain(row, "mean"), plain(row, "rest"))
