"""Raters who put items into categories, and their agreement.

Measures of agreement are functions of sums over items, so that bootstrap replicates are weighted
sums of the same terms, and items can be added up in batches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from audit.base.dag import FloatArray, IntArray
from audit.base.errors import SchemaError

_ITEMS, _PAIRS, _AGREEING, _SHARES, _COINCIDENCES = range(5)
_CATEGORIES = 5
"""Places of the terms of an item; from `_CATEGORIES` on the votes for each category."""


@dataclass(frozen=True, eq=False)
class RaterAgreement:
    """Agreement of raters, over the items with two votes at least; each array has one shape.

    A number is NaN where it is not defined: all of them without an item of two votes, kappa and
    alpha also where all votes are for one category, which leaves nothing to agree on.

    Args:
        pairwise: Share of the pairs of votes on the same item that agree.
        fleiss: Fleiss' kappa, in *Measuring nominal scale agreement among many raters*: the mean
            over items of the share of agreeing pairs, against that of two votes drawn from all.
            NaN where items differ in their number of votes, for which it is not defined.
        alpha: Krippendorff's alpha for nominal data: as kappa, with each item weighted by its
            votes, and drawn without putting back. Items may differ in their number of votes. On
            complete data ``alpha = kappa + (1 - kappa) / N`` for N votes in all.
    """

    pairwise: FloatArray
    fleiss: FloatArray
    alpha: FloatArray


def agreement_terms(counts: IntArray) -> FloatArray:
    """What each item adds to the sums that `agreement_of_sums` takes, shape (n_items, 5 + n).

    Items with fewer than two votes add nothing.

    Args:
        counts: Votes of each item for each category, not negative, shape (n_items, n).
    """
    if (counts < 0).any():
        raise SchemaError("numbers of votes must not be negative", found=str(int(counts.min())))
    votes = counts.sum(axis=1).astype(np.float64)
    several = votes > 1
    pairs = votes * (votes - 1)
    agreeing = (counts * (counts - 1)).sum(axis=1).astype(np.float64)
    share = np.divide(agreeing, pairs, out=np.zeros_like(votes), where=several)
    terms = np.column_stack([several, pairs, agreeing, share, share * votes, counts])
    return np.where(several[:, None], terms, 0.0)


def agreement_of_sums(sums: FloatArray, *, equal: bool) -> RaterAgreement:
    """Agreement from sums of `agreement_terms` over items, or over weighted items.

    Args:
        sums: Shape (..., 5 + n); each number of the answer has the shape (...).
        equal: Whether all items of two votes and more have as many; kappa is NaN if not.
    """
    items, pairs, agreeing, shares, coincidences = np.moveaxis(sums[..., :_CATEGORIES], -1, 0)
    by_category = sums[..., _CATEGORIES:]
    votes = by_category.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_chance = ((by_category / votes[..., None]) ** 2).sum(axis=-1)
        fleiss = _beyond_chance(shares / items, by_chance)
        drawn = (by_category * (by_category - 1)).sum(axis=-1) / (votes * (votes - 1))
        alpha = _beyond_chance(coincidences / votes, drawn)
        pairwise = agreeing / pairs
    return RaterAgreement(pairwise, fleiss if equal else np.full_like(fleiss, np.nan), alpha)


def equal_votes(counts: IntArray) -> bool:
    """Whether all items of two votes and more have as many; counts as in `agreement_terms`."""
    votes = counts.sum(axis=1)
    return len(np.unique(votes[votes > 1])) <= 1


def _beyond_chance(observed: FloatArray, by_chance: FloatArray) -> FloatArray:
    """``(observed - by_chance) / (1 - by_chance)``; NaN where chance leaves nothing."""
    left = 1 - by_chance
    found: FloatArray = np.where(left > 1e-12, (observed - by_chance) / left, np.nan)
    return found
