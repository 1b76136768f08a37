"""Time ``audit run`` on a release of the size of MIMIC-III, beside peers on the same data.

``python benchmarks/run_audit.py [--rounds N] [--instances N]``. The product reads, counts, checks
and writes HTML and tables; the peers only read and count.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from large_release import (
    INSTANCES,
    first_instances,
    make_large_release,
    size_of,
    write_ancestors,
)
from measure import Taken, keep, run, stay_on_cores, summary, surroundings
from start_up import AUDIT, measure_start_up, show_start_up

PEERS = str(Path(__file__).with_name("peers.py"))
WALL_LIMIT, PEAK_LIMIT_MB = 20.0, 1_500.0
"""Seconds and megabytes that an audit of the release may take on two cores."""
PART = 20
"""The loop over sets gets one in so many instances, and its time is multiplied by that."""


def main() -> None:
    """Make the release, run everything in turns, print and keep the numbers."""
    options = _options()
    cores = stay_on_cores()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = _prepare(folder, options.instances)
        print("release:", ", ".join(f"{key} {value:,}" for key, value in size.items()))
        rounds = _in_turns(_commands(folder), options.rounds)
        counts = _counts(folder, rounds)
    contenders = {name: summary(taken) for name, taken in rounds.items()}
    _scale(contenders["sets"])
    _show(contenders)
    start_up = measure_start_up()
    show_start_up(start_up)
    result = {
        "surroundings": surroundings(cores),
        "release": size,
        "limits": {"wall": WALL_LIMIT, "peak_mb": PEAK_LIMIT_MB},
        "contenders": contenders,
        "counts": counts,
        "start_up": start_up,
    }
    print(keep("run_audit", result))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time `audit run` beside peers.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--instances", type=int, default=INSTANCES)
    return parser.parse_args()


def _prepare(folder: Path, instances: int) -> dict[str, Any]:
    release = make_large_release(instances)
    release.write_mimic3(folder / "release")
    first_instances(release, instances // PART).write_mimic3(folder / "part")
    write_ancestors(release, folder / "ancestors.json")
    return size_of(release)


def _commands(folder: Path) -> dict[str, list[str]]:
    release, ancestors = str(folder / "release"), str(folder / "ancestors.json")
    peer = [sys.executable, PEERS]
    run_to = ["--out", str(folder / "run"), "--overwrite", "--no-pdf"]
    return {
        "audit": [AUDIT, "run", release, "--hierarchy", "icd9cm", *run_to],
        "scipy": [*peer, "scipy", release, ancestors],
        "sets": [*peer, "sets", str(folder / "part"), ancestors],
    }


def _in_turns(commands: dict[str, list[str]], rounds: int) -> dict[str, list[Taken]]:
    taken: dict[str, list[Taken]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(run(command))
    return taken


def _counts(folder: Path, rounds: dict[str, list[Taken]]) -> dict[str, dict[str, int]]:
    """What the peers counted; ends the benchmark where they disagree on the part both can do."""
    counts: dict[str, dict[str, int]] = {
        name: json.loads(rounds[name][0].output) for name in ("scipy", "sets")
    }
    part, ancestors = str(folder / "part"), str(folder / "ancestors.json")
    if json.loads(run([sys.executable, PEERS, "scipy", part, ancestors]).output) != counts["sets"]:
        sys.exit("the peers do not count the same")
    return counts


def _scale(sets: dict[str, float]) -> None:
    for key in ("wall_median", "wall_least", "cpu_median"):
        sets[key] *= PART
    sets["scaled_by"] = PART


def _show(contenders: dict[str, dict[str, float]]) -> None:
    print("\n".join(_table(contenders)))
    audit = contenders["audit"]
    kept = audit["wall_median"] < WALL_LIMIT and audit["peak_mb"] < PEAK_LIMIT_MB
    print(
        f"limits of {WALL_LIMIT:g} s and {PEAK_LIMIT_MB:g} MB: {'kept' if kept else 'NOT kept'}; "
        f"sets ran on one in {PART} instances, its times are multiplied by {PART}, its peak is not"
    )


def _table(contenders: dict[str, dict[str, float]]) -> Iterator[str]:
    yield f"{'':8}{'wall s':>10}{'least s':>10}{'cpu s':>10}{'peak MB':>10}{'audit is':>10}"
    audit = contenders["audit"]["wall_median"]
    for name, row in contenders.items():
        numbers = (row["wall_median"], row["wall_least"], row["cpu_median"], row["peak_mb"])
        ratio = audit / row["wall_median"]
        yield f"{name:8}" + "".join(f"{number:10.2f}" for number in numbers) + f"{ratio:9.2f}x"


if __name__ == "__main__":
    main()
