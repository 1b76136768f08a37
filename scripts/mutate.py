"""Give tests small faults of the rooms of the product, and tell which of them no test notices.

    python scripts/mutate.py [--rooms readers checks] [--tests tests/laws] [--keep FOLDER] [--slow]

Each file of tests is run once, with coverage.py noting which lines it runs. Each fault is written
into a copy of the repository, where the files that run its line are tried, quickest first, until a
test fails. FOLDER keeps what was found: begun again, the program goes on from there. Exit status
1: fewer than nine of ten faults of a room were noticed.
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
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import coverage

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
TWINS = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
    (ast.And, ast.Or),
    (ast.Add, ast.Sub),
    (ast.BitOr, ast.BitAnd),
    (ast.Mult, ast.Div),
)
EXCHANGED = {one: other for pair in TWINS for one, other in (pair, pair[::-1])}
"""Each comparison and operator with the one that takes its place."""
SECONDS = 240
"""How long the files that are tried on a fault may take without it."""


class Fault(NamedTuple):
    """One change of a module: in which room and line, what it is, and the source that has it."""

    room: str
    path: str
    line: int
    done: str
    source: str


class Covered(NamedTuple):
    """A file of tests: how long it takes, and which lines of which modules it runs."""

    file: str
    seconds: float
    lines: Mapping[str, Sequence[int]]


def main() -> int:
    """Try faults of the rooms, and tell what noticed each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", choices=sorted(ROOMS), nargs="+", default=list(ROOMS))
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="PATH")
    parser.add_argument("--faults", type=int, default=30, help="of each room")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--keep", type=Path, help="where what was found stays")
    parser.add_argument("--slow", action="store_true", help="slow tests too, on all examples")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faults-") as made:
        folder = asked.keep or Path(made)
        copy = folder / "copy"
        if not copy.exists():
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
        which = [] if asked.slow else ["-m", "not slow", "--hypothesis-profile=few"]
        covered = list(_covered(folder, asked.tests, which))
        drawn = {room: _drawn(copy, room, asked.faults, asked.seed) for room in asked.rooms}
        tried = _lines(folder / "tried.jsonl")
        before = {(one["path"], one["line"], one["done"]): one["by"] for one in tried}
        noticed = dict.fromkeys(drawn, 0)
        for fault in _in_turns(list(drawn.values())):
            key = fault.path, fault.line, fault.done
            if key not in before:
                before[key] = _noticed_by(fault, covered, copy, which)
                _note(folder / "tried.jsonl", fault._asdict() | {"by": before[key], "source": ""})
            noticed[fault.room] += not before[key].startswith("NOT")
            print(*key, before[key], sep=": ", flush=True)
    for room, faults in drawn.items():
        print(f"{room}: {noticed[room]} of {len(faults)} faults noticed")
    return int(any(10 * noticed[room] < 9 * len(drawn[room]) for room in drawn))


def _in_turns(rooms: Sequence[Sequence[Fault]]) -> Iterator[Fault]:
    """The first of each room, the second of each, and so on."""
    for n in range(max(map(len, rooms))):
        yield from (faults[n] for faults in rooms if n < len(faults))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [*map(json.loads, path.read_text("utf-8").splitlines())] if path.exists() else []


def _note(path: Path, line: Mapping[str, object]) -> None:
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


def _pytest(
    copy: Path,
    *words: str,
    variables: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> tuple[int, str]:
    """The status of pytest in the copy, and what it says; 1 where it takes longer than that."""
    options = ["-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", "--tb=no"]
    own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}
    with tempfile.TemporaryDirectory() as made:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *words, *options],
                cwd=copy,
                env=os.environ | own | {"TMPDIR": made},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 1, "FAILED the limit of time"
    return done.returncode, done.stdout


