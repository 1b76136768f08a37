"""Whether attribution methods choose the same tokens, and whether people choose them too.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods* (Kamp,
Beinborn, Fokkens).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.lists import equal_lengths, matrix
from audit.analyses.explanations.top_tokens import (
    Compat,
    agreement,
    expected_agreement,
    peaks,
    ranking,
    row_keys,
)
from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.base.errors import InputError
from audit.base.machine import cores
from audit.engine.statistics.association import ratio
from audit.engine.statistics.means import Clusters, clusters_by, instance_means

UNIT = ["id", "target", "model", "seed", "text"]
"""What distinguishes units, which are rows side by side; other tokens are another text."""
HUMAN = "human"
"""Name of the people's marks among the methods."""
ALL = "all methods"
"""Name of the set of all methods, the human left out."""
MAIN_K = 4
"""The fixed k of figure 3 of *Dynamic Top-k Estimation*."""
MOST_K = 10
"""The largest k of curves."""
GAIN_KS = (1, 2, 3, 4, 5)
"""Values of k that table 1 of *Dynamic Top-k Estimation* compares peaks with."""
LENGTH_GROUPS = 4
"""Number of groups of units by number of tokens, about equally large."""


@dataclass(frozen=True, eq=False)
class Agreed:
    """Agreement of each unit: what several methods say of one prediction.

    Args:
        units: One row per unit: `UNIT`, ``item`` (place of the evidence, null if there is none),
            ``tokens``.
        sets: One row per set of methods, a pair or one named in ``together``: ``first, second,
            together, methods`` (their number), and ``members``, places of methods, the human last.
        methods: Names of the methods, and of the human if there is evidence.
        present: Whether each method has scores, shape (n_units, n_methods).
        peaks: Number of peaks, same shape; ``tied``, whether keys decided which tokens are the
            `MAIN_K` highest; ``constant``, whether all scores are equal.
        dynamic: Agreement of the peaks, shape (n_units, n_sets); NaN where a member is absent.
        unions: Number of tokens that any member has among its k highest, for k = 1, 2, ...,
            shape (n_ks, n_units, n_sets).
    """

    units: pl.DataFrame
    sets: pl.DataFrame
    methods: tuple[str, ...]
    present: BoolArray
    peaks: IntArray
    tied: BoolArray
    constant: BoolArray
    dynamic: FloatArray
    unions: IntArray

    @property
    def tokens(self) -> IntArray:
        """Number of tokens of each unit."""
        return self.units["tokens"].to_numpy().astype(np.int64)

    def complete(self) -> BoolArray:
        """Whether all members are present, shape (n_units, n_sets)."""
        complete = np.zeros(self.dynamic.shape, np.bool_)
        for place, own in enumerate(self.sets["members"]):
            complete[:, place] = self.present[:, own].all(axis=1)
        return complete

    def fixed(self, k: int) -> FloatArray:
        """Agreement at k, shape (n_units, n_sets); NaN where a member is absent."""
        union = self.unions[k - 1]
        chosen = np.broadcast_to(np.minimum(self.tokens, k)[:, None], union.shape)
        value = ratio(chosen, union)
        return np.where(self.complete(), value, np.nan)

    def chance(self, k: int | None = None) -> FloatArray:
        """Expected agreement of random sets of k tokens, or of as many as there are peaks."""
        sizes = self.peaks
        if k is not None:
            sizes = np.broadcast_to(np.minimum(self.tokens, k)[:, None], sizes.shape)
        chance = np.full(self.dynamic.shape, np.nan)
        for place, own in enumerate(self.sets["members"]):
            chance[:, place] = expected_agreement(sizes[:, own], self.tokens)
        return np.where(self.complete(), chance, np.nan)


