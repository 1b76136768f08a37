"""Data of the report's figures on a model, suppressed for sharing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import polars as pl

from audit.disclosure import Cell, carried, is_small, shown_count, shown_parts, together
from audit.results.confused_pairs import most_confused
from audit.results.overview import Overview, Published
from audit.results.parts.model_part import ModelPart


def model_overview(
    nodes: pl.DataFrame,
    beside: Sequence[Mapping[str, Any]],
    model: ModelPart | None,
    counts: Published,
    *,
    exchanged: Mapping[tuple[str, str], int],
    instances: int,
    predicted: int,
    min_cell: int,
) -> Overview:
    """Metric scopes, behaviours, exchanges, and pairs of data and model side by side.

    Args:
        nodes: The run's node table.
        beside: The pairs that the model confuses most, from `confused`.
        model: What was measured of the model; None without predictions.
        counts: The data's counts as they may be shown, by cell.
        exchanged: Number of exchanges of each pair of labels that a finding reports.
        instances: Number of instances.
        predicted: Number of instances with predictions.
        min_cell: Smallest count that may be shown. Examples are shown only if it is 1.

    Returns:
        Lists of rows by figure; all empty without predictions.
    """
    titles = dict(nodes.select("node", "title").iter_rows())
    depths = dict(nodes.select("node", "depth").iter_rows())
    behaviours, exchanges = ((), ()) if model is None else (model.behaviours, model.exchanges)
    scopes = () if model is None else sorted(model.scopes)
    return {
        "scopes": [
            {"node": node, "title": titles.get(node), "depth": depths[node]} for node in scopes
        ],
        "behaviours": [_behaviour(behaviour, min_cell) for behaviour in behaviours],
        "exchanges": _exchange_kinds(exchanges, min_cell),
        "branch_exchanges": _branch_exchanges(nodes, exchanges, exchanged, min_cell),
        "data_beside_model": _withheld_last(
            {
                **_beside(row, counts, instances, predicted, min_cell),
                "title_a": titles[row["a"]],
                "title_b": titles[row["b"]],
            }
            for row in beside
        ),
    }


def _withheld_last(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pairs in the order of their confusion; where it is withheld, at the end by their nodes."""
    told = list(rows)
    withheld = [row for row in told if row["confusion"] is None]
    return [row for row in told if row["confusion"] is not None] + sorted(
        withheld, key=lambda row: (row["a"], row["b"])
    )


def _behaviour(behaviour: Mapping[str, Any], min_cell: int) -> dict[str, Any]:
    shown = shown_count(behaviour["instances"], [behaviour["of"]], min_cell)
    hidden = isinstance(shown, str) or not behaviour["of"]
    return {
        "name": behaviour["name"],
        "title": behaviour["title"],
        "instances": shown,
        "of": behaviour["of"],
        "share": None if hidden else behaviour["instances"] / behaviour["of"],
        "low": None if hidden else behaviour["low"],
        "high": None if hidden else behaviour["high"],
        "examples": list(behaviour["examples"]) if min_cell == 1 else [],
    }


def _exchange_kinds(exchanges: Sequence[Mapping[str, Any]], min_cell: int) -> list[dict[str, Any]]:
    rows = [row for row in exchanges if row["kind"] != "branches"]
    counts = shown_parts([row["observed"] for row in rows], min_cell)
    return [
        {"kind": row["kind"], "exchanges": count} for row, count in zip(rows, counts, strict=True)
    ]


def _branch_exchanges(
    nodes: pl.DataFrame,
    exchanges: Sequence[Mapping[str, Any]],
    exchanged: Mapping[tuple[str, str], int],
    min_cell: int,
) -> list[dict[str, Any]]:
    """Exchanges of two branches, the largest shown excess first, then those withheld."""
    titles = dict(nodes.select("node", "title").iter_rows())
    rows = [row for row in exchanges if row["kind"] == "branches"]
    counts = _shown_lines(nodes, rows, exchanged, min_cell)
    lines = [
        {
            "a": row["a"],
            "b": row["b"],
            "title_a": titles[row["a"]],
            "title_b": titles[row["b"]],
            "observed": count,
            "expected": row["expected"] if isinstance(count, int) else None,
            "excess": count - row["expected"] if isinstance(count, int) else None,
        }
        for row, count in zip(rows, counts, strict=True)
    ]
    return sorted(
        lines,
        key=lambda line: (line["excess"] is None, -(line["excess"] or 0), line["a"], line["b"]),
    )


