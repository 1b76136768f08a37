"""Exchanges summed over branches: against plain Python, and as they may be shown."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from audit.alignment.measure import MOST_BRANCHES, branch_exchanges
from audit.engine.scores.exchanges import Exchanges, count_exchanges
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.policy import Policy
from audit.results.result import AuditResult
from audit.runs.audit import run_audit
from fixtures import brute_force_scores as brute
from fixtures.examples import examples
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted
from fixtures.strategies import hierarchies

Sets = list[set[int]]
WORLD = tree("animal plant tool < top", "cat dog < animal", "oak elm < plant", "saw < tool")


def exchanges_of(labels: Sets, decided: Sets, width: int) -> Exchanges:
    dense = np.zeros((2, len(labels), width), np.int64)
    for side, sets in enumerate((labels, decided)):
        for row, nodes in enumerate(sets):
            dense[side, row, list(nodes)] = 1
    return count_exchanges(csr_array(dense[0]), csr_array(dense[1]))


@examples(40)
@given(hierarchies(max_nodes=6), st.data())
def test_lines_equal_plain_python(hierarchy: Hierarchy, data: st.DataObject) -> None:
    width = len(hierarchy)
    nodes = st.lists(st.sets(st.integers(0, width - 1), max_size=3), min_size=5, max_size=5)
    labels, decided = data.draw(nodes), data.draw(nodes)
    found = branch_exchanges(hierarchy, exchanges_of(labels, decided, width))
    above = hierarchy.closure.toarray()
    of = [{b for b in hierarchy.branches.tolist() if above[i, b]} for i in range(width)]
    expected = brute.exchanges_expected(labels, decided, width)
    kinds, lines = dict.fromkeys(("related", "within", "across"), 0), dict[Any, list[float]]()
    for a, b in product(range(width), repeat=2):
        times = 0 if a == b else brute.exchanged(labels, decided, a, b)
        related = bool(above[a, b] or above[b, a])
        kinds["related" if related else "within" if of[a] & of[b] else "across"] += times
        if a == b or of[a] & of[b]:
            continue
        for one, other in product(of[a], of[b]):
            line = lines.setdefault((min(one, other), max(one, other)), [0, 0.0])
            line[0] += times
            line[1] += expected[a, b]

    names = hierarchy.nodes
    told = {(row["a"], row["b"]): row for row in found if row["kind"] == "branches"}
    assert {row["kind"]: row["observed"] for row in found[:3]} == (kinds if found else {})
    assert set(told) == {(names[a], names[b]) for (a, b), line in lines.items() if line[0]}
    for (a, b), (observed, by_chance) in lines.items():
        if observed:
            assert told[names[a], names[b]]["observed"] == observed
            assert told[names[a], names[b]]["expected"] == pytest.approx(by_chance, abs=0.02)


def test_no_more_branches_than_stated_are_held_against_each_other() -> None:
    names = [f"n{place:02}" for place in range(20)]
    flat = tree(f"{' '.join(names)} < top")
    index = [flat.index(name) for name in names]
    said = [({a}, {b}) for a, b in combinations(index, 2) for _ in range(1 + (a in index[:3]))]
    found = branch_exchanges(
        flat, exchanges_of([one for one, _ in said], [other for _, other in said], len(flat))
    )
    branches = {row[side] for row in found if row["kind"] == "branches" for side in "ab"}

    assert len(branches) == MOST_BRANCHES
    assert set(names[:3]) <= branches
    assert found[2]["observed"] == len(said)


def test_without_exchanges_there_is_no_row() -> None:
    assert branch_exchanges(WORLD, exchanges_of([{1}], [{1}], len(WORLD))) == ()


SAID = (
    (200, "cat", "cat"), (200, "oak", "oak"), (200, "saw", "saw"), (200, "dog", "dog"),
    (60, "cat", "oak"), (20, "elm", "dog"), (4, "saw", "dog"), (30, "saw", "elm"),
    (15, "cat", "dog"), (3, "elm", "oak"), (9, "saw", "oak"), (25, "oak", "saw"),
)  # fmt: skip


def audited(
    min_cell: int, said: tuple[tuple[int, str, str], ...] = SAID, *, one_answer: bool = False
) -> AuditResult:
    each = [(label, answer) for times, label, answer in said for _ in range(times)]
    dataset = labelled(WORLD, {f"i{n:04}": [label] for n, (label, _) in enumerate(each)})
    scores = {f"i{n:04}": {answer: 1.0} for n, (_, answer) in enumerate(each)}
    model = predicted(dataset, scores, single_label=one_answer)
    return run_audit(dataset, Policy(min_cell=min_cell), predictions=model)


def lines_of(result: AuditResult) -> dict[tuple[str, str], dict[str, Any]]:
    overview = result.shared()["overview"]
    return {(row["a"], row["b"]): row for row in overview["branch_exchanges"]}


def test_the_shared_view_has_the_largest_excess_first() -> None:
    lines = lines_of(audited(1))
    excess = [line["excess"] for line in lines.values()]

    assert excess == sorted(excess, reverse=True)
    assert {pair: line["observed"] for pair, line in lines.items()} == {
        ("animal", "plant"): 80, ("plant", "tool"): 64, ("animal", "tool"): 4,
    }  # fmt: skip
    for line in lines.values():
        assert line["excess"] == line["observed"] - line["expected"]


def test_where_exchanges_lie_is_counted() -> None:
    rows = audited(1).shared()["overview"]["exchanges"]
    found = {row["kind"]: row["exchanges"] for row in rows}

    assert found == {"related": 0, "within": 18, "across": 148}


def test_exchanges_are_listed_as_findings_tell_them() -> None:
    """The largest excess first."""
    shared = audited(1).shared()
    exact = shared["overview"]["exchanged_pairs"]
    findings = [
        finding
        for check in shared["checks"]
        if check["name"] == "model_confuses"
        for finding in check["findings"]
    ]
    by_pair = {(row["a"], row["b"]): row for row in exact}

    assert [row["excess"] for row in exact] == sorted((r["excess"] for r in exact), reverse=True)
    assert {row["observed"] for row in exact} == {60, 20, 4, 30, 15, 3, 34}
    assert {pair for pair, row in by_pair.items() if row["passes"]} == {
        tuple(node["id"] for node in finding["nodes"]) for finding in findings
    }
    for finding in findings:
        a, b = (node["id"] for node in finding["nodes"])
        assert by_pair[a, b]["observed"] == finding["evidence"]["instances"]
        assert by_pair[a, b]["expected"] == finding["evidence"]["expected_exchanges"]


def test_answers_given_falsely_are_listed() -> None:
    said = (*SAID, (40, "saw", "oak"), (40, "dog", "oak"))
    (exact,) = audited(1, said).shared()["overview"]["answers"]

    assert (exact["node"], exact["falsely"], exact["missed"]) == ("oak", 60 + 3 + 9 + 80, 25)
    assert (exact["hits"], exact["answers"], exact["labelled"]) == (200, 352, 225)
    assert exact["share"] == 152 / 352
