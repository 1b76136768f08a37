"""What the checks of concepts and of evidence find in worlds where the truth is known.

``python -m validation.probe_truth [--releases N] [--first SEED] [--processes N]`` prints the tables
that ``validation/truth.py`` writes into its page. Exit status 1 where a goal is missed by more than
its sampling error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from unittest.mock import patch

from audit.explanations import evidence_by_node
from validation import concept_worlds, evidence_worlds
from validation.concept_worlds import Judged
from validation.evidence_worlds import Seen
from validation.shares import NONE, Off, Row, Share, compared, tables

RELEASES = 20
GUARDED = 5
FALSE_ABSENT, FOUND, FALSE_IGNORED = 0.01, 0.9, 0.05
"""Goals: concepts that are there, called absent; planted faults found; null releases told."""
BLIND = "groups are not looked at"


@dataclass(frozen=True, eq=False)
class Probed:
    """What was found; without a guard by its name."""

    concepts: Sequence[Judged]
    evidence: Sequence[Seen]
    unguarded: dict[str, tuple[Sequence[Seen], Sequence[Seen]]]
    blind: tuple[Sequence[Judged], Sequence[Judged]]

    @property
    def goals(self) -> tuple[tuple[str, str, Share, bool], ...]:
        """What is asked for, and whether it is missed by more than its sampling error."""
        there = [one for one in self.concepts if one.present]
        legible = [one for one in self.concepts if not one.present and one.reads]
        null = [one for one in self.evidence if not one.planted]
        planted = [one for one in self.evidence if one.planted]
        absent, found = _called(there), _called(legible)
        told = Share(sum(bool(one.told) for one in null), len(null))
        ignored = Share(sum(one.found for one in planted), len(planted))
        return (
            ("`concept_absent`: concepts that are there, called absent", f"≤ {FALSE_ABSENT}",
             absent, absent.is_above(FALSE_ABSENT)),
            ("`concept_absent`: absent ones found where a control reads", f"≥ {FOUND}",
             found, found.is_below(FOUND)),
            ("`evidence_ignored`: null releases with a finding", f"≤ {FALSE_IGNORED}",
             told, told.is_above(FALSE_IGNORED)),
            ("`evidence_ignored`: planted branches found", f"≥ {FOUND}",
             ignored, ignored.is_below(FOUND)),
        )  # fmt: skip


def _called(nodes: Sequence[Judged]) -> Share:
    return Share(sum(one.state == "absent" for one in nodes), len(nodes))


def measured(releases: int, processes: int, first: int = 0) -> Probed:
    """Both checks on so many releases of each world, and a few without each guard."""
    seeds = range(first, first + releases)
    few = range(first, first + min(releases, GUARDED))
    grouped = next(world for world in concept_worlds.WORLDS if world.grouped)
    with ProcessPoolExecutor(processes) as pool:
        concepts = [
            pool.submit(concept_worlds.judged, world, seed)
            for world in concept_worlds.WORLDS
            for seed in seeds
        ]
        blind = [pool.submit(concept_worlds.judged, grouped, seed, blind=True) for seed in few]
        evidence = [
            pool.submit(evidence_worlds.seen, world, seed)
            for world in evidence_worlds.WORLDS
            for seed in seeds
        ]
        off = {
            guard[0]: [pool.submit(_without, place, seed) for seed in few]
            for place, guard in enumerate(evidence_worlds.GUARDS)
        }
        judged = [node for one in concepts for node in one.result()]
        seen = [one.result() for one in evidence]
        unguarded = {name: [one.result() for one in ones] for name, ones in off.items()}
        blindly = [node for one in blind for node in one.result()]
    worlds = {guard[0]: guard[2] for guard in evidence_worlds.GUARDS}
    on = {name: [one for one in seen if one.world == worlds[name]][: len(few)] for name in off}
    nodes = len(blindly) // len(few)
    sighted = [one for one in judged if one.world == grouped.name][: nodes * len(few)]
    return Probed(
        judged, seen, {name: (on[name], unguarded[name]) for name in off}, (sighted, blindly)
    )


def _without(place: int, seed: int) -> Seen:
    """A release of the world of a guard, without it."""
    _, _, name, what, instead = evidence_worlds.GUARDS[place]
    (world,) = (one for one in evidence_worlds.WORLDS if one.name == name)
    with patch.object(evidence_by_node, what, instead):
        return evidence_worlds.seen(world, seed)


def missed_goals(probed: Probed) -> list[str]:
    """Goals that are missed by more than their sampling error."""
    return [f"{what}: {share}" for what, _, share, missed in probed.goals if missed]


def rows(probed: Probed) -> Iterator[Row]:
    """A line for each world; of a concept that is there, one called absent is false."""
    for law in concept_worlds.WORLDS:
        own = [one for one in probed.concepts if one.world == law.name]
        there = [one for one in own if one.present]
        mute = sum(one.state == "no_power" for one in there)
        what = f"{len(there)} concepts that are there, of {mute} of which nothing can be said"
        found = _called([one for one in own if not one.present and one.reads])
        releases = len(probed.evidence) // len(evidence_worlds.WORLDS)
        yield Row("concept_absent", law.name, what, releases, found, _called(there))
    for world in evidence_worlds.WORLDS:
        seen = [one for one in probed.evidence if one.world == world.name]
        share = Share(sum(one.found for one in seen), len(seen)) if world.ignored else NONE
        wrong = sum(any(node != one.planted for node in one.told) for one in seen)
        told = NONE if world.ignored else Share(wrong, len(seen))
        yield Row("evidence_ignored", world.name, "", len(seen), share, told=told)


def off(probed: Probed) -> Iterator[Off]:
    """What changes without each guard."""
    for name, instead, world, _, _ in evidence_worlds.GUARDS:
        on, without = probed.unguarded[name]
        numbers = compared(on, without, {"releases told": _told})
        yield Off("evidence_ignored", name, instead, world, len(on), numbers)
    sighted, blind = probed.blind
    counts = {"absent ones found": lambda side: _called([x for x in side if not x.present]).brief()}
    world, numbers = sighted[0].world, compared(sighted, blind, counts)
    yield Off("concept_absent", "whole groups", BLIND, world, GUARDED, numbers)


def _told(seen: Sequence[Seen]) -> int:
    return sum(bool(one.told) for one in seen)


def main() -> None:
    """Measure, and print the tables and what is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=RELEASES, help="of each world")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    probed = measured(options.releases, options.processes, options.first)
    print("\n".join(tables(rows(probed))))
    missed = missed_goals(probed)
    print("\n".join(f"missed: {goal}" for goal in missed) or "all goals are met")
    sys.exit(int(bool(missed)))


if __name__ == "__main__":
    main()
