from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit import Hierarchy
from fixtures.explored import Visitor, entered, kept
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

HOSTILE = '"><script>alert(1)</script>'
WIDE = 51
"""Children of one node, so that a table has two pages and a row."""


@pytest.fixture(scope="session")
def hierarchy() -> Hierarchy:
    leaves = " ".join(f"w{number:02}" for number in range(WIDE))
    return tree(
        "left right wide < root",
        "a1 d < left",
        "b1 d < right",
        f"{leaves} < wide",
        titles={"left": HOSTILE, "d": "=1+1", "wide": "Wide & many"},
    )


@pytest.fixture(scope="session")
def folder(hierarchy: Hierarchy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a model: hostile titles, an instance with a hostile id, a node of 51 children."""
    wide = [f"w{number:02}" for number in range(WIDE)]
    labels = {"all": ["a1", *wide], "two": ["d", "b1"], HOSTILE: ["a1", "b1"], "none": []}
    dataset = labelled(hierarchy, labels)
    predictions = predicted(dataset, {"all": {"a1": 0.9}, "two": {"d": 0.7, "a1": 0.6}})
    return kept(dataset, predictions, tmp_path_factory.mktemp("window") / "run")


@pytest.fixture(scope="session")
def visitor(folder: Path) -> Iterator[Visitor]:
    """Somebody who has opened the printed address."""
    with entered(folder, show_instances=True) as opened:
        yield opened
