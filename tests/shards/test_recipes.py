"""Each recipe of the documentation makes the edges of a file as its publisher writes it.

`recipes` has a folder of each, in the order of the page: what is given, and ``edges.csv``.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from audit import AuditError, load_hierarchy
from fixtures.doors import SYNTHETIC_ROOT

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
RECIPES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
CASES = sorted((Path(__file__).parent / "recipes").iterdir())


def given(case: Path) -> list[Path]:
    return sorted(path for path in case.iterdir() if path.name != "edges.csv")


def edges(path: Path) -> set[tuple[str, str]]:
    rows = load_hierarchy(path).edge_frame().iter_rows()
    return {(child, parent) for child, parent in rows if parent != SYNTHETIC_ROOT}


def made(recipe: str, folder: Path) -> set[tuple[str, str]]:
    subprocess.run([sys.executable, "-c", recipe], cwd=folder, check=True)
    return edges(folder / "edges.csv")


@pytest.mark.parametrize(
    ("recipe", "case"), [*zip(RECIPES, CASES, strict=True)], ids=[case.name for case in CASES]
)
def test_a_recipe_makes_the_edges_of_a_file(recipe: str, case: Path, tmp_path: Path) -> None:
    for path in given(case):
        shutil.copy(path, tmp_path)
    with (case / "edges.csv").open(encoding="utf-8", newline="") as stream:
        _, *expected = csv.reader(stream)

    assert made(recipe, tmp_path) == {(child, parent) for child, parent in expected}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_without_its_recipe_is_refused_or_asked(case: Path) -> None:
    for path in given(case):
        with pytest.raises(AuditError):
            load_hierarchy(path)


def test_the_page_is_short() -> None:
    assert len(PAGE.read_bytes()) <= 12_000


@pytest.mark.skipif("AUDIT_DATA" not in os.environ, reason="AUDIT_DATA names no folder")
@pytest.mark.parametrize(
    ("case", "name", "notes", "columns"),
    [
        ("single-level_CCS", "X.dxref.2015.csv", 1, (1,)),
        ("multi-level_CCS", "ccs_multi_dx_tool_2015.csv", 0, (1, 3, 5, 7)),
    ],
)
def test_real_tables_are_what_their_rows_say(
    case: str, name: str, notes: int, columns: tuple[int, ...], tmp_path: Path
) -> None:
    text = (Path(os.environ["AUDIT_DATA"]) / "ccs" / name).read_text("utf-8")
    expected = set[tuple[str, str]]()
    for row in [*csv.reader(text.splitlines())][notes + 1 :]:
        cells = [cell.strip(" '\"") for cell in row]
        way = [f"CCS {cells[n]}" for n in columns if cells[n]] + [cells[0]]
        expected |= {*pairwise(reversed(way))} if cells[0] else set()
    (number,) = (n for n, one in enumerate(CASES) if one.name.endswith(f"_{case}"))
    (tmp_path / given(CASES[number])[0].name).write_text(text, "utf-8")

    assert made(RECIPES[number], tmp_path) == expected