def _covered(folder: Path, tests: Sequence[str], which: Sequence[str]) -> Iterator[Covered]:
    """What each file of tests runs; nothing of those that fail without a fault."""
    copy, noted = folder / "copy", folder / "covered.jsonl"
    known = {one["file"]: Covered(**one) for one in _lines(noted)}
    rules = f"[run]\ndata_file = {copy}/.coverage\nparallel = true\nsource =\n"
    (folder / "rc").write_text(f"{rules}  {copy}/audit\n  {copy}/reports\n", "utf-8")
    begun = "import coverage\n\ncoverage.process_startup()\n"
    (folder / "sitecustomize.py").write_text(begun, "utf-8")
    for path in sorted({path for test in tests for path in (copy / test).rglob("test_*.py")}):
        name = path.relative_to(copy).as_posix()
        if name not in known:
            began = time.monotonic()
            own = {"PYTHONPATH": f"{copy}:{folder}", "COVERAGE_PROCESS_START": f"{folder}/rc"}
            status, said = _pytest(copy, name, *which, variables=own)
            lines = dict(_taken(copy)) if status == 0 else {}
            if status not in (0, 5):  # 5: there is none that is not slow
                print(f"{name} is left out: {status} without a fault\n{said[-500:]}", flush=True)
            known[name] = Covered(name, time.monotonic() - began, lines)
            _note(noted, known[name]._asdict())
        yield known[name]


def _taken(copy: Path) -> Iterator[tuple[str, list[int]]]:
    """Which lines of each module the processes of a run noted, whose files go."""
    found: dict[str, set[int]] = {}
    for path in copy.glob(".coverage*"):
        data = coverage.CoverageData(str(path))
        data.read()
        for module in data.measured_files():
            name = Path(module).relative_to(copy).as_posix()
            found.setdefault(name, set()).update(data.lines(module) or ())
        path.unlink()
    return ((name, sorted(lines)) for name, lines in found.items())


def _noticed_by(fault: Fault, covered: Sequence[Covered], copy: Path, which: Sequence[str]) -> str:
    """The test that fails, or by how many files the fault is not noticed."""
    own = [one for one in covered if fault.line in one.lines.get(fault.path, ())]
    own.sort(key=lambda one: (Path(fault.path).stem not in one.file, one.seconds))
    tried, seconds = list[str](), 0.0
    for one in own:
        if seconds < SECONDS:
            tried.append(one.file)
            seconds += one.seconds
    module = copy / fault.path
    whole = module.read_text("utf-8")
    module.write_text(fault.source, "utf-8")
    try:
        status, said = _pytest(copy, *tried, *which, seconds=60 + 2 * seconds)
    finally:
        module.write_text(whole, "utf-8")
    if not tried or status in (0, 5):
        return f"NOT noticed by {len(tried)} of the {len(own)} files that run it"
    return next(iter(re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.M)), said[-200:])


def _drawn(copy: Path, room: str, count: int, seed: int) -> list[Fault]:
    """Faults of a room, in the order in which they were drawn."""
    paths = [path for part in ROOMS[room] for path in sorted((copy / part).rglob("*.py"))]
    every = [
        Fault(room, path.relative_to(copy).as_posix(), line, done, source)
        for path in paths
        for line, done, source in _changes(path.read_text("utf-8"))
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


def _changes(source: str) -> Iterator[tuple[int, str, str]]:
    """Every change of what functions do: its line, what is done, and the source that has it."""
    lines = source.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines))]
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in (one for statement in function.body for one in _below(statement)):
            for old, new in _changed(node):
                first = starts[old.lineno - 1] + old.col_offset
                last = starts[(old.end_lineno or 0) - 1] + (old.end_col_offset or 0)
                text = source.encode()
                was = " ".join(text[first:last].decode().split())[:60]
                changed = text[:first] + f"({new})".encode() + text[last:]
                yield old.lineno, f"{was} becomes {new[:60]}", changed.decode()


def _below(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it, but what stands in texts and in functions of its own."""
    yield node
    if not isinstance(node, ast.JoinedStr | ast.FunctionDef):
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
