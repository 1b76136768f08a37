"""Time the fair expectation of all pairs of a release of the size of MIMIC-III.

``python benchmarks/fair_expectation.py [--rounds N]``. Every round runs in a process of its own,
which makes the release, counts its pairs, and judges them without and with patients as groups.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from typing import Any

import polars as pl
from large_release import make_large_release
from measure import keep, run, stay_on_cores, surroundings

from audit.dataset import LabelDataset
from audit.engine.pairs import count_pairs, support
from audit.engine.propagation import aggregate
from audit.excess import Labelled, judge_pairs
from audit.pair_table import pair_table
from audit.policy import Policy

WALL_LIMIT = 10.0
"""Seconds that judging may take on two cores, groups included."""
PEAK_LIMIT_MB = 1_500.0
"""Megabytes that it may take beyond what counting the pairs took."""


def main() -> None:
    """Run all rounds, print and keep the numbers; exit status 1 beyond a limit."""
    parser = argparse.ArgumentParser(description="Time the fair expectation of all pairs.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", action="store_true", help="measure one round, print JSON")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(_measured()))
        return
    cores = stay_on_cores()
    command = [sys.executable, __file__, "--once"]
    rounds = [json.loads(run(command).output.splitlines()[-1]) for _ in range(options.rounds)]
    found = {name: statistics.median(taken[name] for taken in rounds) for name in rounds[0]}
    for name, value in found.items():
        print(f"{name:>16} {value:>14,.2f}")
    print(keep("fair_expectation", {"surroundings": surroundings(cores), "medians": found}))
    slow = max(found["alone_s"], found["grouped_s"]) > WALL_LIMIT
    sys.exit(int(slow or found["beyond_counts_mb"] > PEAK_LIMIT_MB))


def _measured() -> dict[str, Any]:
    """One round: what was judged, how long it took, and how much memory beyond the counts."""
    release = make_large_release()
    known = release.rows.filter(pl.col("label").is_in(list(release.hierarchy.nodes)))
    rows = known.join(release.instances, on="instance").select("instance", "label", "group")
    dataset = LabelDataset.from_rows(rows, release.hierarchy)
    hierarchy, direct = dataset.hierarchy, dataset.direct
    aggregated = aggregate(direct, hierarchy.closure)
    supports = support(aggregated)
    pairs = pair_table(hierarchy, count_pairs(aggregated), supports)
    patients = dataset.instances["group"]
    number = (patients.rank("dense") - 1).to_numpy().astype("int64")
    before = _peak_mb()
    found: dict[str, Any] = {
        "instances": len(dataset),
        "nodes_in_use": int((supports > 0).sum()),
        "pairs_that_meet": len(pairs),
    }
    groupings = (("alone", dataset.instances["instance"], None), ("grouped", patients, number))
    for name, units, group_of in groupings:
        labelled = Labelled(direct, supports, units.to_list(), group_of)
        started = time.perf_counter()
        _, excess = judge_pairs(hierarchy, labelled, pairs, Policy())
        found[f"{name}_s"] = time.perf_counter() - started
        found[f"{name}_found"] = len(excess.found)
        found["family"] = excess.family
    return found | {"beyond_counts_mb": _peak_mb() - before}


def _peak_mb() -> float:
    """Largest resident memory of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
