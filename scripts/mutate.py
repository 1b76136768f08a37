"""Give tests mutants of the rooms of the product, and tell which of them no test notices.

    python scripts/mutate.py [--rooms readers pairs] [--tests tests/laws tests/cases]

Each mutant is one small fault (see `fixtures/mutants.py`). Of the tests those that run its line, as
was measured once, are tried on it until one fails: those first that noticed a fault near it, then
those named like its module, then quick ones, and none once their time without the fault adds up to
a limit. One that takes far longer than without the fault has noticed it too. What was measured and
what came out is kept in `.mutants/` for each choice of tests, so that a run that was stopped goes
on where it was. A fault is tried again only when its module or the test that noticed it has
changed, or when no test noticed it and any source has. Tests that fail without a fault are told and
left out. Exit status 1: fewer than 90 of 100 were noticed.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import accumulate
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
FIRST = 30
"""Tests that are tried before the files of all others are loaded."""


ROOMS = {
    "readers": ("audit/base/files.py", "audit/data", "audit/hierarchies/formats",
                "audit/hierarchies/icd", "audit/base/dag.py",
                "audit/hierarchies/coding.py", "audit/hierarchies/lint.py",
                "audit/hierarchies/reading.py",
                "audit/hierarchies/titles.py"),
    "pairs": ("audit/counting", "audit/engine", "audit/measure"),
    "checks": ("audit/checks",),
    "runs": ("audit/runs",),
}  # fmt: skip
"""Modules of each room, as patterns below the root."""
LEFT_OUT = (
    # Withdrawn: byte-exact edits, statements of SQL, and logs by which they are taken back.
    "audit/runs/fixes/[ceptw]*.py", "audit/runs/fixes/statements.py",
    # Made of shared views, which get tests with their new rooms.
    "audit/runs/compare/view.py", "audit/runs/history.py", "audit/runs/shared_runs.py",
)  # fmt: skip
"""Modules of the rooms that get no mutants."""


@dataclass(frozen=True)
class Fault:
    """One mutant of those that were drawn: of a module below the root, by its place among all."""

    path: str
    number: int
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.path}:{self.mutant.line}: {self.mutant.fault}"


def main() -> int:
    """Try mutants of the rooms, and tell what noticed each and how many were noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", choices=sorted(ROOMS), nargs="+", default=list(ROOMS))
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="PATH")
    parser.add_argument("--mutants", type=int, default=30, help="of each room")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--limit", type=float, default=150, help="seconds of tests a mutant")
    asked = parser.parse_args()
    os.chdir(ROOT)
    os.environ.pop("AUDIT_DATA", None)  # which tests there are is the same for everybody
    kept = KEPT / "+".join(path.strip("/").replace("/", "_") for path in asked.tests)
    runs = _measured(kept, asked.tests)
    print(*(f"{test} fails without a mutant" for test in runs.failed), sep="\n")
    outcomes = Outcomes(
        kept.with_suffix(".jsonl"), f"{_digest(_sources(asked.tests))} {asked.limit}"
    )
    drawn = {room: _drawn(room, asked.mutants, asked.seed) for room in asked.rooms}
    _try([fault for faults in drawn.values() for fault in faults], runs, outcomes, asked.limit)
    return max(_tell(room, faults, runs, outcomes, asked.limit) for room, faults in drawn.items())


def _drawn(room: str, count: int, seed: int) -> list[Fault]:
    """Some of all mutants of a room."""
    sources = {path: Path(path).read_text("utf-8") for path in _modules(room)}
    every = [(path, n) for path, source in sources.items() for n in range(len(mutants(source)))]
    drawn = random.Random(seed).sample(every, min(count, len(every)))
    return [Fault(path, number, mutant(sources[path], number)) for path, number in drawn]


