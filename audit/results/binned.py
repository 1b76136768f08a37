"""The door: a run in which every count of persons is told in its class.

Of findings parts and order follow what is told; of metrics shares are of told counts, and means in
steps.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import polars as pl

from audit.base.declared import Columns
from audit.counting.pair_table import PairTable
from audit.results import columns
from audit.results.finding_lines import largest_first, line_count, nodes_by_parts
from audit.results.findings import CheckResult, Finding, Part, times_limit
from audit.results.mended import Mended
from audit.results.metric_list import ALL, BESIDE, METRICS
from audit.results.order import in_order
from audit.results.parts import DriftPart, Metric, ModelPart, ResultPart
from audit.results.record import Record
from audit.sharing.told import Declared, Rounding, told_frame, told_mean, told_rows

Kind = TypeVar("Kind", bound=Record)
FEW_PARTS = 3
"""Number of the parts of a finding in the first class that are told."""
_OF_TESTS = ("chance", "ratio", "factor")
"""Kinds of numbers that a finding has which a test, or the limit of an excess, makes."""
_KINDS = {metric.name: metric.kind for metric in (*METRICS, *BESIDE)}
_NOTHING = {"value": None, "low": None, "high": None, "beyond": None}


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
        ledger=_told_ledger(run, rounding),
        readings=tuple(_told_reading(one, rounding) for one in run.readings),
        policy=policy,
        checks=in_order([told_check(check, rounding) for check in run.checks]),
        nodes=told_frame(run.nodes, columns.NODES, rounding),
        pair_table=ToldPairs.of(run.pair_table, columns.PAIRS, rounding),
        residuals=told_frame(run.residuals, columns.RESIDUALS, rounding),
        parts=tuple(_told_part(part, run, rounding) for part in run.parts),
        held=run.status,
    )


def _told_ledger(run: Record, rounding: Rounding) -> dict[str, Any]:
    """The ledger in bins, without reasons of refusal that are too rare and no check found."""
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


def _told_reading(reading: Mapping[str, Any], rounding: Rounding) -> dict[str, Any]:
    total = reading["unit"] if reading["unit"] in rounding.totals else "none"
    return {**reading, "rows": rounding.count(int(reading["rows"]), total)}


def _told_part(part: ResultPart, run: Record, rounding: Rounding) -> ResultPart:
    """The part with told numbers; that of an analysis as it is, since `shared` tells its own."""
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

    def counted_between(self, ids: pl.Series) -> pl.LazyFrame:
        """Counts of pairs of the nodes with these ids, in exact numbers."""
        return self.exact.counted_between(ids)

    def described(self, rows: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
        """Columns of these rows as they are told, computed from those of the exact table."""
        asked = [*columns]
        needed = dict.fromkeys(asked)
        for name in asked:
            for of in (*self.columns[name].of, self.columns[name].effective):
                needed |= dict.fromkeys((of, *self.columns[of].of) if of else ())
        exact = self.exact.described(rows, [name for name in needed if name in self.schema])
        if "observed" in exact.columns and "joint" in exact.columns:
            exact = exact.with_columns(pl.coalesce("observed", pl.col("joint").cast(pl.Float64)))
        return told_frame(exact, self.columns, self.rounding).select(asked)


def told_check(check: CheckResult, rounding: Rounding) -> CheckResult:
    """A check whose findings hold told numbers; its status is that of the exact ones.

    Those that a test makes on a count in the first class are left out, and what they explain.
    """
    told = told_findings(check, rounding)
    gone = {one.id for one in told if _stays_behind(one, check.evidence, rounding)}
    n = check.denominator
    if n is not None and check.counts != "whole":
        n = None if check.counts == "untold" else rounding.count(n, check.counts)
    return replace(
        check,
        denominator=n,
        findings=tuple(
            one
            for one in told
            if one.id not in gone and not (one.folded_into and gone.issuperset(one.folded_into))
        ),
        held=check.status,
        not_told=bool(gone),
    )


def told_findings(check: CheckResult, rounding: Rounding) -> list[Finding]:
    """All findings of a check with told numbers."""
    if not rounding.width:
        return [*check.findings]
    evidence = told_rows([one.evidence for one in check.findings], check.evidence, rounding)
    parts = [part.evidence for one in check.findings for part in one.parts]
    of_parts = iter(told_rows(parts, check.of_parts, rounding))
    found = list[Finding]()
    for finding, own in zip(check.findings, evidence, strict=True):
        shown = told_parts(
            (replace(one, evidence=next(of_parts)) for one in finding.parts), rounding
        )
        beyond = max(_beyond(own, check.evidence), default=1.0)
        found.append(
            replace(
                finding,
                evidence=own,
                parts=shown,
                more_parts=len(shown) < len(finding.parts),
                nodes=nodes_by_parts(finding, shown),
                touched=rounding.count(finding.touched) or 0,
                strength=beyond,
                beyond=beyond,
            )
        )
    return found


def told_parts(parts: Iterable[Part], rounding: Rounding) -> tuple[Part, ...]:
    """Parts by what they are told to count, the largest first, then the first few of the others."""
    large, few = list[Part](), list[Part]()
    for part in parts:
        (large if rounding.lists(line_count(part.evidence)) else few).append(part)
    return (*largest_first(large), *sorted(few, key=lambda part: part.nodes)[:FEW_PARTS])


def _beyond(evidence: Mapping[str, Any], kinds: Columns) -> Iterator[float]:
    """How many times their limits the told effects are, by what their marks are drawn with."""
    for column in kinds.values():
        limit = evidence.get(column.mark.limit) if column.mark else None
        ends = (evidence.get(name) for name in (*column.ends[:1], column.name))
        end = next((one for one in ends if one is not None), None)
        if isinstance(limit, int | float) and isinstance(end, int | float):
            yield times_limit(end, limit)


def _stays_behind(finding: Finding, kinds: Columns, rounding: Rounding) -> bool:
    """Whether a test made a finding on a count that is told to be in the first class."""
    own = {name: kinds[name].kind for name in finding.evidence}
    first = next((n for name, n in finding.evidence.items() if own[name] == "count"), None)
    tested = not {*_OF_TESTS}.isdisjoint(own.values())
    return tested and isinstance(first, int) and rounding.few(first)


def told_metrics(
    metrics: Sequence[Metric], classes: int, height: float, rounding: Rounding
) -> tuple[dict[str, Any], ...]:
    """Metrics as they are told; one without a told value is left out unless its scope is `ALL`.

    ``beyond`` is ``below`` or ``above`` where the value is on that side of the one that is told.

    Args:
        classes: Number of classes that predictions name, whose logarithm is the greatest entropy.
        height: Greatest height of a node.
    """
    bits = math.log2(max(classes, 2))
    ranges = {"bits": (-bits, bits), "height": (0.0, float(max(height, 1)))}
    ranges |= dict.fromkeys(("mean", "ratio"), (0.0, 1.0))
    told = [{**metric, **_NOTHING, **_told_metric(metric, ranges, rounding)} for metric in metrics]
    found = {_key(metric): metric for metric in told}
    for one in told:
        if _KINDS.get(one["name"]) == "net":
            one |= _net(*(found.get(_key(one, name)) for name in ("recovered", "lost")))
    return tuple(one for one in told if one["value"] is not None or one["scope"] == ALL)


def _told_metric(
    metric: Metric, range_of_kind: Mapping[str, tuple[float, float]], rounding: Rounding
) -> dict[str, Any]:
    """What is told of a metric: ``n`` and, if anything is, ``value, low, high, beyond``."""
    name, value, bins = metric["name"], metric["value"], rounding.bins("instances")
    n, kind = bins.told(int(metric["n"])), _KINDS.get(name, "")
    if n is None or value is None:
        return {"n": n}
    if kind == "count":
        return {"n": n, "value": bins.told(int(value))}
    own = _nan_if_none(metric["low"]), _nan_if_none(metric["high"])
    if kind == "share":
        k = bins.told(round(value * metric["n"]))
        if k is None or n < rounding.least or bins.few(k) or bins.all_but_few(k) or k >= n:
            return {"n": n}
        middle = told_mean(0.5, n, *own, 0.0, 1.0, rounding)
        half = math.nan if middle is None else (middle.high - middle.low) / 2
        low, high, beyond = max(k / n - half, 0.0), min(k / n + half, 1.0), ""
        value = k / n
    elif kind in range_of_kind:
        micro = kind == "ratio" or metric["parameters"].get("average") == "micro"
        mean = told_mean(value, n, *own, *range_of_kind[kind], rounding, times=2 if micro else 1)
        if mean is None:
            return {"n": n}
        value, low, high, beyond = mean.value, mean.low, mean.high, mean.beyond
    else:
        return {"n": n}
    told = {name: None if math.isnan(end) else end for name, end in (("low", low), ("high", high))}
    return {"n": n, "value": value, **told, "beyond": beyond or None}


def _nan_if_none(end: float | None) -> float:
    return math.nan if end is None else float(end)


def _net(recovered: Metric | None, lost: Metric | None) -> dict[str, float]:
    """Equation 1 from both told shares, the distances to ends squared and added; else nothing."""
    if recovered is None or lost is None or None in (recovered["value"], lost["value"]):
        return {}
    value = recovered["value"] - lost["value"]
    if None in (recovered["low"], lost["low"]):
        return {"value": value}
    down = math.hypot(recovered["value"] - recovered["low"], lost["high"] - lost["value"])
    up = math.hypot(recovered["high"] - recovered["value"], lost["value"] - lost["low"])
    return {"value": value, "low": value - down, "high": min(value + up, 1.0)}


def _key(metric: Metric, name: str = "") -> str:
    """A text for the name, or another one in its place, the scope and the parameters."""
    return json.dumps([name or metric["name"], metric["scope"], metric["parameters"]], default=str)
