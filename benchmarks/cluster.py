"""Counting pairs on Apache Spark with one worker and with two, in turns.

``python benchmarks/cluster.py [--instances N]`` draws a release and counts it in child processes
that have as many cores as workers, so that no worker is helped by a core of another. The start of
Java is not part of the time, that of the Python workers is. On a system where a process cannot be
kept to cores, one worker has all of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from large_release import SEED, make_large_release
from measure import Taken, keep, run, stay_on_cores, surroundings

from audit.counting.spark import count_pairs
from audit.data.label_format import Columns
from audit.data.sources import File
from audit.data.sources.spark import reading

WORKERS = (1, 2)
ROUNDS = 3
PER_GROUP = 100_000
"""Instances a row group."""


def records(release: Any) -> list[list[str]]:
    """Labels of each record."""
    rows = release.rows.drop_nulls("label")
    return rows.group_by("instance", maintain_order=True).agg("label")["label"].to_list()


def write_drawn(records: Sequence[list[str]], instances: int, path: Path) -> None:
    """Rows ``instance, label`` of records drawn with replacement, ids ascending, as Parquet."""
    tables = _drawn(records, instances)
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def _drawn(records: Sequence[list[str]], instances: int) -> Iterator[pa.Table]:
    labels, code = np.unique(np.concatenate([np.array(r) for r in records]), return_inverse=True)
    width = np.array([len(record) for record in records])
    start = np.cumsum(width) - width
    words, rng = pa.array(labels.tolist()), np.random.default_rng(SEED)
    for first in range(0, instances, PER_GROUP):
        ids = np.arange(first, min(first + PER_GROUP, instances))
        chosen = rng.integers(len(records), size=len(ids))
        size = width[chosen]
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        label = code[np.repeat(start[chosen], size) + within].astype(np.int32)
        written = pa.DictionaryArray.from_arrays(label, words)
        yield pa.table({"instance": np.repeat(ids, size), "label": written})


def count(path: Path, workers: int) -> float:
    """Seconds that a session with so many workers, each with a core, takes to count a file."""
    stay_on_cores(workers)
    with reading(File(path), f"local[{workers}]", Columns()) as read:
        read.rows.count()
        started = time.perf_counter()
        count_pairs(read.rows, "icd9cm", instance=read.id, label=read.label)
        return time.perf_counter() - started


def seconds(taken: Taken) -> float:
    """What a child process said of itself; Spark writes before it."""
    return float(taken.output.split()[-1])


def main() -> None:
    """Measure both, or count one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--count", type=Path)
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    if given.count:
        print(count(given.count, given.workers))
        return
    cores = stay_on_cores()
    rounds: dict[int, list[Taken]] = {workers: [] for workers in WORKERS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.parquet"
        write_drawn(records(make_large_release()), given.instances, path)
        for _ in range(given.rounds):
            for workers, taken in rounds.items():
                command = [sys.executable, __file__, "--count", str(path)]
                taken.append(run([*command, "--workers", str(workers)]))
                print(f"{workers}: {seconds(taken[-1]):.1f} s", flush=True)
    walls = {workers: [*map(seconds, taken)] for workers, taken in rounds.items()}
    ratios = [one / two for one, two in zip(*walls.values(), strict=True)]
    result: dict[str, Any] = {
        "surroundings": surroundings(cores),
        "instances": given.instances,
        "wall": walls,
        "wall_median": {workers: statistics.median(wall) for workers, wall in walls.items()},
        "ratio": {"median": statistics.median(ratios), "low": min(ratios), "high": max(ratios)},
    }
    print(result["wall_median"], result["ratio"])
    print(keep("cluster", result))


if __name__ == "__main__":
    main()
