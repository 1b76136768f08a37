"""Findings that a limit on a share makes are the same for counts of persons in the same classes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

import audit
from audit.base.dag import IntArray
from fixtures.doors import Bins
from fixtures.labelled import labelled, repeated, tree
from fixtures.moved_worlds import moved

PERSONS = 500
BINS = Bins(10, PERSONS)
UP = {"asthma": "lung", "wheeze": "lung", "vague": "lung", "saw": "tool", "hammer": "tool"}
TREE = tree(
    *(f"{node} < {parent}" for node, parent in UP.items()), "lung tool < top",
    titles={"vague": "Lung disease, unspecified"},
)  # fmt: skip
REST = ("hammer",)
SETS = (
    ("asthma", "saw"), ("asthma",), ("saw",), ("vague",), ("wheeze", "lung"), ("wheeze",),
    ("asthma", "wheeze", "vague", "saw", "lung"),
)  # fmt: skip
"""Labels of records; those of the last are long enough to be copies."""
OF_LIMITS = ("parent_and_child", "residual_overuse", "duplicates", "redundant_nodes")
Times: TypeAlias = dict[tuple[str, ...], int]


def counted(labels: tuple[str, ...]) -> Iterator[object]:
    """What a record counts for: nodes and pairs, as labels and with all above them; vague alone."""
    carried = sorted({*labels, *(UP[one] for one in labels if one in UP)})
    for n in (1, 2):
        yield from combinations(carried, n)
        yield from (("label", *one) for one in combinations(sorted(labels), n))
    if labels == ("vague",):
        yield "vague alone"


def told(sets: list[tuple[str, ...]], times: IntArray) -> list[IntArray]:
    """All that is told of how often some sets of labels occur, and REST on all other records."""
    every = [*times, PERSONS - times.sum(axis=0)]
    by_name = dict[object, IntArray]()
    for labels, number in zip([*sets, REST], every, strict=True):
        for name in counted(labels):
            by_name[name] = by_name.get(name, 0) + number
    copies = (number - 1 for labels, number in zip(sets, times, strict=True) if len(labels) > 4)
    return [BINS.all_told(one) for one in (*by_name.values(), *(n.clip(0) for n in copies))]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Times, Times]:
    """Numbers of records of two or three sets of labels, twice, in the same classes."""
    sets = draw(st.lists(st.sampled_from(SETS), min_size=2, max_size=3, unique=True))
    first = [draw(st.integers(1, 130)) for _ in sets]
    second = moved(draw, first, lambda times: told(sets, times))
    return dict(zip(sets, first, strict=True)), dict(zip(sets, second, strict=True))


def audited(times: Times) -> audit.AuditResult:
    sets = [(n, labels) for labels, n in {**times, REST: PERSONS - sum(times.values())}.items()]
    return audit.run_audit(labelled(TREE, repeated(sets), persons=True))


def found(result: audit.AuditResult) -> dict[str, list[str]]:
    told = {check.name: sorted(one.id for one in check.findings) for check in result.checks}
    return {name: told[name] for name in OF_LIMITS}


@given(worlds())
def test_counts_in_the_same_classes_give_the_same_findings_of_limits(
    both: tuple[Times, Times],
) -> None:
    one, other = map(audited, both)
    assert found(one) == found(other)
