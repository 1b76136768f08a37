"""Whether strata keep order sets, and a cap on labels, from making false pairs.

``python -m validation.order_sets [RELEASES]`` prints, for each world and each way to audit it, the
planted pairs that are found, the pairs told and those of them that are not planted.
"""

from __future__ import annotations

import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from validation.pair_codes import Codes
from validation.pair_records import Bools, Draft, independent, plant
from validation.pair_scores import scores, standing
from validation.pair_worlds import release_of

RELEASES = 6
OF, TICKED = 8, 0.6
"""Labels of an order set, and the chance of each on a record that it is used for."""
CAP = 9
MOST = 160
"""Labels beside those that are planted."""

Drawn = tuple[Draft, Bools]
"""A release, and the records with an order set, or at the cap."""


def main(releases: int) -> None:
    """Print the table."""
    for name, draw in WORLDS.items():
        told: dict[str, list[NDArray[np.int64]]] = defaultdict(list)
        for number in range(releases):
            rng = np.random.default_rng([zlib.crc32(name.encode()), number])
            for way, counts in _audited(*draw(rng)):
                told[way].append(np.array(counts))
        for way, each in told.items():
            found, planted, pairs, false = np.sum(each, axis=0)
            print(f"{name} | {way} | {found} of {planted} | {false} of {pairs}", flush=True)


def order_sets(rng: np.random.Generator, *, sets: int, share: float, pairs: int) -> Drawn:
    """Each set on this share of the records; pairs within a set are planted, and some others."""
    n = 10_000
    draft, free = _independent(rng, n, pairs, 3.0, 4.0)
    deck = iter(free[rng.permutation(MOST)].tolist())
    used, p = np.zeros(n, np.bool_), draft.codes.shares
    for _ in range(sets):
        labels, on = [next(deck) for _ in range(OF)], rng.random(n) < share
        used |= on
        for label in labels:
            draft.has[:, label] |= on & (rng.random(n) < TICKED)
        for a, b in combinations(labels, 2):
            given, mean = (p[[a, b]] + by * (1 - p[[a, b]]) for by in (TICKED, share * TICKED))
            joint = share * given.prod() + (1 - share) * p[a] * p[b]
            draft.note(a, b, n * float(joint), n * float(mean.prod()), "template")
    return draft, used


def cut(rng: np.random.Generator, *, by_rank: bool, pairs: int) -> Drawn:
    """More than half of the records have nine labels or more, of which nine are kept.

    They are kept by one order of all labels, or by chance.
    """
    draft, _ = _independent(rng, 20_000, pairs, 8.0, 1.5)
    n, labels = draft.has.shape
    rank = np.tile(rng.permutation(labels), (n, 1)) if by_rank else rng.random((n, labels))
    rank = np.where(draft.has, rank, np.inf)
    draft.has &= rank.argsort(axis=1).argsort(axis=1) < CAP
    return draft, draft.has.sum(axis=1) >= CAP


def _independent(
    rng: np.random.Generator, n: int, pairs: int, length: float, shape: float
) -> tuple[Draft, NDArray[np.int64]]:
    """Independent labels, so many pairs planted; the draft, and the labels beside them."""
    codes = Codes(rng)
    groups = codes.groups(6, -(-(2 * pairs + 6) // 6))
    share = np.sqrt(50 / n / (1 + 1 / shape))
    ends = [codes.family(group, float(share), 0.5, 6) for group in groups[: 2 * pairs]]
    free = np.array(codes.crowd(groups[2 * pairs :], MOST, length))
    draft = independent(codes, n, shape=shape)
    for a, b in zip(ends[::2], ends[1::2], strict=True):
        plant(draft, a, b, float(rng.choice((2, 3, 5))), "scaled")
    return draft, free


def _audited(draft: Draft, marked: Bools) -> Iterator[tuple[str, Sequence[int]]]:
    yield "as it is", _counts(draft)
    draft.columns["marked"] = marked.astype(np.int64)
    yield "marked as strata", _counts(draft)
    del draft.columns["marked"]
    draft.has = draft.has[~marked]
    yield "marked left out", _counts(draft)


def _counts(draft: Draft) -> Sequence[int]:
    made = release_of(draft, "order sets")
    one = scores(made, standing(made))
    told = sum(len(finding.pairs) for finding in one.told)
    return sum(one.found), len(one.found), told, told - sum(finding.both for finding in one.told)


WORLDS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "12 order sets, each on .05": partial(order_sets, sets=12, share=0.05, pairs=0),
    "the same, 6 pairs beside": partial(order_sets, sets=12, share=0.05, pairs=6),
    "1 order set on .2, 6 pairs beside": partial(order_sets, sets=1, share=0.2, pairs=6),
    "cut at nine by chance, null": partial(cut, by_rank=False, pairs=0),
    "cut at nine by chance, 15 pairs": partial(cut, by_rank=False, pairs=15),
    "cut at nine by rank, null": partial(cut, by_rank=True, pairs=0),
    "cut at nine by rank, 15 pairs": partial(cut, by_rank=True, pairs=15),
}

if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else RELEASES)
