"""Every release drawn, audited and counted, on a few processes at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from benchmarks.pair_guards import GUARDS, Guarded, guarded
from benchmarks.shares import Share
from benchmarks.truth_null import null_release, world_of
from benchmarks.truth_planted import STATISTICAL, Outcome, planted_release

RATE = 0.05
"""Share of the findings, and of the releases without faults, in which chance may err."""
RECALL = 0.95
_T = TypeVar("_T")


@dataclass(frozen=True)
class Measured:
    """Everything that the page tells of synthetic releases.

    Args:
        planted: Outcomes of releases with faults.
        null: Outcomes of releases without, in the order of their numbers.
        guards: Releases with each guard of the scan of pairs at work and off.
    """

    planted: Sequence[Outcome]
    null: Sequence[Outcome]
    guards: Sequence[Guarded]

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

    def missed_goals(self) -> list[str]:
        """Goals that the numbers miss by more than their sampling error; none where all hold."""
        recall = self.recall()
        missed = [f"recall of {kind}" for kind, share in recall.items() if share.high < RECALL]
        if sum(recall.values(), Share(0, 0)).high < RECALL:
            missed.append("recall of all kinds together")
        for check, share in self.false_findings(self.planted).items():
            wrong = share.low > RATE if check in STATISTICAL else share.k > 0
            missed += [f"false findings of {check} beside faults"] if wrong else []
        for check, share in self.false_findings(self.null).items():
            if check not in STATISTICAL and share.k:
                missed.append(f"false findings of {check} without faults")
        missed += [
            f"releases without faults with a finding of {check}"
            for check in STATISTICAL
            if self.false_releases(check).low > RATE
        ]
        return missed + [told for o in (*self.planted, *self.null) for told in o.crashed]


def measure(releases: int, guards: int, *, processes: int) -> Measured:
    """Draw and audit releases: so many with faults, as many without, so many for each guard."""
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:

        def each(work: Callable[[int], _T], n: int) -> list[_T]:
            return list(pool.map(work, range(n)))

        return Measured(
            planted=each(planted_release, releases),
            null=each(null_release, releases),
            guards=each(guarded, guards * len(GUARDS)),
        )
