"""The HTML of a comparison: whole, inert, and what the shared view says."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import reports
from audit._reports.comparison.comparison import comparison_html
from audit._reports.comparison.tables import applies_to_neither
from audit._reports.comparison.words import comparison_verdict
from audit.base.errors import RenderError
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import compare_runs
from fixtures.labelled import labelled, repeated, tree
from tests.unit.reports.document import Document, joined

OLD = tree("lung heart < body", "asthma cough fit < lung", "attack angina < heart",
           titles={"asthma": "Asthma", "cough": "Cough <script>"})  # fmt: skip
NEW = tree("lung heart < body", "asthma < lung", "attack angina cough flu < heart",
           titles={"asthma": "Asthma, all kinds", "cough": "Cough <script>"})  # fmt: skip
WORSE = (120, ["lung", "asthma"])


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    before = repeated([(200, ["asthma"]), (200, ["cough"]), (30, ["fit"]), (300, ["attack"])])
    after = repeated([(400, ["asthma"]), (200, ["cough"]), (9, ["flu"]), (290, ["attack"]), WORSE])
    runs = [
        run_audit(labelled(hierarchy, labels, persons=True))
        for hierarchy, labels in ((OLD, before), (NEW, after))
    ]
    return compare_runs(*runs).shared()


@pytest.fixture(scope="module")
def html(shared: dict[str, Any]) -> str:
    return comparison_html(shared)


def test_it_refers_to_nothing_outside_itself(html: str) -> None:
    document = Document(html)

    assert all(not attributes for tag, attributes in document.elements if tag == "script")
    assert {"link", "img", "iframe"}.isdisjoint(tag for tag, _ in document.elements)
    assert document.unbalanced == []
    assert not re.search(r"https?:|url\(|@import", html)
    assert "Cough &lt;script&gt;" in html


def test_every_row_of_the_view_stands_in_it(shared: dict[str, Any], html: str) -> None:
    text = Document(html).text

    for row in (*shared["nodes"]["rows"], *shared["edits"]["rows"]):
        assert joined(f"{row['title'] or ''}{row['node']}") in text
    for check in shared["checks"]:
        assert (check["name"] in text) is not applies_to_neither(check)
        for finding in check["findings"]:
            assert joined(finding["statement"] or finding["nodes"][0]["id"]) in text
    for told in (*shared["causes"], *shared["terms"]):
        assert joined(told.get("statement", told.get("reason"))) in text


def test_headings_are_in_order_and_ids_are_unique(html: str) -> None:
    document = Document(html)
    levels = [int(tag[1]) for tag, _ in document.elements if re.fullmatch(r"h\d", tag)]
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]

    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(ids) == len(set(ids))


def test_the_contents_lead_to_every_section(html: str) -> None:
    document = Document(html)
    targets = {(a["href"] or "")[1:] for a in document.of("a")}
    sections = {section["id"] for section in document.of("section")}

    assert sections <= targets
    assert targets <= {a.get("id") for _, a in document.elements}


def test_the_same_view_gives_the_same_bytes(
    shared: dict[str, Any], html: str, tmp_path: Path
) -> None:
    reports.write_comparison(shared, tmp_path / "comparison.html")

    assert (tmp_path / "comparison.html").read_text("utf-8") == html
    assert not re.search(r"/home|/tmp|20\d\d-\d\d-\d\dT", html)


def test_the_verdict_says_what_differs_first(shared: dict[str, Any]) -> None:
    verdict = comparison_verdict(shared)

    assert verdict.badge.word == "Changed"
    assert verdict.sentence.startswith("Different in the two runs: data and hierarchy.")


def test_a_run_beside_itself_is_unchanged(tmp_path: Path) -> None:
    run = run_audit(labelled(OLD, repeated([(30, ["asthma"])])))
    comparison = compare_runs(run, run)
    reports.write_comparison(comparison, tmp_path / "comparison.html")
    text = Document((tmp_path / "comparison.html").read_text("utf-8")).text

    assert "Unchanged." in text
    assert joined("No node’s use changed.") in text
    assert joined("No finding is new, gone, worse or better.") in text


def test_a_broken_view_is_one_error() -> None:
    with pytest.raises(RenderError, match=r"comparison\.html"):
        comparison_html({"schema_version": "1.0"})
