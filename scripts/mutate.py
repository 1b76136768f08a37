"""Give tests small faults of the rooms of the product, and tell which of them no test notices.

    python scripts/mutate.py [--rooms readers checks] [--tests tests/laws] [--keep FOLDER]

All faults are planted in a clone of the last commit, each behind a switch. The quick tests are run
once without a fault, while each switch notes the tests that meet it; then each fault is switched on
for these tests, quickest first, until one fails. FOLDER keeps what was found: begun again, the
program goes on from there. Exit status 1: fewer than nine of ten faults of a room were noticed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations, zip_longest
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = {
    "readers": ("audit/data", "audit/hierarchies"),
    "pairs": ("audit/counting", "audit/engine", "audit/measure"),
    "checks": ("audit/checks",),
    "sharing": ("audit/sharing", "audit/results"),
    "reports": ("reports",),
    "runs": ("audit/runs",),
    "analyses": ("audit/analyses", "audit/alignment"),
}
TWINS = "Lt LtE, Gt GtE, Eq NotEq, In NotIn, Is IsNot, And Or, Add Sub, BitOr BitAnd, Mult Div"
EXCHANGED: dict[type, type] = {
    getattr(ast, one): getattr(ast, other)
    for pair in TWINS.split(", ")
    for one, other in permutations(pair.split())
}
"""Each comparison and operator with the one that takes its place."""
SECONDS = 30
"""How long the tests that are tried on a fault may take without it."""
OPTIONS = "-q --tb=no --hypothesis-profile=few -p no:xdist -p no:cacheprovider -p switch"
FIRST = "from __future__ import annotations"
SWITCH = """\
import os

ON = int(os.environ.get("FAULT", -1))
NOTES = open(os.environ["NOTES"], "a", buffering=1) if "NOTES" in os.environ else None
MET = set()


def fault(number):
    if NOTES:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        if test and (number, test) not in MET:
            MET.add((number, test))
            NOTES.write(f"met\\t{number}\\t{test}\\n")
    return number == ON


def pytest_runtest_logreport(report):
    if NOTES and report.when == "call":
        NOTES.write(f"{report.outcome}\\t{report.duration}\\t{report.nodeid}\\n")
"""
"""A module of the clone, and a plugin of pytest."""


class Fault(NamedTuple):
    """One change of a module: in which room, where, and from which byte to which there is what."""

    room: str
    path: str
    line: int
    start: int
    end: int
    old: str
    new: str


def main() -> int:
    """Plant faults in the rooms, and tell what noticed each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", choices=sorted(ROOMS), nargs="+", default=list(ROOMS))
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="PATH")
    parser.add_argument("--faults", type=int, default=30, help="of each room")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--keep", type=Path, help="where what was found stays")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faults-") as made:
        folder = asked.keep or Path(made)
        copy, planted, tried = folder / "copy", folder / "planted", folder / "tried"
        if not copy.exists():
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
            drawn = [[*_drawn(copy, room, asked.faults, asked.seed)] for room in asked.rooms]
            # One of each room in turn: what is stopped has tried as many of each.
            every = [one for row in zip_longest(*drawn) for one in row if one]
            _plant(every, copy)
            planted.write_text(json.dumps(every), "utf-8")
        faults = [Fault(*one) for one in json.loads(planted.read_text("utf-8"))]
        meeting, seconds = _met(folder, asked.tests)
        told = dict[int, tuple[int, str]]()
        for line in tried.read_text("utf-8").splitlines() if tried.exists() else ():
            number, met, by = line.split("\t")
            told[int(number)] = int(met), by
        for n in range(len(faults)):
            tests = sorted(meeting[n] & seconds.keys(), key=lambda test: seconds[test])
            if n not in told or (told[n][1].startswith("NOT") and told[n][0] < len(tests)):
                told[n] = len(tests), _noticed_by(n, tests, seconds, copy)
                with tried.open("a", encoding="utf-8") as stream:
                    stream.write(f"{n}\t{told[n][0]}\t{told[n][1]}\n")
    noticed, of = Counter[str](), Counter(one.room for one in faults)
    for n, one in enumerate(faults):
        noticed[one.room] += not told[n][1].startswith("NOT")
        print(f"{one.path}:{one.line}: {one.old[:60]!r}, then {one.new[:60]!r}: {told[n][1]}")
    for room in of:
        print(f"{room}: {noticed[room]} of {of[room]} faults noticed")
    return int(any(10 * noticed[room] < 9 * of[room] for room in of))


