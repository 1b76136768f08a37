"""The door: a run in which every count of persons is told in its class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import polars as pl

from audit.counting.pair_table import PairTable
from audit.results import columns
from audit.results.mended import Mended
from audit.results.order import in_order
from audit.results.parts import DriftPart, ModelPart, ResultPart
from audit.results.record import Record
from audit.results.told_findings import told_check
from audit.results.told_metrics import told_metrics
from audit.sharing.told import Declared, Rounding, told_frame, told_rows

Kind = TypeVar("Kind", bound=Record)


def binned(run: Kind, rounding: Rounding) -> Kind:
    """A run with told numbers; itself where every number is told as it is.

    All else that is shared is made of it: shares, order, heads of lists, sentences and figures.
    How many pairs a policy expects is known by how many instances have them, and is not told.
    """
    if not rounding.width:
        return run
    policy = dict(run.policy)
    for key in ("expected", "companions"):
        policy[key] = [{**rule, "pairs": None} for rule in policy[key]]
    return replace(
        run,
        ledger=_ledger(run, rounding),
        readings=tuple(_reading(one, rounding) for one in run.readings),
        policy=policy,
        checks=in_order([told_check(check, rounding) for check in run.checks]),
        nodes=told_frame(run.nodes, columns.NODES, rounding),
        pair_table=ToldPairs.of(run.pair_table, columns.PAIRS, rounding),
        residuals=told_frame(run.residuals, columns.RESIDUALS, rounding),
        parts=tuple(_part(part, run, rounding) for part in run.parts),
        held=run.status,
    )


def _ledger(run: Record, rounding: Rounding) -> dict[str, Any]:
    given, found = run.ledger, {check.name for check in run.checks if check.findings}
    numbers = {name: given[name] for name in columns.LEDGER}
    (told,) = told_rows([numbers], columns.LEDGER, rounding)
    refused = {why: rounding.count(n, "rows") for why, n in sorted(given["refused"].items())}
    predictions = [given["predictions"]] if given["predictions"] else []
    return {
        **given,
        **told,
        "refused": {why: n for why, n in refused.items() if why in found or rounding.lists(n)},
        "labels_per_instance": {"mean": mean_labels(told["labels"], run.size)},
        "predictions": next(iter(told_rows(predictions, columns.PREDICTIONS, rounding)), None),
    }


def mean_labels(labels: int | None, instances: int) -> float | None:
    """Labels per instance, in hundredths; None without instances."""
    return round(labels / instances, 2) if labels is not None and instances else None


def _reading(reading: Mapping[str, Any], rounding: Rounding) -> dict[str, Any]:
    total = reading["unit"] if reading["unit"] in rounding.totals else "none"
    return {**reading, "rows": rounding.count(int(reading["rows"]), total)}


def _part(part: ResultPart, run: Record, rounding: Rounding) -> ResultPart:
    match part:
        case DriftPart():
            values = told_frame(part.values, columns.DRIFT_VALUES, rounding)
            return DriftPart(values, told_frame(part.nodes, columns.DRIFT_NODES, rounding))
        case Mended():
            return Mended(told_frame(part.changes, columns.MENDED, rounding))
        case ModelPart():
            classes = run.ledger["predictions"]["classes_mapped"] or 0
            height = max(run.nodes["height"], default=1)
            return replace(
                part,
                pair_table=ToldPairs.of(part.pair_table, columns.MODEL_PAIRS, rounding),
                metrics=told_metrics(part.metrics, classes, height, rounding),
                beside=told_metrics(part.beside, classes, height, rounding),
            )
    return part


@dataclass(frozen=True, eq=False)
class ToldPairs(PairTable):
    """A pair table whose rows are told.

    Args:
        exact: The rows as they are.
        columns: What its columns are.
        rounding: How counts are told.
    """

    exact: PairTable = field(kw_only=True)
    columns: Declared = field(kw_only=True)
    rounding: Rounding = field(kw_only=True)

    @classmethod
    def of(cls, pairs: PairTable, columns: Declared, rounding: Rounding) -> ToldPairs:
        """A pair table as it is told."""
        own = {one.name: getattr(pairs, one.name) for one in fields(PairTable)}
        return cls(**own, exact=pairs, columns=columns, rounding=rounding)

    @property
    def schema(self) -> dict[str, Any]:
        """The columns of the exact table."""
        return self.exact.schema

    def counted_between(self, nodes: pl.Series) -> pl.LazyFrame:
        """As in the exact table."""
        return self.exact.counted_between(nodes)

    def described(self, rows: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
        """As in the exact table; each with what it is computed from."""
        asked = [*columns]
        needed = dict.fromkeys(asked)
        for name in asked:
            for of in (*self.columns[name].of, self.columns[name].effective):
                needed |= dict.fromkeys((of, *self.columns[of].of) if of else ())
        exact = self.exact.described(rows, [name for name in needed if name in self.schema])
        if "observed" in exact.columns and "joint" in exact.columns:
            exact = exact.with_columns(pl.coalesce("observed", pl.col("joint").cast(pl.Float64)))
        return told_frame(exact, self.columns, self.rounding).select(asked)
