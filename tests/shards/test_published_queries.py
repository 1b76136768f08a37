"""The queries of the notebook released with *Abstraction Alignment*, on a public softmax."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import audit
from fixtures.registered import PUBLISHED, Query

DATA = Path(os.environ.get("AUDIT_DATA") or "/nowhere") / "softmax"


@pytest.mark.skipif(not DATA.is_dir(), reason="AUDIT_DATA names no folder with the real data")
@pytest.mark.parametrize(("name", "images"), [("confident", 7_818), ("split", 2)])
def test_a_published_query_is_met_by_the_images_that_its_own_code_finds(
    name: str, images: int
) -> None:
    hierarchy = audit.load_hierarchy(DATA / "cifar10_edges.csv")
    scores = np.load(DATA / "cifar10_test_probabilities.npy")
    values = np.zeros((len(scores), len(hierarchy)))
    for column, node in enumerate((DATA / "cifar10_classes.txt").read_text().split()):
        values[:, hierarchy.index(node)] = scores[:, column]

    found = Query(PUBLISHED[name]).matches(csr_array(values), hierarchy)
    assert int(found.sum()) == images
