"""Give tests small faults of the rooms of the product, and tell which of them no test notices.

    python scripts/mutate.py [--rooms readers checks] [--tests tests/laws tests/cases] [--faults 30]

The tests are run once, with coverage.py noting which of their files run which line. Each fault is
then written into a copy of the repository, where the files that run its line are tried, quickest
first, until one fails. Exit status 1: fewer than 90 of 100 faults of a room were noticed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

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
SECONDS = 600
"""What the tests of a fault may take."""


class Fault(NamedTuple):
    """A module with one fault: where, what was done, and the source that has it."""

    path: str
    line: int
    done: str
    source: str


Change = tuple[int, str, Callable[[], None]]
"""The line, what is done there, and what does it to the syntax tree."""


def main() -> int:
    """Try faults of the rooms, and tell what noticed each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", choices=sorted(ROOMS), nargs="+", default=list(ROOMS))
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="PATH")
    parser.add_argument("--faults", type=int, default=30, help="of each room")
    parser.add_argument("--seed", type=int, default=4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy = Path(folder) / "copy"
        listed = ("git", "-C", str(ROOT), "ls-files", "-z")
        for name in subprocess.check_output(listed, text=True).strip("\0").split("\0"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
        covered = _covered(copy, asked.tests)
        return max([_room(room, asked.faults, asked.seed, copy, covered) for room in asked.rooms])


def _pytest(copy: Path, *arguments: str, seconds: float | None = None) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:xdist"]
    command += ["-p", "no:cacheprovider", "--hypothesis-profile=few", *arguments]
    variables = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as made:
        try:
            done = subprocess.run(
                command,
                cwd=copy,
                env=variables | {"TMPDIR": made},
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 1
    return done.returncode


def _covered(copy: Path, tests: Sequence[str]) -> dict[str, dict[int, set[str]]]:
    """For each module the files of tests that run each of its lines."""
    found: dict[str, dict[int, set[str]]] = {}
    files = sorted({path for test in tests for path in (copy / test).rglob("test_*.py")})
    for file in files:
        name = str(file.relative_to(copy))
        plugin = ["-p", "pytest_cov", "--cov=audit", "--cov=reports", "--cov-report="]
        if status := _pytest(copy, *plugin, name):
            print(f"{name} is left out: it ended with {status} without a fault", flush=True)
            continue
        data = coverage.CoverageData(str(copy / ".coverage"))
        data.read()
        for module in data.measured_files():
            lines = found.setdefault(str(Path(module).relative_to(copy)), {})
            for line in data.lines(module) or ():
                lines.setdefault(line, set()).add(name)
    return found


def _room(
    room: str, count: int, seed: int, copy: Path, covered: Mapping[str, Mapping[int, set[str]]]
) -> int:
    """Tell what noticed the faults of a room; 1 where too few were."""
    paths = [path for part in ROOMS[room] for path in sorted((ROOT / part).rglob("*.py"))]
    trees = {path: ast.parse(path.read_text("utf-8")) for path in paths}
    every = [(path, n) for path, tree in trees.items() for n, _ in enumerate(_changes(tree))]
    drawn = sorted(random.Random(seed).sample(every, min(count, len(every))))
    noticed = 0
    for path, number in drawn:
        fault = _fault(path, number)
        files = covered.get(fault.path, {}).get(fault.line, set())
        by = _noticed_by(fault, sorted(files, key=lambda file: _likely(file, fault)), copy)
        noticed += bool(by)
        told = by or f"NOT noticed by the {len(files)} files that run it"
        print(f"{fault.path}:{fault.line}: {fault.done}: {told}", flush=True)
    print(f"{room}: {noticed} of {len(drawn)} faults noticed", flush=True)
    return int(noticed < 0.9 * len(drawn))


def _likely(file: str, fault: Fault) -> tuple[bool, int]:
    """Namesakes of the module first, then short files."""
    return Path(fault.path).stem not in file, (ROOT / file).stat().st_size


def _noticed_by(fault: Fault, files: Sequence[str], copy: Path) -> str:
    module = copy / fault.path
    whole = module.read_text("utf-8")
    module.write_text(fault.source, "utf-8")
    try:
        return next((file for file in files if _pytest(copy, file, seconds=SECONDS)), "")
    finally:
        module.write_text(whole, "utf-8")


def _fault(path: Path, number: int) -> Fault:
    tree = ast.parse(path.read_text("utf-8"))
    line, done, do = [*_changes(tree)][number]
    do()
    return Fault(str(path.relative_to(ROOT)), line, done, ast.unparse(tree))


def _changes(tree: ast.Module) -> Iterator[Change]:
    """Every change of what functions do; what is declared and said beside them stays."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in (one for statement in function.body for one in ast.walk(statement)):
                line = getattr(node, "lineno", function.lineno)
                for name, value, done in _changed(node):
                    yield line, done, partial(setattr, node, name, value)


def _changed(node: ast.AST) -> Iterator[tuple[str, object, str]]:
    """Fields of a node that may change, their new value, and what that does."""
    text = " ".join(ast.unparse(node).split())[:60]
    match node:
        case ast.Compare(ops=[old]) if type(old) in EXCHANGED:
            new = EXCHANGED[type(old)]
            yield "ops", [new()], f"{text}: {new.__name__}"
        case ast.BinOp(op=old) | ast.BoolOp(op=old) if type(old) in EXCHANGED:
            new = EXCHANGED[type(old)]
            yield "op", new(), f"{text}: {new.__name__}"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield "test", ast.UnaryOp(ast.Not(), test), f"not ({ast.unparse(test)[:60]})"
        case ast.Constant(value=bool(value)):
            yield "value", not value, f"{value} becomes {not value}"
        case ast.Constant(value=int(value)):
            yield "value", value + 1, f"{value} becomes {value + 1}"
        case ast.comprehension(ifs=[_, *_]):
            yield "ifs", [], f"without the condition of {text}"


if __name__ == "__main__":
    sys.exit(main())
