"""Accuracy at a cut, and how much of errors and of uncertainty the hierarchy accounts for.

*Abstraction Alignment*, section 3.3 and equations 1 and 2.
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


@dataclass(frozen=True, eq=False)
class UncertaintyAlignment(Measure):
    """Change of the entropy of an instance's mass from a fine cut to a coarse one, in bits.

    Mass is normalised to sum to one and summed over the atoms of each cut; where values are not
    aggregated over descendants, the aggregated values of the cut's nodes are normalised, as the
    released code does. An instance without mass has no entropy and is left out.
    """

    fine: Cut
    coarse: Cut
    parameters: Mapping[str, object] = field(default_factory=dict)
    statistics: ClassVar[tuple[str, ...]] = (
        "massive",
        "fine_entropy",
        "coarse_entropy",
        "fine_residual",
        "coarse_residual",
    )

    def update(self, batch: Batch) -> FloatArray:
        """Whether each instance has mass, its entropies at both cuts, its mass outside each."""
        entropies = [batch.entropy(cut) for cut in (self.fine, self.coarse)]
        residuals = [batch.residual_share(cut) for cut in (self.fine, self.coarse)]
        return np.column_stack([batch.massive, *entropies, *residuals])

    def compute(self, sums: FloatArray) -> Computed:
        """Both definitions of the drop in entropy, and the mean mass under no node of each cut.

        ``uncertainty_alignment`` is equation 2 as printed, coarse minus fine: negative if entropy
        falls at the coarse cut. ``abstraction_match`` is what the released code computes, the
        relative drop of the mean entropies; undefined if the entropy at the fine cut is 0.
        """
        n, fine, coarse, fine_residual, coarse_residual = columns(sums)
        return {
            "uncertainty_alignment": (ratio(coarse - fine, n), n),
            "abstraction_match": (ratio(fine - coarse, fine), n),
            "residual_from": (ratio(fine_residual, n), n),
            "residual_to": (ratio(coarse_residual, n), n),
        }