def agreed(attributions: Attributions, *, compat: Compat = None, seed: int = 0) -> Agreed:
    """Measure agreement@k of all pairs of methods, of methods and people, and of all methods.

    Rows whose model also read the explanation of another instance are left out. Of two rows of one
    unit and method the first is kept.

    Args:
        attributions: Scores of at least one method.
        compat: "kamp": peaks as in the released code.
        seed: Seed of ties, which do not depend on the order of rows.

    Raises:
        InputError: A method is named as people.
    """
    kept = (
        attributions.rows.with_row_index("row")
        .filter(~pl.col("borrowed").fill_null(False))
        .unique([*UNIT, "method"], keep="first", maintain_order=True)
    )
    methods = kept["method"].unique().sort().to_list()
    if HUMAN in methods:
        raise InputError(f"no method may be named {HUMAN!r}", hint="rename the method")
    units = kept.group_by(UNIT).agg(pl.col("item").max()).sort(UNIT)
    units = units.with_columns(tokens=attributions.words.lengths[units["text"].to_numpy()])
    numbered = units.select(UNIT).with_row_index("unit")
    placed = kept.join(numbered, on=UNIT, nulls_equal=True, maintain_order="left")
    rows = np.full((len(units), len(methods)), -1, np.int64)
    column = placed["method"].replace_strict(methods, range(len(methods)), return_dtype=pl.Int64)
    rows[placed["unit"].to_numpy(), column.to_numpy()] = placed["row"].to_numpy()
    if people := bool(units["item"].is_not_null().any()):
        item = units["item"].is_not_null().to_numpy()
    present = np.column_stack([rows >= 0, item]) if people else rows >= 0
    names = (*methods, HUMAN) if people else tuple(methods)
    sets = _sets(names, len(methods))
    shape, n_sets = present.shape, len(sets)
    found = Agreed(
        units=units,
        sets=sets,
        methods=names,
        present=present,
        peaks=np.zeros(shape, np.int64),
        tied=np.zeros(shape, np.bool_),
        constant=np.zeros(shape, np.bool_),
        dynamic=np.full((len(units), n_sets), np.nan),
        unions=np.zeros((MOST_K, len(units), n_sets), np.int32),
    )
    keys = row_keys(attributions.rows, seed)[np.maximum(rows, 0)]
    if people:
        of_people = row_keys(units.with_columns(method=pl.lit(HUMAN)), seed)
        keys = np.column_stack([keys, of_people])

    def measure(places: IntArray) -> None:
        scores = _scores(attributions, units, rows[places], places, people)
        _measure(found, places, scores, keys[places], compat)

    with ThreadPoolExecutor(cores()) as threads:
        list(threads.map(measure, equal_lengths(found.tokens, width=len(methods) + 1)))
    return found


def _sets(names: tuple[str, ...], methods: int) -> pl.DataFrame:
    """All pairs of methods, each method with the human, and all methods where they are three."""
    sets: list[tuple[list[int], str | None, str | None, str | None]] = [
        ([a, b], names[a], names[b], None) for a, b in combinations(range(len(names)), 2)
    ]
    if methods > 2:
        sets.append((list(range(methods)), None, None, ALL))
    text = dict.fromkeys(("first", "second", "together"), pl.String)
    frame = pl.DataFrame(sets, {"members": pl.List(pl.Int64), **text}, orient="row")
    return frame.with_columns(methods=pl.col("members").list.len().cast(pl.Int64))


def _scores(
    attributions: Attributions, units: pl.DataFrame, rows: IntArray, places: IntArray, people: bool
) -> FloatArray:
    """Scores of all methods and the marks last; zeros where absent, (n_places, n_methods, n)."""
    n = int(units["tokens"][int(places[0])])
    scores = np.zeros((len(places), rows.shape[1] + people, n))
    unit, method = np.nonzero(rows >= 0)
    scores[unit, method] = matrix(attributions.scores, rows[unit, method], n)
    item = units["item"].gather(places)
    marked = item.is_not_null().to_numpy()
    if attributions.evidence is not None and marked.any():
        items = item.drop_nulls().to_numpy().astype(np.int64)
        scores[marked, -1] = matrix(attributions.evidence.marks, items, n)
    return scores


