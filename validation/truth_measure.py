"""Every release drawn, audited and counted, on a few processes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from validation import answer_truth, pair_scores, pair_truth
from validation.answer_truth import ANSWER_GUARDS, GuardedAnswers, guarded_answers, told_in_turn
from validation.answer_worlds import WORLDS as ANSWER_WORLDS
from validation.answer_worlds import Told
from validation.pair_guards import GUARDS, Guarded, guarded
from validation.pair_scores import CHECK
from validation.scene import Scene, Seen
from validation.scene_guards import SCENE_GUARDS, GuardedScene, guarded_scene
from validation.scenes import SCENES, seen_in_turn
from validation.shares import NONE, Off, Row, Share, compared
from validation.truth_null import WORLDS, null_release
from validation.truth_planted import (
    KINDS,
    KINDS_OF_ICD10,
    STATISTICAL,
    Outcome,
    planted_release,
)

RATE = 0.05
"""Share of the findings, and of the releases without faults, in which chance may err."""
RECALL = 0.95
NULL = f"in turn: {'; '.join(world.name for world in WORLDS)}"
_T = TypeVar("_T")


@dataclass(frozen=True)
class Measured:
    """Everything that the page tells of synthetic releases.

    Args:
        planted: Outcomes of releases with faults.
        null: Outcomes of releases without, in the order of their numbers.
        guards: Releases with each guard of the scan of pairs at work and off.
        scenes: Releases made for one check each.
        scene_guards: Some of them with each guard of a check at work and off.
        answers: Releases with a model that leans to answers, or does not.
        answer_guards: Some of them with each guard of that rule at work and off.
    """

    planted: Sequence[Outcome]
    null: Sequence[Outcome]
    guards: Sequence[Guarded]
    scenes: Sequence[Seen] = ()
    scene_guards: Sequence[GuardedScene] = ()
    answers: Sequence[Told] = ()
    answer_guards: Sequence[GuardedAnswers] = ()

    def recall(self) -> dict[str, Share]:
        """For each kind how often it was found where it was planted."""
        planted, found = Counter[str](), Counter[str]()
        for outcome in self.planted:
            planted.update(list(outcome.found))
            found.update(kind for kind, hit in outcome.found.items() if hit)
        return {kind: Share(found[kind], n) for kind, n in planted.items()}

    def false_findings(self, outcomes: Iterable[Outcome]) -> dict[str, Share]:
        """For each check how many of its standing findings nothing planted explains."""
        standing, false = Counter[str](), Counter[str]()
        for outcome in outcomes:
            standing.update(outcome.standing)
            false.update(check for check, _ in outcome.false)
        return {check: Share(false[check], n) for check, n in standing.items()}

    def false_releases(self, check: str) -> Share:
        """Releases without faults, to which a check applies, in which it has a finding."""
        asked = [outcome for outcome in self.null if outcome.family[check]]
        return Share(sum(check in dict(outcome.false) for outcome in asked), len(asked))

    def rows(self) -> Iterator[Row]:
        """What each check makes of each kind of fault, of what stands beside, and of scenes."""
        recall = self.recall()
        for kind in {kind.name: kind for kind in (*KINDS, *KINDS_OF_ICD10)}.values():
            if found := recall.get(kind.name):
                what = f"planted: {kind.effect}"
                yield Row(kind.check, kind.name, what, found.n, found, recall=RECALL)
        beside, without = (self.false_findings(some) for some in (self.planted, self.null))
        for check in sorted({*beside, *without}):
            rate = RATE if check in STATISTICAL else 0.0
            if (findings := beside.get(check, NONE)).n:
                what = "findings on other nodes than those of planted faults"
                n = len(self.planted)
                yield Row(check, "beside planted faults", what, n, findings=findings, rate=rate)
            if (told := self.false_releases(check)).n:
                yield Row(check, "without faults", NULL, told.n, told=told, rate=rate)
        yield from (row for scene in SCENES if (row := self._row(scene)))
        yield from answer_truth.rows(self.answers)

    def _row(self, scene: Scene) -> Row | None:
        seen = [one for one in self.scenes if one.scene == scene.name]
        facts = [fact for one in seen for fact in one.facts]
        false = Share(sum(len(one.false) for one in seen), sum(one.standing for one in seen))
        by_chance = scene.by_chance or scene.check in STATISTICAL
        return (
            Row(
                scene.check,
                scene.name,
                scene.what,
                len(seen),
                Share(sum(facts), len(facts)),
                false,
                Share(sum(bool(one.false) for one in seen), len(seen)),
                scene.scored,
                RECALL,
                RATE if by_chance else 0.0,
            )
            if seen
            else None
        )

    def off(self) -> Iterator[Off]:
        """What changes where each guard of pairs, of single checks and of answers is off."""
        for guard in GUARDS:
            own = [one for one in self.guards if one.guard == guard.name]
            if own:
                numbers = compared([one.on for one in own], [one.off for one in own], _OF_PAIRS)
                yield Off(CHECK, guard.name, guard.instead, guard.world, len(own), numbers)
        checks = {scene.name: scene.check for scene in SCENES}
        for scene_guard in SCENE_GUARDS:
            seen = [one for one in self.scene_guards if one.guard == scene_guard.name]
            if seen:
                name, instead, scene = scene_guard.name, scene_guard.instead, scene_guard.scene
                numbers = compared([one.on for one in seen], [one.off for one in seen], _OF_SCENES)
                yield Off(checks[scene], name, instead, scene, len(seen), numbers)
        yield from answer_truth.off(self.answer_guards)

    def missed_goals(self) -> list[str]:
        """Goals that the numbers miss by more than their sampling error; none where all hold."""
        missed = [goal for row in self.rows() for goal in row.missed_goals()]
        if sum(self.recall().values(), NONE).is_below(RECALL):
            missed.append("recall of all kinds together")
        missed += answer_truth.missed_goals(self.answers)
        return missed + [told for o in (*self.planted, *self.null) for told in o.crashed]


_OF_PAIRS: Mapping[str, Callable[[Sequence[pair_scores.Outcome]], object]] = {
    "findings": lambda side: sum(len(one.told) for one in side),
    "false ones": lambda side: sum(told.false for one in side for told in one.told),
    "planted pairs found": lambda side: pair_truth.recall(side).brief(),
    "by their own names": lambda side: pair_truth.under_its_own_name(side).brief(),
}
_OF_SCENES: Mapping[str, Callable[[Sequence[Seen]], object]] = {
    "false findings": lambda side: sum(len(one.false) for one in side),
    "releases with one": lambda side: sum(bool(one.false) for one in side),
    "facts told": lambda side: sum(sum(one.facts) for one in side),
}


def measure(
    releases: int, guards: int, *, scenes: int, scene_guards: int, answers: int, processes: int
) -> Measured:
    """Draw and audit releases.

    Args:
        releases: So many with faults, and as many without.
        guards: So many for each guard of the scan of pairs.
        scenes: So many of each scene.
        scene_guards: So many for each guard of a check, and of the rule on answers.
        answers: So many of each world of a model's answers.
        processes: At once.
    """
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:

        def each(work: Callable[[int], _T], n: int) -> list[_T]:
            return list(pool.map(work, range(n)))

        return Measured(
            planted=each(planted_release, releases),
            null=each(null_release, releases),
            guards=each(guarded, guards * len(GUARDS)),
            scenes=each(seen_in_turn, scenes * len(SCENES)),
            scene_guards=each(guarded_scene, scene_guards * len(SCENE_GUARDS)),
            answers=each(told_in_turn, answers * len(ANSWER_WORLDS)),
            answer_guards=each(guarded_answers, scene_guards * len(ANSWER_GUARDS)),
        )
