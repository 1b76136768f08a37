"""Tables as they are told: counts in bins, and shares, ratios and intervals computed from these."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, FloatArray
from audit.base.declared import NONE, Column
from audit.sharing.bins import FEWEST_BINS, Bins, Estimates, differences, ratios, shares, width_of

Declared: TypeAlias = Mapping[str, Column]
LEAST_RATIO = 3
"""A ratio is told from a told count of so many widths on."""
COARSEST = 0.1
"""Largest step of a mean that is told, as a part of the range of its values."""
_COUNTED = ("count", "sum", "exact")
_AS_THEY_ARE = ("text", "whole", "setting")


@dataclass(frozen=True)
class Rounding:
    """How counts of persons are told.

    Args:
        width: Members of a bin; 0 tells everything as it is.
        totals: What counts are parts of, by name: ``rows, instances, groups``.
        about: Those of the totals that are told in their class.
    """

    width: int = 0
    totals: Mapping[str, int] = field(default_factory=dict)
    about: frozenset[str] = frozenset()

    @classmethod
    def of(cls, min_cell: int, ledger: Mapping[str, Any]) -> Self:
        """How the counts of a ledger are told.

        Where rows are nearly a multiple of instances, or instances of groups, both totals would
        tell how few have more or less: then that of rows, or of groups, is told in its class too.
        """
        width, instances = width_of(min_cell), int(ledger["instances"])
        totals = {"rows": int(ledger["rows_read"]), "instances": instances}
        if ledger["groups"] is not None:
            totals["groups"] = int(ledger["groups"])
        about = frozenset(
            name
            for name, (many, each) in {
                "rows": (totals["rows"], instances),
                "groups": (instances, totals.get("groups", 0)),
            }.items()
            if name in totals and _near_multiple(many, each, FEWEST_BINS * width)
        )
        for name in about:
            totals[name] = int(Bins(width, None).all_told(totals[name]))
        return cls(width, totals, about)

    def bins(self, total: str) -> Bins:
        """The classes of counts of a total: no last one for `NONE`, or a total that was not read.

        Without groups, what counts groups counts instances.
        """
        named = "instances" if total == "groups" and total not in self.totals else total
        return Bins(self.width, None if total == NONE else self.totals.get(named))

    def count(self, value: int, total: str = "instances") -> int | None:
        """A count as it is told; None where none is."""
        return self.bins(total).told(value)

    def leaves(self, column: Column) -> bool:
        """Whether a column's kind keeps its numbers exact in any bins; totals in ``about`` not."""
        if column.kind == "exact":
            return column.total not in self.about
        return column.kind in _AS_THEY_ARE

    @property
    def least(self) -> int:
        """Least told count that a share may be taken of."""
        return FEWEST_BINS * self.width

    def few(self, told: int | None) -> bool:
        """Whether a told count is in the first class."""
        return bool(self.width) and told is not None and told <= self.width

    def lists(self, told: int | None) -> bool:
        """Whether what has a told count may be listed: always if exact, else not if few or None."""
        return not self.width or (told is not None and told > self.width)

    def as_dict(self) -> dict[str, Any] | None:
        """``rounding`` of ``result.json``; None where counts are told as they are."""
        if not self.width:
            return None
        few = f"{self.width // 2} is fewer than {self.width + 1}"
        said = f"Counts are middles of bins of {self.width}; {few}."
        totals = {"totals": dict(self.totals), "about": sorted(self.about)}
        return {"bin": self.width, **totals, "note": said}


def told_frame(frame: pl.DataFrame, columns: Declared, rounding: Rounding) -> pl.DataFrame:
    """A table as it is told; the same one where counts are told as they are.

    Raises:
        KeyError: If a column of numbers has no kind.
    """
    if not rounding.width:
        return frame

    def exact(name: str) -> FloatArray | None:
        if name not in frame.columns:
            return None
        return frame[name].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()

    telling = _Telling(exact, len(frame), columns, rounding)
    changed = [name for name in frame.columns if not rounding.leaves(columns[name])]
    values = (pl.Series(name, telling.number(name)).fill_nan(None) for name in changed)
    return frame.with_columns(one.cast(frame.schema[one.name]) for one in values)


def told_rows(
    rows: Sequence[Mapping[str, Any]], columns: Declared, rounding: Rounding
) -> list[dict[str, Any]]:
    """Rows as they are told, each with its own names; nulls stay null.

    Raises:
        KeyError: If a name has no kind.
    """
    if not rounding.width or not rows:
        return [dict(row) for row in rows]
    names = dict.fromkeys(name for row in rows for name in row)

    def exact(name: str) -> FloatArray | None:
        return np.array([_as_float(row.get(name)) for row in rows]) if name in names else None

    telling = _Telling(exact, len(rows), columns, rounding)
    found = {
        name: _numbers_or_none(telling.number(name), whole=columns[name].kind in _COUNTED)
        for name in names
        if not rounding.leaves(columns[name])
    }
    return [
        {name: found[name][place] if name in found else value for name, value in row.items()}
        for place, row in enumerate(rows)
    ]


