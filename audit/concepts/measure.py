"""Measure whether representations hold the concepts of labels."""

from __future__ import annotations

from audit.base.progress import Progress, silent
from audit.concepts.facets import Facets
from audit.concepts.measurements import ConceptMeasurements
from audit.concepts.representations import Representations
from audit.hierarchies.hierarchy import Hierarchy


def measure_concepts(
    representations: Representations,
    facets: Facets,
    hierarchy: Hierarchy | None = None,
    *,
    layer: str | None = None,
    baseline: Representations | None = None,
    seeds: int = 5,
    seed: int = 0,
    min_instances: int = 10,
    progress: Progress = silent,
) -> ConceptMeasurements:
    """Run the four tests of concepts on representations, with controls, layers and nodes.

    Args:
        representations: Representations with labels.
        facets: The concepts of labels, by dimension.
        hierarchy: The hierarchy of the labels, for results by node.
        layer: The layer that tests are about; the last one if None.
        baseline: Representations of the same instances by an untrained network; else a random
            projection of the first layer stands for them where that is another layer.
        seeds: Number of resampled splits.
        seed: Seed of the first split.
        min_instances: Instances below a node, and at a sibling, from which it is tested.
        progress: Progress callback.

    Raises:
        InputError: If labels, facets or representations cannot be measured.
    """
    raise NotImplementedError
