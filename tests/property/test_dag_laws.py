"""The law of small cells where every node of a DAG is published and instances have few labels.

Then all counts at once tell what those around a node do not: each count is a sum over labels.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.disclosure.protection import Protection
from fixtures.dag_reader import Dag
from fixtures.examples import examples

Drawn = tuple[int, int, float, int]
TOLD = [(4, 150, 0.0, 2), (0, 40, 0.002, 2), (28, 30, 0.0, 3)]
"""What told small counts: seed, nodes, share of instances with a second label, most labels."""
SHARES = st.sampled_from([0.0, 0.0, 0.001, 0.005, 0.05])


@pytest.mark.slow
@given(st.tuples(st.integers(0, 10**6), st.integers(20, 45), SHARES, st.sampled_from([2, 3, 8])))
@example(TOLD[0])
@example(TOLD[1])
@example(TOLD[2])
@examples(30)
def test_no_small_number_is_told_by_all_nodes_of_a_dag(drawn: Drawn) -> None:
    dag = Dag.drawn(*drawn)
    assert list(dag.narrowed(dag.shown())) == []


@pytest.mark.slow
@pytest.mark.parametrize("drawn", TOLD)
def test_counts_around_each_node_alone_tell_some(
    drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Protection, "_protect_whole", lambda *_: None)
    dag = Dag.drawn(*drawn)
    assert list(dag.narrowed(dag.shown())) != []
