"""Findings and long tables, filtered; what is shown is held against result.json."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.browser.pages import Runs, Visit

pytestmark = pytest.mark.slow

LABEL = {"error": "Error", "warning": "Warning", "note": "Note"}


@pytest.fixture
def findings(runs: Runs) -> list[dict[str, Any]]:
    return [finding for check in runs.shared["checks"] for finding in check["findings"]]


@pytest.fixture
def page(runs: Runs, visit: Visit) -> Page:
    return visit(runs.report)


def shown(page: Page) -> list[str]:
    """Ids of the findings that a reader sees."""
    ids = page.locator("article:not([hidden]) .finding-id code")
    return [one.text_content() or "" for one in ids.all()]


def test_by_severity(page: Page, findings: list[dict[str, Any]]) -> None:
    counts = Counter(finding["severity"] for finding in findings)
    boxes = controls(page).get_by_role("group", name="Severity")
    for severity, count in counts.items():
        assert boxes.get_by_label(f"{LABEL[severity]} ({count})").is_checked()

    boxes.get_by_label("Note").uncheck()

    left = {finding["id"] for finding in findings if finding["severity"] != "note"}
    assert set(shown(page)) == left
    assert told(page).startswith(f"{len(left)} of {len(findings)} findings")


def test_by_check(page: Page, findings: list[dict[str, Any]]) -> None:
    check = "model_confuses"
    wanted = {finding["id"] for finding in findings if finding["id"].startswith(check)}
    controls(page).get_by_label("Check").select_option(check)

    assert set(shown(page)) == wanted
    assert page.locator("#findings .block:visible").count() == 1


def test_by_text(page: Page, findings: list[dict[str, Any]]) -> None:
    controls(page).get_by_label("Text").press_sequentially("Heart FAILURE 428")
    wanted = {
        finding["id"]
        for finding in findings
        if all(word in words(finding) for word in ("heart", "failure", "428"))
    }
    assert wanted
    assert wanted <= set(shown(page)) < {finding["id"] for finding in findings}
    for article in page.locator("article:visible").all():
        text = (article.text_content() or "").lower()
        assert all(word in text for word in ("heart", "failure", "428"))


def test_all_are_back(page: Page, findings: list[dict[str, Any]]) -> None:
    controls(page).get_by_label("Text").fill("zebras")
    assert shown(page) == []
    assert told(page) == f"0 of {len(findings)} findings"

    page.get_by_role("button", name="Show all").click()

    assert told(page).startswith(f"{len(findings)} of {len(findings)} findings")
    assert page.locator("article:not([hidden])").count() == len(findings)


def test_what_is_filtered_is_told_on_paper(page: Page) -> None:
    controls(page).get_by_label("Warning").uncheck()
    page.emulate_media(media="print")

    assert controls(page).locator("output").is_visible()
    assert not controls(page).get_by_label("Warning").is_visible()


def test_rows_of_a_long_table(page: Page) -> None:
    checks = page.locator("table:has(#check-table) tbody tr")
    total = checks.count()
    field = page.locator("#checks").get_by_label("Rows with")
    assert field.evaluate("field => field.ariaDescribedByElements[0].id") == "check-table"

    field.press_sequentially("SAME instance")

    wanted = [
        text
        for text in checks.all_text_contents()
        if "same" in text.lower() and "instance" in text.lower()
    ]
    assert page.locator("table:has(#check-table) tbody tr:visible").all_text_contents() == wanted
    heard = page.locator("#checks").get_by_role("status").filter(has_text="rows")
    assert heard.inner_text() == f"{len(wanted)} of {total} rows"

    field.fill("")
    assert page.locator("table:has(#check-table) tbody tr:visible").count() == total


def test_every_long_table_has_a_filter(page: Page) -> None:
    page.get_by_role("button", name="Unfold all").click()
    for table in page.locator("table").all():
        described = page.locator(
            f"input[aria-describedby='{table.locator('caption').get_attribute('id')}']"
        )
        assert described.count() == (table.locator("tbody tr").count() > 12)


def controls(page: Page) -> Locator:
    return page.get_by_role("search", name="Findings")


def told(page: Page) -> str:
    return controls(page).locator("output").inner_text()


def words(finding: dict[str, Any]) -> str:
    titles = (f"{node['id']} {node['title']}" for node in finding["nodes"])
    return " ".join((finding["statement"], *titles)).lower()


def test_by_branch(page: Page, runs: Runs, findings: list[dict[str, Any]]) -> None:
    above = {one["node"]: one["above"] for one in runs.shared["overview"]["lineage"]}
    branch = next(row["node"] for row in runs.shared["overview"]["tree"] if row["depth"] == 1)
    wanted = {
        finding["id"]
        for finding in findings
        if any(branch in above.get(node["id"], ()) for node in finding["nodes"])
    }
    bar = page.locator(f".bar[data-node='{branch}']")
    assert bar.get_attribute("role") == "button"

    bar.focus()
    page.keyboard.press("Enter")

    assert wanted
    assert set(shown(page)) == wanted
    assert "at or below" in told(page)
    page.get_by_role("button", name="Whole hierarchy").click()
    assert len(shown(page)) == len(findings)
