"""No shelf of tests holds more lines than its budget, and each file lies on one."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHELVES: dict[str, int] = tomllib.loads((ROOT / "tests" / "shelves.toml").read_text("utf-8"))


def lines_by_shelf() -> dict[str, int]:
    """Lines of Python, by the longest folder of the budget that holds their file."""
    found = dict.fromkeys(SHELVES, 0)
    for top in ("tests", "fixtures"):
        for path in sorted((ROOT / top).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            shelf = max((one for one in SHELVES if name.startswith(f"{one}/")), key=len, default="")
            assert shelf or path.parent == ROOT / "tests", f"{name} lies on no shelf"
            if shelf:
                found[shelf] += path.read_text("utf-8").count("\n")
    return found


def test_no_shelf_is_over_its_budget() -> None:
    over = {one: n for one, n in lines_by_shelf().items() if n > SHELVES[one]}
    assert over == {}, "take lines away, or say in the commit why the budget grows"
