"""Each mutant of a module is a module with another meaning; the command tells which survive."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.mutants import mutant, mutants

ROOT = Path(__file__).parents[2]
SMALL = '''
"""Text that stays."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

ROWS = 1 << 20
LIMIT: int = 3
"""What it is."""


def small(count: int | None, limits: list[int] = []) -> bool:
    """Whether a count is small."""
    if count is None or isinstance(count, int | float) and count < 0:
        raise ValueError
    total = 0
    for limit, one in zip(limits, limits, strict=True):
        total += limit * 2 if one is limit else 0
    return 0 < count <= max(total, min(LIMIT, 9)) and abs(count) > 1e-9
'''
TESTS = """
from small import small

def test_small():
    assert small(6, [3])
    assert not small(7, [3])
    assert small(3)
    assert not small(4)
"""
PROFILE = """
from hypothesis import settings

settings.register_profile("few", max_examples=10)
"""
TRIED = """
import os
import sys
from pathlib import Path

os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])
from fixtures import mutants, warm_tests

module = Path("small.py").resolve()
source = module.read_text()
number = [told for _, told in mutants.mutants(source)].index(sys.argv[2])
one = mutants.mutant(source, number)
warm = warm_tests.can_exchange(one, module)
if warm:
    import small
out = warm_tests.outcome(one, module, {"test_small.py::test_small": 0.1}, warm)
print(out.noticed, out.late, out.by)
"""


def test_every_kind_of_fault_is_made_once() -> None:
    assert [fault for _, fault in mutants(SMALL)] == [
        "3 becomes 4",
        "not (count is None or (isinstance(count, int | float) and count < 0))",
        "without: raise ValueError",
        "count is None or (isinstance(count, int | float) and count < 0): Or becomes And",
        "count is None: Is becomes IsNot",
        "isinstance(count, int | float) and count < 0: And becomes Or",
        "count < 0: Lt becomes LtE",
        "0 becomes 1",
        "0 becomes 1",
        "without: total += limit * 2 if one is limit else 0",
        "one is limit: Is becomes IsNot",
        "limit * 2: Mult becomes Add",
        "2 becomes 3",
        "0 becomes 1",
        "0 < count <= max(total, min(LIMIT, 9)) and abs(count) > 1e-09: And becomes Or",
        "0 < count <= max(total, min(LIMIT, 9)): Lt becomes LtE",
        "0 < count <= max(total, min(LIMIT, 9)): LtE becomes Lt",
        "0 becomes 1",
        "max(total, min(LIMIT, 9)): max becomes min",
        "min(LIMIT, 9): min becomes max",
        "9 becomes 10",
    ]


def test_mutants_are_modules_and_no_two_are_the_same() -> None:
    source = (ROOT / "audit" / "sharing" / "bins.py").read_text("utf-8")
    whole = ast.unparse(ast.parse(source))
    sources = [mutant(source, number).source for number in range(len(mutants(source)))]

    assert all(ast.parse(one) for one in sources)
    assert len({whole, *sources}) == len(sources) + 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks a process that has threads")
@pytest.mark.parametrize(("fault", "noticed"), [("2 becomes 3", True), ("9 becomes 10", False)])
def test_tests_notice_what_changes_their_answer(fault: str, noticed: bool, tmp_path: Path) -> None:
    files = {"small.py": SMALL, "test_small.py": TESTS, "conftest.py": PROFILE}
    for name, content in (files | {"pytest.ini": "[pytest]\nmarkers = slow\n"}).items():
        (tmp_path / name).write_text(content)
    ended = subprocess.run(
        [sys.executable, "-c", TRIED, str(tmp_path), fault],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    by = ["test_small.py::test_small"] if noticed else []
    assert ended.stdout.split() == [str(noticed), "False", *by], ended.stderr
