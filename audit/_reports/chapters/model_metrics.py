"""Tables of a model's metrics, over all instances and below each node, and accuracy by depth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit._reports.charts.parts import dots_spec, ends
from audit._reports.charts.svg import draw
from audit._reports.words.metric_words import (
    TITLES,
    Metric,
    cut,
    heading,
    in_common,
    interval,
    of,
    others,
    title,
    value,
    with_interval,
)
from audit._reports.words.parts import Figure, Key, Named, Node, Table
from audit._reports.words.table_specs import Spec, optional_table, table, texts, written
from audit._reports.words.words import (
    UNDEFINED,
    capitalised,
    counted,
    listed,
)

ALL = "all"
"""The scope of a metric over all instances."""

ERRORS = ("accuracy_alignment", "recovered", "lost")
UNCERTAINTY = ("uncertainty_alignment", "abstraction_match")
"""Metrics between two cuts that share a table."""
_METRIC = texts("Metric", lambda metric: Named(title(metric["name"]), metric["name"]))
_MASS = ("residual_from", "residual_to")


def metric_tables(metrics: Sequence[Metric], beside: Sequence[Metric]) -> tuple[Table, ...]:
    """Tables of the metrics over all instances; tables without rows are left out."""
    found = [metric for metric in (*metrics, *beside) if metric["scope"] == ALL]
    between = (*ERRORS, *UNCERTAINTY, *_MASS)
    tables = (
        _single([metric for metric in found if metric["name"] not in between]),
        _between(found, ERRORS, "errors", "Errors mended on the way up", "Errors"),
        _between(
            found,
            (*UNCERTAINTY, *_MASS),
            "uncertainty",
            "Uncertainty resolved on the way up",
            "Instances",
        ),
    )
    return tuple(table for table in tables if table is not None)


def absent_metrics(metrics: Sequence[Metric]) -> str:
    """A sentence on the metrics that cannot be computed, by reason; empty without one."""
    names: dict[str, list[str]] = {}
    for metric in metrics:
        names.setdefault(metric["reason"], []).append(title(metric["name"]).lower())
    said = "; ".join(f"{listed(found)} ({reason})" for reason, found in names.items())
    return f"These predictions cannot give {said}." if said else ""


def captioned(caption: str, metrics: Sequence[Metric]) -> str:
    """A caption with the parameters that all of its metrics share."""
    alike = in_common(metrics)
    return f"{caption} ({'; '.join(alike)})" if alike else caption


def unlike(metric: Metric, metrics: Sequence[Metric]) -> str:
    """A metric's cut, and those of its parameters that differ between the given metrics."""
    alike = in_common(metrics)
    return "; ".join(filter(None, [cut(metric), *(x for x in others(metric) if x not in alike)]))


def _single(metrics: Sequence[Metric]) -> Table | None:
    order = {name: place for place, name in enumerate(TITLES)} | {"ties": 0.5}
    return optional_table(
        "metric-table",
        captioned("Metrics over all instances", metrics),
        sorted(metrics, key=lambda metric: order.get(metric["name"], len(order))),
        _METRIC,
        texts("Parameters", lambda metric: unlike(metric, metrics) or UNDEFINED),
        written("Value", value),
        written("95% interval", interval),
        written("n", of),
    )


def _between(
    found: Sequence[Metric], names: Sequence[str], id_: str, caption: str, unit: str
) -> Table | None:
    metrics = [metric for metric in found if metric["name"] in names]
    cuts: dict[str, dict[str, Metric]] = {}
    for metric in metrics:
        cuts.setdefault(unlike(metric, metrics), {})[metric["name"]] = metric
    return optional_table(
        f"metric-{id_}",
        captioned(caption, metrics),
        list(cuts.items()),
        texts("Cuts", lambda line: capitalised(line[0])),
        *(metric_column(name, lambda line: line[1]) for name in names),
        written(unit, lambda line: listed(list(dict.fromkeys(map(of, line[1].values()))))),
    )


def metric_column(name: str, measured: Callable[[Any], Mapping[str, Metric]]) -> Spec:
    """The column of a metric with its intervals."""
    return written(heading(name), lambda line: with_interval(measured(line).get(name)))


@dataclass(frozen=True, slots=True)
class Subtree:
    """A node, and metrics by name of the instances at or below it, between the same depths."""

    node: Node
    depth_from: int
    depth_to: int
    metrics: Mapping[str, Metric]


