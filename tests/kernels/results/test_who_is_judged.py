"""Which nodes, values and pairs have enough instances to be judged: it tells no small count."""

from __future__ import annotations

import pytest

from audit import Policy, run_audit
from audit.analyses.concepts import node_probes as of_concepts
from audit.analyses.explanations import evidence as of_explanations
from audit.checks.rules import nodes
from audit.engine.pairs import redundancy
from audit.engine.statistics import two_rates
from audit.measure import drift
from audit.policy.policy import MIN_CELL_OF_PERSONS
from fixtures.labelled import labelled, tree

LEAST = (
    two_rates.LEAST_UNITS,
    redundancy.LEAST_SUPPORT,
    nodes.LEAST_UNITS,
    drift.LEAST_GROUPS,
    of_concepts.LEAST_INSTANCES,
    of_explanations.LEAST_INSTANCES,
)


def test_who_is_judged_tells_no_small_count_of_persons() -> None:
    assert min(LEAST) >= MIN_CELL_OF_PERSONS


@pytest.mark.slow
def test_no_denominator_depends_on_a_small_count() -> None:
    """Of two small labels the one has what the other lacks; all else is the same."""
    graph = tree("a1 a2 a3 < A", "b1 b2 b3 < B", "A B < top")
    asked = []
    for n in range(1, 11):
        alone = {"a3": n, "b3": 11 - n, "a1": 40, "b1": 35}
        rows = [[label] for label, times in alone.items() for _ in range(times)]
        rows += [["a1", "b2"]] * 30 + [["a2", "b1"]] * 25
        each = {f"i{i:03}": row for i, row in enumerate(rows)}
        view = run_audit(labelled(graph, each), Policy(min_cell=11)).shared()
        asked.append({one["name"]: one["denominator"] for one in view["checks"]})
    assert all(one == asked[0] for one in asked)
