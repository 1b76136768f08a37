"""Metrics and parts of findings at the edges of their classes, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from audit.base.declared import Columns, count, share
from audit.results.binned import told_check, told_findings, told_metrics
from audit.results.findings import CheckResult, Finding, Part
from audit.sharing.told import Rounding

TENS = Rounding(10, {"rows": 1000, "instances": 1000})
SHARES = Columns(count("instances of"), share("share", of="instances of"))


def metric(name: str, value: float | None, n: int = 1000, **given: Any) -> dict[str, Any]:
    ends = {"low": None, "high": None}
    return {"name": name, "scope": "all", "value": value, **ends, "n": n, "parameters": {}, **given}


def told(*metrics: dict[str, Any]) -> list[dict[str, Any]]:
    return [*told_metrics(metrics, 2, 1, TENS)]


def test_a_share_is_that_of_told_counts_with_an_interval_around_it() -> None:
    (found,) = told(metric("accuracy", 0.303, low=0.28, high=0.33))

    assert (found["n"], found["value"], found["beyond"]) == (995, 305 / 995, None)
    assert found["value"] - found["low"] == pytest.approx(found["high"] - found["value"])
    assert 0.025 <= found["value"] - found["low"] < 0.05


@pytest.mark.parametrize("k", [0, 10, 990, 1000])
def test_a_share_of_few_or_of_all_but_few_is_not_told(k: int) -> None:
    assert told(metric("accuracy", k / 1000))[0]["value"] is None
    assert told(metric("accuracy", k / 1000, scope="a")) == []


def test_a_net_share_is_the_difference_of_told_shares() -> None:
    recovered = metric("recovered", 0.5, low=0.46, high=0.54)
    lost = metric("lost", 0.2, low=0.17, high=0.23)
    net, one, other = told(metric("accuracy_alignment", 0.3), recovered, lost)

    assert net["value"] == one["value"] - other["value"]
    down = math.hypot(one["value"] - one["low"], other["high"] - other["value"])
    assert net["value"] - net["low"] == pytest.approx(down)


def finding(instances: int, parts: list[int]) -> Finding:
    evidence = {"instances": instances, "of": 1000, "share": instances / 1000}
    lines = tuple(Part((f"n{i}",), {"instances": n}) for i, n in enumerate(parts))
    return Finding("c", "note", ("a",), "", evidence, "", "", instances, parts=lines, key=("k",))


@pytest.mark.parametrize(
    ("parts", "shown", "more"),
    [
        ([40, 60], ["n1", "n0"], False),
        ([5, 4, 3, 2], ["n0", "n1", "n2"], True),
        ([1, 2, 30, 3], ["n2", "n0", "n1", "n3"], False),
    ],
)
def test_three_parts_of_few_are_told_behind_those_of_many(
    parts: list[int], shown: list[str], more: bool
) -> None:
    check = CheckResult("c", "", 995, "", (finding(100, parts),), evidence=SHARES, of_parts=SHARES)
    (found,) = told_findings(check, TENS)

    assert [part.nodes[0] for part in found.parts] == shown
    assert (found.more_parts, found.evidence["instances"], found.touched) == (more, 95, 95)
    assert told_check(check, TENS).denominator == 995
