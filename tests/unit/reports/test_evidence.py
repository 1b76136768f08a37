"""A finding's evidence is drawn where it stands, and no drawing tells what is withheld."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit._reports.chapters.findings_by_check import blocks
from audit._reports.charts.evidence import plots
from audit._reports.charts.parts import around_one, around_zero, from_zero
from audit._reports.html import environment
from audit._reports.words.parts import Line, Plot
from fixtures import results

THRESHOLDS = {"excess_ratio": 1.5, "residual_difference": 0.1}

COUNTED = {"instances": 40, "of": 200, "share": 0.2}
JUDGED = COUNTED | {"low": 0.15, "high": 0.26, "limit": 0.1}
CONFUSED = COUNTED | {
    "first_as_second": 29, "second_as_first": 11, "expected_exchanges": 12.5,
    "excess": 27.5, "q_value": 0.001,
}  # fmt: skip
PAIR = {
    "instances": 30, "of": 200, "support_a": 50, "support_b": 60, "expected_length": 15.0,
    "explained": 15.0, "ratio": 2.0, "ratio_low": 1.4, "ratio_high": 2.9,
}  # fmt: skip
CAP = {
    "instances": 80, "of": 200, "share": 0.4, "length": 9, "longer": 0, "one_shorter": 4,
    "two_shorter": 5, "expected": 4.0, "ratio": 20.0, "ratio_low": 15.0, "ratio_high": None,
}  # fmt: skip
DIFFERENT = COUNTED | {
    "elsewhere": 20, "of_elsewhere": 400, "elsewhere_share": 0.05,
    "difference": 0.15, "difference_low": 0.1, "difference_high": 0.2,
}  # fmt: skip
CONFINED = {
    "units": 25, "low": 0.86, "of_parent": 400, "parent_units": 100, "parent_share": 0.25,
    "instances": 40, "p_value": 0.001, "family": 30,
}  # fmt: skip
NO_ZERO = {"of": 1761, "expected_rows": 35, "rows": 12, "ambiguous": 40}
LEAK = {"groups": 20, "of_groups": 100, **COUNTED}

KINDS: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "rows": ("unknown_code", {"rows": 12, "of": 539, "share": 0.02, "labels": 3}, [1]),
    "instances": ("parent_and_child", COUNTED, [1]),
    "interval": ("residual_overuse", JUDGED, [1]),
    "exchanged": ("model_confuses", CONFUSED, [4]),
    "pair": ("unexpected_pair", PAIR, [2, 1]),
    "pair beside others": ("unexpected_pair", PAIR | {"explained": 20.0}, [3, 1]),
    "branches": ("cross_branch", COUNTED | {"support_a": 50, "support_b": 60}, [3]),
    "cap": ("record_cap", CAP, [5, 1]),
    "differs": ("residual_overuse", DIFFERENT, [2, 1]),
    "confined": ("group_confined", CONFINED, [2]),
    "no zero": ("lost_zero", NO_ZERO, [3]),
    "leak": ("split_leak", LEAK, [2]),
}
"""Evidence of each form that the checks give, with the lines of each plot that it makes."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_of_evidence_is_drawn(kind: str) -> None:
    check, numbers, lines = KINDS[kind]
    drawn = plots(check, numbers, THRESHOLDS)
    assert [len(plot.lines) for plot in drawn] == lines


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_stands_beyond_the_axis(kind: str) -> None:
    check, numbers, _ = KINDS[kind]
    for plot in plots(check, numbers, THRESHOLDS):
        places = [place for line in plot.lines for place in _places(line)]
        assert all(0 <= place <= 1 for place in places)
        assert [tick.at for tick in plot.ticks] == sorted(tick.at for tick in plot.ticks)


@pytest.mark.parametrize("kind", KINDS)
def test_words_tell_every_line(kind: str) -> None:
    check, numbers, _ = KINDS[kind]
    for plot in plots(check, numbers, THRESHOLDS):
        assert all(line.text in plot.alt for line in plot.lines)


def test_an_interval_stands_around_its_share_and_beside_the_limit() -> None:
    (plot,) = plots("residual_overuse", JUDGED, THRESHOLDS)
    (line,) = plot.lines
    assert line.mark == "dot"
    assert line.low is not None
    assert line.at is not None
    assert line.high is not None
    assert plot.limit is not None
    assert plot.limit.at < line.low < line.at < line.high
    assert "95% interval 15.0% to 26.0%. Limit of the policy: 10.0%." in plot.alt


