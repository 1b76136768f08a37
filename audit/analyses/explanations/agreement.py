"""Whether attribution methods choose the same tokens, and whether people choose them too.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods* (Kamp,
Beinborn, Fokkens).
"""

from __future__ import annotations

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
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.errors import InputError
from audit.engine.statistics.means import Clusters, Means, clusters_by, instance_means

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
        peaks: Number of peaks, NaN where a method has no scores, shape (n_units, n_methods);
            ``tied``, whether keys decided which tokens are the `MAIN_K` highest; ``constant``,
            whether all scores are equal.
        value: Agreement of the peaks (rule 0) and at k (rule k), shape (n_units, rules, n_sets);
            NaN where a member is absent.
        chance: Expected agreement of random sets of as many tokens, of the same shape.
    """

    units: pl.DataFrame
    sets: pl.DataFrame
    methods: tuple[str, ...]
    peaks: FloatArray
    tied: FloatArray
    constant: FloatArray
    value: FloatArray
    chance: FloatArray


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
    own = attributions.own_rows()
    kept = own.unique([*UNIT, "method"], keep="first", maintain_order=True)
    methods = kept["method"].unique().sort().to_list()
    if HUMAN in methods:
        raise InputError(f"no method may be named {HUMAN!r}", hint="rename the method")
    units = kept.group_by(UNIT).agg(pl.col("item").max()).sort(UNIT)
    units = units.with_columns(tokens=attributions.words.lengths[units["text"].to_numpy()])
    numbered = units.select(UNIT).with_row_index("unit")
    placed = kept.join(numbered, on=UNIT, nulls_equal=True, maintain_order="left")
    rows = np.full((len(units), len(methods)), -1, np.int64)
    of = placed["method"].replace_strict(methods, range(len(methods)), return_dtype=pl.Int64)
    rows[placed["unit"].to_numpy(), of.to_numpy()] = placed["row"].to_numpy()
    keys = row_keys(attributions.rows, seed)[np.maximum(rows, 0)]
    item = units["item"].fill_null(-1).to_numpy()
    if (item >= 0).any():
        keys = np.column_stack([keys, row_keys(units.with_columns(method=pl.lit(HUMAN)), seed)])
        rows = np.column_stack([rows, item])
        methods.append(HUMAN)
    sets, n = _sets(methods), units["tokens"].to_numpy().astype(np.int64)
    members, present = sets["members"].to_list(), rows >= 0
    value = np.full((len(units), MOST_K + 1, len(sets)), np.nan)
    chosen = np.full((3, *rows.shape), np.nan)
    for places in equal_lengths(n, width=len(methods)):
        scores = _scores(attributions, rows[places], int(n[places[0]]), methods)
        order = ranking(scores.reshape(-1, scores.shape[2]), keys[places].reshape(-1))
        picked = peaks(scores, compat)
        if methods[-1] == HUMAN:
            picked[:, -1] &= scores[:, -1] > 0
        chosen[:, places] = (
            picked.sum(axis=-1),
            order.tied_at(MAIN_K).reshape(picked.shape[:2]),
            (order.levels[:, -1] == 0).reshape(picked.shape[:2]),
        )
        value[places] = _values(picked, order.ranks.reshape(picked.shape), members)
    for column, own in enumerate(members):
        value[~present[:, own].all(axis=1), :, column] = np.nan
    chosen = np.where(present, chosen, np.nan)
    sizes = np.nan_to_num(chosen[0]).astype(np.int64)
    chance = np.where(np.isnan(value), np.nan, _chance(sizes, n, members))
    own_peaks, tied, constant = chosen
    return Agreed(units, sets, tuple(methods), own_peaks, tied, constant, value, chance)


def _sets(methods: list[str]) -> pl.DataFrame:
    """All pairs of methods, each method with the human, and all methods where they are three."""
    sets: list[tuple[list[int], str | None, str | None, str | None]] = [
        ([a, b], methods[a], methods[b], None) for a, b in combinations(range(len(methods)), 2)
    ]
    own = [place for place, name in enumerate(methods) if name != HUMAN]
    if len(own) > 2:
        sets.append((own, None, None, ALL))
    text = dict.fromkeys(("first", "second", "together"), pl.String)
    frame = pl.DataFrame(sets, {"members": pl.List(pl.Int64), **text}, orient="row")
    return frame.with_columns(methods=pl.col("members").list.len().cast(pl.Int64))


def _scores(attributions: Attributions, rows: IntArray, n: int, methods: list[str]) -> FloatArray:
    """Scores of methods and marks of people, zeros where absent, shape (n_units, n_methods, n)."""
    scores = np.zeros((*rows.shape, n))
    for column, name in enumerate(methods):
        there, evidence = rows[:, column] >= 0, attributions.evidence
        of = evidence.marks if name == HUMAN and evidence else attributions.scores
        scores[there, column] = matrix(of, rows[there, column], n)
    return scores


def _values(picked: BoolArray, ranks: IntArray, members: list[list[int]]) -> FloatArray:
    """Agreement of units of one length by their peaks and at each k, (n_units, rules, n_sets)."""
    value = np.empty((len(picked), MOST_K + 1, len(members)))
    bits = [np.packbits(ranks < k, axis=-1) for k in range(1, MOST_K + 1)]
    for column, own in enumerate(members):
        value[:, 0, column] = agreement(picked[:, own])
        for k, of_k in enumerate(bits, start=1):
            union = np.bitwise_count(np.bitwise_or.reduce(of_k[:, own], axis=1)).sum(axis=-1)
            value[:, k, column] = min(k, picked.shape[2]) / union
    return value


def _chance(peaks: IntArray, n: IntArray, members: list[list[int]]) -> FloatArray:
    """Expected agreement of random sets, shape (n_units, rules, n_sets)."""
    chance = np.empty((len(n), MOST_K + 1, len(members)))
    fixed = dict[int, FloatArray]()
    tokens, k = np.repeat(n, MOST_K), np.tile(np.arange(1, MOST_K + 1), len(n))
    for column, own in enumerate(members):
        chance[:, 0, column] = expected_agreement(peaks[:, own], n)
        if len(own) not in fixed:
            sizes = np.repeat(np.minimum(tokens, k)[:, None], len(own), axis=1)
            fixed[len(own)] = expected_agreement(sizes, tokens).reshape(-1, MOST_K)
        chance[:, 1:, column] = fixed[len(own)]
    return chance


def agreement_tables(found: Agreed) -> dict[str, pl.DataFrame]:
    """The tables ``agreement, lengths, differences, gains, chosen``, by model.

    A value is a mean over instances with its 95 % interval; ``above_chance`` is agreement minus
    that of random sets of the same sizes, over the same units, ``corrected_sizes``
    ``(agreement - chance) / (1 - chance)``, null where chance is 1. ``lengths`` holds the sets of
    more than two methods, or else the pairs.
    """
    models = clusters_by(found.units, ["model"])
    together = found.sets["together"].is_not_null().to_numpy()
    return {
        "agreement": _summary(found, models, np.ones_like(together)),
        "lengths": _summary(found, _by_length(found), together if together.any() else ~together),
        "differences": _differences(found, models, ~together),
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
    tokens = found.units["tokens"].to_numpy()
    shares = np.arange(1, LENGTH_GROUPS) / LENGTH_GROUPS
    cuts = np.sort(tokens)[(shares * len(tokens)).astype(np.int64)] if len(tokens) else tokens
    frame = found.units.with_columns(group=np.searchsorted(np.unique(cuts), tokens, "left"))
    limits = {"tokens_from": pl.col("tokens").min(), "tokens_to": pl.col("tokens").max()}
    limited = frame.with_columns(**{name: limit.over("group") for name, limit in limits.items()})
    return clusters_by(limited, ["model", *limits])


def _means(values: FloatArray, parts: Parts) -> Means:
    """Means of values of shape (n_units, ...), the last axes as columns."""
    return instance_means(values.reshape(len(values), -1), parts[1])


def _mean(values: FloatArray, parts: Parts) -> pl.Series:
    return pl.Series(_means(values, parts).value.ravel()).fill_nan(None)


def _crossed(parts: Parts, *others: pl.DataFrame) -> pl.DataFrame:
    """A row for each part and each row of the others, the last fastest, as `_means` has them."""
    table = parts[0]
    for other in others:
        table = table.join(other, how="cross", maintain_order="left_right")
    return table


def _summary(found: Agreed, parts: Parts, chosen: BoolArray) -> pl.DataFrame:
    rule = ["dynamic", *["fixed"] * MOST_K]
    rules = pl.DataFrame({"rule": rule, "k": [None, *range(1, MOST_K + 1)]})
    sets = found.sets.filter(pl.Series(chosen)).drop("members")
    value, chance = found.value[..., chosen], found.chance[..., chosen]
    mean, above = _means(value, parts), _means(value - chance, parts)
    by_sizes = pl.col("chance_sizes")
    corrected = (pl.col("agreement") - by_sizes) / (1 - by_sizes)
    table = _crossed(parts, rules, sets).with_columns(
        **mean.interval("agreement", "low", "high", bounds=(0.0, 1.0)),
        **mean.counts("n", "units", "undefined"),
        chance_sizes=_mean(chance, parts),
        **above.interval("above_chance", "above_low", "above_high"),
    )
    order = (pl.col("together").is_not_null(), "k")
    names = [*parts[0].columns, *sets.columns, "rule", "k"]
    return (
        table.with_columns(corrected_sizes=pl.when(by_sizes < 1 - 1e-12).then(corrected))
        .select(*names, pl.exclude(names))
        .sort(*order, maintain_order=True)
    )


def _differences(found: Agreed, parts: Parts, pairs: BoolArray) -> pl.DataFrame:
    """Peaks beside the main k, pair by pair: figure 3 of *Dynamic Top-k Estimation*."""
    dynamic, fixed = found.value[:, 0, pairs], found.value[:, MAIN_K, pairs]
    gap = _means(dynamic - fixed, parts)
    names = found.sets.filter(pl.Series(pairs)).select("first", "second")
    return _crossed(parts, names).with_columns(
        k=pl.lit(MAIN_K, dtype=pl.Int64),
        dynamic=_mean(dynamic, parts),
        fixed=_mean(fixed, parts),
        **gap.interval("difference", "low", "high"),
        **gap.counts("n"),
        undefined=gap.undefined.ravel(),
    )


def _gains(found: Agreed, parts: Parts) -> pl.DataFrame:
    """Dynamic minus fixed agreement, summed over a method's pairs with the other methods.

    Table 1 of *Dynamic Top-k Estimation*. A unit that lacks one of the pairs has no sum.
    """
    pairs = found.sets.with_row_index("set").filter(
        pl.col("together").is_null() & (pl.col("second") != HUMAN)
    )
    each = pairs.unpivot(["first", "second"], index="set", value_name="method")
    of_methods = each.sort("set").group_by("method").agg("set").sort("method")
    gap = found.value[:, :1] - found.value[:, GAIN_KS]
    own = [gap[..., places].sum(axis=2) for places in of_methods["set"].to_list()]
    mean = _means(np.stack(own, axis=2) if own else gap[..., :0], parts)
    names = of_methods.select("method", pairs=pl.col("set").list.len().cast(pl.Int64))
    return (
        _crossed(parts, pl.DataFrame({"k": GAIN_KS}), names)
        .with_columns(
            **mean.interval("gain", "low", "high"),
            **mean.counts("n"),
            undefined=mean.undefined.ravel(),
        )
        .select("model", "method", "pairs", pl.exclude("model", "method", "pairs"))
        .sort("k", maintain_order=True)
    )


def _chosen(found: Agreed, parts: Parts) -> pl.DataFrame:
    """How many tokens each method chooses by its peaks; ``tied`` and ``constant`` are shares."""
    mean = _means(found.peaks, parts)
    tokens = found.units["tokens"].to_numpy()[:, None] + 0 * found.peaks
    return _crossed(parts, pl.DataFrame({"method": found.methods})).with_columns(
        **mean.counts("n", "units"),
        k=pl.lit(MAIN_K, dtype=pl.Int64),
        **mean.interval("peaks", "low", "high"),
        sd=pl.Series(mean.sd.ravel()).fill_nan(None),
        tokens=_mean(tokens, parts),
        tied=_mean(found.tied, parts),
        constant=_mean(found.constant, parts),
    )