def subtree_tables(
    metrics: Sequence[Metric], titles: Mapping[str, str | None], depths: Mapping[str, int]
) -> tuple[Table, ...]:
    """Tables of the metrics below each node; tables without rows are left out."""
    errors, uncertainty = (
        subtrees(metrics, names, titles, depths) for names in (ERRORS, UNCERTAINTY[::-1])
    )
    tables = (
        _numbers(errors, ERRORS, "alignment-numbers", "Accuracy alignment by node", "Errors"),
        _numbers(
            uncertainty,
            UNCERTAINTY[::-1],
            "uncertainty-numbers",
            "Abstraction match and uncertainty alignment by node",
            "Instances",
        ),
    )
    return tuple(table for table in tables if table is not None)


def accuracy_figure(metrics: Sequence[Metric]) -> Figure | None:
    """Accuracy at each depth over all instances; None with fewer than two depths."""
    rows = sorted(
        (
            metric
            for metric in metrics
            if metric["name"] == "accuracy"
            and metric["scope"] == ALL
            and metric["value"] is not None
            and metric["parameters"].get("depth_to") is not None
        ),
        key=_depth,
    )
    if len(rows) < 2:
        return None
    first, last = rows[0], rows[-1]
    return Figure(
        id="accuracy",
        title="Accuracy by depth",
        drawing=draw(
            dots_spec(
                [
                    {
                        "label": f"Depth {_depth(row)}" + (", the leaves" if row is last else ""),
                        "share": row["value"],
                        **ends(row, "value"),
                        "counts": f"{value(row)} of {of(row)}",
                    }
                    for row in rows
                ],
                "share of answers that are right",
                left=150,
                right=130,
            )
        ),
        alt=f"Dot plot of {counted(len(rows), 'depth')}: accuracy from {value(first)} at depth "
        f"{_depth(first)} to {value(last)} at depth {_depth(last)}.",
        caption="The share of instances whose answer is right when it need only be as specific as "
        "the nodes at that depth. An instance without a label that deep, or at a leaf above, is "
        "left out.",
        key=(Key("observed", "accuracy, with its 95% interval", "dot"),),
        table=table(
            "accuracy-numbers",
            captioned("Accuracy by depth", rows),
            rows,
            texts("Depth", lambda row: str(_depth(row))),
            written("Accuracy", value),
            written("95% interval", interval),
            written("Instances", of),
        ),
    )


def _numbers(
    found: Sequence[Subtree], names: Sequence[str], id_: str, caption: str, unit: str
) -> Table | None:
    def order(one: Subtree) -> tuple[float, str]:
        found = one.metrics[names[0]]["value"]
        return (math.inf if found is None else -found), one.node.id

    ranked = sorted(found, key=order)
    return optional_table(
        id_,
        captioned(caption, [one.metrics[names[0]] for one in ranked]),
        ranked,
        texts("Node", lambda one: one.node),
        texts("Depths", lambda one: f"{one.depth_from} to {one.depth_to}"),
        *(metric_column(name, lambda one: one.metrics) for name in names),
        written(unit, lambda one: of(one.metrics[names[0]])),
    )


def _depth(metric: Metric) -> int:
    return int(metric["parameters"]["depth_to"])


def subtrees(
    metrics: Sequence[Metric],
    names: Sequence[str],
    titles: Mapping[str, str | None],
    depths: Mapping[str, int],
) -> tuple[Subtree, ...]:
    """The scopes that have the first of the metrics, in node order.

    Of a node's pairs of cuts, the one with its own depth as coarse cut and the deepest fine cut is
    taken; if there is none, the one with the coarse cut nearest below the root.
    """
    scopes: dict[str, dict[tuple[int, int], dict[str, Metric]]] = {}
    for metric in metrics:
        if metric["scope"] != ALL and metric["name"] in names and (cut := _cut(metric)):
            scopes.setdefault(metric["scope"], {}).setdefault(cut, {})[metric["name"]] = metric
    return tuple(
        Subtree(Node(node, titles.get(node) or ""), *cut, cuts[cut])
        for node, cuts in sorted(scopes.items())
        for cut in [min(cuts, key=lambda cut: _distance(cut, depths.get(node)))]
        if names[0] in cuts[cut]
    )


def _cut(metric: Metric) -> tuple[int, int] | None:
    start, end = (metric["parameters"].get(name) for name in ("depth_from", "depth_to"))
    return None if start is None or end is None else (start, end)


def _distance(cut: tuple[int, int], depth: int | None) -> tuple[bool, bool, int, int]:
    start, end = cut
    return (end != depth, end < 1, end, -start)