def _met(folder: Path, tests: Sequence[str]) -> tuple[dict[int, set[str]], dict[str, float]]:
    """The tests that meet each fault, and how long each one takes that passes without any."""
    copy, notes = folder / "copy", folder / "notes"
    notes.touch()
    for test in tests:
        parts = sorted(path for path in (copy / test).iterdir() if [*path.rglob("test_*.py")])
        for path in parts or [copy / test]:
            if f"done\t0\t{path}" not in notes.read_text("utf-8").splitlines():
                _pytest(copy, str(path), NOTES=str(notes))
                with notes.open("a", encoding="utf-8") as stream:
                    stream.write(f"done\t0\t{path}\n")
    meeting, seconds = defaultdict[int, set[str]](set), dict[str, float]()
    for what, number, test in (line.split("\t") for line in notes.read_text("utf-8").splitlines()):
        if what == "met":
            meeting[int(number)].add(test)
        elif what == "passed":
            seconds[test] = float(number)
    return meeting, seconds


def _noticed_by(number: int, tests: Sequence[str], seconds: dict[str, float], copy: Path) -> str:
    """The test that fails with a fault, or how many do not."""
    chosen, limit = list[str](), 0.0
    for test in tests:
        if limit < SECONDS:
            chosen.append(test)
            limit += seconds[test]
    if not chosen:
        return "NOT met by any test"
    status, said = _pytest(copy, "-x", *chosen, limit=60 + 10 * limit, FAULT=str(number))
    if status == 0:
        return f"NOT noticed by {len(chosen)} of the {len(tests)} tests that meet it"
    by = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.M)
    return by[0] if by else " ".join(said.split())[-200:]


def _pytest(copy: Path, *words: str, limit: float | None = None, **own: str) -> tuple[int, str]:
    """The status of pytest in the copy, and what it says; 1 where it takes longer than a limit."""
    command = [sys.executable, "-m", "pytest", "-m", "not slow", *OPTIONS.split(), *words]
    variables = os.environ | own | {"PYTHONPATH": str(copy)}
    with tempfile.TemporaryDirectory() as made:
        try:
            done = subprocess.run(
                command, cwd=copy, env=variables | {"TMPDIR": made}, timeout=limit, check=False,
                capture_output=True, text=True, errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return 1, "FAILED the limit of time"
    return done.returncode, done.stdout + done.stderr


def _drawn(copy: Path, room: str, count: int, seed: int) -> Iterator[Fault]:
    """Faults of a room, none within another."""
    paths = [path for part in ROOMS[room] for path in sorted((copy / part).rglob("*.py"))]
    names = [path.relative_to(copy).as_posix() for path in paths]
    every = [fault for name in names for fault in _faults(copy, room, name)]
    taken = list[Fault]()
    for one in random.Random(seed).sample(every, len(every)):
        beside = (other for other in taken if other.path == one.path)
        if len(taken) < count and all(o.end <= one.start or one.end <= o.start for o in beside):
            taken.append(one)
            yield one


def _plant(faults: Sequence[Fault], copy: Path) -> None:
    """Write all faults into their modules, each behind its switch."""
    (copy / "switch.py").write_text(SWITCH, "utf-8")
    for number, one in sorted(enumerate(faults), key=lambda each: -each[1].start):
        source = (copy / one.path).read_bytes()
        switched = f"({one.new} if fault_({number}) else {one.old})".encode()
        (copy / one.path).write_bytes(source[: one.start] + switched + source[one.end :])
    for path in {copy / one.path for one in faults}:
        source = path.read_text("utf-8").replace(
            FIRST, f"{FIRST}; from switch import fault as fault_", 1
        )
        path.write_text(source, "utf-8")


def _faults(copy: Path, room: str, name: str) -> Iterator[Fault]:
    """Every change of what the functions of a module do."""
    source = (copy / name).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for node in (one for statement in function.body for one in _below(statement)):
                for old, new in _changed(node):
                    start = starts[old.lineno - 1] + old.col_offset
                    end = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
                    text = source[start:end].decode()
                    yield Fault(room, name, old.lineno, start, end, text, new)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it, but not in texts, patterns, and functions of their own."""
    yield node
    if not isinstance(node, ast.JoinedStr | ast.FunctionDef | ast.pattern):
        for child in ast.iter_child_nodes(node):
            yield from _below(child)


def _changed(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Expressions of a node that may change, and what takes their place."""
    match node:
        case ast.Compare(left=left, ops=[old], comparators=right) if type(old) in EXCHANGED:
            yield node, ast.unparse(ast.Compare(left, [EXCHANGED[type(old)]()], right))
        case ast.BinOp(left=left, op=sign, right=other) if type(sign) in EXCHANGED:
            yield node, ast.unparse(ast.BinOp(left, EXCHANGED[type(sign)](), other))
        case ast.BoolOp(op=sign, values=values):
            yield node, ast.unparse(ast.BoolOp(EXCHANGED[type(sign)](), values))
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield test, f"not ({ast.unparse(test)})"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.comprehension(ifs=[condition, *_]):
            yield condition, "True"


if __name__ == "__main__":
    sys.exit(main())
