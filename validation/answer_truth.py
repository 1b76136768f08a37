"""What is told of the answers that a model leans to, and of pairs, held against `answer_worlds`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from validation.answer_worlds import WORLDS, Told, told
from validation.shares import Row, Share

CHECK = "model_confuses"
FALSE = 0.05
"""Share of the releases without a leaning in which chance may tell of one."""
EITHER = 0.95
"""Share of the strong leanings that the table of answers tells, and of planted pairs."""


def in_turn(number: int) -> Told:
    """A release of each world in turn: of all of them the releases 0, 1, 2 and so on."""
    return told(WORLDS[number % len(WORLDS)].name, number // len(WORLDS))


def rows(every: Sequence[Told]) -> Iterator[Row]:
    """A line for each world: found is what the table of answers, or of pairs findings tell."""
    for world in WORLDS:
        own = [one for one in every if one.world == world.name]
        false = Share(sum(len(one.false) for one in own), sum(len(one.found) for one in own))
        yield Row(CHECK, world.name, _found(own), false, _false_releases(own))


def missed_goals(every: Sequence[Told]) -> list[str]:
    """Goals that the numbers miss by more than their sampling error."""
    missed = []
    if _false_releases([one for one in every if not one.planted]).is_above(FALSE):
        missed.append("releases without a leaning in which one is told")
    if _found(every).is_below(EITHER):
        missed.append("recall of answers that a model leans to")
    return missed


def _false_releases(some: Sequence[Told]) -> Share:
    return Share(sum(bool(one.false) for one in some), len(some))


def _found(some: Sequence[Told]) -> Share:
    found = sum(len(one.found & one.planted) for one in some)
    return Share(found, sum(len(one.planted) for one in some))
