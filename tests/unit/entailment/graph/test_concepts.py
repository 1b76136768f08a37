"""The concepts of an entailment graph with most edges."""

from __future__ import annotations

import pytest

from audit.analyses.entailment.dataset import NOUN
from audit.analyses.entailment.graph.condensation import says_nothing
from audit.analyses.entailment.graph.measure import measure_graph
from fixtures.entailed_release import stated


def test_concepts_stand_by_their_edges_with_their_share() -> None:
    rows = [(f"h{i}", NOUN, f"i{i}", "thing" if i < 3 else "dog", True) for i in range(4)]
    concepts = measure_graph(stated([*rows, ("h", NOUN, "x", "dog", False)]))["graph_concepts"]

    assert concepts.select("concept", "edges", "of", "share", "says_nothing").rows() == [
        ("thing", 3, 4, 0.75, True),
        ("dog", 1, 4, 0.25, False),
    ]


@pytest.mark.parametrize("text", ["thing", "some things", "other activities", "something"])
def test_words_that_name_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["wild thing", "outdoor activity", "dog"])
def test_words_that_name_something(text: str) -> None:
    assert not says_nothing(text)
