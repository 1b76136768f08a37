"""Whether `unexpected_pair` finds the pairs that are associated, and tells no others.

``python validation/pair_truth.py [--releases N] [--worlds NAME...] [--jobs N] [--json FILE]``
audits releases of the worlds of ``pair_worlds.py`` and prints what came of them as Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from validation.pair_records import Planted
from validation.pair_scores import CHECK, Outcome, Told, outcome
from validation.pair_worlds import WORLDS, world
from validation.shares import NONE, Row, Share, tables

RELEASES = 100
RECALL, FALSE = 0.95, 0.05
"""Goals: recall at a true ratio of 2 and more with 50 expected; false findings among those that
stand, and null releases with any finding, at most."""
ENOUGH_RATIO, ENOUGH_EXPECTED = 1.97, 48.0
"""A true ratio of 2 and 50 expected, as near as planting comes to them."""
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Found = tuple[Outcome, int]
"""An outcome and the number of a pair planted in it."""
BY_RATIO = ((0.0, "<1.5"), (1.45, "1.5"), (1.75, "2"), (2.5, "3"), (4.0, "5 and more"))
BY_EXPECTED = ((0.0, "<7"), (7.0, "10"), (14.0, "20"), (32.0, "50"), (71.0, "100 and more"))
BY_SHARE = ((0.0, ".1"), (0.2, ".3"), (0.4, ".5"), (0.6, ".7"), (0.8, ".9 and more"))
"""Least value of each class, and the value it is called by."""


def main() -> None:
    """Audit the releases and print the page."""
    parser = argparse.ArgumentParser(description="Hold findings on pairs against what is true.")
    parser.add_argument("--releases", type=int, default=RELEASES)
    parser.add_argument("--worlds", nargs="+", metavar="NAME", default=[w.name for w in WORLDS])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    unknown = set(options.worlds) - {one.name for one in WORLDS}
    if unknown:
        sys.exit(f"no such world: {', '.join(sorted(unknown))}")
    outcomes = measured(options.worlds, options.releases, options.jobs)
    print("\n".join((*tables(rows(outcomes)), *goals(outcomes))))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in outcomes]), "utf-8")


def measured(names: Sequence[str], releases: int, jobs: int = 1) -> list[Outcome]:
    """Outcomes of so many releases of each world, in that order."""
    tasks = [(name, number) for name in names for number in range(releases)]
    if jobs == 1:
        return [_told(name, number, releases) for name, number in tasks]
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_told, *zip(*tasks, strict=True), [releases] * len(tasks)))


def _told(name: str, number: int, releases: int) -> Outcome:
    found = outcome(name, number)
    if number == releases - 1:
        print(name, file=sys.stderr, flush=True)
    return found


def read(path: Path) -> list[Outcome]:
    """Outcomes as ``--json`` wrote them."""
    return [_outcome(one) for one in json.loads(path.read_text("utf-8"))]


def _outcome(known: dict[str, Any]) -> Outcome:
    told = [
        one | {"nodes": tuple(one["nodes"]), "pairs": tuple((a, b) for a, b in one["pairs"])}
        for one in known["told"]
    ]
    lists = {
        "planted": tuple(Planted(**one) for one in known["planted"]),
        "found": tuple(known["found"]),
        "told": tuple(Told(**one) for one in told),
    }
    return Outcome(**{**known, **lists})


def missed_goals(outcomes: Sequence[Outcome]) -> list[str]:
    """Goals that scored worlds miss by more than their sampling error; none where all hold."""
    null, planted = _apart(one for one in outcomes if world(one.world).scored)
    missed = {
        "recall of planted pairs at ratio 2 and more with 50 expected": _few(planted),
        "false findings beside planted pairs": _wrong(planted),
        "null worlds of pairs with a finding": _any(null),
    }
    return [goal for goal, is_missed in missed.items() if is_missed]


def worlds_beyond(outcomes: Sequence[Outcome]) -> list[str]:
    """What single scored worlds miss by more than their sampling error, though all may not."""
    found = []
    for name, own in by_world(outcomes).items():
        if world(name).scored:
            null, planted = _apart(own)
            found += [f"recall in {name}"] if _few(planted) else []
            found += [f"false findings in {name}"] if _wrong(planted) else []
            found += [f"findings in {name}"] if _any(null) else []
    return found


def by_world(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes by the name of their world, in order."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        found[one.world].append(one)
    return found


def _few(planted: Sequence[Outcome]) -> bool:
    return enough(planted).is_below(RECALL)


def _wrong(planted: Sequence[Outcome]) -> bool:
    return false(planted).is_above(FALSE)


def _any(null: Sequence[Outcome]) -> bool:
    return with_a_finding(null).is_above(FALSE)


def _apart(outcomes: Iterable[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Those of null worlds, and those of worlds with planted pairs."""
    null: list[Outcome] = []
    planted: list[Outcome] = []
    for one in outcomes:
        (null if world(one.world).null else planted).append(one)
    return null, planted


