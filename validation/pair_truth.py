"""Whether `unexpected_pair` finds the pairs that are associated, and tells no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from validation.pair_records import Planted
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


def goals(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What all worlds show together, against what is asked for."""
    null, planted = _apart(outcomes)
    yield f"pairs at ratio 2 and more, 50 and more expected {enough(planted)}, at least {RECALL}"
    yield f"findings with neither end planted {false(planted)}, at most {FALSE}"
    yield f"null releases with a finding {with_a_finding(null)}, at most {FALSE}"


def missed_goals(outcomes: Sequence[Outcome]) -> list[str]:
    """Goals that all worlds together miss by more than their sampling error."""
    null, planted = _apart(outcomes)
    missed = {
        "recall of planted pairs at ratio 2 and more with 50 expected": enough(planted).is_below(
            RECALL
        ),
        "false findings beside planted pairs": false(planted).is_above(FALSE),
        "null worlds of pairs with a finding": with_a_finding(null).is_above(FALSE),
    }
    return [goal for goal, is_missed in missed.items() if is_missed]


def _apart(outcomes: Iterable[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Those of null worlds, and those of worlds with planted pairs."""
    null: list[Outcome] = []
    planted: list[Outcome] = []
    for one in outcomes:
        (null if world(one.world).null else planted).append(one)
    return null, planted


def enough(outcomes: Iterable[Outcome]) -> Share:
    """Planted pairs that were found, of those at a true ratio of 2 and more with 50 expected."""
    asked = [
        found
        for one in outcomes
        for planted, found in zip(one.planted, one.found, strict=True)
        if _is_enough(planted)
    ]
    return Share(sum(asked), len(asked))


def _is_enough(planted: Planted) -> bool:
    return planted.ratio >= ENOUGH_RATIO and planted.expected >= ENOUGH_EXPECTED


def false(outcomes: Iterable[Outcome]) -> Share:
    """Standing findings that have no end at or above a planted end."""
    told = [finding for one in outcomes for finding in one.told]
    return Share(sum(finding.false for finding in told), len(told))


def with_a_finding(outcomes: Sequence[Outcome]) -> Share:
    """Releases with a standing finding."""
    return Share(sum(bool(one.told) for one in outcomes), len(outcomes))
