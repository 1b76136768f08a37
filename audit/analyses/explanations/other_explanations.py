"""Correlations of attributions with the explanations of other examples (equation 6), drawn so that
no example keeps its own.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.analyses.explanations.attributions import Attributions, Evidence
from audit.analyses.explanations.lists import (
    Lists,
    batches,
    codes,
    fisher,
    places_of,
    standardised,
    starts_of,
)
from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.machine import cores


def drawn_correlations(
    attributions: Attributions, evidence: Evidence, rows: pl.DataFrame, draws: int, seed: int
) -> pl.DataFrame:
    """Fisher's transforms of the correlations of rows with the words of others' explanations.

    Models split a text into other tokens, and evidence goes by tokens: a row meets the explanation
    of another example as the row's own method and model have it, any other if they lack it.

    Args:
        attributions: Scores and words.
        evidence: Explanations of examples.
        rows: ``row, example, cluster, text, method, model, item``: the rows whose examples lend
            explanations; those with ``meets`` also meet others'.
        draws: Number of other examples whose explanations each example meets.
        seed: Seed of draws, which all methods and models share.

    Returns:
        ``row``, the ``total`` of the correlations that are ``defined``, and the number of
        ``draws``, for each row that meets others.
    """
    reader, example = codes(rows.select("method", "model")), rows["example"].to_numpy()
    clusters = rows.select("example", "cluster").unique().sort("example")
    cluster = np.zeros(int(example.max(initial=-1)) + 1, np.int64)
    cluster[clusters["example"].to_numpy()] = clusters["cluster"].to_numpy()
    items = np.full((int(reader.max(initial=-1)) + 1, len(cluster)), -1)
    items[reader, example] = rows["item"].fill_null(-1).to_numpy()
    any_item = items.max(axis=0, initial=-1)
    donors = random_donors(np.flatnonzero(any_item >= 0), cluster, draws, seed)
    items, tokenisation = np.unique(items, axis=0, return_inverse=True)
    items = np.where(items < 0, any_item, items)

    met = rows.with_columns(tokenisation=tokenisation.reshape(-1)[reader]).filter("meets")
    key = ["example", "tokenisation", "text"]
    met = met.select("row", *key, task=codes(met.select(key))).sort("task", maintain_order=True)
    tasks = met.unique("task", keep="first", maintain_order=True)
    first = starts_of(met["task"].value_counts().sort("task")["count"].to_numpy())
    lengths = attributions.words.lengths[tasks["text"].to_numpy()] * np.diff(first)
    found = np.zeros((3, len(met)))

    def meet(part: slice) -> None:
        own = slice(int(first[part.start]), int(first[part.stop]))
        row, example, of = (
            met["row"][own].to_numpy(),
            tasks["example"][part].to_numpy(),
            tasks["tokenisation"][part].to_numpy(),
        )
        scores = attributions.scores.take(row)
        size = standardised(Lists(np.abs(scores.values), scores.starts))
        words = attributions.words.take(tasks["text"][part].to_numpy())
        starts = first[part.start : part.stop + 1] - first[part.start]
        chosen = donors[:, example]
        held = np.where(chosen < 0, -1, items[of, chosen])
        drawn = np.stack([_correlated(size, starts, words, evidence.words, one) for one in held])
        found[0, own] = np.nansum(drawn, axis=0)
        found[1, own] = np.count_nonzero(~np.isnan(drawn), axis=0)
        found[2, own] = np.repeat(np.count_nonzero(chosen >= 0, axis=0), np.diff(starts))

    with ThreadPoolExecutor(cores()) as threads:
        list(threads.map(meet, batches(lengths)))
    total, defined, times = found
    return met.select(
        "row", total=total, defined=defined.astype(np.int64), draws=times.astype(np.int64)
    )


def _correlated(
    size: Lists[np.float64],
    starts: IntArray,
    words: Lists[np.int64],
    held: Lists[np.int64],
    item: IntArray,
) -> FloatArray:
    """Fisher's transform of the correlation of each row with one item of evidence.

    Args:
        size: Absolute scores of rows, standardised.
        starts: Where the rows of each text start, shape (n_texts + 1,).
        words: Words of each text.
        held: Words that each item of evidence holds.
        item: The item of each text, -1 for none.

    Returns:
        Shape (n_rows,); NaN where no token or every token is in the explanation, or the correlation
        is 1 or -1.
    """
    number = int(max(words.values.max(initial=0), held.values.max(initial=0))) + 1
    keys = words.owner * number + words.values
    order = np.argsort(keys, kind="stable")
    some = np.flatnonzero(item >= 0)
    asked = held.take(item[some])
    wanted = some[asked.owner] * number + asked.values
    low, high = (np.searchsorted(keys, wanted, side, sorter=order) for side in ("left", "right"))
    place = np.sort(order[places_of(low, high - low)])
    text, rows = words.owner[place], np.diff(starts)
    marked = np.bincount(text, minlength=len(words))
    row = places_of(starts[text], rows[text])
    step = np.repeat(place - words.starts[text], rows[text])
    covered = np.bincount(row, size.values[size.starts[row] + step], minlength=len(size))
    spread = marked * (1 - marked / words.lengths)
    scale = np.divide(1, np.sqrt(spread), out=np.full(len(spread), np.nan), where=spread > 0)
    return fisher(covered * np.repeat(scale, rows))


def random_donors(member: IntArray, cluster: IntArray, draws: int, seed: int) -> NDArray[np.int32]:
    """Per draw and example the example whose explanation it gets, -1 for none.

    Nobody gets their own, or one of their cluster. More draws begin with the same ones.

    Returns:
        Shape (n_draws, n_examples).
    """
    _, group = np.unique(cluster[member], return_inverse=True)
    donors = np.full((draws, len(cluster)), -1, np.int32)
    for place in range(draws):
        other = random_derangement(group, np.random.default_rng([seed % 2**64, 0, place]))
        donors[place, member] = np.where(other < 0, -1, member[other])
    return donors


_ROUNDS = 60


def random_derangement(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation that gives each member the place of a member of another group.

    A random permutation whose misplaced members change places with others, drawn at random, until
    none is misplaced.

    Args:
        group: The group of each member, numbered from 0, shape (n,); all different if members are
            alone.
        rng: Where randomness comes from.

    Returns:
        The place of another member for each, shape (n,), none twice. Of a group of more than half,
        as many members as the others cannot serve are drawn at random and have -1.
    """
    sizes = np.bincount(group, minlength=1)
    unserved = max(2 * int(sizes.max()) - len(group), 0)
    left_out = rng.choice(np.flatnonzero(group == sizes.argmax()), unserved, replace=False)
    served = np.delete(np.arange(len(group)), left_out)
    other = np.full(len(group), -1)
    other[served] = served[_derangement(group[served], rng)]
    return other


