"""The chapters on a model, and when they are there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from audit._reports.chapters.exchanges import exchanges
from audit._reports.chapters.model import Model, behaviours, beside_figure, decided, model
from audit._reports.chapters.report import build, sections
from audit._reports.html import html_text
from audit._reports.words.parts import Codes
from audit.results.printed import Count, marked
from fixtures import results
from tests.unit.reports.document import Document, joined

FEW = Count(5, {"bin": 10})
CHAPTERS = ["model", "behaviour", "exchanges", "beside"]


@pytest.fixture(scope="module")
def measured() -> Model:
    return _of(results.model_result().shared())


def _of(shared: Any) -> Model:
    found = model(shared)
    assert found is not None
    return found


def _sections(shared: Any) -> list[str]:
    return [section.id for section in sections(build(shared))]


def test_chapters_follow_the_coverage() -> None:
    found = _sections(results.rich_result().shared())
    assert found[found.index("coverage") + 1 :][:4] == CHAPTERS


def test_without_predictions_there_is_no_chapter_on_a_model() -> None:
    shared = results.sample_result().shared()
    text = Document(html_text(shared)).text
    assert not set(CHAPTERS) & set(_sections(shared))
    assert "Accuracyalignment" not in text
    assert "Instanceswithaprediction" not in text


def test_sets_have_no_behaviours_and_say_what_is_absent() -> None:
    shared = results.set_valued_result().shared()
    found = _of(shared)
    assert "behaviour" not in _sections(shared)
    assert found.accuracy is None
    assert found.by_node == ()
    assert shared["metrics_absent"]
    assert all(absent["reason"] in found.absent for absent in shared["metrics_absent"])
    assert "is in the instance’s set" in found.decided


def test_every_metric_over_all_instances_stands_in_a_table(measured: Model) -> None:
    shared = results.model_result().shared()
    text = Document(html_text(shared)).text
    whole = [metric for metric in shared["metrics"] if metric["scope"] == "all"]
    single, errors, uncertainty = measured.tables
    assert len(single.rows) + 3 * len(errors.rows) + 2 * len(uncertainty.rows) == len(whole) + 4
    for metric in whole:
        places = {"uncertainty_alignment": ".3f", "mistake_severity": ".2f"}
        shown = format(metric["value"], places.get(metric["name"], ".1%"))
        assert joined(shown.replace("-", "−")) in text


def test_pictures_are_drawn_and_described(measured: Model) -> None:
    ids = [figure.id for figure in measured.figures]
    assert ids == ["accuracy", "behaviours", "exchanges", "beside"]
    assert all(figure.alt and figure.table.rows for figure in measured.figures)


def test_a_node_without_errors_stands_last_in_the_table(measured: Model) -> None:
    alignment, _ = measured.by_node
    assert len(alignment.rows) == 10
    assert alignment.rows[-1][2:] == ("not defined", "not defined", "not defined", "0")


def test_examples_are_named_only_in_exact_views() -> None:
    exact = behaviours(results.rich_result().exact()["overview"]["behaviours"])
    assert exact is not None
    assert exact.table.rows[0][-1] == Codes(("100021", "100034", "100050"))
    told = behaviours(marked(results.rich_result().shared())["overview"]["behaviours"])
    assert told is not None
    assert told.table.rows[-1][1:] == ("<11", "3,955", "–", "–")
    assert behaviours([]) is None


def test_behaviours_without_a_share_to_draw_are_told_in_a_table() -> None:
    row = results.rich_result().shared()["overview"]["behaviours"][-1]
    found = behaviours([row])
    assert found is not None
    assert found.figure is None


def test_what_is_not_told_is_left_out_of_the_picture() -> None:
    predictions = results.model_result().shared()["ledger"]["predictions"]
    row = results.model_result().shared()["overview"]["data_beside_model"][0]
    untold = ("rate", "co_predicted_rate", "confusion", "confusion_low", "confusion_high")
    hidden = row | dict.fromkeys(untold) | {"joint": FEW}
    all_marks, no_marks = beside_figure([row], predictions), beside_figure([hidden], predictions)
    assert all_marks is not None
    assert no_marks is not None
    assert _marks(all_marks.drawing.markup) == _marks(no_marks.drawing.markup) + 3
    assert no_marks.table.rows[0][3:5] == ("<11", "–")
    assert no_marks.table.rows[0][-1] == "–"
    assert beside_figure([], predictions) is None


def _marks(markup: str) -> int:
    return len(re.findall(r'<path [^>]*stroke-width="1.8"', markup))


def test_what_counts_as_predicted_names_its_threshold() -> None:
    predictions = results.model_result().shared()["ledger"]["predictions"]
    assert decided(predictions | {"single_label": False}).endswith("from a score of 0.5.")


def test_thresholds_stand_beside_their_numbers(measured: Model) -> None:
    assert measured.beside is not None
    assert "0.00001" in measured.beside.caption


def test_examples_are_escaped() -> None:
    html = html_text(results.model_result().shared())
    assert "&lt;b&gt;7&lt;/b&gt;" in html
    assert "<b>7" not in html


def test_exchanges_between_branches_are_drawn_as_far_as_they_are_shown() -> None:
    overview = results.model_result().shared()["overview"]
    rows = overview["branch_exchanges"]
    overview |= {
        "exchanges": [{"kind": "related", "exchanges": 3}, {"kind": "across", "exchanges": FEW}]
    }
    hidden = {**rows[-1], "observed": FEW, "expected": None, "excess": None}
    drawn, undrawn = (
        exchanges({**overview, "branch_exchanges": [*shown, hidden]}) for shown in (rows, [])
    )

    assert drawn is not None
    assert drawn.facts == (
        ("Of a label with one above or below it", "3"),
        ("Between branches", "<11"),
    )
    assert drawn.figure is not None
    assert len(drawn.figure.table.rows) == len(rows) + 1
    assert f"Of {len(rows)} pairs" in drawn.figure.alt
    assert drawn.figure.table.rows[-1][-2:] == ("–", "–")
    assert undrawn is not None
    assert undrawn.figure is None
    assert exchanges({**overview, "exchanges": []}) is None


def test_exchanges_are_listed_whether_or_not_they_pass() -> None:
    overview = results.model_result().shared()["overview"]
    found = exchanges(overview)

    assert found is not None
    assert found.pairs is not None
    assert found.answers is not None
    assert [row[-1] for row in found.pairs.rows] == ["yes", "no", "no"]
    assert found.passing == 1
    assert found.pairs.rows[-1][3:6] == ("7", "2.5", "+4.5")
    assert exchanges({**overview, "exchanged_pairs": [], "answers": []}) == replace(
        found, passing=0, pairs=None, answers=None
    )
