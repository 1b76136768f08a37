"""depth_shift: labels less deep, or records longer, in one value of a column than in the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import Columns, chance, count, estimate
from audit.checks.check import first_unmet
from audit.checks.rows import Row, Rows, check_of_rows
from audit.engine.statistics.fdr import threshold
from audit.engine.statistics.intervals import LEVEL
from audit.engine.statistics.two_rates import LEAST_UNITS
from audit.measure.measure import Measurements
from audit.results.findings import times_limit

MOST_VALUES = 50
"""Largest number of values of a column that are compared, the most frequent ones."""
LEAST_RATIO = 1.25
"""Least ratio of two geometric mean lengths, the larger over the smaller, to be reported."""
_What = Literal["depth", "length"]


@dataclass(frozen=True, eq=False)
class Values:
    """What is compared: one number a label, or a record, with its value of a column.

    Args:
        number: The numbers, shape (n,).
        bin: Where numbers are compared with each other alone, from 0, shape (n,).
        group: Group of each, numbered from 0, shape (n,).
        value: Place of each among the column's values, or -1, shape (n,).
    """

    number: FloatArray
    bin: IntArray
    group: IntArray
    value: IntArray


@dataclass(frozen=True, slots=True)
class Difference:
    """How much larger numbers are in a value than elsewhere, within bins.

    Args:
        error: Its standard error over groups.
        freedom: Degrees of freedom: the fewer groups of both sides, less one.
    """

    here: float
    there: float
    more: float
    error: float
    freedom: int

    @property
    def p_value(self) -> float:
        """Two-sided p value of no difference."""
        if not self.error:
            return float(not self.more)
        return 2 * float(stdtr(self.freedom, -abs(self.more) / self.error))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference."""
        reach = float(stdtrit(self.freedom, (1 + LEVEL) / 2)) * self.error
        return self.more - reach, self.more + reach


@dataclass(frozen=True, eq=False)
class _Compared:
    """A column by one of two numbers."""

    what: _What
    column: str
    names: tuple[str, ...]
    values: Values

    @property
    def asked(self) -> list[int]:
        """The values that are compared: the most frequent ones; of two the second."""
        if len(self.names) == 2:
            return [1]
        sizes = np.bincount(self.values.value + 1, minlength=len(self.names) + 1)[1:]
        order: list[int] = np.lexsort((np.arange(len(sizes)), -sizes)).tolist()
        return order[:MOST_VALUES]

    def differences(self, asked: Iterable[int], told: Sequence[int] = ()) -> dict[int, Difference]:
        """Values against all others but those that were told."""
        among = (self.values.value >= 0) & ~np.isin(self.values.value, told)
        found = ((one, difference_of(self.values, among, one)) for one in asked)
        return {one: difference for one, difference in found if difference is not None}


def difference_of(values: Values, among: BoolArray, value: int) -> Difference | None:
    """Compare a value with the others within bins; None with few groups or no common bin.

    The difference is that of a regression on the bins and the value, its error from residuals that
    are summed in each group: the larger of that with and without the difference taken out, as few
    records of unequal length can all be short by chance, and then seem alike.

    Args:
        among: What takes part, shape (n,).
    """
    y, here = values.number[among], values.value[among] == value
    bins, groups = values.bin[among], values.group[among]
    sides = [int(np.count_nonzero(np.bincount(groups[side]))) for side in (here, ~here)]
    if min(sides) < LEAST_UNITS:
        return None
    x = _centred(here.astype(np.float64), bins)
    spread = float(x @ x)
    if spread < 1e-9:
        return None
    centred = _centred(y, bins)
    more = float(x @ centred) / spread
    many = np.count_nonzero(np.bincount(groups))
    sums = [np.bincount(groups, x * rest) for rest in (centred - more * x, centred)]
    error = float(np.sqrt(many / (many - 1) * max(one @ one for one in sums))) / spread
    return Difference(float(y[here].mean()), float(y[~here].mean()), more, error, min(sides) - 1)


def _centred(number: FloatArray, bins: IntArray) -> FloatArray:
    return number - (np.bincount(bins, number) / np.maximum(np.bincount(bins), 1))[bins]


def _differing(measured: Measurements) -> Rows:
    """Report values of a column whose labels are less deep or deeper, or whose records are longer.

    Depths are compared within branches. The value that stands out most is told first; the others
    are then compared without it.
    """
    policy = measured.policy
    columns = dict.fromkeys(("split", *policy.drift, *policy.coding_columns))
    compared = [one for name in columns for one in _numbers(measured, name)]
    first = [one.differences(one.asked) for one in compared]
    p_values = np.array([found.p_value for each in first for found in each.values()])
    limit = threshold(p_values, len(p_values), policy.false_discovery_rate.value)
    return Rows(
        len(p_values),
        "comparisons of a value with the others of its column, in the depth of "
        "labels and in the number of labels",
        (
            _row(measured, one, *found, len(p_values))
            for one, candidates in zip(compared, first, strict=True)
            for found in _told(measured, one, candidates, limit)
        ),
        first_unmet(
            (
                len(measured.loaded.dataset.splits) or len(columns) > 1,
                "neither a split nor a column of drift or of who codes is named",
            )
        ),
    )


