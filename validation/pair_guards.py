"""Each guard of the scan of pairs at work: what the product tells when it is switched off.

One function or class attribute of the running product is replaced at a time, on a world where that
guard has most to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from unittest.mock import patch

import numpy as np
import polars as pl

import audit.measure.pair_excess
import audit.measure.reported_pairs
from audit.base.dag import FloatArray, IntArray
from audit.engine.pairs.margins import Strata
from audit.engine.pairs.scan import Meets, Scan
from audit.engine.pairs.sums import UNIT
from audit.engine.statistics import fdr
from audit.engine.statistics.expectation import PRIOR, Expectation, LabelPairs, expectation
from audit.engine.statistics.grouped import Alike, Scales
from validation.pair_scores import Outcome, outcome

Switch = Callable[[], AbstractContextManager[object]]
Reached = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Guard:
    """A guard, and a world where it has most to do.

    Args:
        name: What it is called.
        world: The world.
        instead: What takes its place while it is off.
        off: Switches it off.
    """

    name: str
    world: str
    instead: str
    off: Switch


@dataclass(frozen=True)
class Guarded:
    """One release with all guards at work, and with one of them off."""

    guard: str
    on: Outcome
    off: Outcome


def guarded(number: int) -> Guarded:
    """Audit a release twice; guards take turns, so that each has the releases 0, 1, 2 and so on."""
    guard, which = GUARDS[number % len(GUARDS)], number // len(GUARDS)
    on = outcome(guard.world, which)
    with guard.off():
        return Guarded(guard.name, on, outcome(guard.world, which))


def _independent(strata: Strata, branch_of: IntArray, pairs: LabelPairs) -> Expectation:
    made = expectation(strata, branch_of, pairs)
    share = made.size @ made.share / max(made.size.sum(), 1.0)
    everywhere = np.broadcast_to(share, made.share.shape).copy()
    return replace(made, share=everywhere, factor=np.ones_like(made.factor))


def _by_length_alone(strata: Strata, branch_of: IntArray, pairs: LabelPairs) -> Expectation:
    made = expectation(strata, branch_of, pairs)
    length = made.factor[:, -1:, -1:]
    return replace(made, factor=np.broadcast_to(length, made.factor.shape).copy())


_factor = LabelPairs.factor.fget  # type: ignore[attr-defined]


def _of_finds_alone(self: LabelPairs) -> FloatArray:
    made: FloatArray = _factor(self).copy()
    known = self.observed + PRIOR * self.competing[:, None, None]
    made[:, :-1, :-1] = known / (self.drawn + self.found + PRIOR)
    return made


def _expecting(other: Callable[[Strata, IntArray, LabelPairs], Expectation]) -> Switch:
    return lambda: patch.object(audit.measure.pair_excess, "expectation", other)


_reached = Meets.of


def _only_below(self: Meets, node: int) -> Reached:
    nodes, meets = _reached(self, node)
    return nodes[meets == nodes], meets[meets == nodes]


def _only_above(self: Meets, node: int) -> Reached:
    nodes, meets = _reached(self, node)
    return nodes[meets == node], meets[meets == node]


def _reaching(only: Callable[[Meets, int], Reached]) -> Switch:
    return lambda: patch.object(Meets, "of", only)


def _as_taken(self: Scan, taken: int) -> int:
    return taken


def _all_joint(pairs: pl.DataFrame) -> FloatArray:
    return pairs["joint"].to_numpy().astype(np.float64)


@contextmanager
def _what_one_label_explains() -> Iterator[None]:
    with ExitStack() as both:
        both.enter_context(patch.object(fdr, "ENTAILED_SHARE", np.inf))
        both.enter_context(patch.object(audit.measure.reported_pairs, "instances_of", _all_joint))
        yield


def _no_effect(self: Scales, *of_pair: object) -> float:
    return 1.0


def _of_one(self: Alike) -> IntArray:
    return np.full(len(self.group), UNIT)


class _FirstThreshold:
    """The threshold of the first call ever after."""

    def __init__(self) -> None:
        self.known: float | None = None

    def __call__(self, p_value: FloatArray, family: int, rate: float) -> float:
        if self.known is None:
            self.known = fdr.threshold(p_value, family, rate)
        return self.known


def _threshold_once() -> AbstractContextManager[object]:
    return patch.object(audit.measure.pair_excess, "threshold", _FirstThreshold())


GUARDS = (
    Guard(
        "length of records",
        "null DAG, unequal lengths",
        "independence in all records together",
        _expecting(_independent),
    ),
    Guard(
        "factor between branches",
        "facets, null",
        "Hajek's correction for length alone",
        _expecting(_by_length_alone),
    ),
    Guard(
        "taking finds out of the factor",
        "siblings that attract each other",
        "pairs are judged once, by all label pairs of their branches",
        partial(patch.object, audit.measure.pair_excess, "MOST_ROUNDS", 1),
    ),
    Guard(
        "not below what length expects",
        "templates",
        "finds are taken out of the factor whatever is left of it",
        partial(patch.object, LabelPairs, "factor", property(_of_finds_alone)),
    ),
    Guard(
        "explaining what lies above",
        "shares of the parent",
        "a pair that was found explains only what lies below it",
        _reaching(_only_below),
    ),
    Guard(
        "explaining what lies below",
        "two parents",
        "a pair that was found explains only what lies above it",
        _reaching(_only_above),
    ),
    Guard(
        "naming",
        "chains of single children",
        "the strongest pair is told as it was taken",
        partial(patch.object, Scan, "_named", _as_taken),
    ),
    Guard(
        "leaving out what one label explains",
        "parents that share labels, null",
        "all joint records count, and every pair is judged",
        _what_one_label_explains,
    ),
    Guard(
        "design effect of groups",
        "copied records, null",
        "records are weighed, and what groups vary is not divided by",
        partial(patch.object, Scales, "_design_effect", _no_effect),
    ),
    Guard(
        "weights of groups",
        "copied stays, up to 300",
        "every record weighs one, and the design effect is divided by",
        partial(patch.object, Alike, "weight", property(_of_one)),
    ),
    Guard(
        "Benjamini-Hochberg again",
        "copied records, null",
        "the threshold from before groups were looked at stays",
        _threshold_once,
    ),
)
"""All guards, in the order in which a pair meets them."""
