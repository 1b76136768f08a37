"""The ratios of judged pairs measured again, from instances or from counts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from audit.engine.expectation import Comparisons, Margins, margins
from audit.engine.judgement import Judged
from audit.engine.ratios import (
    Ratio,
    poisson_spread,
    ratio_without,
    resampled_spread,
    resamples,
)
from audit.engine.records import Records
from audit.engine.resampling import poisson_weights, unit_keys
from audit.engine.stratified import Stratified
from audit.progress import Progress, blocks

IntArray: TypeAlias = NDArray[np.int64]

Without: TypeAlias = Callable[[int, Sequence[int]], Ratio]
"""The ratio of a pair without the instances of others that lie below it, all named by place."""


class Ratios(Protocol):
    """How the ratios of judged pairs are measured again, and how sure they are."""

    def without(self, judged: Judged) -> Without:
        """Measure these pairs again, each without the instances that carry some of the others."""

    def spreads(self, judged: Judged) -> Iterator[float]:
        """The spread of the ratio of each pair, in order."""


@dataclass(frozen=True, eq=False)
class InstanceRatios:
    """Ratios of which the instances are known.

    Args:
        strata: The dataset.
        records: Its instances.
        units: What is resampled as a whole, by number of the instance in the dataset.
        seed: Of the resampling.
        progress: What is told how far it is.
    """

    strata: Stratified
    records: Records
    units: Sequence[str]
    seed: int
    progress: Progress

    def without(self, judged: Judged) -> Without:
        """Instances that carry one of the others leave the pair and every margin."""
        tables, given = margins(self.strata, judged.given), judged.given
        joint = [self.records.joint(*pair) for pair in given.pairs()]

        def ratio(place: int, others: Sequence[int]) -> Ratio:
            left_out = [np.empty(0, np.int64), *(joint[other] for other in others)]
            return ratio_without(
                self.strata,
                self.records,
                Margins(*(m[:, place] for m in (tables.n, tables.first, tables.second))),
                by_length=bool(given.by_length[place]),
                joint=joint[place],
                left_out=np.unique(np.concatenate(left_out)),
            )

        return ratio

    def spreads(self, judged: Judged) -> Iterator[float]:
        """By resampling units, at least that of the joint instances."""
        if not len(judged):
            return
        keys = unit_keys([self.units[i] for i in self.records.instance.tolist()], self.seed)
        drawn = resamples(self.strata, self.records, poisson_weights(keys))
        for place in blocks(self.progress, "resampling pairs", range(len(judged)), "pairs"):
            one: Comparisons = judged.given[np.array([place])]
            yield resampled_spread(self.strata, self.records, one, drawn)


class CountRatios:
    """Ratios of which only counts are known: every instance stands alone."""

    def without(self, judged: Judged) -> Without:
        """As if no instance carried two of the others, none of which may lie below another.

        What is left is so never more than there is, and the expectation stays, which would only
        fall: where instances leave a ratio at all, this one is at most as high, and no surer.
        """

        def ratio(place: int, others: Sequence[int]) -> Ratio:
            left = judged.observed[place] - sum(judged.observed[other] for other in others)
            left = max(float(left), 0.0)
            return Ratio(left / float(judged.expected[place]), poisson_spread(left))

        return ratio

    def spreads(self, judged: Judged) -> Iterator[float]:
        """That of a Poisson number, the expectation taken as known: never above a resampled one."""
        return map(poisson_spread, judged.observed.tolist())
