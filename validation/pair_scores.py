"""One release audited through the public names, and its findings held against what is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

import audit
from validation.pair_codes import descendants
from validation.pair_records import Planted
from validation.pair_worlds import Release, release, world

CHECK = "unexpected_pair"
ALMOST_ALL = 0.9
"""Part of an ancestor's records that a label has where naming the ancestor names the label."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Told:
    """A standing finding.

    Args:
        pairs: Pairs it tells: the two it names, or, where it is about one parent, its parts.
        false: Whether no pair of it has an end at or above a planted end.
    """

    pairs: tuple[Pair, ...]
    false: bool


@dataclass(frozen=True)
class Outcome:
    """What one release showed.

    Args:
        world: Name of the world.
        number: Of the release.
        planted: What was planted.
        found: Whether it was found, one for each planted pair.
        told: Standing findings.
    """

    world: str
    number: int
    planted: tuple[Planted, ...]
    found: tuple[bool, ...]
    told: tuple[Told, ...]


def outcome(name: str, number: int) -> Outcome:
    """Make a release of a world, audit it and score what is told.

    Raises:
        RuntimeError: If the check crashed.
    """
    made = release(world(name), number)
    truth = _Truth(made)
    told = tuple(truth.judged(tuple(_pairs(one))) for one in _standing(made))
    every = [pair for finding in told for pair in finding.pairs]
    found = tuple(any(truth.names(pair, one) for pair in every) for one in made.planted)
    return Outcome(name, number, made.planted, found, told)


def _standing(made: Release) -> Sequence[audit.Finding]:
    """The standing findings of the check on a release."""
    hierarchy = audit.Hierarchy.build(made.edges, name=made.name)
    dataset = audit.LabelDataset.from_rows(made.rows, hierarchy, strata=made.strata)
    result = audit.run_audit(dataset, policy=audit.Policy(strata=made.strata))
    check = next(check for check in result.checks if check.name == CHECK)
    if check.crashed:
        raise RuntimeError(f"{made.name}: {check.crashed}")
    return check.standing


def _pairs(finding: audit.Finding) -> Iterator[Pair]:
    """The pair that a finding names; of one that names a single parent, its parts."""
    if len(finding.nodes) == 2:
        yield finding.nodes[0], finding.nodes[1]
        return
    for part in finding.parts:
        if len(part.nodes) == 2:
            yield part.nodes[0], part.nodes[1]


class _Truth:
    """What is true of a release, and what follows for a pair that is told."""

    def __init__(self, made: Release) -> None:
        self.made = made
        self.supports: dict[str, int] = {}
        self.below: Mapping[str, set[str]] = descendants(made.edges.iter_rows())

    def judged(self, pairs: tuple[Pair, ...]) -> Told:
        ends = {end for one in self.made.planted for end in (one.a, one.b)}
        named = {end for pair in pairs for end in pair}
        return Told(pairs, not any(self.below[node] & ends for node in named))

    def names(self, pair: Pair, planted: Planted) -> bool:
        """Whether a pair is the planted one, or ancestors of which it is almost all."""
        return any(
            self._almost(x, planted.a) and self._almost(y, planted.b) for x, y in (pair, pair[::-1])
        )

    def _almost(self, above: str, end: str) -> bool:
        if end == above:
            return True
        return end in self.below[above] and (
            self._support(end) >= ALMOST_ALL * self._support(above)
        )

    def _support(self, node: str) -> int:
        if node not in self.supports:
            rows = self.made.rows.filter(pl.col("label").is_in(list(self.below[node])))
            self.supports[node] = rows["instance"].n_unique()
        return self.supports[node]
