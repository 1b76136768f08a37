"""Each case: what goes through a door of the product, and what must come out."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.cases import Case, faults
from fixtures.told import TOLD

FOLDER = Path(__file__).parent


def cases(door: str) -> list[str]:
    return sorted(path.stem for path in (FOLDER / door).glob("*.toml"))


@pytest.mark.parametrize(("door", "name"), [(door, name) for door in TOLD for name in cases(door)])
def test_what_comes_out_of_a_door(door: str, name: str) -> None:
    case = Case.read(FOLDER / door / f"{name}.toml")
    if "UPDATE_CASES" in os.environ:
        replace(case, expected=case.outcome()).write()
        case = Case.read(case.path)
    found = faults(case)
    assert not found, "\n".join(found[:20])
