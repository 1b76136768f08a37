"""The chapters on concepts show the shared view's numbers, and what is missing as missing."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit._reports.chapters.concepts.concepts import concepts, mean
from audit._reports.chapters.concepts.nodes import nodes, ordered
from audit._reports.chapters.concepts.tests import matrix
from audit._reports.chapters.report import Report, build, sections
from audit._reports.charts.curves import CURVES, STEP, accuracies_spec, steps_spec
from audit._reports.charts.svg import draw
from audit._reports.html import html_text
from audit._reports.words.parts import Badge, Judged, Node
from fixtures import concept_results
from tests.unit.reports.shown import figure_of, tables_of, text_of


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    return concept_results.measured()


@pytest.fixture(scope="module")
def report(shared: dict[str, Any]) -> Report:
    return build(shared)


@pytest.fixture(scope="module")
def small() -> Report:
    return build(concept_results.as_told())


@pytest.mark.slow
def test_every_picture_is_drawn_and_described(report: Report) -> None:
    ids = [figure.id for figure in report.of("concepts").figures]
    assert ids == [
        "concept-is_grounded",
        "concept-is_token_of_type",
        "concept-is_modular",
        "concept-is_causal",
        "concept-nodes-least",
        "concept-layers",
        "concept-classes-by-layer",
        "concept-controls",
        "concept-ablation-0",
        "concept-ablation-1",
        "concept-ablation-2",
        "concept-ablation-3",
    ]
    for figure in report.of("concepts").figures:
        assert "<path" in figure.drawing.markup
        assert "NaN" not in figure.drawing.markup
        assert figure.table.rows
        assert figure.alt.endswith(".")


@pytest.mark.parametrize("test", ["is_token_of_type", "is_modular", "is_causal"])
def test_the_matrix_has_every_verdict_of_the_paper(shared: dict[str, Any], test: str) -> None:
    table = matrix(shared["concepts"]).table
    column = [one.heading for one in table.columns].index(
        {"is_token_of_type": "Token of a type", "is_modular": "Modular", "is_causal": "Causal"}[
            test
        ]
    )
    shown = {(row[0], row[1]): row[column] for row in table.rows}
    words = {"1 slice": "one", "N-1 slices": "all but one"}
    own = [
        row
        for row in shared["concepts"]["tests"]
        if row["test"] == test
        and row["ablation"] in (None, "inlp")
        and row["probe"] in ("transfer", "predict")
    ]
    assert len(own) == len(shown) == 8
    for row in own:
        cell = shown[row["dimension"], words[row["seen"]]]
        assert isinstance(cell, Judged)
        assert cell.badge.word.lower().replace(" ", "_") == row["verdict"]


def test_beneath_a_verdict_stand_the_splits_that_pass(shared: dict[str, Any]) -> None:
    """A split in which a part fails does not pass, nor one where nothing could be removed."""
    rows = {(row[0], row[1]): row for row in matrix(shared["concepts"]).table.rows}

    def lines(dimension: str, seen: str) -> list[str]:
        cells = rows[dimension, seen][2:]
        return [cell.lines[0] for cell in cells if isinstance(cell, Judged) and cell.lines]

    assert lines("site", "all but one")[0] == "5 of 5 splits pass"
    assert lines("part", "all but one")[:2] == ["4 of 5 splits pass"] * 2
    assert lines("course", "one")[:2] == ["0 of 5 splits pass"] * 2


def test_a_verdict_is_told_by_word_and_mark(shared: dict[str, Any]) -> None:
    badges = [
        cell.badge
        for row in matrix(shared["concepts"]).table.rows
        for cell in row
        if isinstance(cell, Judged)
    ]
    tones = {badge.tone: badge.word for badge in badges}
    assert tones == {
        "pass": "Pass",
        "error": "Fail",
        "note": "Undecided",
        "plain": "Not applicable",
    }
    page = html_text(shared)
    assert page.count('<span class="badge tone-error"><svg class="mark"') >= 6


def test_the_first_answer_tells_chance_and_the_answers_judged(shared: dict[str, Any]) -> None:
    first = matrix(shared["concepts"]).answers[0]
    assert first.badge == Badge("Pass", "pass")
    assert first.sentence.startswith("Of 2,275 answers in minimal pairs, 0.942 (0.850 to 1.000)")
    assert "chance is 0.061" in first.sentence


def test_tests_with_one_reason_are_told_once(shared: dict[str, Any]) -> None:
    reasons = matrix(shared["concepts"]).reasons
    assert reasons is not None
    nested, nothing = sorted(reasons.rows, key=lambda row: text_of(row[-1]))
    assert text_of(nested[0]) == "Modular and Causal"
    assert nested[1:3] == ("one and all but one", "depth 5")
    assert nothing[1:3] == ("one", "course")
    assert str(nothing[-1]).startswith("Nothing to remove: ")


def test_the_dimension_removed_stands_first_and_must_be_at_chance(report: Report) -> None:
    figure = figure_of(report, "concept-is_causal")
    labels = re.findall(r">(\w+), (\w+) removed<", figure.drawing.markup)
    assert labels[::3] == [("part", "part"), ("course", "course"), ("site", "site")]
    required = {
        (row[0] == row[1], next(cell for cell in row if str(cell).endswith(("chance", "limit"))))
        for row in figure.table.rows
    }
    assert required == {(True, "at chance"), (False, "above limit")}


def test_leace_stands_beside(report: Report) -> None:
    tables = {table.id: table for table in tables_of(report.of("concepts"))}
    headings = [one.heading for one in tables["concept-variants"].columns]
    assert headings[4:] == [
        "INLP, probe fitted before", "LEACE, probe fitted before",
        "INLP, answers of the model", "LEACE, answers of the model",
    ]  # fmt: skip
    others = tables["concept-others"].rows
    parts = concept_results.measured()["concepts"]["parts"]
    assert len(others) == sum(row["ablation"] == "leace" for row in parts)


def test_nodes_separated_least_come_first_and_folded_ones_not_at_all(
    shared: dict[str, Any],
) -> None:
    chapter = nodes(shared["concepts"])
    assert chapter is not None
    assert chapter.folded == 1
    shown = [row[0].id for row in chapter.table.rows if isinstance(row[0], Node)]
    assert shown == [f"428.2{place}" for place in (0, 1, 2, 3, 4, 6, 7)]
    (figure,) = chapter.figures
    assert "0.58 on 64" in figure.drawing.markup


@given(order=st.permutations(range(8)))
def test_the_order_of_nodes_is_that_of_what_they_show(
    shared: dict[str, Any], order: list[int]
) -> None:
    rows = shared["concepts"]["nodes"]
    names = [row["node"] for row in ordered([rows[place] for place in order])]
    assert names == [row["node"] for row in ordered(rows)]


def test_verdicts_of_rounded_counts_are_not_told(small: Report) -> None:
    first, second, *_ = small.of("concepts").matrix.answers
    assert first.badge == Badge("Not told", "plain")
    assert second.sentence == "What the tests say of rounded counts is not told."


def test_what_is_not_there_has_no_chapter() -> None:
    report = build(concept_results.bare())
    ids = [section.id for section in sections(report)]
    assert {"tested", "matrix"} <= set(ids)
    assert not {"accuracies", "nodes", "layers", "controls", "ablation"} & set(ids)
    answers = [answer.sentence for answer in report.of("concepts").matrix.answers]
    assert answers[0] == "It was not tested: there are no minimal pairs."
    assert "no dimension can be tested" in answers[1]
    assert "The only layer is hidden." in report.of("concepts").by


@pytest.mark.slow
def test_a_single_layer_has_tables_and_no_curve(shared: dict[str, Any]) -> None:
    tested = shared["concepts"]
    rows = [row for row in tested["layer_curves"] if row["place"] == 0]
    one = concepts({**shared, "concepts": {**tested, "layer_curves": rows}})
    assert one is not None
    assert one.layers is not None
    assert one.layers.figures == ()
    assert [len(table.rows) for table in one.layers.tables] == [4, 4]


def test_tested_labels_alone_have_no_chapters_on_a_release(report: Report) -> None:
    ids = [section.id for section in sections(report)]
    assert not {"release", "pictures", "coverage", "model"} & set(ids)
    assert "tested instances" in report.verdict.sentence
    assert report.title.startswith("Concepts in representations: ")
    assert report.release.facts[0] == ("Instances in tests", "907 of 1,037")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.integers(0, 9))
def test_a_mean_is_told_where_all_numbers_are(known: list[float], place: int) -> None:
    assert mean(known) == pytest.approx(pl.Series(known).mean())
    assert mean([*known[:place], None, *known[place:]]) is None


@pytest.mark.parametrize("panels", [1, 2])
def test_lines_are_drawn_at_their_accuracy(panels: int) -> None:
    rows = [
        {
            "line": 0, "label": "one", "panel": panel, "value": 0.6, "low": 0.5, "high": 0.7,
            "chance": 0.3, "zone_from": 0.75, "zone_to": 1.0, "counts": "",
        }
        for panel in range(panels)
    ]  # fmt: skip
    specification = accuracies_spec(rows, ["a", "b"][:panels], 0.75)
    layers = specification["layer"]
    dots = next(layer for layer in layers if layer["mark"].get("shape") == "circle")
    at = [row["value"] for row in dots["data"]["values"]]
    assert at == pytest.approx([0.6 + STEP * panel for panel in range(panels)])
    ends = dots["encoding"]["x"]["scale"]["domain"]
    assert ends == pytest.approx([0, 1 + STEP * (panels - 1)])


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=len(CURVES)))
@example([0.0] * len(CURVES))
@example([1.0] * len(CURVES))
def test_names_of_curves_never_overlap_nor_leave_the_picture(ends: list[float]) -> None:
    curves = [
        (f"curve {n}", [{"place": 0, "value": end, "low": None, "high": None}])
        for n, end in enumerate(ends)
    ]
    specification = steps_spec(curves, ["x"], "", None)
    named = [layer for layer in specification["layer"] if layer["mark"].get("align") == "left"]
    heights = sorted(layer["data"]["values"][0]["value"] * 250 for layer in named)
    assert len(heights) == len(ends)
    assert heights[0] >= 0
    assert heights[-1] <= 250
    assert all(second - first >= 11 for first, second in pairwise(heights))


def test_any_layer_may_have_any_name(shared: dict[str, Any]) -> None:
    rows = [{"place": 0, "value": 0.5, "low": 0.4, "high": 0.6}]
    names = ['"', "\\u0041'", concept_results.HOSTILE, "層"]
    drawing = draw(steps_spec([("a", rows)], names, "layer", 0.75))
    assert "<script" not in drawing.markup
    assert "層" in drawing.markup
