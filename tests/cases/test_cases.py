"""Each case: what goes through a door of the product, and what must come out.

Those in a folder `slow` take long to say what a cheaper one says nearly as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fixtures.cases import Case, faults
from fixtures.told import TOLD

FOLDER = Path(__file__).parent


def cases() -> Iterator[Any]:
    for door in TOLD:
        for path in sorted((FOLDER / door).rglob("*.toml")):
            marks = pytest.mark.slow if path.parent.name == "slow" else ()
            yield pytest.param(path, marks=marks, id=f"{door}-{path.stem}")


@pytest.mark.parametrize("path", [*cases()])
def test_what_comes_out_of_a_door(path: Path) -> None:
    case = Case.read(path)
    if "UPDATE_CASES" in os.environ:
        replace(case, expected=case.outcome()).write()
        case = Case.read(case.path)
    found = faults(case)
    assert not found, "\n".join(found[:20])
