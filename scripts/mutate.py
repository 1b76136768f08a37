"""Give the tests of a room mutants of its modules, and tell which of them no test notices.

    python scripts/mutate.py --room disclosure [--mutants 300] [--seed 0]

Each mutant is one small fault (see `fixtures/mutants.py`). Of the room's tests those that run its
line, as was measured once, are tried on it until one fails: those first that noticed a fault near
it, then quick ones. One that takes far longer than without the fault has noticed it too. What was
measured and what came out is kept in `.mutants/`, so that a run that was stopped goes on where it
was. A fault is tried again only when its module or the test that noticed it has changed, or when no
test noticed it and any source has. Exit status 1: fewer than 90 of 100 were noticed; 2: the tests
fail as they are.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import os
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures.measured_tests import Runs, measure, read
from fixtures.mutants import Mutant, mutant, mutants
from fixtures.warm_tests import Outcome, can_exchange, outcome

ROOT = Path(__file__).parents[1]
OWN = ("audit", "reports", "fixtures", "tests", "conftest")
"""Packages of this repository."""
PRODUCT = ("audit",)
"""Those whose import starts no threads of Polars, which a fork would not have."""
KEPT = ROOT / ".mutants"


@dataclass(frozen=True)
class Room:
    """Modules and their tests, the fast ones first; each a pattern below the root."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "disclosure": Room(
        ("audit/disclosure/*.py", "audit/results/published_cells.py",
         "audit/results/shared_findings.py"),
        ("tests/unit/disclosure", "tests/test_doctests.py", "tests/unit/results",
         "tests/unit/runs/test_shared_view.py", "tests/unit/runs/test_chains_of_releases.py",
         "tests/property/test_protection_laws.py", "tests/property/test_views_of_one_release.py",
         "tests/property/test_reader_laws.py", "tests/property/test_label_sums.py",
         "tests/property/test_release_laws.py", "tests/property/test_disclosure_laws.py",
         "tests/property/test_model_reader_laws.py",
         "tests/property/test_model_question_laws.py",
         "tests/property/test_suppression_laws.py", "tests/contract/test_told_numbers.py"),
    ),
    "seal": Room(
        ("audit/runs/manifest.py", "audit/runs/sealed_run.py",
         "audit/runs/verify.py", "audit/runs/consistency.py", "audit/base/disk.py"),
        ("tests/unit/base/test_disk.py", "tests/unit/runs/test_verify.py",
         "tests/unit/runs/test_consistency.py", "tests/unit/runs/test_folder.py",
         "tests/unit/runs/test_rendered.py", "tests/unit/runs/test_damaged_tables.py",
         "tests/unit/runs/test_plugins.py",
         "tests/e2e/test_cli_seal_key.py", "tests/e2e/test_cli_verify.py"),
    ),
    "readers": Room(
        ("audit/base/files.py", "audit/data/records.py", "audit/data/json_lines.py",
         "audit/data/arrays.py", "audit/data/class_names.py",
         "audit/data/label_format.py", "audit/data/label_formats/*.py",
         "audit/data/prediction_format.py", "audit/data/prediction_formats/*.py",
         "audit/data/scores.py", "audit/data/mapping.py"),
        ("tests/unit/base/test_files.py", "tests/unit/base/test_limits.py", "tests/unit/data",
         "tests/contract/test_loaders.py", "tests/contract/test_prediction_loaders.py",
         "tests/contract/test_sources.py", "tests/contract/test_unnamed_columns.py",
         "tests/unit/test_fuzz.py"),
    ),
    "scan": Room(
        ("audit/engine/pairs/scan.py", "audit/measure/pair_excess.py",
         "audit/measure/reported_pairs.py",
         "audit/engine/statistics/expectation.py", "audit/engine/statistics/fdr.py"),
        ("tests/unit/engine/statistics/test_fdr.py",
         "tests/unit/engine/statistics/test_expectation.py",
         "tests/unit/engine/pairs/test_scan.py", "tests/unit/engine/pairs/test_meets.py",
         "tests/unit/measure", "tests/test_doctests.py", "tests/property/test_pair_scan_laws.py"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One mutant of those that were drawn: of a module below the root, by its place among all."""

    path: str
    number: int
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.path}:{self.mutant.line}: {self.mutant.fault}"


def main() -> int:
    """Try mutants of a room, and tell which survive and how many do not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--room", choices=sorted(ROOMS), required=True)
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    os.chdir(ROOT)
    os.environ.pop("AUDIT_DATA", None)  # which tests there are is the same for everybody
    room = ROOMS[asked.room]
    runs = _measured(asked.room, room)
    if runs.failed:
        print("tests of the room fail without a mutant:", *runs.failed, sep="\n")
        return 2
    every = [
        (path, number)
        for path in _below(room.modules)
        for number in range(len(mutants(Path(path).read_text("utf-8"))))
    ]
    drawn = random.Random(asked.seed).sample(every, min(asked.mutants, len(every)))
    faults = [Fault(path, n, mutant(Path(path).read_text("utf-8"), n)) for path, n in drawn]
    outcomes = Outcomes(KEPT / f"{asked.room}.jsonl", _digest(_sources(room)))
    _try(faults, runs, outcomes)
    return _tell(asked.room, faults, outcomes, len(every))


def _tell(room: str, faults: list[Fault], outcomes: Outcomes, of: int) -> int:
    told = [(fault, outcomes.of(fault)) for fault in faults]
    for fault, one in sorted(told, key=lambda each: (each[0].path, each[0].mutant.line)):
        if not (one and one.noticed):
            print(fault)
    killed = sum(1 for _, one in told if one and one.noticed)
    late = sum(1 for _, one in told if one and one.late)
    from audit.engine.statistics.intervals import wilson  # mutants are imported in forks of this

    low, high = wilson(killed, len(faults))
    print(
        f"{room}: {killed} of {len(faults)} mutants noticed ({killed / len(faults):.0%}, 95% "
        f"interval {low:.0%} to {high:.0%}), {late} of them by their time, drawn from {of:,}"
    )
    return int(killed < 0.9 * len(faults))


def _below(patterns: Iterable[str]) -> list[str]:
    """Python files that patterns name, in folders too, relative to the root."""
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    files = [
        file for path in found for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
    ]
    return [file.relative_to(ROOT).as_posix() for file in files]


def _digest(paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = Path(path).read_bytes() if Path(path).is_file() else b""
        digest.update(path.encode() + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]


@cache
def _digest_of_test(test: str) -> str:
    """Digest of a test as its file has it now; of nothing where it has none of this name."""
    path, *_, name = test.split("[")[0].split("::")
    tree = ast.parse(Path(path).read_text("utf-8")) if Path(path).exists() else ast.Module([], [])
    named = [one for one in ast.walk(tree) if getattr(one, "name", "") == name]
    return hashlib.sha256("".join(map(ast.unparse, named)).encode()).hexdigest()[:16]


def _sources(room: Room) -> list[str]:
    """All that the outcome of the room's tests depends on, of this repository."""
    return [*_below(("audit", "reports", "fixtures", "tests/conftest.py")), *_below(room.tests)]


def _measured(name: str, room: Room) -> Runs:
    """What the tests run, of files that have changed measured anew."""
    kept, stated = KEPT / f"{name}.json", KEPT / f"{name}.digests.json"
    shared = _digest(
        [*_below(("audit", "reports", "fixtures", "tests/conftest.py")), *room.modules]
    )
    now = {file: f"{shared} {_digest([file])}" for file in _below(room.tests)}
    before = json.loads(stated.read_text("utf-8")) if stated.exists() else {}
    stale = [file for file in now if before.get(file) != now[file]]
    if stale:
        KEPT.mkdir(exist_ok=True)
        if len(stale) == len(now):
            kept.unlink(missing_ok=True)
        modules = [ROOT / path for path in _below(room.modules)]
        _in_child(lambda: measure([ROOT / file for file in stale], modules, ROOT, kept))
        stated.write_text(json.dumps(now), "utf-8")
    return read(kept)


class Outcomes:
    """What came out of mutants, kept in a file of lines.

    Args:
        path: The file.
        sources: Digest of all sources.
    """

    def __init__(self, path: Path, sources: str) -> None:
        self._path = path
        self._sources = sources
        self._kept: dict[tuple[str, int], dict[str, Any]] = {}
        self.read()

    def read(self) -> None:
        """Read what is kept, by other processes too."""
        lines = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        self._kept = {(one["path"], one["number"]): one for one in map(json.loads, lines)}

    def of(self, fault: Fault) -> Outcome | None:
        """What came out of a mutant; None where it has to be tried."""
        one = self._kept.get((fault.path, fault.number))
        if not one or one["holds"] != self._holds(fault.path, Outcome(**one["outcome"])):
            return None
        return Outcome(**one["outcome"])

    def _holds(self, path: str, out: Outcome) -> str:
        """Digest of what, unchanged, gives the same outcome again."""
        return f"{_digest([path])} {_digest_of_test(out.by)}" if out.by else self._sources

    def keep(self, fault: Fault, out: Outcome) -> None:
        """Keep what came out of a mutant."""
        one = {
            "path": fault.path,
            "number": fault.number,
            "line": fault.mutant.line,
            "fault": fault.mutant.fault,
            "outcome": asdict(out),
            "holds": self._holds(fault.path, out),
        }
        self._kept[fault.path, fault.number] = one
        with self._path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(one) + "\n")

    def noticed_in(self, path: str) -> list[tuple[int, str]]:
        """Lines of the faults in a module that a test noticed, and the test."""
        some = [one for (where, _), one in self._kept.items() if where == path]
        return [(one["line"], one["outcome"]["by"]) for one in some if one["outcome"]["by"]]


def _try(faults: list[Fault], runs: Runs, outcomes: Outcomes) -> None:
    """Try the mutants of which nothing is known.

    This process imports what belongs to others alone, so that a child may find a mutant as it
    imports the product; a child that has imported that too tries those within functions.
    """
    untried = [fault for fault in faults if not outcomes.of(fault)]
    if not untried:
        return
    _import(name for name in runs.modules if name.split(".")[0] not in OWN)
    in_functions, others = list[Fault](), list[Fault]()
    for fault in untried:
        warm = can_exchange(fault.mutant, ROOT / fault.path)
        warm = warm and not runs.imports(fault.mutant, fault.path)
        (in_functions if warm else others).append(fault)
    _try_each(others, runs, outcomes, warm=False)

    def of_functions() -> None:
        _import(name for name in runs.modules if name.split(".")[0] in PRODUCT)
        _try_each(in_functions, runs, outcomes, warm=True)

    _in_child(of_functions)
    outcomes.read()


def _try_each(faults: list[Fault], runs: Runs, outcomes: Outcomes, *, warm: bool) -> None:
    for tried, fault in enumerate(faults, start=1):
        one, path = fault.mutant, fault.path
        tests = runs.tests_of(one, path, outcomes.noticed_in(path))
        folders = runs.folders_apart(one, path)
        out = outcome(one, ROOT / path, tests, warm, folders) if tests else Outcome(noticed=False)
        outcomes.keep(fault, out)
        if not out.noticed:
            print(f"{fault} ({len(tests)} tests run it)", flush=True)
        print(f"{tried} of {len(faults)} tried", end="\r", file=sys.stderr, flush=True)


def _import(names: Iterable[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            with suppress(Exception):  # what its own package makes up as it is imported
                importlib.import_module(name)


def _in_child(do: Callable[[], None]) -> None:
    """Call a function in a fork of this process, which stays as it is."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 1
        try:
            do()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    if ended:
        raise RuntimeError("a child of this process failed")


if __name__ == "__main__":
    sys.exit(main())