def _shown_lines(
    nodes: pl.DataFrame,
    rows: Sequence[Mapping[str, Any]],
    exchanged: Mapping[tuple[str, str], int],
    min_cell: int,
) -> list[int | str | None]:
    """The counts of lines that sum to a total and of which findings tell parts.

    A line that a finding leaves few others of is a bound, and never the only one that is withheld.
    """
    counts = [row["observed"] for row in rows]
    shown = shown_parts(counts, min_cell)
    told = _reported_exchanges(nodes, exchanged) if min_cell > 1 else {}
    torn = [
        place
        for place, row in enumerate(rows)
        if isinstance(shown[place], int)
        and (row["a"], row["b"]) in told
        and is_small(counts[place] - told[row["a"], row["b"]], min_cell)
    ]
    for place in torn:
        shown[place] = f">{min_cell - 1}"
    if torn and sum(not isinstance(count, int) for count in shown) == 1:
        exact = [place for place, count in enumerate(shown) if isinstance(count, int)]
        for place in sorted(exact, key=counts.__getitem__)[:1]:
            shown[place] = None
    return shown


def _reported_exchanges(
    nodes: pl.DataFrame, exchanged: Mapping[tuple[str, str], int]
) -> dict[tuple[str, str], int]:
    """Exchanges that findings tell, by the two branches of their labels."""
    branches = dict(nodes.select("node", "branches").iter_rows())
    told: dict[tuple[str, str], int] = {}
    for labels, count in exchanged.items():
        sides = [branches[label] for label in labels]
        if set(sides[0]).isdisjoint(sides[1]):
            for one, other in product(*sides):
                line = (min(one, other), max(one, other))
                told[line] = told.get(line, 0) + count
    return told


def confused(
    nodes: pl.DataFrame, pairs: pl.LazyFrame, model: ModelPart | None
) -> list[dict[str, Any]]:
    """The unrelated pairs of labels that the model confuses most, with their counts in the data.

    Args:
        nodes: The run's node table.
        pairs: The run's pair table.
        model: What was measured of the model; None without predictions.

    Returns:
        Rows of the model's pair table with ``joint_data``; empty without predictions.
    """
    if model is None:
        return []
    labelled = nodes.filter(pl.col("direct") > 0)["node"]
    top = most_confused(model.pairs, labelled)
    data = pairs.select("a", "b", pl.col("joint").alias("joint_data"))
    joined = top.join(data, on=["a", "b"], how="left", maintain_order="left")
    return joined.with_columns(pl.col("joint_data").fill_null(0)).collect().to_dicts()


def confused_counts(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Cell, int]]:
    """The data's counts in the rows of `confused`, by cell."""
    for row in rows:
        yield together(carried(row["a"]), carried(row["b"])), row["joint_data"]


def _beside(
    row: Mapping[str, Any], counts: Published, instances: int, predicted: int, min_cell: int
) -> dict[str, Any]:
    joint, decided = row["joint_data"], row["co_predicted"]
    shown_joint = counts[together(carried(row["a"]), carried(row["b"]))]
    shown_decided = shown_count(decided, [predicted], min_cell)
    withheld = isinstance(shown_joint, str) or isinstance(shown_decided, str)
    return {
        "a": row["a"],
        "b": row["b"],
        "relation": row["relation"],
        "joint": shown_joint,
        "rate": None if isinstance(shown_joint, str) else joint / instances,
        "co_predicted": shown_decided,
        "co_predicted_rate": None if isinstance(shown_decided, str) else decided / predicted,
        "confusion": None if withheld else row["confusion"],
        "confusion_low": None if withheld else row["confusion_low"],
        "confusion_high": None if withheld else row["confusion_high"],
    }