def _measure(
    found: Agreed, places: IntArray, scores: FloatArray, keys: UIntArray, compat: Compat
) -> None:
    """Measure units of one length."""
    shape, n = scores.shape[:2], scores.shape[2]
    order, present = ranking(scores.reshape(-1, n), keys.reshape(-1)), found.present[places]
    members = found.sets["members"].to_list()
    ranks = order.ranks.reshape(scores.shape)
    for k in range(MOST_K):
        bits = np.packbits(ranks <= k, axis=-1)
        for column, own in enumerate(members):
            united = np.bitwise_or.reduce(bits[:, own], axis=1)
            found.unions[k, places, column] = np.bitwise_count(united).sum(axis=-1)
    found.tied[places] = order.tied_at(MAIN_K).reshape(shape) & present
    found.constant[places] = (order.levels[:, -1] == 0).reshape(shape) & present
    picked = peaks(scores, compat) & present[..., None]
    if found.methods[-1] == HUMAN:
        picked[:, -1] &= scores[:, -1] > 0
    found.peaks[places] = picked.sum(axis=-1)
    for column, own in enumerate(members):
        value = agreement(picked[:, own])
        found.dynamic[places, column] = np.where(present[:, own].all(axis=1), value, np.nan)


def agreement_tables(found: Agreed) -> dict[str, pl.DataFrame]:
    """The tables ``agreement, lengths, differences, gains, chosen``, by model.

    A value is a mean over instances with its 95 % interval; ``above_chance`` is agreement minus
    that of random sets of the same sizes, over the same units, ``corrected_sizes``
    ``(agreement - chance) / (1 - chance)``, null where chance is 1. ``lengths`` holds the sets of
    more than two methods, or else the pairs.
    """
    models = clusters_by(found.units, ["model"])
    larger = np.flatnonzero(found.sets["together"].is_not_null().to_numpy())
    every = np.arange(len(found.sets))
    return {
        "agreement": _summary(found, models, every),
        "lengths": _summary(found, _by_length(found), larger if len(larger) else every),
        "differences": _differences(found, models),
        "gains": _gains(found, models),
        "chosen": _chosen(found, models),
    }


Parts = tuple[pl.DataFrame, Clusters]
"""Groups of units that tables have a row for: the columns that name each, and its units."""


def _by_length(found: Agreed) -> Parts:
    """One part per model and group of lengths, named by its least and largest number of tokens.

    The groups are cut at quantiles of the number of tokens over all units, so that units of one
    length share a group.
    """
    tokens = found.tokens
    shares = np.arange(1, LENGTH_GROUPS) / LENGTH_GROUPS
    cuts = np.sort(tokens)[(shares * len(tokens)).astype(np.int64)] if len(tokens) else tokens
    frame = found.units.with_columns(group=np.searchsorted(np.unique(cuts), tokens, "left"))
    limits = {"tokens_from": pl.col("tokens").min(), "tokens_to": pl.col("tokens").max()}
    limited = frame.with_columns(**{name: limit.over("group") for name, limit in limits.items()})
    return clusters_by(limited, ["model", *limits])


def _rules(found: Agreed) -> Iterator[tuple[str, int | None, FloatArray, FloatArray]]:
    """Each rule with its k (None for peaks), the values, and their chance, (n_units, n_sets)."""
    yield "dynamic", None, found.dynamic, found.chance()
    for k in range(1, MOST_K + 1):
        yield "fixed", k, found.fixed(k), found.chance(k)


def _crossed(parts: Parts, others: pl.DataFrame) -> pl.DataFrame:
    return parts[0].join(others, how="cross", maintain_order="left_right")