def _numbers(measured: Measurements, name: str) -> Iterator[_Compared]:
    """Depths of labels by branch, and logarithms of lengths; of a column with one value none."""
    names, value = measured.loaded.dataset.values_of(name)
    if len(names) < 2:
        return
    direct, hierarchy = measured.loaded.dataset.direct, measured.hierarchy
    lengths = np.diff(direct.indptr)
    groups = measured.loaded.group_of
    group = np.arange(len(lengths)) if groups is None else groups
    label, some = np.repeat(np.arange(len(lengths)), lengths), np.flatnonzero(lengths)
    depth, branch = (of[direct.indices] for of in (hierarchy.depth, hierarchy.first_branch))
    make = partial(_Compared, column=name, names=tuple(names))
    yield make(
        "depth", values=Values(depth.astype(np.float64), branch + 1, group[label], value[label])
    )
    logarithm = np.log(lengths[some])  # lengths are skewed, their logarithms hardly
    yield make("length", values=Values(logarithm, some * 0, group[some], value[some]))


def _told(
    measured: Measurements, compared: _Compared, found: dict[int, Difference], limit: float
) -> Iterator[tuple[list[int], Difference]]:
    """The value that differs most, then what still differs without it, and so on.

    Each stands behind those told before it.
    """
    told = list[int]()
    while len(told) < len(compared.names) - 1:
        found = {
            value: one
            for value, one in found.items()
            if one.p_value <= limit and _matters(measured, compared.what, one)
        }
        if not found:
            return
        value = max(found, key=lambda one: abs(found[one].more))
        told.append(value)
        yield [*told], found.pop(value)
        found = compared.differences(found, told)


def _matters(measured: Measurements, what: _What, one: Difference) -> bool:
    limit = _limit(measured, what)
    return abs(one.more) > limit if what == "depth" else abs(one.more) >= limit


def _limit(measured: Measurements, what: _What) -> float:
    return measured.policy.depth_loss.value if what == "depth" else math.log(LEAST_RATIO)


_SENTENCES = {
    "depth": "With the %s ({instances} of {of} instances) labels are %s than elsewhere[: by "
    "{apart} levels within their branches (95%% interval {apart_low} to {apart_high}); mean depth "
    "{mean}, elsewhere {mean_elsewhere}].",
    "length": "With the %s ({instances} of {of} instances) records have %s labels than elsewhere[: "
    "{mean} typically (geometric mean), elsewhere {mean_elsewhere} (ratio {apart}, 95%% "
    "interval {apart_low} to {apart_high})].",
}
_WORDS = {"depth": ("more general", "more specific"), "length": ("fewer", "more")}


def _row(
    measured: Measurements, compared: _Compared, told: list[int], found: Difference, family: int
) -> Row:
    what, column, name = compared.what, compared.column, compared.names[told[-1]]
    dataset, sign = measured.loaded.dataset, float(np.sign(found.more))
    _, value = dataset.values_of(column)
    labelled = np.diff(dataset.direct.indptr) > 0
    cases = np.flatnonzero(labelled & (value == told[-1]))
    low, high = sorted(sign * end for end in found.interval)
    numbers = {
        "mean": found.here,
        "mean_elsewhere": found.there,
        "apart": abs(found.more),
        "apart_low": low,
        "apart_high": high,
    }
    if what == "length":
        numbers = {key: math.exp(number) for key, number in numbers.items()}
    return Row(
        sentence=_SENTENCES[what] % (f"{column} {name!r}", _WORDS[what][found.more > 0]),
        evidence={
            "instances": len(cases),
            "of": measured.labelled,
            "elsewhere": int((labelled & (value >= 0) & ~np.isin(value, told)).sum()),
            **numbers,
            "p_value": found.p_value,
            "family": family,
        },
        curator=f"Find out whether forms or rules of this {column} cut labels, or let fewer be "
        "given; where other patients or texts are seen there, waive the finding.",
        data_user=f"Do not compare specific nodes, or counts of labels, across values of {column}.",
        strength=abs(found.more),
        beyond=times_limit(low, _limit(measured, what)),
        key=(column, name, what),
        cases=lambda: cases,
    )


CHECK = check_of_rows(
    "depth_shift",
    "Are labels more general, or records longer, at one site or in one group?",
    _differing,
    counts_with=("depth_loss", "false_discovery_rate"),
    needs="instances",
    evidence=Columns(
        count("instances of elsewhere"),
        estimate(
            "mean mean_elsewhere apart apart_low apart_high",
            n="instances elsewhere",
            reason="means over labels, and their difference within branches, follow from no count",
        ),
        chance("p_value family"),
    ),
    denominator="untold",
)
