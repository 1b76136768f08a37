"""What came of releases with planted faults, and of those without any, check by check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from validation.shares import NONE, Row, Share
from validation.truth_planted import KINDS, STATISTICAL, Outcome

RATE = 0.05
"""Share of the findings, and of the releases without faults, in which chance may err."""
RECALL = 0.95


@dataclass(frozen=True)
class Faults:
    """Outcomes of releases with faults, and of releases without."""

    planted: Sequence[Outcome]
    null: Sequence[Outcome]

    def recall(self) -> dict[str, Share]:
        """For each kind how often it was found where it was planted."""
        planted, found = Counter[str](), Counter[str]()
        for outcome in self.planted:
            planted.update(list(outcome.found))
            found.update(kind for kind, hit in outcome.found.items() if hit)
        return {kind: Share(found[kind], n) for kind, n in planted.items()}

    def rows(self) -> Iterator[Row]:
        """What each check makes of each kind of fault, and of what stands beside."""
        recall = self.recall()
        for kind in KINDS:
            if found := recall.get(kind.name):
                yield Row(kind.check, kind.name, found, recall=RECALL)
        beside, without = map(_false_findings, (self.planted, self.null))
        for check in sorted({*beside, *without}):
            rate = RATE if check in STATISTICAL else 0.0
            if (findings := beside.get(check, NONE)).n:
                yield Row(check, "beside planted faults", findings=findings, rate=rate)
            asked = [outcome for outcome in self.null if outcome.family[check]]
            told = Share(sum(check in dict(outcome.false) for outcome in asked), len(asked))
            if told.n:
                yield Row(check, "without faults", told=told, rate=rate)

    def missed_goals(self) -> list[str]:
        """Goals that the numbers miss by more than their sampling error; none where all hold."""
        missed = [goal for row in self.rows() for goal in row.missed_goals()]
        if sum(self.recall().values(), NONE).is_below(RECALL):
            missed.append("recall of all kinds together")
        return missed + [told for o in (*self.planted, *self.null) for told in o.crashed]


def _false_findings(outcomes: Iterable[Outcome]) -> dict[str, Share]:
    """For each check how many of its standing findings nothing planted explains."""
    standing, false = Counter[str](), Counter[str]()
    for outcome in outcomes:
        standing.update(outcome.standing)
        false.update(check for check, _ in outcome.false)
    return {check: Share(false[check], n) for check, n in standing.items()}
