"""Whether attribution methods choose the same tokens, and whether people choose them too.

*Dynamic Top-k Estimation Consolidates Disagreement between Feature Attribution Methods* (Kamp,
Beinborn, Fokkens), equations 1 and 2: a token's relevance is the share of the m methods that choose
it; agreement is the mean relevance of the tokens that any method chooses. It equals the mean size
of the sets over the size of their union, for two sets (1 + Jaccard) / 2, and is at least 1 / m.
Scores are signed: a token that speaks against the label is not among the highest.
"""

from __future__ import annotations

from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from scipy.special import gammaln

from audit.analyses.explanations.declared import MAIN_K, TABLES
from audit.analyses.explanations.rows import (
    by_row,
    clustered_means,
    means,
    of_one_length,
    ranking,
    row_keys,
)
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.errors import InputError
from audit.engine.statistics.association import ratio

UNIT = ["id", "target", "model", "seed", "tokens"]
"""What distinguishes units, which are rows side by side."""
HUMAN = "human"
"""Name of the people's marks among the methods."""
ALL = "all methods"
"""Name of the set of all methods, the human left out."""
MOST_K = 10
"""The largest k of curves."""
GAIN_KS = (1, 2, 3, 4, 5)
"""Values of k that table 1 of *Dynamic Top-k Estimation* compares peaks with."""
LENGTH_GROUPS = 4
"""Number of groups of units by number of tokens, about equally large."""
Compat: TypeAlias = Literal["kamp"] | None
"""None: the rule of `scipy.signal.find_peaks` on scores between two minus infinities. "kamp": the
rule of the code released with *Dynamic Top-k Estimation*."""
ROUNDING = 1e-12
"""Relative difference that rounding alone may make."""


def agreement(chosen: BoolArray) -> FloatArray:
    """Equation 2 of sets of tokens, shape (..., sets, tokens); NaN where no token is chosen."""
    sizes = chosen.sum(axis=-1)
    return ratio(sizes.sum(axis=-1) / sizes.shape[-1], chosen.any(axis=-2).sum(axis=-1))


def expected_agreement(set_sizes: IntArray, n_tokens: int) -> FloatArray:
    """Mean agreement of m independent random sets of these sizes, exactly.

    ``mean(k) * sum over s = 1..n of (1 / s) * product over j of C(s, k_j) / C(n, k_j)``. The sum is
    the mean of one over the size U of the union: if every token gets a random time in [0, 1], then
    ``1 / U`` is the integral of ``(1 - x)^(U - 1)``, and given that t tokens have come, none of
    them is in a set with the probability that the product states for ``s = n - t``. Sizes have the
    shape (..., m); NaN where all sets are empty.

    >>> expected_agreement(np.array([[2, 2]]), 5).round(4).tolist()
    [0.65]
    """
    flat = np.sort(set_sizes.reshape(-1, set_sizes.shape[-1]), axis=1)
    sizes, which = np.unique(flat, axis=0, return_inverse=True)
    log_factorial = gammaln(np.arange(n_tokens + 1) + 1.0)
    s, k = np.arange(1, n_tokens + 1), sizes[:, :, None]
    logs = log_factorial[s] - log_factorial[np.maximum(s - k, 0)]
    logs = (logs - log_factorial[n_tokens] + log_factorial[n_tokens - k]).sum(axis=1)
    terms = np.where(s >= sizes[:, -1:], np.exp(np.minimum(logs, 0.0)) / s, 0.0)
    expected = np.where(sizes[:, -1] > 0, sizes.mean(axis=1) * terms.sum(axis=1), np.nan)
    return np.asarray(expected[which.reshape(set_sizes.shape[:-1])])


def peaks(scores: FloatArray, compat: Compat = None) -> BoolArray:
    """Dynamic k: local maxima that are at least the mean of their row, shape as given.

    Section 4 of the paper asks for more than the mean; with at least the mean, as in the released
    code, every row that is not empty has a peak. A score that misses the mean by rounding alone, as
    a third among thirds may, reaches it. Of equal neighbours the middle one is the peak, of two the
    first; with ``compat="kamp"`` equal tokens at an end are none, nor is the only token of a row.
    """
    from scipy.signal import find_peaks

    n = scores.shape[-1]
    between = np.full((*scores.shape[:-1], n + 2), -np.inf)
    between[..., 1:-1] = scores
    places, plateau = find_peaks(between.reshape(-1), plateau_size=1)
    if compat == "kamp":
        first, last = plateau["left_edges"], plateau["right_edges"]
        at_end = (first < last) & ((first % (n + 2) == 1) | (last % (n + 2) == n))
        places = places[~at_end & (n > 1)]
    chosen = np.zeros(between.shape, np.bool_)
    chosen.reshape(-1)[places] = True
    below = scores - scores.max(axis=-1, keepdims=True)
    least = below.sum(axis=-1, keepdims=True) * (1 + ROUNDING)
    return np.asarray(chosen[..., 1:-1] & (below * n >= least))


