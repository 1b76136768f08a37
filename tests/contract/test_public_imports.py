"""What survives a redesign: tests of the net go through public names, and files of doors."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import audit

ROOT = Path(__file__).parents[2]
NET = ("laws", "cases", "commands", "papers")
"""Folders of tests that hold on to what is public alone."""
DOORS = tuple(ROOT / "fixtures" / name for name in ("doors.py", "labelled.py", "coded.py"))
PUBLIC = ("audit", "audit.metrics", "reports")


@cache
def imported(path: Path) -> frozenset[str]:
    """What a file imports, names from packages in full."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{one.name}" for one in node.names)
    return frozenset(found)


def fixture_file(name: str) -> Path | None:
    """The module of fixtures that a name is of."""
    parts = name.split(".")
    found = (ROOT.joinpath(*parts[:n]).with_suffix(".py") for n in (len(parts), len(parts) - 1))
    return next((one for one in found if parts[0] == "fixtures" and one.is_file()), None)


def test_no_private_name_is_imported_outside_kernels() -> None:
    files = [*(ROOT / "fixtures").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    for path in (one for one in files if "kernels" not in one.parts):
        named = [name.split(".") for name in imported(path)]
        of_product = [parts for parts in named if parts[0] in ("audit", "reports")]
        assert [parts for parts in of_product if any(re.match("_[a-z]", p) for p in parts)] == []


def net() -> list[Path]:
    """The files of the net, with the fixtures that they import."""
    files = [path for room in NET for path in sorted((ROOT / "tests" / room).rglob("*.py"))]
    for path in files:
        beside = (fixture_file(name) for name in sorted(imported(path)))
        files += [one for one in beside if one and one not in files and one not in DOORS]
    return files


def is_public(name: str) -> bool:
    package, _, last = name.rpartition(".")
    return name in PUBLIC or (
        package in PUBLIC and (package != "audit" or last in (*audit.__all__, "metrics"))
    )


def test_the_net_imports_public_names_or_doors() -> None:
    for path in net():
        of_product = {one for one in imported(path) if one.split(".")[0] in ("audit", "reports")}
        assert sorted(one for one in of_product if not is_public(one)) == []


def test_outside_kernels_no_test_imports_an_inner_name_of_the_product() -> None:
    """What they reach of it beside its public names is in `fixtures/`."""
    for path in (one for one in (ROOT / "tests").rglob("*.py") if "kernels" not in one.parts):
        of_product = {one for one in imported(path) if one.split(".")[0] == "audit"}
        assert sorted(one for one in of_product if not is_public(one)) == [], path


def test_kernels_are_few_and_each_has_its_reason() -> None:
    kernels = [*(ROOT / "tests" / "kernels").rglob("test_*.py")]
    reasons = (ROOT / "tests" / "kernels" / "README.md").read_text("utf-8")
    assert len(kernels) <= 40
    for path in kernels:
        assert f"`{path.parent.name}/" in reasons, path
        assert f"`{path.parent.name}/`" in reasons or path.name in reasons, path
