"""Releases without any planted fault: what is found all the same."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.random import Generator, default_rng

from fixtures.synthetic import Release, make_release
from validation.truth_planted import LEAST, MOST, Draft, Outcome, outcome
from validation.truth_releases import Sites, icd9cm, icd9cm_with_sites

SEED = 77


@dataclass(frozen=True)
class World:
    """How a release without faults comes about: independent labels, given how long records are.

    Args:
        name: What it is called.
        labels: Labels an instance, on average; lengths are very unequal, from 1 up.
        nodes: Labels in the tail.
        exponent: Prevalence in the tail falls as rank to the power of minus this.
        returns: How probable it is that the next admission is of the same patient.
        repeats: How probable it is that a label is one that the patient tends to have.
    """

    name: str
    labels: float
    nodes: int = 2_000
    exponent: float = 1.0
    returns: float = 0.21
    repeats: float = 0.45


WORLDS = (
    World("records of unequal length", labels=10.0),
    World("1 to 3 labels on most records", labels=1.6),
    World("thousands of rare codes", labels=10.0, nodes=8_000, exponent=0.8),
    World("traits repeated over admissions", labels=8.0, returns=0.75, repeats=0.8),
    World("few codes, long records", labels=16.0, nodes=300, exponent=0.7),
)


def null_release(number: int) -> Outcome:
    """Draw one release of each world in turn, every third with a model, and audit it."""
    rng = default_rng([SEED, number])
    draft = Draft(*_drawn(WORLDS[number % len(WORLDS)], rng), rng)
    if number % 3 == 0:
        draft.mistakes = []
    return outcome(draft)


def _drawn(world: World, rng: Generator) -> tuple[Release, Sites]:
    """A release of a world, and the nodes at which nothing is planted."""
    seed = int(rng.integers(1 << 32))
    usage, sites = icd9cm_with_sites(seed=seed, nodes=world.nodes, exponent=world.exponent)
    release = make_release(
        icd9cm(),
        instances=int(rng.integers(LEAST, MOST + 1)),
        seed=seed,
        labels_per_instance=world.labels,
        usage=usage,
        returns=world.returns,
        repeats=world.repeats,
    )
    return release, sites
