"""One release audited through the public names, and its findings held against what is true."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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
        nodes: Nodes it names.
        pairs: Pairs it tells: the two it names, or, where it is about one parent, its parts.
        false: Whether no pair of it has an end at or above a planted end.
        both: Pairs of it with both ends at or above the two ends of one planted pair.
        below: Pairs of it that are not so and stand below a planted pair.
    """

    nodes: tuple[str, ...]
    pairs: tuple[Pair, ...]
    false: bool
    both: int
    below: int


@dataclass(frozen=True)
class Outcome:
    """What one release showed.

    Args:
        world: Name of the world.
        number: Of the release.
        planted: What was planted.
        found: Whether it was found, one for each planted pair.
        told: Standing findings.
        made: Seconds that making the release took.
        audited: Seconds that mapping its rows and auditing them took.
    """

    world: str
    number: int
    planted: tuple[Planted, ...]
    found: tuple[bool, ...]
    told: tuple[Told, ...]
    made: float
    audited: float


def outcome(name: str, number: int) -> Outcome:
    """Make a release of a world, audit it and score what is told.

    Raises:
        RuntimeError: If the check crashed.
    """
    start = time.perf_counter()
    made = release(world(name), number)
    middle = time.perf_counter()
    findings = standing(made)
    end = time.perf_counter()
    scored = scores(made, findings)
    return replace(scored, world=name, number=number, made=middle - start, audited=end - middle)


def standing(made: Release) -> Sequence[audit.Finding]:
    """The standing findings of the check on a release."""
    hierarchy = audit.Hierarchy.build(made.edges, name=made.name)
    dataset = audit.LabelDataset.from_rows(made.rows, hierarchy, strata=made.strata)
    result = audit.run_audit(dataset, policy=audit.Policy(strata=made.strata))
    check = next(check for check in result.checks if check.name == CHECK)
    if check.crashed:
        raise RuntimeError(f"{made.name}: {check.crashed}")
    return check.standing


def scores(made: Release, findings: Sequence[audit.Finding]) -> Outcome:
    """Findings held against what was planted in a release."""
    truth = _Truth(made)
    told = tuple(truth.judged(finding.nodes, tuple(_pairs(finding))) for finding in findings)
    every = [pair for finding in told for pair in finding.pairs]
    found = tuple(any(truth.names(pair, one) for pair in every) for one in made.planted)
    return Outcome("", 0, made.planted, found, told, 0.0, 0.0)


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
        self.below: Mapping[str, set[str]] = descendants(made.edges.iter_rows())

    def judged(self, nodes: tuple[str, ...], pairs: tuple[Pair, ...]) -> Told:
        ends = {end for one in self.made.planted for end in (one.a, one.b)}
        named = {end for pair in pairs for end in pair}
        near = any(self.below[x] & ends for x in named)
        both = [any(self._covers(pair, (p.a, p.b)) for p in self.made.planted) for pair in pairs]
        under = [any(self._covers((p.a, p.b), pair) for p in self.made.planted) for pair in pairs]
        below = sum(u and not b for u, b in zip(under, both, strict=True))
        return Told(nodes, pairs, not near, sum(both), below)

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

    def _covers(self, above: Pair, below: Pair) -> bool:
        """Whether each end lies at or above one of the other pair, either way round."""
        return any(
            below[0] in self.below[x] and below[1] in self.below[y] for x, y in (above, above[::-1])
        )

    def _support(self, node: str) -> int:
        if node not in self._supports:
            rows = self.made.rows.filter(pl.col("label").is_in(list(self.below[node])))
            self._supports[node] = rows["instance"].n_unique()
        return self._supports[node]

    @cached_property
    def _supports(self) -> dict[str, int]:
        return {}
