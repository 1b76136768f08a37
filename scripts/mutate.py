"""Give the tests of a room mutants of its modules, and tell which of them no test notices.

    python scripts/mutate.py --room disclosure [--mutants 300] [--seed 0]

Each mutant is one small fault (see `fixtures/mutants.py`). Of the room's tests those that run its
line, as was measured once and kept in `.mutants/`, are tried on it, quick ones first, until one
fails; one that takes far longer than without the fault has noticed it too. Exit status 1: fewer
than 90 of 100 were noticed; 2: the tests fail as they are.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures.executed_lines import ExecutedLines
from fixtures.mutants import Mutant, mutant, mutants
from fixtures.warm_tests import OPTIONS, Chosen, can_exchange, passes

ROOT = Path(__file__).parents[1]
OWN = ("audit", "reports", "fixtures", "tests", "conftest")
"""Packages of this repository."""
PRODUCT = ("audit", "reports")
"""Those whose import starts no threads of Polars, which a fork would not have."""


Tried = tuple[Path, Mutant, Mapping[str, float], bool]
"""A mutant of a module, the seconds of its tests, and whether functions there get its code."""


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
         "tests/unit/results/test_other_views.py", "tests/unit/results/test_coverage.py",
         "tests/property/test_views_of_one_release.py", "tests/property/test_reader_laws.py",
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


@dataclass(frozen=True)
class Runs:
    """What a room's tests run without a fault.

    Args:
        seconds: How long each test takes.
        lines: Lines of the room's modules that each test runs, by paths below the root.
        outside: Those that run as modules are imported.
        modules: Names of all modules that are imported then.
        failed: Tests that fail.
    """

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[str, list[int]]]
    outside: Mapping[str, list[int]]
    modules: list[str]
    failed: list[str]

    def imports(self, one: Mutant, path: str) -> bool:
        """Whether an import runs what was changed."""
        return bool(_touched(one, self.outside.get(path, [])))

    def tests_of(self, one: Mutant, path: str) -> dict[str, float]:
        """The tests that run what was changed: quick modules first, and in each quick tests."""
        of_import = not one.called or self.imports(one, path)
        some = [
            test
            for test, lines in self.lines.items()
            if path in lines and (of_import or _touched(one, lines[path]))
        ]
        files: dict[str, float] = {}
        for test in some:
            files[_file(test)] = files.get(_file(test), 0) + self.seconds[test]
        some.sort(key=lambda test: (files[_file(test)], _file(test), self.seconds[test]))
        return {test: self.seconds[test] for test in some}


def _file(test: str) -> str:
    return test.split("::")[0]


def _touched(one: Mutant, lines: Iterable[int]) -> set[int]:
    return set(range(one.line, one.last + 1)).intersection(lines)


def main() -> int:
    """Try mutants of a room, and tell which survive and how many do not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--room", choices=sorted(ROOMS), required=True)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    os.chdir(ROOT)
    room = ROOMS[asked.room]
    paths = [path for pattern in room.modules for path in sorted(ROOT.glob(pattern))]
    runs = _measured(asked.room, room, paths)
    if runs.failed:
        print("tests of the room fail without a mutant:", *runs.failed, sep="\n")
        return 2
    every = [(path, n) for path in paths for n in range(len(mutants(path.read_text("utf-8"))))]
    drawn = random.Random(asked.seed).sample(every, min(asked.mutants, len(every)))
    some = [(path, mutant(path.read_text("utf-8"), number)) for path, number in drawn]
    survived = _survivors(some, runs)
    killed = len(some) - survived
    from audit.engine.statistics.intervals import wilson  # mutants are imported in forks of this

    low, high = wilson(killed, len(some))
    print(
        f"{asked.room}: {killed} of {len(some)} mutants noticed ({killed / len(some):.0%}, "
        f"95% interval {low:.0%} to {high:.0%}), drawn from {len(every):,}"
    )
    return int(killed < 0.9 * len(some))


def _measured(name: str, room: Room, paths: list[Path]) -> Runs:
    """What the tests run, from `.mutants/` where no source has changed since."""
    digest = hashlib.sha256(repr(room).encode())
    for folder in ("audit", "reports", "fixtures", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    kept = ROOT / ".mutants" / f"{name}-{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        _in_child(lambda: _measure(room, paths, kept))
    return Runs(**json.loads(kept.read_text("utf-8")))


def _measure(room: Room, paths: list[Path], kept: Path) -> None:
    watch = ExecutedLines(paths)
    files = [str(path) for pattern in room.tests for path in sorted(ROOT.glob(pattern))]
    pytest.main([*OPTIONS, *files], plugins=[watch, Chosen({})])
    kept.write_text(
        json.dumps(
            {
                "seconds": watch.seconds,
                "lines": {test: _named(lines) for test, lines in watch.lines.items()},
                "outside": _named(watch.outside),
                "modules": [name for name in sys.modules if not name.startswith("tests")],
                "failed": watch.failed,
            }
        ),
        "utf-8",
    )


def _named(lines: Mapping[str, set[int]]) -> dict[str, list[int]]:
    return {str(Path(path).relative_to(ROOT)): sorted(some) for path, some in lines.items()}


def _survivors(some: list[tuple[Path, Mutant]], runs: Runs) -> int:
    """Try mutants and tell which survive; how many do.

    This process imports what belongs to others alone, so that a child may find a mutant as it
    imports the product; a child that has imported that too tries those within functions.
    """
    _import(name for name in runs.modules if name.split(".")[0] not in OWN)
    in_functions: list[Tried] = []
    others: list[Tried] = []
    for path, one in some:
        name = str(path.relative_to(ROOT))
        warm = can_exchange(one, path) and not runs.imports(one, name)
        (in_functions if warm else others).append((path, one, runs.tests_of(one, name), warm))
    product = [name for name in runs.modules if name.split(".")[0] in PRODUCT]

    def of_functions() -> int:
        _import(product)
        return _how_many_survive(in_functions)

    return int(_in_child(of_functions)) + _how_many_survive(others)


def _how_many_survive(some: list[Tried]) -> int:
    count = 0
    for tried, each in enumerate(some, start=1):
        count += _survives(*each)
        print(f"{tried} tried, {count} survived", end="\r", file=sys.stderr, flush=True)
    return count


def _import(names: Iterable[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with suppress(Exception):  # what its own package makes up as it is imported
                importlib.import_module(name)


def _survives(path: Path, one: Mutant, tests: Mapping[str, float], warm: bool) -> bool:
    survived = not tests or passes(one, path, tests, warm)
    if survived:
        place = f"{path.relative_to(ROOT)}:{one.line}"
        print(f"{place}: {one.fault} ({len(tests)} tests run it)", flush=True)
    return survived


def _in_child(do: Callable[[], Any]) -> Any:
    """What a function gives, in JSON, in a fork of this process, which stays as it is."""
    sys.stdout.flush()
    answer, told = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.write(told, json.dumps(do()).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.close(told)
    with os.fdopen(answer) as stream:
        given = stream.read()
    _, ended = os.waitpid(child, 0)
    if ended:
        raise RuntimeError("a child of this process failed")
    return json.loads(given)


if __name__ == "__main__":
    sys.exit(main())
