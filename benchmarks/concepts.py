"""Run the tests of concepts on the paper's world, and time them; writes docs/concepts_benchmark.md.

``python benchmarks/concepts.py [--full] [--timing] [--out FILE]``. The small size takes under four
minutes on two cores. ``--full`` has the paper's numbers of images and five networks of each kind; a
graphics card is used where there is one. ``--timing`` times 50,000 x 768 representations in a
process of its own, and writes no page.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.concepts.measure import measure_concepts
from audit.concepts.representations import Representations
from benchmarks.concept_encoders import FULL, SMALL, Coloured, Encoder, Size, coloured, encoders
from benchmarks.concept_statements import (
    IDENTITIES,
    PRETRAINED,
    STATEMENTS,
    by_correlation,
    over_networks,
)
from benchmarks.measure import keep, run, stay_on_cores, surroundings
from fixtures.concept_world.classes import CLASSES, world_facets
from fixtures.concept_world.networks import NETWORKS
from fixtures.made_up_encoders import symbolic

FULL_SIZE = (
    "The paper's numbers of images and networks (`--full`) were not run: 50 networks "
    "learn 20 times over from 18,000 images of 64 x 64 pixels, once of which takes the "
    "CNN 64 s of processor time and the ResNet 75 s; of each of the ten that learned "
    "without colours 18,000 other images are judged, where one of five splits takes 64 s "
    "and 48 s. By this measurement of one seed all of it takes 20 hours of processor "
    "time, ten hours on two cores; a graphics card shortens the training."
)
"""How long the full size takes, for the page of the small one."""
PAGE = Path(__file__).parents[1] / "docs" / "concepts_benchmark.md"
TIMED_INSTANCES, TIMED_FEATURES, TIMED_SEEDS = 50_000, 768, 5
WALL_LIMIT, PEAK_LIMIT_MB = 360.0, 4_000.0
"""Goals of the timing."""


def main() -> None:
    """Train, measure and write the page; or time."""
    parser = argparse.ArgumentParser(description="Tests of concepts on the paper's world.")
    parser.add_argument("--full", action="store_true", help="the paper's numbers of images")
    parser.add_argument("--timing", action="store_true", help="time a large input instead")
    parser.add_argument("--once", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--instances", type=int, default=TIMED_INSTANCES, help="of the timing")
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(measured_once(options.once)))
    elif options.timing:
        _time(options.instances)
    else:
        size = FULL if options.full else SMALL
        started = time.perf_counter()
        text = page(size, list(encoders(size, _show)), list(coloured(size, _show)))
        options.out.write_text(text, "utf-8")
        print(f"{time.perf_counter() - started:.0f} s; {options.out}")


def page(size: Size, trained: Sequence[Encoder], colours: Sequence[Coloured]) -> str:
    """The page, from what was measured."""
    return "\n".join(_page(size, trained, colours)) + "\n"


def _page(size: Size, trained: Sequence[Encoder], colours: Sequence[Coloured]) -> Iterator[str]:
    yield "# Concepts: the paper's world\n"
    yield (
        "What *Unit Testing for Concepts in Neural Networks* says of its encoders, and what"
        " `audit concepts` finds of the two kinds that learned from its images alone: the small"
        " CNN, and a small ResNet in place of the paper's large one. Written by `python"
        " benchmarks/concepts.py`; the world is that of `fixtures/concept_world`."
        f" Here each network learned from {size.per_class:,} images of each class, of"
        f" {size.side} x {size.side} pixels, {size.epochs} times over; it is judged on"
        f" {18 * size.sets:,} other images in {size.sets:,} sets of minimal pairs. Networks of each"
        f" kind: {size.networks}, where several give the mean and the range; splits of the tests:"
        f" {size.splits}. Networks trained on another machine differ in the second digit.\n"
    )
    if size != FULL:
        yield f"{FULL_SIZE}\n"
    yield "## Statements\n"
    rows = []
    for statement in STATEMENTS:
        for kind in NETWORKS:
            own = [one for one in trained if one.kind == kind]
            rows.append((statement.section, statement.says, kind, *over_networks(statement, own)))
    yield from _table(("section", "the paper", "network", "here", "holds for"), rows)
    yield (
        "\nWhether a statement holds is decided in `benchmarks/concept_statements.py`, by limits"
        " that the paper does not state. Mutual information of few instances is too high, also"
        " between guesses."
    )
    yield "\n## Colours\n"
    yield (
        "Figure 3: the more often a colour tells the class in training, the fewer minimal pairs"
        " with other colours are named rightly. The paper says that encoders from scratch do worse"
        " here than pretrained ones, and prints no number of theirs.\n"
    )
    yield from _table(("network", "colour of its class", "right"), by_correlation(colours))
    yield "\n## Numbers that give each other\n"
    yield from _table(
        ("identity", "holds"), [(text, "yes" if holds else "no") for text, holds in IDENTITIES]
    )
    yield "\n## Statements about pretrained encoders\n"
    yield (
        "These need weights that this project does not ship, and are not tested here; `audit"
        " concepts` runs on representations of any such model.\n"
    )
    yield from _table(("section", "the paper"), PRETRAINED)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _show(step: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
    if done == 0:
        print(step, file=sys.stderr, flush=True)


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