class Agreed(NamedTuple):
    """Agreement of each unit: what several methods say of one prediction.

    ``sets`` has a row per ``unit``, set of methods (a pair, ``first, second``, or all ``together``)
    and rule (``k``, null for the peaks): ``agreement``, ``chance_sizes``, that of random sets as
    large, and ``gain``, by how much the peaks agree more. ``chosen`` has a row per unit and method:
    number of ``peaks``; ``tied``, whether keys decided which are the `MAIN_K` highest;
    ``constant``, whether all scores are equal. Both have ``id, model, tokens``, their number.
    """

    sets: pl.DataFrame
    chosen: pl.DataFrame


def agreed(rows: pl.DataFrame, *, compat: Compat = None, seed: int = 0) -> Agreed:
    """Measure agreement@k of all pairs of methods, of methods and people, and of all methods.

    Borrowed rows are left out, and all but the first of a unit and method. The ``seed`` decides
    ties, in any order of rows. InputError if a method is named as people are.
    """
    if HUMAN in rows["method"]:
        raise InputError(f"no method may be named {HUMAN!r}", hint="rename the method")
    own = rows.filter(~pl.col("borrowed"))
    own = own.unique([*UNIT, "method"], keep="first", maintain_order=True)
    people = own.drop_nulls("marks").unique(UNIT, keep="first", maintain_order=True)
    people = people.with_columns(method=pl.lit(HUMAN), scores="marks")
    methods = pl.Enum([*own["method"].unique().sort(), HUMAN])
    every = pl.concat([own, people]).with_columns(key=row_keys(pl.concat([own, people]), seed))
    every = every.with_columns(pl.col("method").cast(methods)).sort("method", maintain_order=True)
    units = every.group_by(UNIT, maintain_order=True).agg("method", "scores", "key")
    units = units.with_row_index("unit").with_columns(pl.col("tokens").list.len().cast(pl.Int64))
    parts = [
        _of_methods(some, len(methods.categories) - 1, compat)
        for _, some in units.group_by("method", maintain_order=True)
    ]
    return Agreed(*map(pl.concat, zip(*parts, strict=True)))


def _of_methods(units: pl.DataFrame, n_methods: int, compat: Compat) -> Agreed:
    """Agreement of units of one set of methods: in pairs, and of all if it has ``n_methods``."""
    methods = units["method"][0]
    people = methods.last() == HUMAN
    sets = [*map(list, combinations(range(len(methods)), 2))]
    if len(methods) - people == n_methods > 2:
        sets.append([*range(n_methods)])
    chosen, value, chance = _peaks_and_agreement(units, people, sets, compat)
    pairs = [methods.gather(own) if len(own) == 2 else (None, None) for own in sets]
    named = pl.DataFrame(
        {
            "first": pl.Series([one for one, _ in pairs], dtype=methods.dtype),
            "second": pl.Series([other for _, other in pairs], dtype=methods.dtype),
            "together": pl.Series([None if one else ALL for one, _ in pairs], dtype=pl.String),
            "methods": pl.Series([*map(len, sets)], dtype=pl.Int64),
        }
    )
    rules = pl.DataFrame({"k": [None, *range(1, MOST_K + 1)]}, {"k": pl.Int64})
    for rest in (units.select("unit", "id", "model", "tokens"), rules):
        named = named.join(rest, how="cross", maintain_order="left_right")
    numbers = {"agreement": value, "chance_sizes": chance, "gain": value[:, :, :1] - value}
    told = named.with_columns(
        pl.Series(name, of.ravel()).fill_nan(None) for name, of in numbers.items()
    )
    each = units.select("unit", "id", "model", "method", "tokens").explode("method")
    flags = zip(("peaks", "tied", "constant"), chosen, strict=True)
    return Agreed(told, each.with_columns(pl.Series(name, of.ravel()) for name, of in flags))


