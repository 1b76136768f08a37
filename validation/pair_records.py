"""Records of the pair worlds, and associations planted among them in several ways.

Every world states the chance of each label on each record, so that the joint count that two
independent labels would have is a sum over records, and no tool is asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from validation.pair_codes import Codes

MECHANISMS = ("scaled", "copula", "long", "added", "replaced", "syndrome")
"""``scaled``: given the first label the second is so many times as likely. ``copula``: one odds
ratio for all records. ``long``: the whole excess stands on the longer half of the records.
``added``: the second label is added to records that have the first. ``replaced``: it takes the
place of another label there. ``syndrome``: a hidden state of the record brings both."""
OF_SYNDROME = 0.9
"""Chance of either label on a record with the hidden state."""

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Planted:
    """Two nodes planted together.

    Args:
        a: The one.
        b: The other.
        ratio: The true joint count over the expected one.
        expected: Joint records to expect were they independent given all else in the world.
    """

    a: str
    b: str
    ratio: float
    expected: float


@dataclass
class Draft:
    """A release in the making.

    Args:
        codes: The hierarchy and its labels.
        chance: Chance of each label on each record, shape (records, labels).
        has: Whether it is there, the same shape.
        planted: What was planted.
        columns: Further columns of the records: ``group``, or a stratum.
    """

    codes: Codes
    chance: Floats
    has: Bools
    planted: list[Planted] = field(default_factory=list)
    columns: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def rng(self) -> np.random.Generator:
        """The one source of chance of the release."""
        return self.codes.rng

    def columns_of(self, end: int | str) -> list[int]:
        """Numbers of the labels of an end: itself, or those at or below a node."""
        return [end] if isinstance(end, int) else self.codes.below(end)

    def of_any(self, columns: Sequence[int]) -> Floats:
        """Chance of each record to have any of these labels, were they independent."""
        none: Floats = np.prod(1 - self.chance[:, columns], axis=1, dtype=np.float64)
        return 1 - none

    def note(self, a: int | str, b: int | str, joint: float, expected: float) -> None:
        """Write down what was planted between two ends."""
        first, second = (self.codes.labels[end] if isinstance(end, int) else end for end in (a, b))
        self.planted.append(Planted(first, second, joint / expected, expected))


def independent(
    codes: Codes,
    n: int,
    *,
    shape: float | None = None,
    factor: Floats | None = None,
) -> Draft:
    """Records whose labels are independent given the record.

    Args:
        codes: Labels and their shares.
        n: Records.
        shape: Of the gamma law that makes records long and short; None: lengths are Poisson.
        factor: What multiplies the rate of each label on each record, mean 1, that shape or
            broadcast to it.
    """
    rng, shares = codes.rng, codes.shares
    rate = -np.log1p(-shares) if shape is None else shape * ((1 - shares) ** (-1 / shape) - 1)
    activity = np.ones(n) if shape is None else rng.gamma(shape, 1 / shape, n)
    rates = np.outer(activity.astype(np.float32), rate.astype(np.float32))
    if factor is not None:
        rates *= factor
    chance = np.negative(np.expm1(np.negative(rates, out=rates), out=rates), out=rates)
    return Draft(codes, chance, rng.random(chance.shape, np.float32) < chance)


def plant(draft: Draft, a: int | str, b: int | str, ratio: float, mechanism: str) -> None:
    """Plant two ends, labels or nodes, of independent records.

    The ratio is the true one wherever the records can reach it, else as near as they can; supports
    stay as they were, in expectation.
    """
    if mechanism in ("scaled", "copula", "long"):
        _plant_joint(draft, a, b, ratio, mechanism)
    elif isinstance(a, int) and isinstance(b, int):
        _plant_extra(draft, a, b, ratio, mechanism)
    else:
        raise ValueError(f"{mechanism} needs two labels")


def _plant_joint(draft: Draft, a: int | str, b: int | str, ratio: float, mechanism: str) -> None:
    """Draw b again, given a, from the joint chance of each record."""
    first, second = draft.columns_of(a), draft.columns_of(b)
    p, q = draft.of_any(first), draft.of_any(second)
    apart, most = p * q, 0.97 * np.minimum(p, q)
    joint_of: Callable[[float], Floats]
    if mechanism == "copula":

        def joint_of(strength: float) -> Floats:
            return _plackett(p, q, 1 + strength)
    else:
        weight = np.ones(len(p))
        if mechanism == "long":
            length = np.delete(draft.has, [*first, *second], axis=1).sum(axis=1)
            weight = (length > np.median(length)).astype(float)

        def joint_of(strength: float) -> Floats:
            return np.maximum(apart, np.minimum(apart * (1 + strength * weight), most))

    joint = joint_of(_solved(lambda s: joint_of(s).sum(), ratio * apart.sum(), 1e4))
    there = draft.has[:, first].any(axis=1)
    given = np.where(there, joint / np.maximum(p, 1e-12), (q - joint) / np.maximum(1 - p, 1e-12))
    _fill(draft, second, draft.rng.random(len(p)) < given)
    draft.note(a, b, float(joint.sum()), float(apart.sum()))


def _plant_extra(draft: Draft, a: int, b: int, ratio: float, mechanism: str) -> None:
    """Thin the labels and bring them back together, so that supports stay as they were."""
    p, q = (draft.chance[:, end].astype(np.float64) for end in (a, b))
    together = _syndrome if mechanism == "syndrome" else _joined

    def reached(strength: float) -> float:
        _, _, new_p, new_q, joint = together(p, q, strength)
        return float(joint.sum() / (new_p * new_q).sum())

    strength = _solved(reached, ratio, _most(p, q, mechanism))
    keep_a, keep_b, new_p, new_q, joint = together(p, q, strength)
    rng, n = draft.rng, len(p)
    draft.has[:, a] &= rng.random(n) < keep_a
    draft.has[:, b] &= rng.random(n) < keep_b
    if mechanism == "syndrome":
        state = rng.random(n) < strength
        draft.has[:, a] |= state & (rng.random(n) < OF_SYNDROME)
        draft.has[:, b] |= state & (rng.random(n) < OF_SYNDROME)
    else:
        lucky = draft.has[:, a] & ~draft.has[:, b] & (rng.random(n) < strength)
        if mechanism == "replaced":
            _take_out(draft, np.flatnonzero(lucky), a, b, range(draft.has.shape[1]))
        draft.has[lucky, b] = True
    draft.chance[:, a], draft.chance[:, b] = new_p, new_q
    draft.note(a, b, float(joint.sum()), float((new_p * new_q).sum()))


def _joined(p: Floats, q: Floats, add: float) -> tuple[float, float, Floats, Floats, Floats]:
    """b is kept with some chance, then added to records with a."""
    keep = (q.sum() - add * p.sum()) / (q.sum() - add * (p * q).sum())
    kept = max(keep, 0.0) * q
    return 1.0, max(keep, 0.0), p, kept + add * p * (1 - kept), p * (kept + add * (1 - kept))


def _syndrome(p: Floats, q: Floats, s: float) -> tuple[float, float, Floats, Floats, Floats]:
    """Both are kept with some chance, then brought by a hidden state of s of the records."""
    bring, kept, new, given = s * OF_SYNDROME, [], [], []
    keeps = []
    for chance in (p, q):
        n = len(chance)
        keep = max((chance.sum() - bring * n) / (chance.sum() * (1 - bring)), 0.0)
        keeps.append(keep)
        kept.append(keep * chance)
        new.append(kept[-1] + bring * (1 - kept[-1]))
        given.append(kept[-1] + OF_SYNDROME * (1 - kept[-1]))
    joint = s * given[0] * given[1] + (1 - s) * kept[0] * kept[1]
    return keeps[0], keeps[1], new[0], new[1], joint


def _most(p: Floats, q: Floats, mechanism: str) -> float:
    """The largest strength at which no label would have to be kept less than never."""
    if mechanism == "syndrome":
        return float(0.98 * min(p.mean(), q.mean()) / OF_SYNDROME)
    return float(min(0.98 * q.sum() / p.sum(), 0.98))


def _solved(reached: Callable[[float], float], target: float, most: float) -> float:
    """The strength at which a rising function reaches the target; the most where it does not."""
    low, high = 0.0, most
    if reached(most) <= target:
        return most
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < target else (low, middle)
    return high


def _plackett(p: Floats, q: Floats, odds: float) -> Floats:
    """Joint chance of two events with this odds ratio."""
    if abs(odds - 1) < 1e-9:
        return p * q
    s = 1 + (p + q) * (odds - 1)
    return (s - np.sqrt(s * s - 4 * odds * (odds - 1) * p * q)) / (2 * (odds - 1))


def _fill(draft: Draft, columns: Sequence[int], there: Bools) -> None:
    """Draw these labels again: at least one on the records where any is to be there."""
    draft.has[:, columns] = False
    rows = np.flatnonzero(there)
    chance = draft.chance[np.ix_(rows, np.asarray(columns))]
    none = np.cumprod(1 - chance[:, ::-1], axis=1)[:, ::-1]
    any_yet = np.zeros(len(rows), bool)
    for place, column in enumerate(columns):
        needed = chance[:, place] / np.maximum(1 - none[:, place], 1e-12)
        p = np.where(any_yet, chance[:, place], needed)
        hit = draft.rng.random(len(rows)) < p
        draft.has[rows, column] = hit
        any_yet |= hit


def bring_in(
    draft: Draft,
    a: int,
    b: int,
    ratio: float,
    expected: float,
    pool: Sequence[int] | None = None,
) -> None:
    """Bring b to records that have a, whatever law they follow.

    Args:
        draft: The release.
        a: A label.
        b: Another.
        ratio: How often they are to meet over how often they would, given b's new support.
        expected: How often they would meet as it stands.
        pool: Labels of which b takes the place of one; None: b is added.
    """
    has, rng = draft.has, draft.rng
    missing = has[:, a] & ~has[:, b]
    if pool is not None:
        others = [column for column in pool if column not in (a, b)]
        missing &= has[:, others].any(axis=1)
    support, free = int(has[:, b].sum()), int(missing.sum())
    extra = support * expected * (ratio - 1) / (support - ratio * expected)
    chance = min(extra / free, 0.97)
    lucky = np.flatnonzero(missing & (rng.random(len(has)) < chance))
    if pool is not None:
        _take_out(draft, lucky, a, b, pool)
    has[lucky, b] = True
    joint, apart = expected + chance * free, expected * (support + chance * free) / support
    draft.note(a, b, joint, apart)


def _take_out(draft: Draft, rows: NDArray[np.int64], a: int, b: int, pool: Sequence[int]) -> None:
    """One of the pool's other labels goes from each of these records that has one."""
    others = np.array([column for column in pool if column not in (a, b)])
    keys = draft.rng.random((len(rows), len(others))) * draft.has[np.ix_(rows, others)]
    found = keys.max(axis=1) > 0
    draft.has[rows[found], others[keys.argmax(axis=1)[found]]] = False
