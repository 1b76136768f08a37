"""Whether attribution methods choose the same tokens, and whether people choose them too.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods* (Kamp,
Beinborn, Fokkens).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from audit.base.dag import FloatArray, IntArray
from audit.base.errors import InputError
from audit.engine.statistics.means import Clusters, clusters_by, instance_means
from audit.explanations.agreement.agreement_values import (
    HUMAN,
    Units,
    Values,
    agreement_values,
    units_of,
)
from audit.explanations.agreement.top_tokens import Compat
from audit.explanations.attributions import Attributions

GAIN_KS = (1, 2, 3, 4, 5)
"""Values of k that table 1 of *Dynamic Top-k Estimation* compares peaks with."""
LENGTH_GROUPS = 4
"""Number of groups of units by number of tokens, about equally large."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Groups of units that tables have a row for: the columns that name each, and its units."""

    names: pl.DataFrame
    grouped: Clusters


@dataclass(frozen=True)
class MethodSet:
    """Methods whose agreement is measured: a pair, or a set named in ``together``."""

    members: tuple[int, ...]
    first: str | None
    second: str | None
    together: str | None


def by_length(units: Units) -> Parts:
    """One part per model and group of lengths, named by its least and largest number of tokens.

    The groups are cut at quantiles of the number of tokens over all units, so that units of one
    length share a group.
    """
    tokens = units.frame["tokens"].to_numpy()
    shares = np.arange(1, LENGTH_GROUPS) / LENGTH_GROUPS
    cuts = np.sort(tokens)[(shares * len(tokens)).astype(np.int64)] if len(tokens) else tokens
    frame = units.frame.with_columns(group=np.searchsorted(np.unique(cuts), tokens, "left"))
    limits = {"tokens_from": pl.col("tokens").min(), "tokens_to": pl.col("tokens").max()}
    limited = frame.with_columns(**{name: limit.over("group") for name, limit in limits.items()})
    return Parts(*clusters_by(limited, ["model", *limits]))


def rules(values: Values) -> Iterator[tuple[str, int | None, FloatArray, FloatArray]]:
    """Each rule with its k (None for peaks), the values, and their null, (n_units, n_sets)."""
    yield "dynamic", None, values.dynamic, values.chance_of_sizes
    for k in range(1, len(values.unions) + 1):
        yield "fixed", k, values.fixed(k), values.chance_of_fixed(k)


def summary(
    values: Values, parts: Parts, sets: Sequence[MethodSet], kept: IntArray
) -> pl.DataFrame:
    """Mean agreement by part, set and rule.

    Returns:
        Columns that name the part; ``first, second, together, methods`` (their number); ``rule``
        ("dynamic" or "fixed"), ``k``; ``agreement, low, high`` (mean over instances, 95 %
        interval); ``n`` (instances), ``units``, ``undefined`` (units without a value);
        ``chance_sizes`` (the mean of random sets of the same sizes, over the same units);
        ``above_chance, above_low, above_high`` (agreement minus chance); and ``corrected_sizes``:
        ``(agreement - chance) / (1 - chance)``, null where chance is 1.
    """
    tables = []
    for rule, k, value, chance in rules(values):
        value, chance = value[:, kept], chance[:, kept]
        mean, by_chance, above = (
            instance_means(of, parts.grouped) for of in (value, chance, value - chance)
        )
        table = _with_names(parts, [sets[one] for one in kept]).with_columns(
            rule=pl.lit(rule),
            k=pl.lit(k, dtype=pl.Int64),
            **mean.interval("agreement", "low", "high", bounds=(0.0, 1.0)),
            **mean.counts("n", "units", "undefined"),
            chance_sizes=by_chance.value.ravel(),
            **above.interval("above_chance", "above_low", "above_high"),
        )
        tables.append(table)
    return _corrected(pl.concat(tables))


def difference(values: Values, parts: Parts, sets: Sequence[MethodSet], k: int) -> pl.DataFrame:
    """Peaks beside a fixed k, pair by pair: the cells of figure 3 of *Dynamic Top-k Estimation*.

    Returns:
        Columns that name the part; ``first, second``; ``k``; ``dynamic``, ``fixed``;
        ``difference, low, high`` (dynamic minus fixed, over units that have both, 95 % interval);
        ``n`` (instances), ``undefined`` (units without a difference).
    """
    pairs = np.array([place for place, one in enumerate(sets) if one.together is None], np.int64)
    dynamic, fixed = values.dynamic[:, pairs], values.fixed(k)[:, pairs]
    gap = instance_means(dynamic - fixed, parts.grouped)
    return (
        _with_names(parts, [sets[place] for place in pairs])
        .drop("together", "methods")
        .with_columns(
            k=pl.lit(k, dtype=pl.Int64),
            dynamic=instance_means(dynamic, parts.grouped).value.ravel(),
            fixed=instance_means(fixed, parts.grouped).value.ravel(),
            **gap.interval("difference", "low", "high"),
            n=gap.n.ravel(),
            undefined=gap.undefined.ravel(),
        )
        .with_columns(pl.col("dynamic", "fixed").fill_nan(None))
    )


