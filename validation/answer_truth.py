"""What the product tells of the answers that a model leans to, held against `answer_worlds`.

``python -m validation.answer_truth [--releases N]`` prints the tables of docs/truth.md alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

import numpy as np

import audit.checks.rules.model_confuses
import audit.checks.shared.exchanged_pairs
import audit.engine.scores.exchanges
from audit.base.dag import FloatArray, Sparse
from audit.engine.pairs.rows import chosen, row_numbers
from audit.engine.scores.exchanges import Given, count_given
from audit.engine.statistics.fdr import benjamini_hochberg
from validation.answer_worlds import WORLDS, Told, World, told
from validation.pair_guards import Guard
from validation.shares import Off, Row, Share, compared, table, tables

CHECK = "model_confuses"
RELEASES = 30
FALSE = 0.05
"""Share of the releases without a leaning in which chance may tell of one."""
EITHER = 0.95
"""Share of the strong leanings that findings or the table of answers tell."""


@dataclass(frozen=True)
class GuardedAnswers:
    """One release with all guards at work, and with one of them off."""

    guard: str
    on: Told
    off: Told


def told_in_turn(number: int) -> Told:
    """A release of each world in turn: of all of them the releases 0, 1, 2 and so on."""
    return told(WORLDS[number % len(WORLDS)].name, number // len(WORLDS))


def guarded_answers(number: int) -> GuardedAnswers:
    """A release with each guard in turn at work and off."""
    guard, which = ANSWER_GUARDS[number % len(ANSWER_GUARDS)], number // len(ANSWER_GUARDS)
    on = told(guard.world, which)
    with guard.off():
        return GuardedAnswers(guard.name, on, told(guard.world, which))


def _each_row_alone(labels: Sparse, decided: Sparse, closure: Sparse, *_: object) -> Given:
    return count_given(labels, decided, closure)


def _always(found: Given) -> FloatArray:
    return np.zeros(len(found.more))


def _each_answer_alone(p_value: FloatArray, family: int) -> FloatArray:
    every = len(p_value) == family
    return p_value if every else benjamini_hochberg(p_value, family)


def _whatever_is_related(own: Sparse, other: Sparse, *_: Sparse) -> Sparse:
    return chosen(own, np.diff(other.indptr)[row_numbers(own)] > 0)


_RULE, _SHARED = audit.checks.rules.model_confuses, audit.checks.shared.exchanged_pairs
ANSWER_GUARDS = (
    Guard("sign test over all exchanges", "few mistakes, null",
                "three pairs that mostly give an answer are enough",
                partial(patch.object, Given, "p_value", property(_always))),
    Guard("Benjamini-Hochberg over answers", "few mistakes, null",
                "each answer is tested by itself",
                partial(patch.object, _SHARED, "benjamini_hochberg", _each_answer_alone)),
    Guard("groups", "mistakes copied in groups, null", "each instance is a group of its own",
                partial(patch.object, _SHARED, "count_given", _each_row_alone)),
    Guard("no label above or below", "answers above the label, null",
                "every missed label beside an answer counts",
                partial(patch.object, audit.engine.scores.exchanges, "_apart",
                        _whatever_is_related)),
    Guard("given falsely in .6 of the exchanges", "hardly uneven", "any share above a half",
                partial(patch.object, _RULE, "FALSELY", 0.0)),
    Guard("three labels", "in place of two labels", "one label is enough",
                partial(patch.object, _RULE, "LEAST_PARTS", 1)),
    Guard("no pair with over half", "one pair above all", "whatever one pair has of them",
                partial(patch.object, _RULE, "ONE_PAIR", 1.0)),
    Guard("three times as often, in the table", "hardly uneven", "more often",
                partial(patch.object, _SHARED, "TIMES_MISSED", 1)),
)  # fmt: skip
"""All guards, in the order of the rule."""


def missed_goals(every: Sequence[Told]) -> list[str]:
    """Goals that the numbers miss by more than their sampling error."""
    scored = [one for one in every if _world(one).scored]
    missed = []
    if _false_releases([one for one in scored if not one.planted]).is_above(FALSE):
        missed.append("releases without a leaning in which one is told")
    if _found(scored, table_too=True).is_below(EITHER):
        missed.append("recall of answers that a model leans to")
    return missed


def _world(one: Told) -> World:
    return next(world for world in WORLDS if world.name == one.world)


def _false_releases(some: Sequence[Told]) -> Share:
    return Share(sum(bool(one.false_leanings) for one in some), len(some))


def _found(some: Sequence[Told], *, table_too: bool) -> Share:
    kept = [one.leanings | (one.answers if table_too else frozenset()) for one in some]
    found = (len(names & one.planted) for names, one in zip(kept, some, strict=True))
    return Share(sum(found), sum(len(one.planted) for one in some))


def rows(every: Sequence[Told]) -> Iterator[Row]:
    """A line for each world: found is what findings or the table of answers tell."""
    for world in WORLDS:
        own = [one for one in every if one.world == world.name]
        found, told = _found(own, table_too=True), _false_releases(own)
        findings = Share(
            sum(len(one.false_leanings) for one in own), sum(len(one.leanings) for one in own)
        )
        if own:
            yield Row(CHECK, world.name, world.what, len(own), found, findings, told, world.scored)


def off(every: Sequence[GuardedAnswers]) -> Iterator[Off]:
    """What changes without each guard."""
    counts: Mapping[str, Callable[[Sequence[Told]], object]] = {
        "false leanings": lambda side: sum(len(one.false_leanings) for one in side),
        "false lines of the table": lambda side: sum(len(one.false_answers) for one in side),
    }
    for guard in ANSWER_GUARDS:
        own = [one for one in every if one.guard == guard.name]
        numbers = compared([one.on for one in own], [one.off for one in own], counts)
        if own:
            yield Off(CHECK, guard.name, guard.instead, guard.world, len(own), numbers)


def main() -> None:
    """Print the tables, and what is missed."""
    parser = argparse.ArgumentParser(description="Hold leanings against what was planted.")
    parser.add_argument("--releases", type=int, default=RELEASES, help="of each world")
    n = parser.parse_args().releases
    every = [told_in_turn(number) for number in range(n * len(WORLDS))]
    guards = [guarded_answers(number) for number in range(min(n, 10) * len(ANSWER_GUARDS))]
    print(
        "\n".join(
            (
                *tables(rows(every)),
                table(
                    ("guard", "world", "releases", "what changes"),
                    [one.cells() for one in off(guards)],
                ),
            )
        )
    )
    print("\n".join(f"missed: {goal}" for goal in missed_goals(every)) or "all goals are met")


if __name__ == "__main__":
    main()
