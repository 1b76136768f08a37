"""The chapters on explanations show the shared view's numbers, and what is missing as missing."""

from __future__ import annotations

import re
from math import tanh
from typing import Any

import pytest

from audit._reports.chapters.explanations.agreement import agreement
from audit._reports.chapters.explanations.nodes import ranked, where
from audit._reports.chapters.report import Report, build, sections
from audit._reports.words.parts import Node
from fixtures import explanation_results
from tests.unit.reports.shown import figure_of, tables_of

_PLACED = re.compile(r'transform="translate\(([\d.]+),([\d.]+)\)"[^>]*>(−?0\.\d\d)<')


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    return explanation_results.measured()


@pytest.fixture(scope="module")
def report(shared: dict[str, Any]) -> Report:
    return build(shared)


@pytest.fixture(scope="module")
def small() -> Report:
    return build(explanation_results.as_told())


def test_alignment_is_drawn_where_it_was_measured(shared: dict[str, Any], report: Report) -> None:
    figure = figure_of(report, "alignment-expert")
    main = [row for row in shared["explanations"]["alignment"] if row["subset"] == "all"]
    assert all(f"{row['delta_a']:.2f} on 187" in figure.drawing.markup for row in main)


def test_a_node_is_shown_as_delta_a_and_compared_on_the_scale_of_fisher(report: Report) -> None:
    row = figure_of(report, "explained-nodes").table.rows[0]
    node, model, below, elsewhere, difference, *_ = row
    assert isinstance(node, Node)
    assert (node.id, model) == ("390-459", "first")
    mean = 0.7 - 0.33
    assert str(below).startswith(f"{tanh(mean):.3f} ({tanh(mean - 0.05):.3f} to ")
    assert elsewhere == f"{tanh(0.717):.3f}"
    assert str(difference).startswith("−0.347 (")


def test_nodes_with_the_same_examples_are_told_once_by_the_deepest(shared: dict[str, Any]) -> None:
    rows = [
        row
        for row in shared["explanations"]["branches"]
        if row["method"] is None and row["measure"] == "importance_alignment"
    ]
    below = {**rows[0], "node": "393-398", "depth": 3}
    kept = [row["node"] for row in ranked([*rows, below]) if row["model"] == rows[0]["model"]]
    assert "393-398" in kept
    assert "390-459" not in kept


def test_without_evidence_nodes_are_compared_by_what_there_is(shared: dict[str, Any]) -> None:
    rows = shared["explanations"]["branches"]
    alone = [row for row in rows if row["measure"] == "agreement"]
    chapter = where({"branches": alone, "evidence": []}, 0.05)
    assert chapter is not None
    assert "agreement of methods" in chapter.figures[0].title.lower()
    assert chapter.tables == ()
    assert where({"branches": []}, 0.05) is None


def test_the_matrix_tells_peaks_below_and_the_difference_above(report: Report) -> None:
    markup = figure_of(report, "agreement-0").drawing.markup
    placed = [(float(x), float(y), text) for x, y, text in _PLACED.findall(markup)]
    above = sorted(text for x, y, text in placed if x > y)
    below = sorted(text for x, y, text in placed if x < y)
    assert above == ["−0.06"] * 6  # six pairs, people among them
    assert below == sorted(f"{0.5512 + 0.03 * place:.2f}" for place in range(6))
    assert "people" in markup


def test_many_models_and_methods_are_drawn_in_part_and_told_in_full() -> None:
    found = explanation_results.measured()["explanations"]
    models = [f"model {place}" for place in range(9)]
    for name in ("agreement", "differences"):
        own = [row for row in found[name] if row["model"] == "first"]
        found[name] = [{**row, "model": model} for model in models for row in own]
    chapter = agreement(found)
    assert chapter is not None
    assert sum(figure.id.startswith("agreement") for figure in chapter.figures) == 6
    told = {table.id for table in tables_of(chapter)}
    assert {f"agreement-{place}-numbers" for place in range(9)} <= told


def test_what_is_not_there_has_no_chapter() -> None:
    report = build(explanation_results.bare())
    ids = [section.id for section in sections(report)]
    assert "explained" in ids
    assert not {"reasons", "where", "agreement", "against"} & set(ids)
    assert ("People’s evidence", "none") in report.of("explanations").facts


def test_why_there_is_no_alignment_stands_in_its_row(report: Report) -> None:
    table = figure_of(report, "alignment-expert").table
    reasons = {row[-1] for row in table.rows}
    assert reasons == {"–", "no example has both a correlation and a baseline"}


def test_one_reason_for_no_correlation_is_told_once(report: Report) -> None:
    table = next(t for t in tables_of(report.of("explanations")) if t.id == "accuracy-numbers")
    assert len(table.rows) == 1
    assert table.rows[0][-1] == "2 points, and 3 are needed"


@pytest.mark.slow
def test_where_labels_alone_are_the_data_the_policy_is_that_of_analyses() -> None:
    reports = []
    for alone in (True, False):
        shared = explanation_results.measured(alone=alone)
        rate = shared["policy"]["thresholds"][0] | {"name": "false_discovery_rate"}
        policy = shared["policy"] | {"thresholds": [*shared["policy"]["thresholds"], rate]}
        reports.append(build(shared | {"policy": policy}))
    names = [[row[0] for row in report.policy.thresholds.rows] for report in reports]
    assert [len(rows) for rows in names] == [1, 3]
    assert names[0][0] == names[1][2]
    assert [report.policy.rules is None for report in reports] == [True, False]