def rows(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """A line for each world: found is what is planted at ratio 2 and more with 50 expected."""
    for name, own in by_world(outcomes).items():
        law = world(name)
        told = with_a_finding(own) if law.null else NONE
        yield Row(CHECK, name, law.about, len(own), enough(own), false(own), told, law.scored)


def classes(outcomes: Sequence[Outcome]) -> Iterator[dict[str, object]]:
    """For each world what is told more strictly, and recall by ratio, expected count and share."""
    for name, own in by_world(outcomes).items():
        kinds = {f"{by} {called}": share for by, called, share in _by_class(own)}
        shares = {"recall at 2 and 50": enough(own), "recall of all": recall(own), **kinds}
        yield {
            "world": name,
            "what": world(name).about,
            "releases": len(own),
            "pairs told": strictly(own).n,
            "not both ends of one planted pair": strictly(own).k,
            "of them below a planted pair": sum(told.below for one in own for told in one.told),
            **{called: share.brief() for called, share in shares.items()},
        }


def goals(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What scored worlds show together, against what is asked for."""
    null, planted = _apart(one for one in outcomes if world(one.world).scored)
    yield f"recall at ratio 2 and more, 50 and more expected {enough(planted)}, at least {RECALL}"
    yield f"findings with neither end planted {false(planted)}, at most {FALSE}"
    yield f"null releases with a finding {with_a_finding(null)}, at most {FALSE}"
    yield f"pairs told that are not both ends of one planted pair {strictly(planted)}, no goal"


def recall(outcomes: Iterable[Outcome], which: Callable[[Found], bool] = lambda _: True) -> Share:
    """Planted pairs that were found, of those asked for."""
    asked = [
        one.found[k]
        for one in outcomes
        for k, planted in enumerate(one.planted)
        if planted.asked and which((one, k))
    ]
    return Share(sum(asked), len(asked))


def false(outcomes: Iterable[Outcome]) -> Share:
    """Standing findings that have no end at or above a planted end."""
    told = [finding for one in outcomes for finding in one.told]
    return Share(sum(finding.false for finding in told), len(told))


def with_a_finding(outcomes: Sequence[Outcome]) -> Share:
    """Releases with a standing finding."""
    return Share(sum(bool(one.told) for one in outcomes), len(outcomes))


def under_its_own_name(outcomes: Iterable[Outcome]) -> Share:
    """Planted pairs told as the very two nodes, of those asked for."""
    named = [
        {one.a, one.b} in [set(pair) for told in o.told for pair in told.pairs]
        for o in outcomes
        for one in o.planted
        if one.asked
    ]
    return Share(sum(named), len(named))


def strictly(outcomes: Iterable[Outcome]) -> Share:
    """Pairs told whose two ends are not both at or above those of one planted pair."""
    told = [finding for one in outcomes for finding in one.told]
    n = sum(len(finding.pairs) for finding in told)
    return Share(n - sum(finding.both for finding in told), n)


def enough(outcomes: Iterable[Outcome]) -> Share:
    """Recall at a true ratio of 2 and more with 50 expected."""

    def large(found: Found) -> bool:
        planted = found[0].planted[found[1]]
        return planted.ratio >= ENOUGH_RATIO and planted.expected >= ENOUGH_EXPECTED

    return recall(outcomes, large)


def ratio_of(found: Found) -> float:
    """The true ratio."""
    return found[0].planted[found[1]].ratio


def expected_of(found: Found) -> float:
    """Joint records that independence expects."""
    return found[0].planted[found[1]].expected


def share_of(found: Found) -> float:
    """Part of its parent that the larger of both ends is."""
    planted = found[0].planted[found[1]]
    return max(planted.share_a, planted.share_b)


_CLASSES = {
    "ratio": (ratio_of, BY_RATIO),
    "expected": (expected_of, BY_EXPECTED),
    "share": (share_of, BY_SHARE),
}


def _by_class(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, str, Share]]:
    for by, (value, least) in _CLASSES.items():
        for _, called in least:
            found = recall(outcomes, lambda f, v=value, c=least, n=called: class_of(v(f), c) == n)  # type: ignore[misc]
            yield by, called, found


def class_of(value: float, classes: Sequence[tuple[float, str]]) -> str:
    """What the class is called that a value belongs to."""
    return next(called for least, called in reversed(classes) if value >= least)


if __name__ == "__main__":
    main()
