"""Each mutant of a module is a module with another meaning; the command tells which survive."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.mutants import Mutant, mutant, mutants
from fixtures.warm_tests import can_exchange

ROOT = Path(__file__).parents[2]
MODULES = [ROOT / "audit/disclosure" / name for name in ("breakdowns.py", "known.py")]
SMALL = '''
"""Text that stays."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

LIMIT: int = 3
"""What it is."""


def small(count: int | None, limits: list[int] = []) -> bool:
    """Whether a count is small."""
    if count is None or isinstance(count, int | float) and count < 0:
        raise ValueError
    total = 0
    for limit in limits:
        total += limit * 2
    return 0 < count <= max(total, min(LIMIT, 9))
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
OF_FOLDER = """
from pathlib import Path

import pytest
from small import small

@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("made")
    (made / "told").write_text(str(small(6, [3])))
    return made

def test_folder(folder):
    assert (folder / "told").read_text() == "True"

def test_other():
    with pytest.raises(ValueError):
        small(-1)
"""
MEASURED = """
import os
import sys
from pathlib import Path

os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])
from fixtures import measured_tests, mutants, warm_tests

here = Path.cwd()
module, kept = here / "small.py", here / "kept.json"
measured_tests.measure([here / "test_folder.py"], [module], here, kept)
runs = measured_tests.read(kept)
print("of what was measured")
faults = mutants.mutants(module.read_text())
for number, (_, told) in enumerate(faults):
    if told in sys.argv[2:]:
        one = mutants.mutant(module.read_text(), number)
        (made,) = (made for made, _ in runs.folders.values())
        Path(made.copy, "told").write_text("False")
        tests = runs.tests_of(one, "small.py")
        folders = runs.folders_apart(one, "small.py")
        out = warm_tests.outcome(one, module, tests, True, folders)
        print(len(tests), len(folders), out.by)
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
        "without: total += limit * 2",
        "limit * 2: Mult becomes Add",
        "2 becomes 3",
        "0 < count <= max(total, min(LIMIT, 9)): Lt becomes LtE",
        "0 < count <= max(total, min(LIMIT, 9)): LtE becomes Lt",
        "0 becomes 1",
        "max(total, min(LIMIT, 9)): max becomes min",
        "min(LIMIT, 9): min becomes max",
        "9 becomes 10",
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_mutants_are_modules_and_no_two_are_the_same(path: Path) -> None:
    source = path.read_text("utf-8")
    whole = ast.unparse(ast.parse(source))
    sources = [mutant(source, number).source for number in range(len(mutants(source)))]

    assert all(ast.parse(one) for one in sources)
    assert len({whole, *sources}) == len(sources) + 1


def changed(fault: str) -> Mutant:
    faults = [told for _, told in mutants(SMALL)]
    return mutant(SMALL, faults.index(fault))


def test_a_mutant_stands_where_its_part_stood() -> None:
    lines = SMALL.split("\n")
    one = changed("not (count is None or (isinstance(count, int | float) and count < 0))")

    assert lines[one.line - 1].strip().startswith("if count is None")
    assert one.last == one.line
    assert "raise ValueError" in lines[changed("without: raise ValueError").line - 1]


@pytest.mark.parametrize(("fault", "called"), [("3 becomes 4", False), ("2 becomes 3", True)])
def test_what_runs_at_import_is_told_apart(fault: str, called: bool, tmp_path: Path) -> None:
    module = tmp_path / "small.py"
    module.write_text(SMALL)

    assert changed(fault).called is called
    assert can_exchange(changed(fault), module) is called


@pytest.mark.skipif(sys.platform != "linux", reason="forks a process that has threads")
@pytest.mark.parametrize(
    ("fault", "noticed"), [("2 becomes 3", True), ("9 becomes 10", False), ("3 becomes 4", True)]
)
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


@pytest.mark.skipif(sys.platform != "linux", reason="forks a process that has threads")
def test_a_folder_is_made_again_only_where_the_fault_takes_part(tmp_path: Path) -> None:
    """The copy is spoilt, so that the test which reads it fails where it is used."""
    files = {"small.py": SMALL, "test_folder.py": OF_FOLDER, "conftest.py": PROFILE}
    for name, content in (files | {"pytest.ini": "[pytest]\nmarkers = slow\n"}).items():
        (tmp_path / name).write_text(content)
    faults = ["without: raise ValueError", "without: total += limit * 2"]
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path), *faults],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    told = ended.stdout.split("of what was measured")[-1].split("\n")[1:-1]
    assert told == ["1 1 test_folder.py::test_other", "1 0 test_folder.py::test_folder"], ended
