"""Accuracy at a cut, and how much of the error the hierarchy accounts for.

*Abstraction Alignment*, section 3.3 and equation 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from audit.alignment.metrics.batch import Batch
from audit.alignment.metrics.streaming import Computed, Measure, columns
from audit.base.dag import FloatArray
from audit.engine.scores.cuts import Cut
from audit.engine.statistics.association import ratio


@dataclass(frozen=True, eq=False)
class Accuracy(Measure):
    """Share of instances whose answer at a cut is correct.

    The answer is the cut node with the highest aggregated value, the first one at ties. It is
    correct when a direct label is at or below it. An instance without mass has no answer and
    counts as wrong; an instance without a direct label at or below the cut is left out.
    """

    cut: Cut
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("expected", "right", "tied")

    def update(self, batch: Batch) -> FloatArray:
        """Whether each instance has an expected answer, a correct answer and a tied answer."""
        expected = batch.expected_at(self.cut)
        right, tied = batch.right_at(self.cut), batch.answers_at(self.cut).tied
        return np.column_stack([expected, right, tied & expected]).astype(np.float64)

    def compute(self, sums: FloatArray) -> Computed:
        """``accuracy``, and ``ties``: the number of answers chosen among tied nodes."""
        expected, right, tied = columns(sums)
        return {"accuracy": (ratio(right, expected), expected), "ties": (tied, expected)}


@dataclass(frozen=True, eq=False)
class AccuracyAlignment(Measure):
    """Share of the errors at a fine cut that vanish at a coarse one (equation 1).

    Covers the instances with a direct label at or below both cuts.
    """

    fine: Cut
    coarse: Cut
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = ("wrong", "recovered", "lost")

    def update(self, batch: Batch) -> FloatArray:
        """Whether each instance is wrong at the fine cut, correct only above, only below."""
        expected = batch.expected_at(self.fine) & batch.expected_at(self.coarse)
        below, above = batch.right_at(self.fine), batch.right_at(self.coarse)
        wrong, lost = expected & ~below, expected & below & ~above
        return np.column_stack([wrong, wrong & above, lost]).astype(np.float64)

    def compute(self, sums: FloatArray) -> Computed:
        """``recovered`` and ``lost``, relative to the errors at the fine cut, and their difference.

        All three are undefined without errors; n is the number of errors. ``accuracy_alignment``
        is at most 1 and negative where more is lost than recovered.
        """
        wrong, recovered, lost = columns(sums)
        return {
            "accuracy_alignment": (ratio(recovered - lost, wrong), wrong),
            "recovered": (ratio(recovered, wrong), wrong),
            "lost": (ratio(lost, wrong), wrong),
        }