def _derangement(group: IntArray, rng: np.random.Generator) -> IntArray:
    """A random permutation that serves everybody, which no group of more than half prevents."""
    n = len(group)
    other = rng.permutation(n)
    for number in range(_ROUNDS):
        wrong = np.flatnonzero(group[other] == group)
        if len(wrong) == 0:
            break
        _exchange(other, wrong, np.arange(n) if number % 2 == 0 else wrong, group, rng)
    for member in np.flatnonzero(group[other] == group).tolist():
        if group[other[member]] == group[member]:
            may = _may_exchange(other, np.int64(member), np.arange(n), group)
            partner = int(rng.choice(np.flatnonzero(may)))
            other[[member, partner]] = other[[partner, member]]
    return other


def _exchange(
    other: IntArray, wrong: IntArray, partners: IntArray, group: IntArray, rng: np.random.Generator
) -> None:
    """Let half of the misplaced change places, in place, with random partners where both may."""
    half = wrong[rng.random(len(wrong)) < 0.5]
    partner, first = np.unique(rng.choice(partners, len(half)), return_index=True)
    member = half[first]
    may = _may_exchange(other, member, partner, group) & ~np.isin(partner, member)
    member, partner = member[may], partner[may]
    other[member], other[partner] = other[partner], other[member]


def _may_exchange(
    other: IntArray, member: IntArray | np.int64, partner: IntArray, group: IntArray
) -> BoolArray:
    """Whether neither of two members is misplaced once they have changed places."""
    return np.asarray(
        (group[other[partner]] != group[member]) & (group[other[member]] != group[partner])
    )
