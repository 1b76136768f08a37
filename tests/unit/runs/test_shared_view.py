"""What a comparison shares: no small cell, and no small difference of two releases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from audit.disclosure import withheld_last
from audit.results.result import to_json_bytes
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import compare_runs
from fixtures.examples import examples
from fixtures.labelled import labelled, repeated, tree

SCHEMA = json.loads(Path("docs/comparison.schema.json").read_text("utf-8"))
MIN_CELL = 11
BODY = tree("lung heart < body", "asthma cough < lung", "attack angina < heart")
MOVED = tree("lung heart < body", "asthma < lung", "cough attack angina < heart")
SETS: tuple[list[str], ...] = (
    ["asthma"],
    ["cough"],
    ["attack"],
    ["asthma", "attack"],
    ["cough", "angina"],
    [],
)


def shared(old: list[int], new: list[int]) -> dict[str, Any]:
    runs = [
        run_audit(
            labelled(BODY, repeated(list(zip(counts, SETS, strict=True))), persons=True),
        )
        for counts in (old, new)
    ]
    return compare_runs(*runs).shared()


def counts(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every count of both releases that stands side by side."""
    if isinstance(value, dict):
        for name in ("support", "joint"):
            if f"{name}_old" in value:
                yield value[f"{name}_old"], value[f"{name}_new"]
        for inner in value.values():
            yield from counts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from counts(inner)


def small(value: int) -> bool:
    return 0 < value < MIN_CELL


numbers = st.lists(st.integers(0, 400), min_size=len(SETS), max_size=len(SETS))


@examples(25)
@given(numbers, numbers)
def test_no_small_cell_and_no_small_difference_is_shared(old: list[int], new: list[int]) -> None:
    old[0], new[0] = old[0] + 1, new[0] + 1
    told = shared(old, new)
    sizes = sum(old), sum(new)
    for was, now in counts(told):
        for count, n in zip((was, now), sizes, strict=True):
            if isinstance(count, int):
                assert not small(count)
                assert not small(n - count)
        if isinstance(was, int) and isinstance(now, int):
            assert not small(abs(now - was))
            assert not small(abs((sizes[1] - now) - (sizes[0] - was)))


def test_what_is_computed_from_a_withheld_count_is_withheld() -> None:
    told = shared([60, 300, 300, 0, 0, 300], [5, 300, 300, 0, 0, 300])
    (row,) = (row for row in told["nodes"]["rows"] if row["node"] == "asthma")

    assert row["support_new"] == "<11"
    for name in ("rate_old", "rate_new", "difference", "low", "high", "odds_ratio", "q_value"):
        assert row[name] is None


def test_what_is_withheld_is_not_ranked_by_its_size() -> None:
    ranked = [("z", None), ("c", 0.4), ("b", None), ("a", -0.1)]
    rows = [{"node": node, "difference": difference} for node, difference in ranked]

    assert [row["node"] for row in withheld_last(rows, "difference", "node")] == [
        "c",
        "a",
        "b",
        "z",
    ]


@pytest.mark.parametrize(("old", "new"), [(100, 105), (105, 100), (100, 100), (100, 111), (3, 90)])
def test_a_moved_node_that_hardly_changed_shows_one_count_alone(old: int, new: int) -> None:
    runs = [
        run_audit(
            labelled(hierarchy, repeated([(n, ["cough"]), (900, ["attack"])]), persons=True),
        )
        for hierarchy, n in ((BODY, old), (MOVED, new))
    ]
    told = compare_runs(*runs).shared()
    (row,) = told["edits"]["rows"]
    was, now = row["support_old"], row["support_new"]
    assert not (isinstance(was, int) and isinstance(now, int) and small(abs(now - was)))


def test_the_smallest_count_shown_is_the_larger_of_the_two_runs() -> None:
    sets = repeated([(300, ["asthma"]), (5, ["attack"]), (200, ["cough"])])
    public = run_audit(labelled(BODY, sets, persons=False))
    persons = run_audit(labelled(BODY, sets, persons=True))

    assert compare_runs(public, public).shared()["min_cell"] == 1
    assert compare_runs(public, persons).shared()["min_cell"] == MIN_CELL
    assert compare_runs(persons, public).shared()["min_cell"] == MIN_CELL


def test_the_same_runs_give_the_same_bytes() -> None:
    made = [to_json_bytes(shared([60, 300, 80, 9, 0, 300], [200, 300, 80, 90, 4, 30]))
            for _ in range(2)]  # fmt: skip

    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([60, 300, 80, 9, 0, 300], [200, 300, 80, 90, 4, 30]),
        ([60, 300, 80, 9, 0, 300], [60, 300, 80, 9, 0, 300]),
        ([1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 1]),
    ],
)
def test_the_view_validates(old: list[int], new: list[int]) -> None:
    told = json.loads(to_json_bytes(shared(old, new)))

    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(told)] == []


def test_the_schema_is_one_and_refuses_what_it_does_not_know() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    told = json.loads(to_json_bytes(shared([60, 1, 1, 1, 1, 1], [60, 1, 1, 1, 1, 1])))

    assert not Draft202012Validator(SCHEMA).is_valid({**told, "surprise": 1})
