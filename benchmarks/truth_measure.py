"""Every release drawn, audited and counted, on a few processes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from benchmarks import answer_truth
from benchmarks.answer_truth import ANSWER_GUARDS, GuardedAnswers, guarded_answers, told_in_turn
from benchmarks.answer_worlds import WORLDS as ANSWER_WORLDS
from benchmarks.answer_worlds import Told
from benchmarks.pair_guards import GUARDS, Guarded, guarded
from benchmarks.scene import Scene, Seen
from benchmarks.scene_guards import SCENE_GUARDS, GuardedScene, guarded_scene
from benchmarks.scenes import SCENES, seen_in_turn
from benchmarks.shares import Share
from benchmarks.truth_null import null_release, world_of
from benchmarks.truth_planted import STATISTICAL, Outcome, planted_release

RATE = 0.05
"""Share of the findings, and of the releases without faults, in which chance may err."""
RECALL = 0.95
_T = TypeVar("_T")


@dataclass(frozen=True)
class OfScene:
    """The releases of one scene."""

    scene: Scene
    seen: Sequence[Seen]

    @property
    def facts(self) -> Share:
        """Planted facts that are told."""
        told = [fact for one in self.seen for fact in one.facts]
        return Share(sum(told), len(told))

    @property
    def false(self) -> Share:
        """Findings that tell no fact."""
        return Share(
            sum(len(one.false) for one in self.seen), sum(one.standing for one in self.seen)
        )

    @property
    def false_releases(self) -> Share:
        """Releases with such a finding."""
        return Share(sum(bool(one.false) for one in self.seen), len(self.seen))

    def missed_goals(self) -> list[str]:
        """Goals that the numbers miss by more than their sampling error."""
        if not self.scene.scored:
            return []
        by_chance = self.scene.by_chance or self.scene.check in STATISTICAL
        wrong = self.false_releases.is_above(RATE) if by_chance else self.false.k > 0
        few = self.facts.is_below(RECALL)
        missed = [f"recall in the scene: {self.scene.name}"] if few else []
        return missed + ([f"false findings in the scene: {self.scene.name}"] if wrong else [])


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

    def false_releases(self, check: str, world: str | None = None) -> Share:
        """Releases without faults in which a check finds something that is not so.

        Args:
            check: A statistical check; releases to which it does not apply are left out.
            world: Only releases of this world.
        """
        asked = [
            outcome
            for number, outcome in enumerate(self.null)
            if outcome.family[check] and world in (None, world_of(number).name)
        ]
        return Share(sum(check in dict(outcome.false) for outcome in asked), len(asked))

    def of_scene(self, scene: Scene) -> OfScene:
        """What became of the releases of a scene."""
        return OfScene(scene, [one for one in self.scenes if one.scene == scene.name])

    def missed_goals(self) -> list[str]:
        """Goals that the numbers miss by more than their sampling error; none where all hold."""
        recall = self.recall()
        missed = [f"recall of {kind}" for kind, share in recall.items() if share.is_below(RECALL)]
        if sum(recall.values(), Share(0, 0)).is_below(RECALL):
            missed.append("recall of all kinds together")
        for check, share in self.false_findings(self.planted).items():
            wrong = share.is_above(RATE) if check in STATISTICAL else share.k > 0
            missed += [f"false findings of {check} beside faults"] if wrong else []
        for check, share in self.false_findings(self.null).items():
            if check not in STATISTICAL and share.k:
                missed.append(f"false findings of {check} without faults")
        missed += [
            f"releases without faults with a finding of {check}"
            for check in STATISTICAL
            if self.false_releases(check).is_above(RATE)
        ]
        missed += [goal for scene in SCENES for goal in self.of_scene(scene).missed_goals()]
        missed += answer_truth.missed_goals(self.answers)
        return missed + [told for o in (*self.planted, *self.null) for told in o.crashed]


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
