"""The part of a result that a model's predictions add."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from audit.base.schemas import schema
from audit.results.parts.part import ReadTable, Tables
from audit.results.shared_metrics import Scopes, shared_metrics

_METRICS = schema(
    ("part name scope", pl.String),
    ("value low high", pl.Float64),
    ("n", pl.Int64),
    ("parameters", pl.String),
)
_BEHAVIOURS = schema(
    ("name title", pl.String),
    ("instances of", pl.Int64),
    ("low high", pl.Float64),
    ("examples", pl.List(pl.String)),
)
_EXCHANGES = schema(("kind a b", pl.String), ("observed", pl.Int64), ("expected", pl.Float64))


@dataclass(frozen=True, eq=False)
class ModelPart:
    """What was measured of a model.

    Args:
        pairs: The pair table of the predictions, with ``co_predicted``.
        metrics: ``name, scope, value, low, high, n, parameters`` of each metric.
        absent_metrics: ``name, reason`` of each metric that these predictions do not allow.
        beside: Rows as in ``metrics``: tied answers (``ties``), and mass under no node of a cut.
        behaviours: ``name, title, instances, of, low, high, examples`` of each behaviour.
        exchanges: ``kind, a, b, observed, expected``: exchanges of labels, in total and by pair of
            branches.
    """

    pairs: pl.LazyFrame
    metrics: tuple[Mapping[str, Any], ...] = ()
    absent_metrics: tuple[Mapping[str, str], ...] = ()
    beside: tuple[Mapping[str, Any], ...] = ()
    behaviours: tuple[Mapping[str, Any], ...] = ()
    exchanges: tuple[Mapping[str, Any], ...] = ()

    def __repr__(self) -> str:
        """Numbers of rows; the rows are many."""
        return f"ModelPart({len(self.metrics):,} metrics, {len(self.behaviours):,} behaviours)"

    def tables(self) -> Tables:
        """Pairs, metrics, behaviours and exchanges; ``parameters`` of a metric as JSON."""
        metrics = [
            {**metric, "part": part, "parameters": json.dumps(metric["parameters"])}
            for part, rows in (("metrics", self.metrics), ("beside", self.beside))
            for metric in rows
        ]
        return {
            "model_pairs": self.pairs,
            "metrics": pl.DataFrame(metrics, schema=_METRICS),
            "behaviours": pl.DataFrame([dict(one) for one in self.behaviours], schema=_BEHAVIOURS),
            "exchanges": pl.DataFrame([dict(one) for one in self.exchanges], schema=_EXCHANGES),
        }

    @property
    def scopes(self) -> frozenset[str]:
        """The nodes that metrics are measured below."""
        return frozenset(metric["scope"] for metric in self.metrics) - {"all"}

    def shared(self, min_cell: int, scopes: Scopes | None = None) -> Mapping[str, Any]:
        """``metrics, metrics_absent, metrics_beside``; ``scopes`` relates the scopes of these."""
        shown = shared_metrics((*self.metrics, *self.beside), min_cell, scopes)
        return {
            "metrics": shown[: len(self.metrics)],
            "metrics_absent": [dict(metric) for metric in self.absent_metrics],
            "metrics_beside": shown[len(self.metrics) :],
        }

    @classmethod
    def absent(cls) -> Mapping[str, Any]:
        """The same lists, empty."""
        return {"metrics": [], "metrics_absent": [], "metrics_beside": []}

    @classmethod
    def read(cls, table: ReadTable, shared: Mapping[str, Any]) -> Self | None:
        """The part of a run with predictions."""
        if shared["ledger"]["predictions"] is None:
            return None
        rows: dict[str, list[dict[str, Any]]] = {"metrics": [], "beside": []}
        for row in table("metrics").collect().iter_rows(named=True):
            row["parameters"] = json.loads(row["parameters"])
            rows[row.pop("part")].append(row)
        return cls(
            pairs=table("model_pairs"),
            metrics=tuple(rows["metrics"]),
            absent_metrics=tuple(shared["metrics_absent"]),
            beside=tuple(rows["beside"]),
            behaviours=tuple(table("behaviours").collect().iter_rows(named=True)),
            exchanges=tuple(table("exchanges").collect().iter_rows(named=True)),
        )
