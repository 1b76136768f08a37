"""Metrics are declared once: functions, words and pages are made of the list."""

from __future__ import annotations

from pathlib import Path

from audit import metrics
from fixtures.registered import BESIDE, METRICS
from reports import words

SCRIPTS = Path(__file__).parents[2] / "scripts"


def test_every_metric_is_a_function_but_the_one_of_batches_alone() -> None:
    functions = {one.name for one in METRICS} - {"f1"}

    assert set(metrics.__all__) == functions | {"HierarchicalMetrics", "concept_confusion"}
    for name in functions:
        function = getattr(metrics, name)
        assert function.__name__ == name
        assert "hierarchy" in function.__doc__


def test_reports_have_a_word_for_every_metric() -> None:
    assert list(words.METRICS) == [one.name for one in (*METRICS, *BESIDE)]
