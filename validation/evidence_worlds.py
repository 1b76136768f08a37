"""Worlds of explained releases: evidence that differs in length or kind, and ignored branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audit.explanations.checks import EVIDENCE_IGNORED as CHECK
from fixtures.explained_releases import Law, explained_release, measured_release, thirty_nodes

BRANCH = "b"
Size = tuple[int, int]
"""The least and the greatest number that may be drawn, all equally often."""


def between(size: Size, rng: np.random.Generator) -> int:
    """A number that is drawn."""
    return int(rng.integers(size[0], size[1] + 1))


@dataclass(frozen=True)
class Drawn(Law):
    """Texts and evidence of drawn lengths, in the branch by laws of its own.

    Args:
        text: Length of a text; of one with a label of the branch ``text_there``.
        evidence: Marked tokens; of labels of the branch ``evidence_there``.
        graded: Whether marks are graded: neighbours of marked tokens half, others up to .04.
        annotators: People whose marks are averaged, each of whom misses one token in four.
        at_one: Whether the model looks at one marked token alone.
        template: Whether it looks at the first token instead, where it ignores evidence.
    """

    text: Size = (20, 30)
    text_there: Size | None = None
    evidence: Size = (2, 4)
    evidence_there: Size | None = None
    graded: bool = False
    annotators: int = 0
    at_one: bool = False
    template: bool = False

    def tokens(self, rng: np.random.Generator, labels: Sequence[str]) -> int:
        """The length of a text."""
        there = any(label.startswith(BRANCH) for label in labels)
        return between((self.text_there if there else None) or self.text, rng)

    def marks(self, rng: np.random.Generator, target: str, tokens: int) -> NDArray[np.float64]:
        """A run of marked tokens, graded or averaged over people."""
        there = self.evidence_there if target.startswith(BRANCH) else None
        size = min(between(there or self.evidence, rng), tokens - 2)
        start = int(rng.integers(1, tokens - size + 1))
        marks = np.zeros(tokens)
        marks[start : start + size] = 1
        if self.graded:
            marks[[start - 1, min(start + size, tokens - 1)]] = 0.5
            marks = np.clip(marks + rng.uniform(-0.04, 0.04, tokens), 0, 1)
        if self.annotators:
            seen = rng.random((self.annotators, tokens)) < 3 / 4
            marks = marks * seen.mean(axis=0)
        return marks

    def looked_at(
        self, rng: np.random.Generator, target: str, marks: NDArray[np.float64], *, ignored: bool
    ) -> NDArray[np.float64]:
        """Marked tokens, one of them, or a word of the template."""
        looked = np.zeros(len(marks))
        if ignored and self.template:
            looked[0] = 2.0
        if ignored:
            return looked
        if self.at_one:
            looked[rng.choice(np.flatnonzero(marks == marks.max()))] = 1.5
            return looked
        return marks


@dataclass(frozen=True)
class World:
    """A law with its name; ``ignored`` is a node that the model ignores evidence below."""

    name: str
    law: Drawn
    ignored: str = ""


LONG, SHORT = (3, 9), (1, 2)
WORLDS = (
    World("evidence of equal length", Drawn()),
    World("longer evidence in one branch", Drawn(evidence_there=LONG)),
    World("shorter evidence in one branch", Drawn(evidence_there=SHORT)),
    World(
        "evidence of wholly other length",
        Drawn(evidence_there=(8, 11), text=(24, 30)),
    ),
    World("longer texts in one branch", Drawn(text_there=(24, 45))),
    World(
        "texts and evidence of wholly other length",
        Drawn(at_one=True, text_there=(70, 90), evidence=(1, 3), evidence_there=(8, 11)),
    ),
    World("graded marks, longer in one branch", Drawn(graded=True, evidence_there=LONG)),
    World(
        "one token looked at, longer in one branch",
        Drawn(at_one=True, evidence=(1, 4), evidence_there=LONG),
    ),
    World("a branch ignored", Drawn(), BRANCH),
    World("a branch ignored, graded marks", Drawn(graded=True), BRANCH),
    World("a branch ignored, three annotators", Drawn(annotators=3), BRANCH),
    World("a template's word in a branch", Drawn(template=True, evidence_there=LONG), BRANCH),
)


@dataclass(frozen=True)
class Seen:
    """What the check says of one release: nodes of standing findings."""

    world: str
    planted: str
    told: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether the planted branch is told, as itself."""
        return self.planted in self.told


def seen(world: World, seed: int, instances: int = 240) -> Seen:
    """The check on one release of a world."""
    attributions, dataset = explained_release(
        seed,
        hierarchy=thirty_nodes(),
        ignored=world.ignored,
        instances=instances,
        law=world.law,
    )
    result = CHECK.run(measured_release(attributions, dataset, draws=1))
    return Seen(world.name, world.ignored, tuple(one.nodes[0] for one in result.standing))


GUARDS: tuple[tuple[str, str, str, str, object], ...] = (
    (
        "equal lengths",
        "all examples share one bin",
        "one token looked at, longer in one branch",
        "bin_of",
        lambda sizes: np.zeros((len(sizes), 1)),
    ),
)
"""Guards of `evidence_by_node`: name, what takes its place, a world where it has most to do, and
what is replaced by what."""