def _as_float(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _numbers_or_none(values: FloatArray, *, whole: bool) -> list[Any]:
    kind: Callable[[float], float] = int if whole else float
    return [kind(one) if math.isfinite(one) else None for one in values.tolist()]


class _Telling:
    """What is told of some columns, one after the other: NaN where nothing is."""

    def __init__(
        self,
        exact: Callable[[str], FloatArray | None],
        size: int,
        columns: Declared,
        rounding: Rounding,
    ) -> None:
        self.exact, self.size, self.columns, self.rounding = exact, size, columns, rounding
        self._told: dict[str, FloatArray] = {}
        self._estimates: dict[str, Estimates] = {}

    def number(self, name: str) -> FloatArray:
        """A column rounded for sharing by its kind: counts in bins, shares and ends by those."""
        if name not in self._told:
            with np.errstate(all="ignore"):
                self._told[name] = self._made(self.columns[name])
        return self._told[name]

    def _made(self, column: Column) -> FloatArray:
        """A column as it is told, by its kind."""
        values = self._exact_or_nan(column.name)
        match column.kind:
            case "exact" if not self.rounding.leaves(column):
                return self._told_totals(values)
            case "text" | "whole" | "setting" | "exact":
                return values
            case "count" | "sum":
                return self._told_counts(column, values)
            case "estimate":
                return two_digits(np.where(self._enough(column.of), values, np.nan))
            case "chance":
                return np.full(len(values), np.nan)
            case "end":
                estimate = self._estimate(column.of[0])
                return np.where(np.isnan(values), np.nan, estimate[1 if column.side < 0 else 2])
            case _:
                return np.where(np.isnan(values), np.nan, self._estimate(column.name).value)

    def _estimate(self, name: str) -> Estimates:
        if name not in self._estimates:
            column = self.columns[name]
            of = {"share": self._shares, "difference": self._differences, "ratio": self._ratios,
                  "mean": self._means}  # fmt: skip
            how = of.get(column.kind)
            self._estimates[name] = how(column) if how else Estimates(*[self._expected(column)] * 3)
        return self._estimates[name]

    def _exact_or_nan(self, name: str) -> FloatArray:
        """A column as it is; NaN where it is not there, so that nothing is computed from it."""
        values = self.exact(name)
        return np.full(self.size, np.nan) if values is None else values

    def _has(self, name: str) -> bool:
        return bool(name) and self.exact(name) is not None

    def _enough(self, of: Sequence[str]) -> BoolArray | bool:
        """Whether, row by row, all these counts that there are suffice for a share to be told."""
        return all_of([self.number(name) >= self.rounding.least for name in of if self._has(name)])

    def _told_totals(self, values: FloatArray) -> FloatArray:
        there = ~np.isnan(values)
        whole = np.where(there, values, 0.0).astype(np.int64)
        return np.where(there, Bins(self.rounding.width, None).all_told(whole), np.nan)

    def _told_counts(self, column: Column, values: FloatArray) -> FloatArray:
        bins, there = self.rounding.bins(column.total), ~np.isnan(values)
        if not bins.tells:
            return np.full(len(values), np.nan)
        whole = np.floor(np.where(there, values, 0.0) + 0.5).astype(np.int64)
        told = np.where(there, bins.all_told(whole), np.nan)
        for name in filter(self._has, column.of):
            told = np.where(there, np.fmin(told, self.number(name)), np.nan)
        return told

    def _shares(self, column: Column) -> Estimates:
        part, whole = column.of
        k, n = self.number(part), self.number(whole)
        last = self.rounding.bins(self.columns[part].total)
        end = math.inf if last.total is None else last.total - last.width
        told = (n >= self.rounding.least) & (k > self.rounding.width) & (k < n) & (k < end)
        made = shares(k, n, self.rounding.width, self._effective_or(column, n))
        return Estimates(*(np.where(told, one, np.nan) for one in made))

    def _effective_or(self, column: Column, of: FloatArray) -> FloatArray:
        """Effective numbers that a column names; ``of`` where it names none, or they are NaN."""
        weighs = self.number(column.effective) if self._has(column.effective) else of
        return np.where(np.isnan(weighs), of, weighs)

    def _differences(self, column: Column) -> Estimates:
        one, other = map(self._estimate, column.of)
        return differences(one, other)

    def _ratios(self, column: Column) -> Estimates:
        k, expected = map(self.number, column.of)
        beside = self.columns[column.of[1]]
        supports = [self.number(name) for name in beside.of if beside.kind == "factor"]
        told = (k >= LEAST_RATIO * self.rounding.width) & (expected > 0)
        made = ratios(k, expected, self.rounding.width, supports, self._effective_or(column, k))
        return Estimates(*(np.where(told, one, np.nan) for one in made))

    def _expected(self, column: Column) -> FloatArray:
        """Expected joint counts as told: told supports times what exact ones leave as a factor."""
        values, a, b = map(self._exact_or_nan, (column.name, *column.of))
        told_a, told_b = map(self.number, column.of)
        large = (told_a > self.rounding.width) & (told_b > self.rounding.width)
        told = two_digits(values / (a * b)) * told_a * told_b
        return np.where(large & np.isfinite(told), told, np.nan)

    def _means(self, column: Column) -> Estimates:
        values, n = self._exact_or_nan(column.name), self.number(column.of[0])
        total = self.rounding.totals.get(self.columns[column.of[0]].total)
        own = replace(self.rounding, totals={} if total is None else {"instances": total})
        ends = {one.side: self.exact(one.name) for one in self.columns.values()
                if one.kind == "end" and one.of == (column.name,)}  # fmt: skip
        blank = np.full(len(values), np.nan)
        low, high = (blank if (end := ends.get(side)) is None else end for side in (-1, 1))
        rows = zip(values.tolist(), n.tolist(), low.tolist(), high.tolist(), strict=True)
        made = (told_mean(*row, column.low, column.high, own) for row in rows)
        told = [(m.value, m.low, m.high) if m and not m.beyond else (math.nan,) * 3 for m in made]
        value, low, high = np.array(told, np.float64).reshape(-1, 3).T
        return Estimates(value, low, high)


def all_of(conditions: Sequence[BoolArray]) -> BoolArray | bool:
    """Whether all conditions hold, row by row; True without any."""
    return np.logical_and.reduce(conditions) if conditions else True


def _near_multiple(many: int, each: int, least: int) -> bool:
    """Whether ``many`` is a multiple of ``each`` or less than ``least`` from one; both above 0."""
    return bool(least and each) and min(many % each, -many % each) < least


def two_digits(values: FloatArray) -> FloatArray:
    """Numbers in two significant digits; those that are not finite are NaN.

    >>> two_digits(np.array([0.3456, -1267.0, 0.0, np.inf]))
    array([ 3.5e-01, -1.3e+03,  0.0e+00,      nan])
    """
    there = np.isfinite(values) & (values != 0)
    size = np.where(there, np.abs(values), 1.0)
    places = np.clip(1 - np.floor(np.log10(size)), -300, 300)
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    rounded = np.rint(np.where(there, values, 0.0) / down * up) / up * down
    return np.where(np.isfinite(values), rounded, np.nan)


@dataclass(frozen=True, slots=True)
class ToldMean:
    """A mean in its step, with the ends of its interval; NaN without any.

    Args:
        beyond: ``below`` or ``above`` if the mean is within a step of the least or the greatest
            value, which ``value`` is then a step away from.
    """

    value: float
    low: float
    high: float
    beyond: str = ""


def told_mean(
    value: float,
    n: float,
    low_end: float,
    high_end: float,
    low: float,
    high: float,
    rounding: Rounding,
    *,
    times: int = 1,
) -> ToldMean | None:
    """A mean in the step that n told instances and the values' range set; None if too coarse.

    Args:
        value: The mean as it is, and ``low_end, high_end``, the ends of its interval.
        low: Least value of what it is the mean of.
        high: Greatest value.
        times: 2 for ratios of sums.
    """
    step = _step(n, low, high, rounding, times)
    if step is None or not math.isfinite(value):
        return None
    told = _nine_digits(round(value / step) * step)
    for beyond, edge in (("below", low + step), ("above", high - step)):
        if (value <= edge) if beyond == "below" else (value >= edge):
            return ToldMean(_nine_digits(edge), math.nan, math.nan, beyond)
    width = high_end - low_end
    half = math.ceil(width / 2 / step - 1e-9) * step if math.isfinite(width) else math.nan
    return ToldMean(told, _nine_digits(max(told - half, low)), _nine_digits(min(told + half, high)))


def _step(n: float, low: float, high: float, rounding: Rounding, times: int) -> float | None:
    """Step of a mean over n told instances, from low to high; None if it is too coarse."""
    if not n >= rounding.least or high <= low:
        return None
    finest = (high - low) * rounding.width / rounding.bins("instances").ends(int(n))[0] * times
    place = 10.0 ** math.floor(math.log10(finest))
    step = place * next(one for one in (1, 2, 5, 10) if one * place >= finest * (1 - 1e-9))
    return _nine_digits(step) if step <= COARSEST * (high - low) * (1 + 1e-9) else None


def _nine_digits(value: float) -> float:
    return float(f"{value:.9g}")
