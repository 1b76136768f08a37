"""What all tests share: how Hypothesis runs, and the toy hierarchy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from audit.hierarchy import Hierarchy
from fixtures.toy import EDGES, toy

settings.register_profile("here", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def toy_hierarchy() -> Hierarchy:
    return toy()


@pytest.fixture
def toy_files(tmp_path: Path) -> tuple[Path, Path]:
    """An edges file of the toy and a long file of labels, with what an audit has to tell."""
    hierarchy, labels = tmp_path / "toy.csv", tmp_path / "labels.csv"
    edges = [",".join(edge) for edge in EDGES]
    hierarchy.write_text("child,parent\n" + "\n".join(edges) + "\n")
    rows = ["a,dog", "a,cow", "b,dog", "c,tool", "c,bird", "d,cow", "d,cow", "e,unicorn", "f,pet"]
    labels.write_text("instance,label\n" + "\n".join(rows) + "\n")
    return labels, hierarchy