def _tell(room: str, faults: list[Fault], runs: Runs, outcomes: Outcomes, limit: float) -> int:
    told = [(fault, outcomes.of(fault) or Outcome(noticed=False)) for fault in faults]
    for fault, one in sorted(told, key=lambda each: (each[0].path, each[0].mutant.line)):
        print(f"{fault}: {_told(one, runs.tests_of(fault.mutant, fault.path), limit)}")
    killed = sum(one.noticed for _, one in told)
    late = sum(one.late for _, one in told)
    from audit.engine.statistics.intervals import wilson  # mutants are imported in forks of this

    low, high = wilson(killed, len(faults))
    print(
        f"{room}: {killed} of {len(faults)} mutants noticed ({killed / len(faults):.0%}, 95% "
        f"interval {low:.0%} to {high:.0%}), {late} of them by their time"
    )
    return int(killed < 0.9 * len(faults))


def _told(one: Outcome, tests: Mapping[str, float], limit: float) -> str:
    if one.noticed:
        return f"noticed by {one.by or 'an import'}{', by its time' if one.late else ''}"
    within = f" within {limit:g} seconds" if sum(tests.values()) > limit else ""
    return f"not noticed{within} by the {len(tests)} tests that run it"


def _modules(room: str) -> list[str]:
    left_out = _below(LEFT_OUT)
    return [path for path in _below(ROOMS[room]) if path not in left_out]


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


def _tests(paths: Iterable[str]) -> list[str]:
    return [path for path in _below(paths) if Path(path).name.startswith("test_")]


def _sources(tests: Iterable[str]) -> list[str]:
    """All that the outcome of tests depends on, of this repository."""
    return [*_below(("audit", "reports", "fixtures", "tests/conftest.py")), *_tests(tests)]


def _measured(beside: Path, tests: Iterable[str]) -> Runs:
    """What the tests that pass run of all rooms, of files that have changed measured anew."""
    kept, stated = beside.with_suffix(".json"), beside.with_suffix(".digests.json")
    shared = _digest(_sources(()))
    now = {file: f"{shared} {_digest([file])}" for file in _tests(tests)}
    before = json.loads(stated.read_text("utf-8")) if stated.exists() else {}
    stale = [file for file in now if before.get(file) != now[file]]
    if stale:
        KEPT.mkdir(exist_ok=True)
        if len(stale) == len(now):
            kept.unlink(missing_ok=True)
        modules = [ROOT / path for room in ROOMS for path in _modules(room)]
        _in_child(lambda: measure([ROOT / file for file in stale], modules, ROOT, kept))
        stated.write_text(json.dumps(now), "utf-8")
    runs = read(kept)
    passed = {test: lines for test, lines in runs.lines.items() if test not in runs.failed}
    return replace(runs, lines=passed)


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


def _try(faults: list[Fault], runs: Runs, outcomes: Outcomes, limit: float) -> None:
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
    _try_each(others, runs, outcomes, limit, warm=False)

    def of_functions() -> None:
        _import(name for name in runs.modules if name.split(".")[0] in PRODUCT)
        _try_each(in_functions, runs, outcomes, limit, warm=True)

    _in_child(of_functions)
    outcomes.read()


def _try_each(
    faults: list[Fault], runs: Runs, outcomes: Outcomes, limit: float, *, warm: bool
) -> None:
    for tried, fault in enumerate(faults, start=1):
        one, path = fault.mutant, fault.path
        tests = runs.tests_of(one, path, outcomes.noticed_in(path))
        folders = runs.folders_apart(one, path)
        out = Outcome(noticed=False)
        for some in _in_turn(tests, limit):
            out = outcome(one, ROOT / path, some, warm, folders)
            if out.noticed:
                break
        outcomes.keep(fault, out)
        print(f"{tried} of {len(faults)} tried", end="\r", file=sys.stderr, flush=True)


def _in_turn(tests: Mapping[str, float], limit: float) -> Iterator[dict[str, float]]:
    """A few tests, whose files are loaded at once, then the others that the limit has time for."""
    ends = zip(tests, accumulate(tests.values()), strict=True)
    within = [test for test, end in ends if end <= limit]
    for some in (within[:FIRST], within[FIRST:]):
        if some:
            yield {test: tests[test] for test in some}


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