def _summary(found: Agreed, parts: Parts, sets: IntArray) -> pl.DataFrame:
    names, tables = _crossed(parts, found.sets[sets].drop("members")), []
    for rule, k, value, chance in _rules(found):
        mean, by_chance, above = (
            instance_means(of[:, sets], parts[1]) for of in (value, chance, value - chance)
        )
        tables.append(
            names.with_columns(
                rule=pl.lit(rule),
                k=pl.lit(k, dtype=pl.Int64),
                **mean.interval("agreement", "low", "high", bounds=(0.0, 1.0)),
                **mean.counts("n", "units", "undefined"),
                chance_sizes=pl.Series(by_chance.value.ravel()).fill_nan(None),
                **above.interval("above_chance", "above_low", "above_high"),
            )
        )
    by_sizes = pl.col("chance_sizes")
    corrected = pl.when(by_sizes < 1 - 1e-12).then(
        (pl.col("agreement") - by_sizes) / (1 - by_sizes)
    )
    table = pl.concat(tables).with_columns(corrected_sizes=corrected)
    return table.sort(pl.col("together").is_not_null(), maintain_order=True)


def _differences(found: Agreed, parts: Parts) -> pl.DataFrame:
    """Peaks beside the main k, pair by pair: figure 3 of *Dynamic Top-k Estimation*."""
    pairs = np.flatnonzero(found.sets["together"].is_null().to_numpy())
    dynamic, fixed = found.dynamic[:, pairs], found.fixed(MAIN_K)[:, pairs]
    gap = instance_means(dynamic - fixed, parts[1])
    means = {"dynamic": dynamic, "fixed": fixed}
    return _crossed(parts, found.sets[pairs].select("first", "second")).with_columns(
        k=pl.lit(MAIN_K, dtype=pl.Int64),
        **{
            name: pl.Series(instance_means(of, parts[1]).value.ravel()).fill_nan(None)
            for name, of in means.items()
        },
        **gap.interval("difference", "low", "high"),
        **gap.counts("n"),
        undefined=gap.undefined.ravel(),
    )


def _gains(found: Agreed, parts: Parts) -> pl.DataFrame:
    """Dynamic minus fixed agreement, summed over a method's pairs with the other methods.

    Table 1 of *Dynamic Top-k Estimation*. A unit that lacks one of the pairs has no sum.
    """
    sets: dict[str, list[int]] = {name: [] for name in found.methods if name != HUMAN}
    for place, one in enumerate(found.sets.iter_rows(named=True)):
        if one["together"] is None and one["second"] != HUMAN:
            sets[one["first"]].append(place)
            sets[one["second"]].append(place)
    sets = {name: own for name, own in sets.items() if own}
    names = pl.DataFrame(
        {"method": [*sets], "pairs": [len(own) for own in sets.values()]},
        schema={"method": pl.String, "pairs": pl.Int64},
    )
    tables = []
    for k in GAIN_KS:
        gap = found.dynamic - found.fixed(k)
        sums = np.empty((len(gap), len(sets)))
        for column, own in enumerate(sets.values()):
            sums[:, column] = gap[:, own].sum(axis=1)
        mean = instance_means(sums, parts[1])
        tables.append(
            _crossed(parts, names).with_columns(
                k=pl.lit(k, dtype=pl.Int64),
                **mean.interval("gain", "low", "high"),
                **mean.counts("n"),
                undefined=mean.undefined.ravel(),
            )
        )
    return pl.concat(tables)


def _chosen(found: Agreed, parts: Parts) -> pl.DataFrame:
    """How many tokens each method chooses by its peaks; ``tied`` and ``constant`` are shares."""
    absent: FloatArray = np.where(found.present, 0.0, np.nan)
    mean = instance_means(absent + found.peaks, parts[1])
    others = {"tokens": found.tokens[:, None], "tied": found.tied, "constant": found.constant}
    means = {
        name: instance_means(absent + np.asarray(of, np.float64), parts[1]).value
        for name, of in others.items()
    }
    methods = pl.DataFrame({"method": found.methods}, schema={"method": pl.String})
    return _crossed(parts, methods).with_columns(
        **mean.counts("n", "units"),
        k=pl.lit(MAIN_K, dtype=pl.Int64),
        **mean.interval("peaks", "low", "high"),
        **{
            name: pl.Series(of.ravel()).fill_nan(None)
            for name, of in {"sd": mean.sd, **means}.items()
        },
    )
