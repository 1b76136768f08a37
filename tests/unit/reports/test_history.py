"""The page of a history says what the history does."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from audit._reports.comparison.history import build
from audit._reports.comparison.history_tables import history_verdict
from audit._reports.words.parts import Unfolding
from audit.results.result import AuditResult
from audit.runs.history import history_of
from audit.runs.shared_runs import SharedRun
from fixtures.results import hostile_result, judged_result, rich_result, sample_result

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


def test_every_run_check_metric_and_sentence_stands_in_a_table(history: dict[str, Any]) -> None:
    report = build(history)
    assert report.checks is not None
    assert report.findings is not None
    quiet = {*report.quiet}

    assert len(report.runs.rows) == len(history["runs"]) == len(report.steps.rows) + 1
    loud = [row for row in history["checks"] if row["check"] not in quiet]
    assert len(report.checks.rows) == len(loud) > 0
    metrics = {row["metric"] for row in history["metrics"] if row["scope"] == "all"}
    assert 0 < len(report.metrics) <= len(metrics)
    unfolded = [row[0] for row in report.findings.rows]
    for row, cell in zip(history["findings"], unfolded, strict=True):
        assert isinstance(cell, Unfolding)
        assert row["statement"] in (None, cell.sentence)


def test_no_finding_in_any_run_is_no_table(history: dict[str, Any]) -> None:
    counts = ("error", "warning", "note", "waived", "folded", "not_shown")
    quiet = [{**row, **dict.fromkeys(counts, 0)} for row in history["checks"]]

    assert build({**history, "checks": quiet}).checks is None