def test_a_part_is_drawn_in_its_whole() -> None:
    (plot,) = plots("parent_and_child", COUNTED, THRESHOLDS)
    assert plot.of_all
    assert (plot.lines[0].mark, plot.lines[0].at) == ("bar", 0.2)


def test_a_ratio_stands_beside_one_and_the_limit() -> None:
    _, plot = plots("unexpected_pair", PAIR, THRESHOLDS)
    (line,) = plot.lines
    assert plot.origin is not None
    assert plot.limit is not None
    assert line.low is not None
    assert line.at is not None
    assert plot.origin < line.low < plot.limit.at < line.at


def test_a_ratio_without_an_interval_says_so() -> None:
    _, plot = plots("record_cap", CAP, THRESHOLDS)
    assert plot.lines[0].text == "times the expectation: 20.00, no interval"
    assert (plot.lines[0].low, plot.lines[0].high) == (None, None)


def test_a_difference_below_the_reference_has_its_limit_there() -> None:
    lower = DIFFERENT | {"difference": -0.2, "difference_low": -0.3, "difference_high": -0.15}
    _, plot = plots("residual_overuse", lower, THRESHOLDS)
    assert plot.origin == 0.5
    assert plot.limit is not None
    assert plot.limit.at < 0.5


@given(st.integers(2, 12), st.integers(100, 10_000))
def test_a_bound_is_drawn_as_all_that_it_leaves_open(min_cell: int, total: int) -> None:
    for bound, low, high in (
        (f"<{min_cell}", 1, min_cell - 1),
        (f">{total - min_cell}", total - min_cell + 1, total),
    ):
        shown = {"instances": bound, "of": total, "share": None}
        (plot,) = plots("parent_and_child", shown, THRESHOLDS)
        (line,) = plot.lines
        assert line.at is None
        assert line.within is not None
        assert line.within == pytest.approx((low / total, high / total))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_withheld_is_drawn_nowhere(kind: str) -> None:
    check, numbers, _ = KINDS[kind]
    withheld = dict.fromkeys(numbers) | {
        name: "<11"
        for name in numbers
        if isinstance(numbers[name], int) and name not in ("length", "expected_rows")
    }
    withheld |= {name: numbers[name] for name in ("length", "expected_rows") if name in numbers}
    for plot in plots(check, withheld, THRESHOLDS):
        shown = [line for line in plot.lines if line.at is not None]
        assert all(line.mark == "ring" or line.at in (0.0, 1.0) for line in shown)


def test_a_card_without_a_drawing_says_why() -> None:
    sample = results.sample_result()
    coarse = replace(sample, policy={**sample.policy, "min_cell": results.INSTANCES}).shared()
    undrawn = [
        card
        for block in blocks(coarse["checks"], THRESHOLDS)
        for card in block.findings
        if not card.plots
    ]
    assert undrawn
    assert all("withheld" in card.undrawn for card in undrawn)


def test_markup_keeps_to_the_page() -> None:
    module: Any = environment().get_template("parts/evidence.html.jinja").module
    hostile = Plot((Line("<script>", "bar", "observed", 0.5),), (), '"><img>')
    source = str(module.plot(hostile, False)) + str(module.plot(hostile, True))
    assert "<script>" not in source
    assert "<img>" not in source


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=5))
def test_axes_hold_all_their_values_in_order(values: list[float]) -> None:
    for scale in (from_zero(values, str), around_zero(values, str), around_one(values, str)):
        assert all(scale.start <= value <= scale.end for value in values)
        ranked = sorted(values)
        assert [scale.place(v) for v in ranked] == sorted(map(scale.place, ranked))


def test_equal_ratios_are_equal_steps() -> None:
    scale = around_one([8.0], str)
    places = [scale.place(value) for value in (1.0, 2.0, 4.0)]
    assert math.isclose(places[1] - places[0], places[2] - places[1])


def _places(line: Line) -> list[float]:
    return [p for p in (line.at, line.low, line.high, *(line.within or ())) if p is not None]
