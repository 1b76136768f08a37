"""Kinds of behaviour, found in instances made to show them."""

from __future__ import annotations

import pytest
from scipy.sparse import csr_array

from audit.alignment.metrics.queries import Query
from audit.policy.rules import PUBLISHED
from fixtures.labelled import tree

WIDE = tree("a b c d < root", "a1 a2 < a", "b1 < b", "c1 < c", "d1 < d")


@pytest.mark.parametrize(
    ("name", "mass"),
    [
        ("contained", {"a1": 0.6, "a2": 0.395, "b1": 0.005}),
        ("confident", {"a1": 0.995, "a2": 0.005}),
        ("spread", {"a1": 0.96, "b1": 0.02, "c1": 0.01, "d1": 0.01}),
        ("split", {"a1": 0.5, "b1": 0.5}),
        (None, {"a1": 0.5, "a2": 0.25, "b1": 0.25}),
        (None, {"a1": 0.5, "b1": 0.3, "c1": 0.2}),
    ],
)
def test_the_four_names_of_figure_2_are_told_apart(
    name: str | None, mass: dict[str, float]
) -> None:
    values = csr_array([[mass.get(node, 0.0) for node in WIDE.nodes]])
    met = {one for one in PUBLISHED if Query(PUBLISHED[one]).matches(values, WIDE)[0]}

    assert met == ({name} if name else set())
    assert "leaves that count: at least 2, nodes" in Query(PUBLISHED["contained"]).words
