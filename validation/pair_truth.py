"""Whether `unexpected_pair` finds the pairs that are associated, and tells no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from validation.pair_scores import CHECK, Outcome, outcome
from validation.pair_worlds import WORLDS, world
from validation.shares import NONE, Row, Share

RECALL, FALSE = 0.95, 0.05
"""Goals: recall at a true ratio of 2 and more with 50 expected; false findings among those that
stand, and null releases with any finding, at most."""
ENOUGH_RATIO, ENOUGH_EXPECTED = 1.97, 48.0
"""A true ratio of 2 and 50 expected, as near as planting comes to them."""


def in_turn(number: int) -> Outcome:
    """A release of each world in turn: of all of them the releases 0, 1, 2 and so on."""
    return outcome(WORLDS[number % len(WORLDS)].name, number // len(WORLDS))


def rows(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """A line for each world: found is what is planted at ratio 2 and more with 50 expected."""
    for law in WORLDS:
        own = [one for one in outcomes if one.world == law.name]
        told = with_a_finding(own) if law.null else NONE
        yield Row(CHECK, law.name, enough(own), false(own), told)


def goals(outcomes: Sequence[Outcome]) -> dict[str, bool]:
    """What all worlds show together, and whether it misses a goal by more than sampling error."""
    null = [one for one in outcomes if world(one.world).null]
    planted = [one for one in outcomes if not world(one.world).null]
    recall, wrong, told = enough(planted), false(planted), with_a_finding(null)
    asked = "pairs at ratio 2 and more, 50 and more expected"
    return {
        f"{asked} {recall}, at least {RECALL}": recall.is_below(RECALL),
        f"findings with neither end planted {wrong}, at most {FALSE}": wrong.is_above(FALSE),
        f"null releases with a finding {told}, at most {FALSE}": told.is_above(FALSE),
    }


def enough(outcomes: Iterable[Outcome]) -> Share:
    """Planted pairs that were found, of those at a true ratio of 2 and more with 50 expected."""
    asked = [
        found
        for one in outcomes
        for planted, found in zip(one.planted, one.found, strict=True)
        if planted.ratio >= ENOUGH_RATIO and planted.expected >= ENOUGH_EXPECTED
    ]
    return Share(sum(asked), len(asked))


def false(outcomes: Iterable[Outcome]) -> Share:
    """Standing findings that have no end at or above a planted end."""
    told = [finding for one in outcomes for finding in one.told]
    return Share(sum(finding.false for finding in told), len(told))


def with_a_finding(outcomes: Sequence[Outcome]) -> Share:
    """Releases with a standing finding."""
    return Share(sum(bool(one.told) for one in outcomes), len(outcomes))
