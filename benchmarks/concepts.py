"""Time the tests of concepts on 50,000 x 768 representations, in a process of their own.

``python benchmarks/concepts.py``; `audit concepts --world paper` runs them on the paper's world.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
import polars as pl

from audit.concepts.measure import measure_concepts
from audit.concepts.representations import Representations
from audit.concepts.world.classes import CLASSES, world_facets
from benchmarks.measure import keep, run, stay_on_cores, surroundings
from fixtures.made_up_encoders import symbolic

TIMED_INSTANCES, TIMED_FEATURES, TIMED_SEEDS = 50_000, 768, 5
WALL_LIMIT, PEAK_LIMIT_MB = 360.0, 4_000.0
"""Goals of the timing."""


def main() -> None:
    """Time."""
    parser = argparse.ArgumentParser(description="Time tests of concepts on many instances.")
    parser.add_argument("--once", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--instances", type=int, default=TIMED_INSTANCES)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(measured_once(options.once)))
    else:
        _time(options.instances)


def large(instances: int, seed: int = 0) -> Representations:
    """Many instances of the symbols, turned at random among many features with more noise."""
    per_class = -(-instances // len(CLASSES))
    plain = symbolic(per_class, seed, noise=0.3)
    draw = np.random.default_rng(seed)
    rows = np.sort(draw.permutation(len(plain.instances))[:instances])
    turn = draw.standard_normal((plain.layers["last"].shape[1], TIMED_FEATURES), np.float32)
    noise = draw.standard_normal((instances, TIMED_FEATURES), np.float32)
    vectors = plain.layers["last"][rows].astype(np.float32) @ turn + noise
    return Representations(
        {"last": vectors}, plain.instances[rows].with_columns(pair=pl.lit(None, pl.String))
    )


def measured_once(instances: int) -> dict[str, Any]:
    """Seconds that all tests of many instances take."""
    representations = large(instances)
    started = time.perf_counter()
    measured = measure_concepts(representations, world_facets(), seeds=TIMED_SEEDS)
    return {"seconds": time.perf_counter() - started, "tests": measured.tests.height}


def _time(instances: int) -> None:
    cores = stay_on_cores()
    taken = run([sys.executable, __file__, "--once", str(instances)])
    result = json.loads(taken.output.splitlines()[-1])
    peak = taken.peak / 1e6
    met = result["seconds"] <= WALL_LIMIT and peak <= PEAK_LIMIT_MB
    print(
        f"{instances:,} x {TIMED_FEATURES} representations, {len(CLASSES)} classes, 3 dimensions,"
        f" {TIMED_SEEDS} seeds: {result['seconds']:.0f} s (processor {taken.cpu:.0f} s), peak"
        f" {peak:,.0f} MB; goal of {WALL_LIMIT:.0f} s and {PEAK_LIMIT_MB:,.0f} MB:"
        f" {'met' if met else 'missed'}"
    )
    print(keep("concepts", {"surroundings": surroundings(cores), "peak_mb": peak, **result}))


if __name__ == "__main__":
    main()
