"""Metrics as readers see them."""

from __future__ import annotations

from typing import Any

import pytest

from audit._reports.words.metric_words import cut, in_common, interval, others, value, with_interval


def _metric(name: str, value: float | None, **parameters: Any) -> dict[str, Any]:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    return {
        "name": name,
        "scope": "all",
        "value": value,
        "low": low,
        "high": high,
        "n": 40,
        "parameters": parameters,
    }


@pytest.mark.parametrize(
    ("name", "number", "shown"),
    [
        ("accuracy", 0.929, "92.9%"),
        ("accuracy_alignment", -0.031, "−3.1%"),
        ("accuracy_alignment", -0.00001, "0.0%"),
        ("uncertainty_alignment", -0.4061, "−0.406"),
        ("mistake_severity", 1.8, "1.80"),
        ("ties", 12.0, "12"),
        ("odd_thing", 0.5, "50.0%"),
    ],
)
def test_values_have_the_form_of_their_metric(name: str, number: float, shown: str) -> None:
    assert value(_metric(name, number)) == shown


def test_null_is_a_dash_unless_there_was_nothing_to_count() -> None:
    untold = _metric("recovered", None)
    assert value(untold) == "–"
    assert value({**untold, "n": 0}) == "not defined"
    assert interval(untold) == "–"
    assert with_interval(untold) == "–"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"depth_from": 3, "depth_to": 1}, "from depth 3 to depth 1"),
        ({"level_from": 1, "level_to": 2}, "from level 1 to level 2"),
        ({"depth_to": 0}, "at depth 0"),
        ({}, ""),
    ],
)
def test_cuts_are_told_in_words(parameters: dict[str, int], words: str) -> None:
    assert cut(_metric("accuracy", 0.5, **parameters)).replace("\u00a0", " ") == words


def test_parameters_are_told_in_words() -> None:
    metric = _metric(
        "x",
        0.5,
        aggregation="paths",
        threshold=1e-05,
        average="micro",
        subgraphs=[["a", "b"], ["c"]],
    )
    assert others(metric) == (
        "aggregation: paths",
        "threshold 0.00001",
        "micro average",
        "a, b over c",
    )


def test_only_what_all_have_alike_is_told_once() -> None:
    first = _metric("x", 0.5, aggregation="paths", average="micro")
    second = _metric("x", 0.5, aggregation="paths", average="macro")
    assert in_common([first, second]) == ("aggregation: paths",)
    assert in_common([]) == ()


def test_a_value_at_the_end_of_its_range_is_told_as_beyond_the_last_step() -> None:
    assert value({**_metric("accuracy", 0.95), "beyond": "above"}) == "above 95.0%"
