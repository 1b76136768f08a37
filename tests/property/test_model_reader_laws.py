"""Whoever reads the metrics of a model can work out no count that is withheld."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from audit.policy.policy import Policy
from audit.results.shared_metrics import ALL, Family, Scopes, _Published, shared_metrics
from audit.results.shared_view import SharedView
from audit.runs.audit import run_audit
from fixtures.labelled import labelled, repeated, tree
from fixtures.model_reader import drawn_with_model, pinned, read_with_model
from fixtures.predicted import predicted
from fixtures.reader import Key

RELEASES = range(6)
ENTROPY = 0.8112781
"""Bits of a score of three quarters beside one of a quarter."""


def told(seed: int) -> Iterator[Key]:
    result = drawn_with_model(seed)
    yield from pinned(read_with_model(result), int(result.policy["min_cell"]))


@pytest.mark.parametrize("seed", RELEASES)
def test_no_withheld_count_is_told_beside_metrics(seed: int) -> None:
    assert list(told(seed)) == []


@pytest.mark.parametrize("seed", RELEASES)
def test_no_withheld_support_is_narrowed_by_metrics(seed: int) -> None:
    result = drawn_with_model(seed)
    narrowed = read_with_model(result).narrowed(int(result.policy["min_cell"]))

    assert [line for line in narrowed if line.startswith("('support'")] == []


@pytest.mark.slow
def test_the_reader_finds_scopes_that_are_each_protected_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def alone(counts: _Published, family: Family, scopes: Sequence[str]) -> set[str]:
        return {one for one in scopes if all(map(counts._safe, counts._counts(one, family)))}

    monkeypatch.setattr(SharedView, "_scopes_of", lambda *_: Scopes())
    monkeypatch.setattr(_Published, "_accepted", alone)

    assert "wrong" in {key[0] for seed in RELEASES for key in told(seed)}


def test_the_size_of_a_scope_tells_no_support_that_is_withheld() -> None:
    """All but five instances lie below one of two nodes, and its support says no more than that."""
    world = tree("a b < left", "c d < right", "left right < top")
    labels = repeated([(40, ["a"]), (35, ["b"]), (5, ["c"])])
    dataset = labelled(world, labels, persons=True)
    model = predicted(dataset, {name: {given[0]: 1.0} for name, given in labels.items()})
    shared = run_audit(dataset, Policy(min_cell=11), predictions=model).shared()

    (left,) = [row for row in shared["overview"]["tree"] if row["node"] == "left"]
    sizes = {row["n"] for row in shared["metrics"] if row["scope"] == "left"}
    assert left["instances"] == ">69"
    assert sizes <= {">10", 0, None}
    assert all(row["value"] is None for row in shared["metrics"] if row["scope"] == "left")


def unsure(n: int, fine: int, moved: int, scope: str = ALL) -> list[dict[str, Any]]:
    """Metrics of a model whose scores are 1, but for so many instances with the same entropy."""
    row = {"scope": scope, "n": n, "parameters": {"depth_from": 2, "depth_to": 1}}
    change, match = -ENTROPY * moved / n, moved / fine if fine else None
    return [
        {**row, "name": "uncertainty_alignment", "value": change, "low": change, "high": change},
        {**row, "name": "abstraction_match", "value": match, "low": match, "high": match},
    ]


@pytest.mark.parametrize("fine", [60, 400, 700])
def test_a_mean_entropy_tells_no_few_instances_and_leaves_many_counts_of_others(fine: int) -> None:
    told: list[dict[float | None, list[int]]] = [{}, {}]
    for moved in range(1, fine):
        for metric, counts in zip(shared_metrics(unsure(1000, fine, moved), 11), told, strict=True):
            assert metric["value"] == metric["low"] == metric["high"]
            counts.setdefault(metric["value"], []).append(moved)

    for counts, small in zip(
        told, (range(1, 11), (*range(1, 11), *range(fine - 10, fine))), strict=True
    ):
        assert counts.pop(None)[:10] == [*range(1, 11)]
        assert not set(small).intersection(*counts.values())
        assert min(map(len, counts.values())) > 5


def test_mean_entropies_of_a_scope_and_what_contains_it_leave_no_few_beside_it() -> None:
    scopes = Scopes(apart=True, supports={"left": 500})
    for few, withheld in ((7, True), (0, False), (40, False)):
        rows = [*unsure(1000, 100, 90), *unsure(500, 100, 90 - few, "left")]
        left = [row["value"] for row in shared_metrics(rows, 11, scopes) if row["scope"] == "left"]
        assert (left[0] is None) == withheld
