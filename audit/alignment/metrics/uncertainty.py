"""Uncertainty alignment: how much of a model's uncertainty the hierarchy accounts for.

*Abstraction Alignment*, section 3.3 and equation 2.
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
