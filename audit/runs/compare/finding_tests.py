"""Whether a finding that two releases have to different extents differs beyond chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from audit.disclosure import Cell, only_residual_below
from audit.engine.statistics.intervals import newcombe
from audit.engine.statistics.two_rates import difference_p_value
from audit.measure.residual_differences import p_of_difference
from audit.measure.residual_use import Share
from audit.results.findings import Finding
from audit.results.published_cells import evidence_cells
from audit.runs.compare.edits import Release


@dataclass(frozen=True, slots=True)
class Compared:
    """What two releases say of one thing, whether or not both tell it as a finding.

    Args:
        p_value: The chance of as large a difference.
        counts: Instances that count in OLD and in NEW.
        of: Instances that they are counted among.
        low: Lower end of the 95 % interval of the difference of the shares.
        high: Its upper end.
        cells: Cells that hold these counts, by name; none if they hold those of the finding alone.
    """

    p_value: float
    counts: tuple[int, int]
    of: tuple[int, int]
    low: float | None
    high: float | None
    cells: tuple[Cell, ...] = ()

    @property
    def difference(self) -> float:
        """Share in NEW less that in OLD."""
        old, new = (k / n for k, n in zip(self.counts, self.of, strict=True))
        return new - old


@dataclass(frozen=True, eq=False)
class FindingTests:
    """The chance that what two releases say of one thing differs as much.

    A finding on a pair of nodes is tested as that pair is, one on residual labels by their shares,
    and one that names every case by its instances, which are none where it is not told. What has a
    limit, and is told only where that is passed, cannot be tested otherwise.

    Args:
        old: The earlier run.
        new: The later run.
        pairs: The table of `audit.runs.compare.pair_changes.PairChanges`.
    """

    old: Release
    new: Release
    pairs: pl.DataFrame

    def of(self, old: Finding | None, new: Finding | None) -> Compared | None:
        """A finding that one or both releases have; None if it cannot be tested."""
        known, release = (old, self.old) if new is None else (new, self.new)
        assert known is not None
        cells = evidence_cells(release.run.release, known.check, known.nodes, known.key)
        if "support_a" in cells:
            row = self._of_pairs.get(tuple(sorted(known.nodes[-2:])))
            return None if row is None else self._pair(row, cells["instances"])
        if known.nodes and cells.get("instances") == only_residual_below(known.nodes[0]):
            here, there = (of.get(known.nodes[0]) for of in self._residual[::-1])
            return None if here is None or there is None else _residual(here, there, cells)
        if any(one is not None and one.beyond != 1.0 for one in (old, new)):
            return None
        return self._instances(0 if old is None else old.touched, 0 if new is None else new.touched)

    def _pair(self, row: Mapping[str, Any], cell: Cell) -> Compared:
        """By groups the test and the interval are of other shares than those of instances."""
        p_value = max(row["p_value"], row["nodes_p_value"])
        alone = row["mean_old"] is None
        low, high = (row["low"], row["high"]) if alone else (None, None)
        of = self.old.instances, self.new.instances
        counts = row["joint_old"], row["joint_new"]
        return Compared(p_value, counts, of, low, high, (cell,))

    def _instances(self, old: int, new: int) -> Compared:
        of = self.old.instances, self.new.instances
        counts = min(old, of[0]), min(new, of[1])
        sizes = [round(n * worth) for n, worth in zip(of, self._worth, strict=True)]
        effective = [round(k * w) for k, w in zip(counts, self._worth, strict=True)]
        before, after = (np.array([k]) for k in effective)
        p_value = float(difference_p_value(before, sizes[0], after, sizes[1])[0])
        old_share, new_share = (k / n for k, n in zip(counts, of, strict=True))
        low, high = newcombe(new_share, sizes[1], old_share, sizes[0])
        return Compared(p_value, counts, of, low, high)

    @cached_property
    def _of_pairs(self) -> Mapping[tuple[str, ...], Mapping[str, Any]]:
        tested = self.pairs.filter(pl.col("q_value").is_not_null())
        return {(row["a"], row["b"]): row for row in tested.iter_rows(named=True)}

    @cached_property
    def _residual(self) -> tuple[Mapping[str, Share], ...]:
        """Shares of residual labels by parent, of each release."""
        return tuple(
            {
                row["parent"]: Share(row["k"], row["n"], row["n_effective"], row["groups"])
                for row in of.run.residuals.filter(residual="all").iter_rows(named=True)
            }
            for of in (self.old, self.new)
        )

    @cached_property
    def _worth(self) -> tuple[float, ...]:
        """How many independent instances one is worth, on average over nodes, given its group."""
        return tuple(map(_worth, (self.old, self.new)))


def _residual(here: Share, there: Share, cells: Mapping[str, Cell]) -> Compared | None:
    p_value = p_of_difference(here, there)
    if p_value is None:
        return None
    low, high = newcombe(here.value, here.worth(), there.value, there.worth())
    counts, of = (there.k, here.k), (there.n, here.n)
    return Compared(p_value, counts, of, low, high, (cells["instances"], cells["of"]))


def _worth(release: Release) -> float:
    sums, squares, support = (
        release.numbers(release.nodes, name) for name in ("group_sum", "group_squares", "support")
    )
    effective = np.divide(sums**2, squares, out=np.zeros(len(sums)), where=squares > 0)
    return float(effective.sum() / max(support.sum(), 1))
