"""The page of a history: whole, inert, and what the history says."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reports
from audit._reports.charts.parts import WIDTH
from audit._reports.charts.small_multiples import Panel, Point, bars_spec, lines_spec
from audit._reports.comparison.history import checks_figure, history_html
from audit._reports.comparison.history_tables import history_verdict
from audit.base.errors import RenderError
from audit.results.result import AuditResult
from audit.runs.history import history_of
from audit.runs.shared_runs import SharedRun
from fixtures.results import hostile_result, judged_result, rich_result, sample_result
from tests.unit.reports.document import Document, joined

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def history_from(*results: AuditResult) -> dict[str, Any]:
    return history_of(
        [
            SharedRun(f"run {n}", DAY + timedelta(n), json.loads(json.dumps(one.shared())), str(n))
            for n, one in enumerate(results)
        ]
    )


@pytest.fixture(scope="module")
def history() -> dict[str, Any]:
    return history_from(sample_result(), rich_result(), judged_result(), hostile_result())


@pytest.fixture(scope="module")
def html(history: dict[str, Any]) -> str:
    return history_html(history)


@pytest.mark.slow
def test_it_refers_to_nothing_outside_itself(html: str) -> None:
    document = Document(html)

    assert all(not attributes for tag, attributes in document.elements if tag == "script")
    assert {"link", "img", "iframe"}.isdisjoint(tag for tag, _ in document.elements)
    assert document.unbalanced == []
    assert not re.search(r"url\(|@import", html)
    assert "<script>alert(1)" not in html


def test_every_run_check_and_sentence_stands_in_it(history: dict[str, Any], html: str) -> None:
    text = Document(html).text

    for run in history["runs"]:
        assert joined(run["name"]) in text
        assert joined(run["started"][:16].replace("T", " ")) in text
    for row in history["checks"]:
        assert row["check"] in text
    told = [row["statement"] for row in history["findings"] if row["check"] != "hostile"]
    assert told
    for sentence in told:
        assert joined(sentence) in text


def test_headings_are_in_order_ids_are_unique_and_links_lead(html: str) -> None:
    document = Document(html)
    levels = [int(tag[1]) for tag, _ in document.elements if re.fullmatch(r"h\d", tag)]
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    targets = {(a["href"] or "")[1:] for a in document.of("a")}

    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(ids) == len(set(ids))
    assert {section["id"] for section in document.of("section")} <= targets <= set(ids)


def test_the_same_history_gives_the_same_bytes(
    history: dict[str, Any], html: str, tmp_path: Path
) -> None:
    reports.write_history(json.loads(json.dumps(history)), tmp_path / "history.html")

    assert (tmp_path / "history.html").read_text("utf-8") == html


def test_the_verdict_is_that_of_the_last_step() -> None:
    less, more = sample_result(), judged_result()
    same = history_verdict(history_from(sample_result(), sample_result()))

    assert same.badge.word == "The same findings are listed"
    assert same.sentence.startswith("Findings from run 1 to run 2: ")
    assert " persisting, 0 listed now, 0 no longer. " in same.sentence
    for results in ((less, more), (more, less)):
        history = history_from(*results)
        step = history["steps"][-1]
        word = history_verdict(history).badge.word
        assert (word == "Other findings are listed") == bool(step["appeared"])


def test_a_broken_history_is_one_error() -> None:
    with pytest.raises(RenderError, match=r"history\.html"):
        history_html({"schema_version": "1.0"})


def test_no_finding_in_any_run_is_no_figure(history: dict[str, Any]) -> None:
    counts = ("error", "warning", "note", "waived", "folded", "not_shown")
    quiet = [{**row, **dict.fromkeys(counts, 0)} for row in history["checks"]]

    assert checks_figure({**history, "checks": quiet}) is None


def shapes(specification: dict[str, Any], mark: str) -> list[list[dict[str, Any]]]:
    """Rows of each layer of a mark."""
    return [
        layer["data"]["values"] for layer in specification["layer"] if layer["mark"]["type"] == mark
    ]


bars = st.lists(
    st.none() | st.tuples(*(st.tuples(st.just(r), st.integers(0, 50)) for r in ("error", "note"))),
    min_size=1,
    max_size=12,
)


@given(st.lists(bars.map(tuple), min_size=1, max_size=7))
def test_bars_are_as_high_as_their_counts_and_never_overlap(drawn: list[Any]) -> None:
    panels = [Panel(str(n), runs, "1", "0") for n, runs in enumerate(drawn)]
    rects = [row for layer in shapes(bars_spec(panels), "rect") for row in layer]
    counts = [n for runs in drawn for bar in runs if bar for _, n in bar if n]

    heights = sorted(row["bottom"] - row["top"] for row in rects if row["role"] != "grid")
    assert len(heights) == len(counts)
    assert all(0 <= row["left"] < row["right"] <= WIDTH for row in rects)
    scaled = sorted(
        64 * n / max(1, *(sum(k for _, k in bar or ()) for bar in runs))
        for runs in ((*runs, ()) for runs in drawn)
        for bar in runs
        if bar
        for _, n in bar
        if n
    )
    assert heights == pytest.approx(scaled, abs=0.03)
    for one, two in pairwise(sorted(rects, key=lambda r: (r["left"], r["top"]))):
        if one["left"] == two["left"] and one["role"] != "grid" != two["role"]:
            assert one["bottom"] <= two["top"] + 0.03


values = st.floats(0, 1).map(lambda v: Point(v, v / 2, (1 + v) / 2))


@given(st.lists(st.none() | values, min_size=1, max_size=15))
def test_points_rise_with_values_and_gaps_are_not_joined(runs: list[Point | None]) -> None:
    specification = lines_spec([Panel("a", tuple(runs), "1", "0")], 0.0, 1.0)
    ((points,), (grid, bounds, joined_)) = (
        shapes(specification, "circle"),
        shapes(specification, "rule"),
    )
    found = [run for run in runs if run is not None]

    assert len(grid) == 2
    assert len(points) == len(bounds) == len(found)
    neighbours = sum(None not in pair for pair in pairwise(runs))
    assert len(joined_) == neighbours
    for (one, a), (two, b) in pairwise(zip(points, found, strict=True)):
        assert one["left"] < two["left"]
        assert (one["top"] < two["top"]) <= (a.value >= b.value)
