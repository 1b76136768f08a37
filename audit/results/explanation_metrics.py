"""Headline numbers of explanations in the form of metrics: name, scope, value and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def explanation_metrics(tables: Mapping[str, Rows], k: int) -> list[dict[str, Any]]:
    """Metrics of the shared tables, with what is withheld there withheld here.

    Delta-A on all examples, agreement by peaks and at the main k, plausibility, faithfulness; and
    what nodes are compared by, as means of all methods, with the node as scope.

    Args:
        tables: The shared tables of explanations.
        k: The main k.
    """
    return [
        *_importance(tables.get("alignment", ())),
        *_agreement(tables["agreement"], k),
        *_of_methods(tables.get("plausibility", ())),
        *_of_methods(tables.get("faithfulness", ())),
        *_of_nodes(tables["branches"]),
    ]


def _importance(rows: Rows) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["subset"] == "all":
            parameters = _parameters(row, "method", "model", "oracle")
            yield _metric("delta_a", row, "delta_a", "clusters", parameters)


def _agreement(rows: Rows, k: int) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["k"] in (None, k):
            methods = {"method": row["first"] or row["together"], "other": row["second"]}
            parameters = methods | _parameters(row, "model", "k")
            yield _metric("agreement", row, "agreement", "n", parameters)


def _of_methods(rows: Rows) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield _metric(row["metric"], row, "value", "n", _parameters(row, "method", "model"))


def _of_nodes(rows: Rows) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["method"] is None:
            metric = _metric(row["measure"], row, "mean", "instances", _parameters(row, "model"))
            yield metric | {"scope": row["node"]}


def _parameters(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _metric(
    name: str, row: Mapping[str, Any], value: str, n: str, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "scope": "all",
        "value": row[value],
        "low": row["low"],
        "high": row["high"],
        "n": row[n],
        "parameters": {key: one for key, one in parameters.items() if one is not None},
    }
