"""What the checks of concepts and of evidence find in worlds where the truth is known.

``python -m benchmarks.probe_truth [--releases N] [--first SEED] [--processes N]`` prints the tables
that ``benchmarks/truth.py`` writes into its page. Exit status 1 where a goal is missed by more than
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
from benchmarks import concept_worlds, evidence_worlds
from benchmarks.concept_worlds import Judged
from benchmarks.evidence_worlds import Seen
from benchmarks.pair_truth import table
from benchmarks.shares import Share

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


def tables(probed: Probed) -> Iterator[str]:
    """What was found, as lines of Markdown."""
    yield table(
        ("what", "goal", "k/n (share; 95 % interval)"),
        [(what, goal, str(share)) for what, goal, share, _ in probed.goals],
    )
    yield table(
        ("world of concepts", "there", "called absent", "no power", "called absent if candidates "
         "alone decided", "absent", "a control reads", "found there"),
        [_concepts(world.name, probed.concepts) for world in concept_worlds.WORLDS],
    )  # fmt: skip
    yield table(
        ("world of evidence", "releases", "with a finding", "planted branch found"),
        [_evidence(world, probed.evidence) for world in evidence_worlds.WORLDS],
    )
    rows = [
        (name, instead, world, *(_told(side) for side in probed.unguarded[name]))
        for name, instead, world, _, _ in evidence_worlds.GUARDS
    ]
    found = [_called([one for one in side if not one.present]) for side in probed.blind]
    counted = [f"absent ones found: {share.k} of {share.n}" for share in found]
    rows.append(("whole groups", BLIND, probed.blind[0][0].world, *counted))
    yield table(("guard", "instead", "world", "releases told with it", "without it"), rows)


def _concepts(name: str, nodes: Sequence[Judged]) -> tuple[str, ...]:
    there = [one for one in nodes if one.world == name and one.present]
    absent = [one for one in nodes if one.world == name and not one.present]
    legible = [one for one in absent if one.reads]
    return (
        name,
        str(len(there)),
        str(_called(there).k),
        str(sum(one.state == "no_power" for one in there)),
        str(_candidates(there)),
        str(len(absent)),
        str(len(legible)),
        str(_called(legible).k),
    )


def _candidates(nodes: Sequence[Judged]) -> int:
    """Concepts that are there, and surely below the limit."""
    return sum(one.present and one.state in ("absent", "no_power") for one in nodes)


def _evidence(world: evidence_worlds.World, seen: Sequence[Seen]) -> tuple[str, ...]:
    own = [one for one in seen if one.world == world.name]
    found = f"{sum(one.found for one in own)}" if world.ignored else ""
    return (world.name, str(len(own)), _told(own), found)


def _told(seen: Sequence[Seen]) -> str:
    return str(sum(bool(one.told) for one in seen))


def main() -> None:
    """Measure, and print the tables and what is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--releases", type=int, default=RELEASES, help="of each world")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    probed = measured(options.releases, options.processes, options.first)
    print("\n".join(tables(probed)))
    missed = missed_goals(probed)
    print("\n".join(f"missed: {goal}" for goal in missed) or "all goals are met")
    sys.exit(int(bool(missed)))


if __name__ == "__main__":
    main()
