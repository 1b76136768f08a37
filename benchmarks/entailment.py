"""Time `audit entailment` on 221,000 tuples, whole and by part, beside one pass over the file.

``python benchmarks/entailment.py [--rounds N] [--tuples N...]``. The tuples are those of the
made-up world of `fixtures/entailment_world`, with five votes each of twenty annotators; beside them
stand scores of two models for all tuples, and a concept that one model generated for each instance
of the test set. Every round runs in processes of its own: one is ``audit entailment FILE
--predictions P --generations G --no-pdf``, the whole command; the other measures the parts one
after the other. The pass is a loop over the rows of the same file with Python's own reader, which
counts tuples by relation, split and label.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from audit.entailment.detection.measure import measure_detection
from audit.entailment.detection.predictions import read_validity_predictions
from audit.entailment.generation.generations import read_generations
from audit.entailment.generation.measure import measure_generation
from audit.entailment.graph.measure import measure_graph
from audit.entailment.measure import measure_quality
from audit.entailment.reading.reading import read_entailment
from benchmarks.measure import keep, run, stay_on_cores, summary, surroundings
from fixtures.entailment_world.files import wide
from fixtures.entailment_world.lexicon import made_up
from fixtures.entailment_world.world import clean_world

TUPLES = 221_000
WIDTH = 131
"""Width of the world: 17,161 heads and 237,372 tuples, of which the first heads are taken."""
WALL_LIMIT, PEAK_LIMIT_MB = 60.0, 2_000.0
"""Goals of the whole command."""
COMMAND = "from audit.cli.app import app; app()"


def main() -> None:
    """Run all sizes, print and keep the numbers."""
    parser = argparse.ArgumentParser(description="Time the audit of an entailment graph.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tuples", type=int, nargs="+", default=[TUPLES])
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--once", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        print(write(int(options.write[0]), Path(options.write[1])))
    elif options.once:
        print(json.dumps(parts(options.once)))
    else:
        _time(options.tuples, options.rounds)


def _time(sizes: list[int], rounds: int) -> None:
    cores = stay_on_cores()
    kept: dict[int, Any] = {}
    for n in sizes:
        with TemporaryDirectory() as name:
            folder = Path(name)
            written = run([sys.executable, __file__, "--write", str(n), name])
            made = int(written.output.splitlines()[-1])
            whole = [run(_command(folder)) for _ in range(rounds)]
            taken = [run([sys.executable, __file__, "--once", name]) for _ in range(rounds)]
        lines = [json.loads(one.output.splitlines()[-1]) for one in taken]
        kept[made] = {
            "whole": summary(whole),
            "parts": {part: statistics.median(line[part] for line in lines) for part in lines[0]},
        }
        _show(made, kept[made])
    print(keep("entailment", {"surroundings": surroundings(cores), "sizes": kept}))


def _command(folder: Path) -> list[str]:
    beside = ["--predictions", folder / "predictions.csv", "--generations", folder / "texts.csv"]
    out = ["--no-pdf", "--overwrite", "--out", folder / "run"]
    files = [folder / "tuples.csv", "--column", "votes=worker_*", *beside, *out]
    return [sys.executable, "-c", COMMAND, "entailment", *map(str, files)]


def write(n: int, folder: Path, seed: int = 0) -> int:
    """Write about so many tuples, scores of two models and generated concepts; returns how many."""
    whole = clean_world(WIDTH, lexicon=made_up(WIDTH))
    heads = min(math.ceil(n / whole.tuples.height * WIDTH**2), WIDTH**2)
    world = clean_world(WIDTH, lexicon=made_up(WIDTH), heads=heads)
    wide(world).write_csv(folder / "tuples.csv")
    draw, tuples = np.random.default_rng(seed), world.tuples
    signal = 0.3 + 0.4 * tuples["valid"].to_numpy()
    scored = [
        tuples.select("id", model=pl.lit(name)).with_columns(
            score=pl.Series(np.clip(signal + draw.normal(0, noise, len(signal)), 0, 1))
        )
        for name, noise in (("large", 0.3), ("small", 0.6))
    ]
    pl.concat(scored).write_csv(folder / "predictions.csv")
    test = tuples.filter("valid", split="test")
    named = test.unique(["head", "relation", "instance"], maintain_order=True)
    named.select("id", model=pl.lit("large"), text="concept").write_csv(folder / "texts.csv")
    return tuples.height


def parts(folder: Path) -> dict[str, float]:
    """Seconds of each part, and of one pass over the file of tuples."""
    seconds: dict[str, float] = {}

    def timed(part: str, done: Any) -> Any:
        started = time.perf_counter()
        result = done()
        seconds[part] = time.perf_counter() - started
        return result

    votes = {"votes": "worker_*"}
    dataset = timed("reading", lambda: read_entailment(folder / "tuples.csv", columns=votes))
    timed("quality", lambda: measure_quality(dataset))
    timed("graph", lambda: measure_graph(dataset))
    given = timed(
        "reading predictions", lambda: read_validity_predictions([folder / "predictions.csv"])
    )
    timed("detection", lambda: measure_detection(dataset, given))
    texts = timed("reading texts", lambda: read_generations([folder / "texts.csv"]))
    timed("generation", lambda: measure_generation(dataset, texts))
    timed("one pass", lambda: one_pass(folder / "tuples.csv"))
    return seconds


def one_pass(path: Path) -> Counter[tuple[str, str, str]]:
    """Tuples by relation, split and label, counted in a loop over rows."""
    with path.open(newline="", encoding="utf-8") as stream:
        return Counter(
            (row["relation"], row["split"], row["label"]) for row in csv.DictReader(stream)
        )


def _show(n: int, taken: dict[str, Any]) -> None:
    whole, seconds = taken["whole"], taken["parts"]
    met = whole["wall_median"] <= WALL_LIMIT and whole["peak_mb"] <= PEAK_LIMIT_MB
    print(
        f"{n:,} tuples: {whole['wall_median']:.1f} s (processor {whole['cpu_median']:.1f} s), peak"
        f" {whole['peak_mb']:,.0f} MB, {whole['wall_median'] / seconds['one pass']:.1f} times one"
        f" pass over the file; goals of {WALL_LIMIT:.0f} s and {PEAK_LIMIT_MB:,.0f} MB:"
        f" {'met' if met else 'missed'}"
    )
    print("  " + ", ".join(f"{part} {second:.1f} s" for part, second in seconds.items()))


if __name__ == "__main__":
    main()
