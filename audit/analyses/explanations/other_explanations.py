"""Correlations of attributions with the explanations of other examples (equation 6)."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.analyses.explanations.attributions import Attributions, Evidence
from audit.analyses.explanations.lists import (
    Lists,
    batches,
    codes,
    fisher,
    held,
    standardised,
    sums,
)
from audit.base.dag import BoolArray, FloatArray, IntArray

_ROUNDS = 60
"""Rounds of exchanges at random, before those that are left exchange one by one."""


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
    rows = rows.with_columns(reader=codes(rows.select("method", "model")))
    reader, example = rows["reader"].to_numpy(), rows["example"].to_numpy()
    cluster = np.zeros(int(example.max(initial=-1)) + 1, np.int64)
    cluster[example] = rows["cluster"].to_numpy()
    items = np.full((int(reader.max(initial=-1)) + 1, len(cluster)), -1)
    items[reader, example] = rows["item"].fill_null(-1).to_numpy()
    any_item = items.max(axis=0, initial=-1)
    items = np.where(items < 0, any_item, items)
    donors = random_donors(np.flatnonzero(any_item >= 0), cluster, draws, seed)
    met = rows.filter("meets")
    row, text, reader, example = (
        met[name].to_numpy().astype(np.int64) for name in ("row", "text", "reader", "example")
    )
    donor = donors[:, example]
    lent = np.where(donor < 0, -1, items[reader, donor])
    r = np.full(lent.shape, np.nan)
    for part in batches(attributions.scores.lengths[row]):
        scores = attributions.scores.take(row[part])
        size = standardised(Lists(np.abs(scores.values), scores.starts))
        for draw in range(draws):
            r[draw, part] = _correlated(size, text[part], lent[draw, part], attributions, evidence)
    return met.select(
        "row",
        total=np.nansum(r, axis=0),
        defined=np.count_nonzero(~np.isnan(r), axis=0),
        draws=np.count_nonzero(lent >= 0, axis=0),
    )


def _correlated(
    size: Lists[np.float64],
    text: IntArray,
    item: IntArray,
    attributions: Attributions,
    evidence: Evidence,
) -> FloatArray:
    """Fisher's transform of the correlation of each row with the words of an item of evidence.

    NaN where there is no item (-1), no token or every token is in it, or the correlation is 1 or
    -1.
    """
    pairs, place = np.unique(text * (len(evidence.words) + 1) + item + 1, return_inverse=True)
    texts, items = np.divmod(pairs, len(evidence.words) + 1)
    sets = evidence.words.take(np.maximum(items - 1, 0))
    marked = held(attributions.words.take(texts), sets).take(place.reshape(-1))
    number, lengths = sums(marked), marked.lengths
    spread = np.where(item >= 0, number * (1 - number / np.maximum(lengths, 1)), 0)
    scale = np.divide(1, np.sqrt(spread), out=np.full(len(spread), np.nan), where=spread > 0)
    return fisher(sums(Lists(size.values * marked.values, size.starts)) * scale)


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
            return other
        half = wrong[rng.random(len(wrong)) < 0.5]
        drawn = rng.choice(np.arange(n) if number % 2 == 0 else wrong, len(half))
        partner, first = np.unique(drawn, return_index=True)
        member = half[first]
        may = _may_exchange(other, member, partner, group) & ~np.isin(partner, member)
        member, partner = member[may], partner[may]
        other[member], other[partner] = other[partner], other[member]
    for one in np.flatnonzero(group[other] == group).tolist():
        if group[other[one]] == group[one]:
            may = _may_exchange(other, np.array(one), np.arange(n), group)
            another = int(rng.choice(np.flatnonzero(may)))
            other[[one, another]] = other[[another, one]]
    return other


def _may_exchange(
    other: IntArray, member: IntArray, partner: IntArray, group: IntArray
) -> BoolArray:
    """Whether neither of two members is misplaced once they have changed places."""
    return np.asarray(
        (group[other[partner]] != group[member]) & (group[other[member]] != group[partner])
    )
