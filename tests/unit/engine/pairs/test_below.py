"""Labels below a node; what is residual below it, laws on drawn data compare with plain Python."""

from __future__ import annotations

import numpy as np

from audit.engine.pairs.carried import Carried, added_by_labels
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.labelled import labelled


def test_direct_labels_are_not_modified(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, {"a": ["cow", "dog"], "b": ["cow"], "c": []})
    before = dataset.direct.toarray()
    for kind in (0, 1, 2):
        kinds = np.full(len(toy_hierarchy), kind)
        found = Carried.of(dataset.direct, added_by_labels(toy_hierarchy.closure, kinds)).below

        assert found.labelled(toy_hierarchy.index("object")).tolist() == [0, 1]
        assert np.array_equal(dataset.direct.toarray(), before)
