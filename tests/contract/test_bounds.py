"""The lower bounds of pyproject.toml are versions that `make test-bounds` tried."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "test_bounds.py"))


def requirements() -> list[Any]:
    """Every requirement but those of the extras that are not tried."""
    extras = PROJECT["optional-dependencies"]
    own = [one for name in extras if name not in SCRIPT["LEFT_OUT"] for one in extras[name]]
    named = sorted({*PROJECT["dependencies"], *own})
    return [pytest.param(Requirement(one), id=one) for one in named]


def tried(choice: str) -> dict[str, Version]:
    words = [line.split() for line in SCRIPT["TRIED"].read_text("utf-8").splitlines()]
    pairs = [pinned.split("==") for which, pinned in words if which == choice]
    return {name: Version(version) for name, version in pairs}


@pytest.mark.parametrize("requirement", requirements())
def test_each_lower_bound_was_tried(requirement: Requirement) -> None:
    name = canonicalize_name(requirement.name)
    (bound,) = [one for one in requirement.specifier if one.operator == ">="]

    assert tried("oldest")[name] == Version(bound.version)
    assert requirement.specifier.contains(tried("newest")[name], prereleases=True)


def test_what_is_left_out_is_an_extra() -> None:
    assert set(SCRIPT["LEFT_OUT"]) < set(PROJECT["optional-dependencies"])
