"""Worlds of a model's scores: labels that follow them, but for those that are planted wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.random import Generator
from scipy.special import expit, softmax

from audit import LabelDataset, Policy
from audit.base.dag import BoolArray, FloatArray
from audit.checks.rules.label_suspects import CHECK
from audit.data.predictions import load_predictions
from audit.measure.measure import Measurements, measure
from audit.results.findings import CheckResult
from fixtures.labelled import tree
from fixtures.scored import scored_alone

NAMES = tuple(f"{branch}{n}" for branch in "abcd" for n in range(5))
TREE = tree("a b c d < top", *(f"{name} < {name[0]}" for name in NAMES))


@dataclass(frozen=True)
class World:
    """A law of labels and scores.

    Args:
        name: What it is called.
        several: Whether an instance has any number of labels, else one.
        power: To which the scores are taken: above 1 the model is too sure of itself.
        shift, slope: Standard deviation between labels of how far logits are moved, and of the
            logarithm of how far they are stretched.
        wrong: Share of labels that are planted wrong: another one, or of several labels none.
    """

    name: str
    several: bool = False
    power: float = 1.0
    shift: float = 0.0
    slope: float = 0.0
    wrong: float = 0.0


WORLDS = (
    World("one label"),
    World("one label, a model too sure", power=2.0),
    World("one label, a model not sure enough", power=0.4),
    World("several labels", several=True),
    World("several labels, a model too sure", several=True, power=2.0),
    World("several labels, too many or too few answers", several=True, shift=0.5),
    World("several labels, each with a doubt of its own", several=True, slope=0.3),
    World("one label, wrong ones", wrong=0.1),
    World("several labels, missing ones", several=True, wrong=0.2),
)


def told(name: str, number: int) -> CheckResult:
    """What the check says of a release of a world."""
    return CHECK.run(drawn(name, number))


def drawn(name: str, number: int, instances: int = 3000) -> Measurements:
    """A release of a world, measured."""
    world = next(one for one in WORLDS if one.name == name)
    rng = np.random.default_rng([53, *name.encode(), number])
    given, scores = (_several if world.several else _one)(world, rng, instances)
    return scored(given, scores)


def _one(world: World, rng: Generator, n: int) -> tuple[BoolArray, FloatArray]:
    seen = rng.standard_normal((n, len(NAMES)))
    seen[np.arange(n), rng.integers(0, len(NAMES), n)] += rng.gamma(4, 2, n)
    label = (softmax(seen, axis=1).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    wrong = rng.random(n) < world.wrong
    label[wrong] = (label[wrong] + rng.integers(1, len(NAMES), wrong.sum())) % len(NAMES)
    return np.eye(len(NAMES), dtype=bool)[label], softmax(world.power * seen, axis=1)


def _several(world: World, rng: Generator, n: int) -> tuple[BoolArray, FloatArray]:
    logits = rng.normal(-3, 1, len(NAMES)) + rng.normal(0, 3, (n, len(NAMES)))
    given = rng.random(logits.shape) < expit(logits)
    given &= rng.random(logits.shape) >= world.wrong
    stretched = world.power * np.exp(rng.normal(0, world.slope, len(NAMES)))
    return given, expit(logits * stretched + rng.normal(0, world.shift, len(NAMES)))


def scored(given: BoolArray, scores: FloatArray, names: Sequence[str] = NAMES) -> Measurements:
    """Measurements of labels and scores of the nodes of `TREE`, shape (n, n_names) each."""
    row, column = np.nonzero(given)
    labels = {
        "instance": [f"i{one:05}" for one in row],
        "label": [names[one] for one in column.tolist()],
    }
    dataset = LabelDataset.from_rows(pl.DataFrame(labels), TREE)
    ids = pl.Series("instance", [f"i{one:05}" for one in range(len(given))])
    model = pl.DataFrame(scores, schema=list(names)).insert_column(0, ids)
    return scored_alone(measure(dataset, Policy()), load_predictions(model, dataset))
