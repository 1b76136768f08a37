"""Each mutant of a module is a module with another meaning; the command tells which survive."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fixtures.mutants import mutant, mutants

ROOT = Path(__file__).parents[2]
MODULES = [ROOT / "audit/results/disclosure" / name for name in ("parts.py", "change.py")]
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
