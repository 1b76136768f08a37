"""Give the tests of a room mutants of its modules, and tell which of them no test notices.

    python scripts/mutate.py --room disclosure [--mutants 300] [--seed 0]

Each mutant is one small fault (see `fixtures/mutants.py`) in a copy of the tree, where the room's
tests run until the first that fails. A mutant that takes three times as long as the room without
one counts as noticed. Exit status 1: fewer than 90 of 100 were noticed; 2: the tests fail as they
are.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from audit.engine.statistics.intervals import wilson
from fixtures.mutants import mutant, mutants

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Room:
    """Modules and their tests, the fast ones first; each a pattern below the root."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "disclosure": Room(
        ("audit/results/disclosure/*.py", "audit/results/published_cells.py",
         "audit/results/shared_findings.py", "audit/results/other_views.py"),
        ("tests/unit/results/test_protection.py", "tests/unit/results/test_disclosure.py",
         "tests/unit/results/test_witness.py", "tests/unit/results/test_earlier.py",
         "tests/unit/results/test_other_views.py", "tests/property/test_reader_laws.py",
         "tests/property/test_release_laws.py", "tests/property/test_disclosure_laws.py"),
    ),
    "seal": Room(
        ("audit/runs/manifest.py", "audit/runs/seal_key.py", "audit/runs/sealed_run.py",
         "audit/runs/verify.py", "audit/runs/agreement.py", "audit/base/disk.py"),
        ("tests/unit/base/test_disk.py", "tests/unit/runs/test_verify.py",
         "tests/unit/runs/test_agreement.py", "tests/unit/runs/test_folder.py",
         "tests/e2e/test_cli_seal_key.py", "tests/e2e/test_cli_verify.py"),
    ),
    "readers": Room(
        ("audit/base/files.py", "audit/data/columns.py", "audit/data/label_formats/*.py",
         "audit/data/prediction_formats/*.py", "audit/data/mapping.py"),
        ("tests/unit/data", "tests/contract/test_loaders.py",
         "tests/contract/test_prediction_loaders.py", "tests/unit/test_fuzz.py"),
    ),
    "scan": Room(
        ("audit/engine/pairs/scan.py", "audit/measure/pair_excess.py",
         "audit/measure/pair_verdicts.py", "audit/measure/reported_pairs.py",
         "audit/engine/statistics/expectation.py", "audit/engine/statistics/fdr.py"),
        ("tests/unit/engine/test_fdr.py", "tests/unit/engine/test_expectation.py",
         "tests/unit/measure/test_pair_excess.py", "tests/property/test_pair_scan_laws.py"),
    ),
}  # fmt: skip


def main() -> int:
    """Try mutants of a room, and tell which survive and how many do not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--room", choices=sorted(ROOMS), required=True)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        tree, room = _copied(Path(name) / "tree"), ROOMS[asked.room]
        started = time.monotonic()
        if _noticed(tree, room.tests, None):
            print("the tests of the room fail without a mutant")
            return 2
        seconds = 3 * (time.monotonic() - started) + 30
        every = [
            (path, number)
            for pattern in room.modules
            for path in sorted(tree.glob(pattern))
            for number in range(len(mutants(path.read_text("utf-8"))))
        ]
        some = random.Random(asked.seed).sample(every, min(asked.mutants, len(every)))
        killed = sum(_killed(tree, room.tests, *one, seconds) for one in some)
    low, high = wilson(killed, len(some))
    print(
        f"{asked.room}: {killed} of {len(some)} mutants noticed ({killed / len(some):.0%}, "
        f"95% interval {low:.0%} to {high:.0%}), drawn from {len(every):,}"
    )
    return int(killed < 0.9 * len(some))


def _copied(tree: Path) -> Path:
    left_out = shutil.ignore_patterns(".*", "__pycache__", "*.pyc", "audit-run")
    shutil.copytree(ROOT, tree, ignore=left_out)
    return tree


def _killed(tree: Path, tests: Sequence[str], module: Path, number: int, seconds: float) -> bool:
    """Whether a test notices a mutant; the module is then as it was."""
    source = module.read_text("utf-8")
    faulty = mutant(source, number)
    module.write_text(faulty.source, "utf-8")
    try:
        noticed = _noticed(tree, tests, seconds)
    finally:
        module.write_text(source, "utf-8")
    if not noticed:
        print(f"{module.relative_to(tree)}:{faulty.line}: {faulty.fault}", flush=True)
    return noticed


def _noticed(tree: Path, tests: Sequence[str], seconds: float | None) -> bool:
    """Whether a test fails, or no answer comes in time."""
    options = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "--hypothesis-profile=few"]
    own = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=tree,
            env={**os.environ, **own},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return ended.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
