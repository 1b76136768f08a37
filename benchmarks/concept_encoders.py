"""Networks trained on the world of concepts, and what the tests of concepts say of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from audit.base.progress import Progress, silent
from audit.concepts.measure import measure_concepts
from audit.concepts.measurements import ConceptMeasurements
from fixtures.concept_world.classes import world_facets
from fixtures.concept_world.images import CORRELATIONS, minimal_pairs, training_images
from fixtures.concept_world.networks import NETWORKS, encoded, grounded, trained, untrained

JUDGED = 1_000_003
"""Added to a seed for the images that a network is judged on."""


@dataclass(frozen=True)
class Size:
    """How much is trained and judged.

    Args:
        per_class: Images of each class that a network learns from.
        sets: Sets of minimal pairs that it is judged on, 18 images each.
        side: Pixels of a side.
        epochs: Times that a network sees its images.
        networks: Networks of each kind, each with images and weights of its own.
        splits: Resampled splits of the tests, for each network.
        correlations: How often a colour tells the class, where it does.
        coloured: Kinds of network that learn from colours.
    """

    per_class: int
    sets: int
    side: int
    epochs: int
    networks: int
    splits: int
    correlations: tuple[float, ...]
    coloured: tuple[str, ...]


SMALL = Size(300, 40, 48, 6, 1, 2, (0.9, 1.0), ("CNN",))
"""Under four minutes on two cores."""
FULL = Size(1_000, 1_000, 64, 20, 5, 5, CORRELATIONS, tuple(NETWORKS))
"""The paper's numbers of images; a graphics card trains it."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """One network that learned from black images.

    Args:
        kind: Key of `NETWORKS`.
        seed: Of its images and weights.
        measured: Its tests, on minimal pairs.
    """

    kind: str
    seed: int
    measured: ConceptMeasurements


@dataclass(frozen=True)
class Coloured:
    """One network that learned from coloured images.

    Args:
        kind: Key of `NETWORKS`.
        seed: Of its images and weights.
        correlation: How often a colour told the class.
        grounded: Share of minimal pairs, whose colours tell nothing, that it names rightly.
    """

    kind: str
    seed: int
    correlation: float
    grounded: float


def encoders(size: Size, progress: Progress = silent) -> Iterator[Encoder]:
    """Train networks on black images, and run all tests on each."""
    for seed in range(size.networks):
        images = training_images(size.per_class, seed, side=size.side)
        pairs = minimal_pairs(size.sets, JUDGED + seed, side=size.side)
        for kind in NETWORKS:
            network = trained(kind, images, seed, size.epochs, progress=progress)
            baseline = encoded(untrained(kind, JUDGED + seed, size.side), pairs)
            measured = measure_concepts(
                encoded(network, pairs),
                world_facets(),
                baseline=baseline,
                seeds=size.splits,
                progress=progress,
            )
            yield Encoder(kind, seed, measured)


def coloured(size: Size, progress: Progress = silent) -> Iterator[Coloured]:
    """Train networks on coloured images, and see what they name in images of other colours."""
    for seed in range(size.networks):
        pairs = minimal_pairs(size.sets, JUDGED + seed, coloured=True, side=size.side)
        for correlation in size.correlations:
            images = training_images(size.per_class, seed, correlation=correlation, side=size.side)
            for kind in size.coloured:
                network = trained(kind, images, seed, size.epochs, progress=progress)
                yield Coloured(kind, seed, correlation, grounded(encoded(network, pairs)))