def gains(values: Values, parts: Parts, sets: Sequence[MethodSet]) -> pl.DataFrame:
    """Dynamic minus fixed agreement, summed over a method's pairs with the other methods.

    Table 1 of *Dynamic Top-k Estimation*. A unit that lacks one of the pairs has no sum.

    Returns:
        Columns that name the part; ``method``, ``pairs`` (their number), ``k``; ``gain, low, high``
        (mean over instances, 95 % interval), ``n`` (instances), ``undefined`` (units).
    """
    own: dict[str, list[int]] = {}
    for place, one in enumerate(sets):
        for method in (one.first, one.second):
            if one.together is None and one.second != HUMAN and method:
                own.setdefault(method, []).append(place)
    names = pl.DataFrame(
        {"method": sorted(own), "pairs": [len(own[name]) for name in sorted(own)]},
        schema={"method": pl.String, "pairs": pl.Int64},
    )
    tables = []
    for k in GAIN_KS:
        gap = values.dynamic - values.fixed(k)
        sums = np.empty((len(gap), len(own)))
        for column, name in enumerate(sorted(own)):
            sums[:, column] = gap[:, own[name]].sum(axis=1)
        mean = instance_means(sums, parts.grouped)
        table = _crossed(parts, names)
        tables.append(
            table.with_columns(
                k=pl.lit(k, dtype=pl.Int64),
                **mean.interval("gain", "low", "high"),
                n=mean.n.ravel(),
                undefined=mean.undefined.ravel(),
            )
        )
    return pl.concat(tables)


def chosen_tokens(values: Values, parts: Parts, methods: Sequence[str], k: int) -> pl.DataFrame:
    """How many tokens each method chooses by its peaks.

    Returns:
        Columns that name the part; ``method`` (the human last, if there is evidence); ``n``
        (instances), ``units``; ``tokens`` (mean length); ``peaks, low, high, sd``;
        ``k`` and ``tied`` (share of units where keys decided which tokens are the k highest);
        ``constant`` (share of units whose scores are all equal).
    """
    columns = len(methods) + int(values.present[:, -1].any())
    absent: FloatArray = np.where(values.present, 0.0, np.nan)[:, :columns]
    mean = instance_means(absent + values.sizes[:, :columns], parts.grouped)
    others = {
        "tokens": values.tokens[:, None] + absent,
        "tied": values.tied[:, :columns] + absent,
        "constant": values.constant[:, :columns] + absent,
    }
    means = {name: instance_means(of, parts.grouped).value.ravel() for name, of in others.items()}
    return (
        _crossed(
            parts, pl.DataFrame({"method": [*methods, HUMAN][:columns]}, {"method": pl.String})
        )
        .with_columns(
            **mean.counts("n", "units"),
            k=pl.lit(k, dtype=pl.Int64),
            **mean.interval("peaks", "low", "high"),
            sd=mean.sd.ravel(),
            **means,
        )
        .with_columns(pl.col("sd", *means).fill_nan(None))
    )


def _with_names(parts: Parts, sets: Sequence[MethodSet]) -> pl.DataFrame:
    """Each part beside each set, sets fastest."""
    named = {
        name: pl.Series([getattr(one, name) for one in sets], dtype=pl.String)
        for name in ("first", "second", "together")
    }
    methods = pl.Series([len(one.members) for one in sets], dtype=pl.Int64)
    return _crossed(parts, pl.DataFrame({**named, "methods": methods}))


def _crossed(parts: Parts, others: pl.DataFrame) -> pl.DataFrame:
    return parts.names.join(others, how="cross", maintain_order="left_right")


def _corrected(table: pl.DataFrame) -> pl.DataFrame:
    chance = pl.col("chance_sizes").fill_nan(None)
    corrected = pl.when(chance < 1 - 1e-12).then((pl.col("agreement") - chance) / (1 - chance))
    return table.with_columns(chance, corrected_sizes=corrected)


