"""Whether findings are true: pairs, answers and faults that were planted, and releases without any.

``python -m validation.truth [--releases N] [--pairs N] [--answers N] [--processes N]`` prints for
each check, and for each law that releases are drawn by, what of the planted is told, what of the
told is false and in how many releases. Exit status 1 where a goal is missed by more than its
sampling error. docs/truth.md says what came of it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from validation import answer_truth, pair_truth
from validation.answer_worlds import WORLDS as ANSWER_WORLDS
from validation.pair_worlds import WORLDS as PAIR_WORLDS
from validation.shares import tables
from validation.truth_measure import Faults
from validation.truth_null import null_release
from validation.truth_planted import planted_release

RELEASES, PAIRS, ANSWERS = 200, 100, 30
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_T = TypeVar("_T")


def main() -> None:
    """Draw and audit releases, print what came of them and the goals that are missed."""
    parser = argparse.ArgumentParser(description="Hold findings against what was planted.")
    parser.add_argument("--releases", type=int, default=RELEASES, help="with faults and without")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of each world")
    parser.add_argument("--answers", type=int, default=ANSWERS, help="of each world")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    os.environ.update(dict.fromkeys(THREADS, "1"))
    with ProcessPoolExecutor(asked.processes, mp_context=get_context("spawn")) as pool:

        def each(work: Callable[[int], _T], releases: int) -> list[_T]:
            return list(pool.map(work, range(releases)))

        pairs = each(pair_truth.in_turn, asked.pairs * len(PAIR_WORLDS))
        answers = each(answer_truth.in_turn, asked.answers * len(ANSWER_WORLDS))
        faults = Faults(each(planted_release, asked.releases), each(null_release, asked.releases))
    rows = [*faults.rows(), *pair_truth.rows(pairs), *answer_truth.rows(answers)]
    of_pairs = pair_truth.goals(pairs)
    missed = [*faults.missed_goals(), *(goal for goal, is_missed in of_pairs.items() if is_missed)]
    missed += answer_truth.missed_goals(answers)
    print("\n".join((*tables(rows), *of_pairs)))
    print("\n".join(f"missed: {goal}" for goal in missed) or "all goals are met")
    sys.exit(int(bool(missed)))


if __name__ == "__main__":
    main()
