"""The chapter on the reference tells each finding where it belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from audit._reports.chapters.since_reference import since_reference
from audit._reports.html import html_text
from audit.checks.earlier import remembered
from fixtures import results
from tests.unit.reports.document import Document, joined

NUMBER = str.maketrans("", "", "0123456789.,<>")
"""Leaves of a number what it counts."""


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    result = results.rich_result()
    kept = remembered(results.sample_result())
    gone = {"id": "gone:x", "severity": "note", "nodes": [{"id": "401.9", "title": None}]}
    first = kept["checks"][0]
    first["standing"].append("gone:x")
    first["findings"].append({**gone, "count": None, "effect": "ratio", "value": 2.5})
    return replace(result, reference=kept).shared()


def test_no_chapter_without_a_reference() -> None:
    assert since_reference(results.rich_result().shared()) is None


def test_a_gone_finding_is_told_with_its_number(shared: dict[str, Any]) -> None:
    chapter = since_reference(shared)
    assert chapter is not None
    (ratios,) = [table for table in chapter.findings if table.id == "since-ratios-table"]
    (row,) = [row for row in ratios.rows if row[1] == "No longer listed"]
    assert row[-2:] == ("×2.50", "–")


def test_a_column_holds_numbers_of_one_kind(shared: dict[str, Any]) -> None:
    """So that sorting it compares like with like: shares, or ratios."""
    chapter = since_reference(shared)
    assert chapter is not None
    for table in chapter.findings:
        numeric = [place for place, column in enumerate(table.columns) if column.numeric]
        signs = {str(row[place]).translate(NUMBER) for row in table.rows for place in numeric}
        assert len(signs - {"–"}) <= 1
    assert sum(len(table.rows) for table in chapter.findings) > len(chapter.findings)


def test_the_chapter_counts_what_it_tells(shared: dict[str, Any]) -> None:
    chapter = since_reference(shared)
    assert chapter is not None
    asked = [check for check in shared["since_reference"]["checks"] if check["new"] is not None]
    assert f"{sum(check['gone'] for check in asked)} no longer listed" in chapter.sentences[1]
    assert f"{len(asked)} checks that both runs applied" in chapter.sentences[1]


def test_the_report_has_the_chapter(shared: dict[str, Any]) -> None:
    document = Document(html_text(shared))
    assert joined("Changes since the reference") in document.text
    ids = [attributes.get("id") for _, attributes in document.elements]
    assert ids.index("model") < ids.index("since") < ids.index("ledger")


def test_depths_stand_beside_the_reference() -> None:
    result = replace(results.sample_result())
    kept = remembered(result)
    kept["depths"][-1].update(labels=0, share=0.0)
    chapter = since_reference(replace(result, reference=kept).shared())
    assert chapter is not None
    assert chapter.depths is not None
    depth, before, now, difference = chapter.depths.rows[-1]
    assert (depth, before) == (str(kept["depths"][-1]["depth"]), "0.0%")
    assert difference == f"+{now}".rstrip("%")


def test_no_depths_are_told_of_another_hierarchy() -> None:
    result = results.sample_result()
    kept = remembered(result) | {"hierarchy": "another"}
    chapter = since_reference(replace(result, reference=kept).shared())
    assert chapter is not None
    assert chapter.depths is None