MAIN_K = 4
"""The fixed k of figure 3 of *Dynamic Top-k Estimation*."""
MOST = 10
"""The largest k of curves."""
ALL = "all methods"
"""Name of the set of all methods, the human left out."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of methods with each other and with people.

    Args:
        k: The main fixed k.
        methods: Methods, ascending.
        pairs: Agreement of pairs of methods, and of each method and the human, by model, for peaks
            and for each k (the curves); columns as in `summary`.
        together: The same for sets of more than two methods, named in ``together``.
        lengths: The same for these sets (pairs, if there are no sets) by length of text, with
            ``tokens_from`` and ``tokens_to``.
        differences: Pair by pair, peaks beside the main k; columns as in `difference`.
        gains: Dynamic minus fixed agreement, summed over a method's pairs; columns as in `gains`.
        chosen: How many tokens each method chooses; columns as in `chosen_tokens`.
        units: Names of the units; columns as in `Units.frame`.
        ledger: How many rows and units there are, and how many rows were left out, by reason.
    """

    k: int
    methods: tuple[str, ...]
    pairs: pl.DataFrame
    together: pl.DataFrame
    lengths: pl.DataFrame
    differences: pl.DataFrame
    gains: pl.DataFrame
    chosen: pl.DataFrame
    units: pl.DataFrame
    ledger: Mapping[str, int]
    _sets: tuple[MethodSet, ...]
    _values: Values

    def of_units(self) -> Iterator[pl.DataFrame]:
        """Values of every unit, a table for each pair or set.

        Yields:
            ``unit, first, second, together``; ``dynamic`` and ``fixed`` (agreement of the peaks and
            at the main k, null where undefined); ``chance_sizes`` and ``chance_fixed``, of random
            sets of the same sizes.
        """
        columns = {
            "dynamic": self._values.dynamic,
            "fixed": self._values.fixed(self.k),
            "chance_sizes": self._values.chance_of_sizes,
            "chance_fixed": self._values.chance_of_fixed(self.k),
        }
        for place, one in enumerate(self._sets):
            names = {name: getattr(one, name) for name in ("first", "second", "together")}
            yield self.units.select(
                "unit",
                *(pl.lit(name, dtype=pl.String).alias(key) for key, name in names.items()),
                *(pl.Series(key, of[:, place]).fill_nan(None) for key, of in columns.items()),
            )


def measure_agreement(
    attributions: Attributions,
    *,
    k: int = MAIN_K,
    most: int = MOST,
    sets: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
    compat: Compat = None,
) -> Agreement:
    """Measure agreement@k of all pairs of methods, of methods and people, and of sets of methods.

    Args:
        attributions: Scores of at least one method.
        k: The fixed k that peaks are compared with.
        most: The largest k of curves; at least `k` and 5 are computed.
        sets: Further sets of methods by name; "human" is the people's marks. The set of all methods
            is always there, if there are more than two.
        seed: Seed of ties, which do not depend on the order of rows.
        compat: "kamp": peaks as in the released code.

    Raises:
        InputError: A set names no method of these, k is below 1, or a method is named as people.
    """
    units = units_of(attributions)
    if k < 1:
        raise InputError("k must be at least 1", found=str(k))
    if HUMAN in units.methods:
        raise InputError(f"no method may be named {HUMAN!r}", hint="rename the method")
    named = _sets(units, sets or {})
    values = agreement_values(
        attributions,
        units,
        [one.members for one in named],
        k=k,
        most=max(most, k, *GAIN_KS),
        seed=seed,
        compat=compat,
    )
    larger = [place for place, one in enumerate(named) if one.together is not None]
    models, all_sets = Parts(*clusters_by(units.frame, ["model"])), np.arange(len(named))
    every = summary(values, models, named, all_sets)
    return Agreement(
        k=k,
        methods=units.methods,
        pairs=every.filter(pl.col("together").is_null()).drop("together"),
        together=every.filter(pl.col("together").is_not_null()).drop("first", "second"),
        lengths=summary(values, by_length(units), named, np.array(larger or all_sets, np.int64)),
        differences=difference(values, models, named, k),
        gains=gains(values, models, named),
        chosen=chosen_tokens(values, models, units.methods, k),
        units=units.frame,
        ledger=units.ledger,
        _sets=tuple(named),
        _values=values,
    )


def _sets(units: Units, further: Mapping[str, Sequence[str]]) -> list[MethodSet]:
    """All pairs of methods, each method with the human, all methods, and the further sets."""
    people = bool(units.frame["item"].is_not_null().any())
    names = [*units.methods, HUMAN] if people else [*units.methods]
    sets = [
        MethodSet((a, b), names[a], names[b], None) for a, b in combinations(range(len(names)), 2)
    ]
    larger = {ALL: units.methods} if len(units.methods) > 2 else {}
    for name, members in {**larger, **further}.items():
        missing = [member for member in members if member not in names]
        if missing or not members:
            raise InputError(
                f"every member of the set {name!r} must be a method of the attributions",
                found=", ".join(missing) or "no member",
                hint=f"the methods are {', '.join(names)}",
            )
        sets.append(MethodSet(tuple(names.index(one) for one in members), None, None, name))
    return sets
