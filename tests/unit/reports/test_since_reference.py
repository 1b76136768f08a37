"""The chapter on the reference tells each finding where it belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from audit.judge.reference import remembered
from fixtures import results
from reports.html import html_text
from reports.since_reference import since_reference
from tests.unit.reports.document import Document, joined


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    result = results.rich_result()
    kept = remembered(results.sample_result(), int(result.policy["min_cell"]))
    gone = {"id": "gone:x", "severity": "note", "nodes": [{"id": "401.9", "title": None}]}
    first = kept["checks"][0]
    first["standing"].append("gone:x")
    first["findings"].append({**gone, "counts": {}, "effect": "ratio", "value": 2.5})
    return replace(result, reference=kept).shared()


def test_no_chapter_without_a_reference() -> None:
    assert since_reference(results.rich_result().shared()) is None


def test_a_gone_finding_is_told_with_its_number(shared: dict[str, Any]) -> None:
    chapter = since_reference(shared)
    assert chapter is not None
    assert chapter.findings is not None
    (row,) = [row for row in chapter.findings.rows if row[1] == "Gone"]
    assert row[-3:] == ("ratio", "×2.5", "–")


def test_the_chapter_counts_what_it_tells(shared: dict[str, Any]) -> None:
    chapter = since_reference(shared)
    assert chapter is not None
    asked = [check for check in shared["since_reference"]["checks"] if check["new"] is not None]
    assert f"{sum(check['gone'] for check in asked)} gone" in chapter.sentences[1]
    assert f"{len(asked)} checks that both runs could ask" in chapter.sentences[1]


def test_the_report_has_the_chapter(shared: dict[str, Any]) -> None:
    document = Document(html_text(shared))
    assert joined("Change since the reference") in document.text
    ids = [attributes.get("id") for _, attributes in document.elements]
    assert ids.index("model") < ids.index("since") < ids.index("ledger")
