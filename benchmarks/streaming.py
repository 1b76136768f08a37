"""Counting pairs of releases larger than memory: time, growth and peak memory by size.

``python benchmarks/streaming.py [--instances N ...]`` draws releases of the usage of the large
release with replacement, writes each as Parquet, and counts it in a child process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from large_release import SEED, make_large_release
from measure import keep, run, stay_on_cores, surroundings

from audit.counting.file import count_pairs
from audit.hierarchies.reading import load_hierarchy

SIZES = (500_000, 1_000_000, 2_000_000, 10_000_000)
PER_GROUP = 100_000
"""Instances a row group."""


def records() -> list[list[str]]:
    """Labels of each record of the large release."""
    rows = make_large_release().rows.drop_nulls("label")
    return rows.group_by("instance", maintain_order=True).agg("label")["label"].to_list()


def drawn(records: Sequence[list[str]], instances: int) -> Iterator[pa.Table]:
    """Tables ``instance, label`` of records drawn with replacement, ids ascending."""
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


def write(tables: Iterator[pa.Table], path: Path) -> None:
    """One row group a table."""
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def measured(path: Path, instances: int) -> dict[str, Any]:
    """What counting a file in a child process took."""
    taken = run([sys.executable, __file__, "--count", str(path)])
    return {
        "instances": instances,
        "wall": taken.wall,
        "cpu": taken.cpu,
        "peak_mb": taken.peak / 1e6,
        "pairs": int(taken.output),
    }


def exponent(rounds: Sequence[dict[str, Any]], what: str) -> float:
    """Slope of the logarithm of a time on that of the instances."""
    size, value = ([row[name] for row in rounds] for name in ("instances", what))
    return float(np.polyfit(np.log(size), np.log(value), 1)[0])


def main() -> None:
    """Measure each size, or count one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, nargs="*", default=SIZES)
    parser.add_argument("--count", type=Path)
    given = parser.parse_args()
    if given.count:
        print(len(count_pairs(given.count, load_hierarchy("icd9cm")).pairs.a))
        return
    cores, release = stay_on_cores(), records()
    rounds: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for instances in given.instances:
            path = Path(folder) / f"{instances}.parquet"
            write(drawn(release, instances), path)
            rounds.append(measured(path, instances))
            path.unlink()
            print({name: round(value, 1) for name, value in rounds[-1].items()}, flush=True)
    result: dict[str, Any] = {"surroundings": surroundings(cores), "rounds": rounds}
    if len(rounds) > 1:
        result["exponent"] = {what: exponent(rounds, what) for what in ("wall", "cpu")}
        print(result["exponent"])
    print(keep("streaming", result))


if __name__ == "__main__":
    main()