def _peaks_and_agreement(
    units: pl.DataFrame, human: bool, sets: list[list[int]], compat: Compat
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Number of peaks, whether the `MAIN_K` highest are tied, and whether all are equal, shape (3,
    units, methods); agreement and its chance by the peaks and at each k, (sets, units, rules)."""
    methods, n = len(units["method"][0]), units["tokens"].to_numpy()
    scores = units["scores"].explode().explode().to_numpy()
    keys = units["key"].explode().to_numpy().reshape(len(units), methods)
    starts, chosen = (np.cumsum(n) - n) * methods, np.zeros((3, len(units), methods))
    value, chance = np.empty((2, len(sets), len(units), MOST_K + 1))
    for places, length in of_one_length(n, width=methods):
        at = starts[places, None] + np.arange(length * methods)
        some = scores[at].reshape(len(places), methods, length)
        order = ranking(some.reshape(-1, length), keys[places].reshape(-1))
        picked, ranks = peaks(some, compat), order.places.reshape(some.shape)
        if human:
            picked[:, -1] &= some[:, -1] > 0
        flags = np.stack([order.tied_at(MAIN_K), order.first[:, -1] == 0])
        chosen[0, places] = picked.sum(axis=2)
        chosen[1:, places] = flags.reshape(2, len(places), methods)
        picks = np.stack([picked, *(ranks < k for k in range(1, MOST_K + 1))], axis=1)
        sizes = picks.sum(axis=3)
        for place, members in enumerate(sets):
            value[place, places] = agreement(picks[:, :, members])
            chance[place, places] = expected_agreement(sizes[:, :, members], length)
    return chosen, value, chance


def agreement_tables(found: Agreed) -> dict[str, pl.DataFrame]:
    """The tables ``agreement, lengths, differences, gains, chosen``, by model.

    A value is a mean over instances with its 95 % interval; ``corrected_sizes`` is
    ``(agreement - chance) / (1 - chance)``, null where chance is 1. ``lengths`` holds the sets of
    more than two methods, or else the pairs.
    """
    pairs = found.sets.filter(pl.col("together").is_null())
    several = found.sets.filter(pl.col("together").is_not_null())
    counts = means(found.chosen, ["model", "method"], "peaks", "tokens", "tied", "constant")
    k = pl.lit(MAIN_K, pl.Int64).alias("k")
    frames = {
        "agreement": _summary(found.sets, ["model"]),
        "lengths": _by_length(found.chosen, pairs if several.is_empty() else several),
        "differences": _differences(pairs).with_columns(k),
        "gains": _gains(pairs.filter(pl.col("second") != HUMAN)),
        "chosen": _ends(counts, "peaks").with_columns(k),
    }
    return {name: TABLES[name].cast(frame) for name, frame in frames.items()}


def _ends(told: pl.DataFrame, value: str) -> pl.DataFrame:
    """The table with VALUE_low, _high, _sd and _n of one value as ``low, high, sd, n``."""
    return told.rename({f"{value}_{one}": one for one in ("low", "high", "sd", "n")})


def _summary(sets: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """A row for each of ``by``, set of methods and rule: means of agreement, above chance too."""
    keys, chance = [*by, "first", "second", "together", "methods", "k"], pl.col("chance_sizes")
    above = sets.with_columns(above=pl.col("agreement") - chance)
    told = means(above, keys, "agreement", "chance_sizes", "above")
    corrected = (pl.col("agreement") - chance) / (1 - chance)
    return (
        _ends(told, "agreement")
        .rename({"above": "above_chance"})
        .with_columns(
            pl.col("low", "high").clip(0, 1),
            rule=pl.when(pl.col("k").is_null()).then(pl.lit("dynamic")).otherwise(pl.lit("fixed")),
            corrected_sizes=pl.when(chance < 1 - ROUNDING).then(corrected),
        )
        .sort(pl.col("together").is_not_null(), "k", *keys)
    )


def _by_length(chosen: pl.DataFrame, sets: pl.DataFrame) -> pl.DataFrame:
    """The agreement of groups of units, cut at quantiles of their number of tokens."""
    units = chosen.select("unit", "tokens").unique().sort("tokens")
    tokens = units["tokens"].to_numpy()
    cuts = np.unique(tokens[len(tokens) * np.arange(1, LENGTH_GROUPS) // LENGTH_GROUPS])
    groups = units.with_columns(group=pl.Series(np.searchsorted(cuts, tokens, "left")))
    limits = {"tokens_from": pl.col("tokens").min(), "tokens_to": pl.col("tokens").max()}
    limited = groups.select("unit", **{name: of.over("group") for name, of in limits.items()})
    return _summary(sets.join(limited, on="unit", maintain_order="left"), ["model", *limits])


def _differences(pairs: pl.DataFrame) -> pl.DataFrame:
    """Agreement at the peaks, at `MAIN_K`, and their difference, by pair of methods: figure 3."""
    at_k, value = pl.col("k") == MAIN_K, pl.col("agreement")
    beside = pairs.with_columns(
        dynamic=pl.when(pl.col("k").is_null()).then(value),
        fixed=pl.when(at_k).then(value),
        difference=pl.when(at_k).then("gain"),
    )
    told = means(beside, ["model", "first", "second"], "dynamic", "fixed", "difference")
    return _ends(told, "difference")


def _gains(pairs: pl.DataFrame) -> pl.DataFrame:
    """Means over instances of gains summed over a method's pairs, of units with all: table 1."""
    at = pairs.filter(pl.col("k").is_in(GAIN_KS))
    each = pl.concat([at.with_columns(method=side) for side in ("first", "second")])
    others = each.with_columns(pairs=pl.struct("first", "second").n_unique().over("method"))
    sums = others.group_by("k", "model", "method", "pairs", "unit", "id", maintain_order=True).agg(
        pl.col("gain").sum(), known=pl.col("gain").count()
    )
    whole = sums.with_columns(gain=pl.when(pl.col("known") == pl.col("pairs")).then("gain"))
    return _ends(means(whole, ["k", "model", "method", "pairs"], "gain"), "gain")


def run_differences(rows: pl.DataFrame, compat: Compat = None) -> pl.DataFrame:
    """The table ``runs``: the average pairwise difference (APD, appendix A) of runs, the seeds.

    ``AD(T1, T2) = sum of |T1 - T2| / (rows * longest)``, where T holds the scores of a run, one row
    per instance, target and method, filled up with zeros to the longest text. A run's APD is its
    mean AD to the other runs, with an interval over instances; ``per_token`` is the same without
    the zeros, ``median`` whether the run differs least, of equal ones the first. Only rows that all
    runs of a model have, on the same tokens, are compared; a model with one run gives nothing. With
    "kamp" a run is also compared with itself, as in the released code: (m - 1) / m for m runs.
    """
    key, run = ["model", "id", "target", "method", "tokens"], ["model", "seed"]
    own = rows.filter(~pl.col("borrowed")).unique([*key, "seed"], keep="first", maintain_order=True)
    own = own.with_columns(runs=pl.col("seed").n_unique().over("model"))
    own = own.filter(pl.col("runs") > 1, pl.len().over(key) == pl.col("runs"))
    own = own.with_columns(
        example=pl.int_range(pl.len()), cluster="id", n=pl.col("tokens").list.len()
    )
    others = pl.col("runs") - (compat != "kamp")
    pairs = own.join(own.select(*key, other="scores"), on=key, maintain_order="left_right")
    apart = by_row(
        pairs.select("example", "scores", "other"),
        ["scores", "other"],
        lambda scores, other: {"apart": np.abs(scores - other).sum(axis=1)},
    )
    sums = apart.group_by("example", maintain_order=True).agg(pl.col("apart").sum())
    each = own.join(sums, on="example", maintain_order="left").with_columns(
        apart=pl.col("apart") / others, longest=pl.col("n").max().over("model")
    )
    each = each.with_columns(difference=pl.col("apart") / pl.col("longest"))
    beside = each.group_by(run, maintain_order=True).agg(
        per_token=pl.col("apart").sum() / pl.col("n").sum(), longest=pl.col("longest").first()
    )
    table = clustered_means(each, run, "difference").join(beside, on=run, maintain_order="left")
    mean, reach = pl.col("mean"), pl.col("reach")
    told = table.rename({"examples": "rows", "clusters": "instances"}).with_columns(
        difference=mean,
        low=mean - reach,
        high=mean + reach,
        median=(pl.int_range(pl.len()) == mean.arg_min()).over("model"),
    )
    return TABLES["runs"].cast(told)
