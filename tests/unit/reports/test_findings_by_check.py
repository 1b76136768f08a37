"""Findings check by check: advice once, the worst result first, a line for each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from audit._reports.chapters.findings_by_check import blocks, rest_of
from audit._reports.chapters.report import build
from audit._reports.chapters.verdict import verdict
from audit._reports.html import html_text
from audit._reports.words.parts import Node
from fixtures import results
from tests.unit.reports.document import Document, joined


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    return results.rich_result().shared()


def test_every_finding_stands_once_in_the_block_of_its_check(shared: dict[str, Any]) -> None:
    made = blocks(shared["checks"])
    told = {one.check: [line.id for line in one.findings] for one in made}

    for check in shared["checks"]:
        wanted = sorted(finding["id"] for finding in check["findings"])
        assert sorted(told.get(check["name"], [])) == wanted
    assert [len(one.table.rows) for one in made] == [len(one.findings) for one in made]


def test_an_advice_is_told_once_a_check(shared: dict[str, Any]) -> None:
    big = results.big_result(checks=2).shared()
    text = Document(html_text(big)).text
    for check in big["checks"]:
        for advice in {finding["curator"] for finding in check["findings"]}:
            others = [c for c in big["checks"] for f in c["findings"][:1] if f["curator"] == advice]
            first = sum(joined(one.to_do) in joined(advice) for one in verdict(big).first)
            assert text.count(joined(advice)) <= len(others) + 1 + first
    for one in blocks(shared["checks"]):
        assert len(one.advice) == len(set(one.advice))


def test_findings_under_the_same_nodes_stand_under_their_sentences(shared: dict[str, Any]) -> None:
    for block in blocks(shared["checks"]):
        named = Counter(
            nodes
            for line in block.findings
            if (nodes := tuple(cell for _, cell in line.cells if isinstance(cell, Node)))
        )
        assert set(named.values()) <= {1}


def test_what_could_not_be_applied_stands_apart_with_its_reason(shared: dict[str, Any]) -> None:
    report = build(shared)
    absent = [check for check in shared["checks"] if check["status"] == "not_applicable"]

    assert len(report.checks.rows) + len(absent) == len(shared["checks"])
    rows = report.not_applicable.rows if report.not_applicable else ()
    assert [row[1] for row in rows] == [check["reason"] for check in absent]
    passed = sum(check["status"] == "pass" for check in shared["checks"])
    assert str(passed or "") in rest_of(shared["checks"])
